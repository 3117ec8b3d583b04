//! The view of `worldswitch explain`: for each explained operation a flame graph, its call tree, phases, registers,
//! traps and the sum.

mod flame;
mod tree;

use super::lead::{Lead, View};
use super::text_table::text_table;
use super::words::plain;
use crate::text::{Set, Sheet};
use maud::{Markup, html};
use std::iter::repeat;
use ws_explain::explained::Explained;
use ws_text::number::grouped;

/// Functions with fewer instructions of their own are left out of the table, and counted.
const LEAST: u64 = 10;

/// The opening: the cost of the first explained operation. Its figure, the flame graph, is the first in the view.
pub(crate) fn lead(all: &[Explained]) -> Option<Lead> {
    Some(Lead {
        sentence: first_line(all.first()?),
        figure: html! {},
        of: View::Explained,
    })
}

fn first_line(one: &Explained) -> String {
    let sentence = one.sentence();
    let line = sentence.lines().next().unwrap_or_default();
    line.to_owned()
}

/// The view; empty if nothing was explained. `led`: whether the page opened with its first sentence.
pub(crate) fn explained(all: &[Explained], platforms: &[&str], led: bool) -> Markup {
    if all.is_empty() {
        return html! {};
    }
    html! {
        section #explained {
            h2 { "Which functions the instructions are in" }
            p {
                "Instructions of one operation on its most common path, outside of the guest and in it, as "
                code { "worldswitch explain" } " recorded them."
            }
            div.cards { @for (index, one) in all.iter().enumerate() {
                div.card.wide data-b=(plain(&one.benchmark)) data-p=[platforms.iter().position(|name| *name == one.platform)] {
                    (card(one, led && index == 0))
                }
            } }
        }
    }
}

fn card(one: &Explained, led: bool) -> Markup {
    let name = title(one);
    let sentence = one.sentence();
    html! {
        h3 { (plain(&name)) }
        @for line in sentence.lines().skip(usize::from(led)) { p { (plain(line)) } }
        (flame::flame(one))
        details open {
            summary { "call tree" (one.turns_text()) ", in the order of time" }
            (tree::tree(one))
        }
        details { summary { "functions" } (functions(one)) }
        (others(one))
        (phases(one))
        (traps(one))
        (registers(one, false))
        @if let Some(why) = one.unnamed() { p.legend { (why) } }
        @if !one.registers.is_empty() { details { summary { "registers by name" } (registers(one, true)) } }
        p { (plain(one.sum_text().trim_end())) }
    }
}

/// Returns the explained benchmark and its platform.
fn title(one: &Explained) -> String {
    format!("{} on {}", one.benchmark, one.platform)
}

fn functions(one: &Explained) -> Markup {
    let mut counts = one.counts();
    let all = counts.len();
    counts.retain(|count| count.own >= LEAST);
    let left_out = all - counts.len();
    let lines = counts.iter().map(|count| {
        let function = &one.functions[count.function as usize];
        let [own, total] = [count.own, count.total].map(|number| grouped(number as i64));
        let numbers = vec![own, total, function.calls(count.calls)];
        (one.label(function), numbers)
    });
    html! {
        (table(&format!("functions of {}, by instructions of their own", title(one)), &["function", "own", "total", "calls"], lines))
        @if left_out > 0 {
            p.legend { (left_out) " functions with fewer than " (LEAST) " instructions of their own are not shown." }
        }
    }
}

fn others(one: &Explained) -> Markup {
    let lines = one
        .others
        .iter()
        .map(|other| (one.other_text(other), vec![grouped(other.sum.measured)]));
    html! {
        (table(&format!("other paths of {}", title(one)), &["samples", "instructions"], lines))
        @if let Some(partial) = one.partial_text() {
            p.legend { "Paths are " (partial) "." }
        }
    }
}

fn phases(one: &Explained) -> Markup {
    let lines = one.phase_shares().map(|(phase, instructions, share)| {
        (phase.to_string(), vec![grouped(instructions), share])
    });
    table(
        &format!("phases of {}", title(one)),
        &["phase", "instructions", "share"],
        lines,
    )
}

fn traps(one: &Explained) -> Markup {
    let lines = one.telling_traps().iter().map(|trap| {
        let numbers = [trap.count, trap.instructions];
        (
            format!("L{} to L{}: {}", trap.from, trap.to, trap.cause),
            numbers.map(|number| grouped(number as i64)).to_vec(),
        )
    });
    table(
        &format!(
            "traps of {}, and the instructions until the next entry",
            title(one)
        ),
        &["trap", "count", "instructions"],
        lines,
    )
}

fn registers(one: &Explained, by_name: bool) -> Markup {
    let registers = one.register_table(by_name);
    let phases: Vec<String> = registers.phases.iter().map(ToString::to_string).collect();
    let heads = ["registers"]
        .into_iter()
        .chain(phases.iter().map(String::as_str));
    let heads: Vec<&str> = heads.collect();
    let lines = registers.rows.iter().map(|row| {
        let class = row.class.to_string();
        let name = match &row.register {
            Some(register) => format!("{class}: {register}"),
            None => class,
        };
        (
            name,
            row.accesses
                .iter()
                .map(|accesses| accesses.text())
                .collect(),
        )
    });
    table(
        &format!("registers of {}, read/written by phase", title(one)),
        &heads,
        lines,
    )
}

/// A table of a name and numbers a line; nothing without lines.
fn table(
    caption: &str,
    heads: &[&str],
    lines: impl Iterator<Item = (String, Vec<String>)>,
) -> Markup {
    let sets = [Set::Text].into_iter().chain(repeat(Set::Number));
    let mut sheet = Sheet::new(heads.iter().copied().zip(sets));
    sheet.extend(
        lines.map(|(name, numbers)| -> Vec<String> { [name].into_iter().chain(numbers).collect() }),
    );
    html! { @if !sheet.lines().is_empty() { (text_table(caption, &sheet)) } }
}
