//! A trial as a page: one self-contained HTML file that makes no network requests.
//!
//! The page is complete without its script, which only sorts tables, and zooms and searches flame graphs. maud escapes
//! every string; the Content-Security-Policy allows only the page's own script to run and nothing to be fetched.

use crate::flame::Call;
use crate::row::TrialRow;
use crate::trial::{Machine, Trial};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::borrow::Cow;
use ws_analysis::Verdict;
use ws_report::page::{fitted, head};
use ws_text::number::{grouped, signed};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Width of a flame graph, in units of its drawing.
const WIDTH: f64 = 1000.0;
/// Height of a call.
const ROW: usize = 18;
/// Least width of a call that is in the page, so that zooming shows more than the page does at first.
const NARROWEST: f64 = 0.02;

/// A string of a result, with invisible characters made visible.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    ws_text::terminal(text)
}

impl Trial {
    /// Returns the page.
    pub fn to_html(&self) -> String {
        let title = format!("{} against {}", self.head.name, self.base.name);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head(&title, STYLE, SCRIPT))
                body {
                    header { h1 { (plain(&self.sentence)) } }
                    @for over in &self.over_budget { p.worse { "Over the budget: " (plain(&over.text())) "." } }
                    main { @for machine in &self.machines { (section(machine)) } }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        page.into_string()
    }
}

/// Name of a row's anchor.
fn anchor(machine: &Machine, benchmark: &str) -> String {
    format!("{}/{benchmark}", machine.machine)
}

fn section(machine: &Machine) -> Markup {
    html! {
        section {
            h2 { (plain(&machine.machine)) }
            @if !machine.rows.is_empty() { (table(machine)) }
            @if !machine.unchanged.is_empty() {
                p.rest { "No change: " (plain(&machine.unchanged.join(", "))) "." }
            }
            @for why in &machine.not_compared { p.rest { "Not compared: " (plain(why)) "." } }
            @for row in &machine.rows { (details(machine, row)) }
            @for caveat in &machine.caveats { p.rest { (plain(caveat)) "." } }
        }
    }
}

/// Table of the rows, with a bar for each change around zero. The longest bar is the greatest change in percent.
fn table(machine: &Machine) -> Markup {
    let greatest = machine.rows.iter().filter_map(|row| row.percent);
    let greatest = greatest.map(f64::abs).fold(f64::MIN_POSITIVE, f64::max);
    let heads = ["before", "after", "change"];
    let head = |words: &str| html! { th scope="col" { button type="button" { (words) } } };
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "changes on " (plain(&machine.machine)) } {
            table {
                thead { tr {
                    (head("benchmark")) (head("percent"))
                    th.delta scope="col" { "less | more" }
                    @for words in heads { (head(words)) }
                    th scope="col" {}
                } }
                tbody {
                    @for row in &machine.rows {
                        @let share = row.percent.map_or(100.0, |percent| 100.0 * percent.abs() / greatest) / 2.0;
                        tr.(class(row)) {
                            th scope="row" data-v=(plain(&row.benchmark)) {
                                a href={ "#" (anchor(machine, &row.benchmark)) } { (plain(&row.benchmark)) }
                            }
                            td data-v=(row.percent.unwrap_or(f64::MAX)) { (row.percentage()) }
                            td.delta { span aria-hidden="true" { i style={ "width: " (format!("{share:.2}")) "%" (side(row)) } {} } }
                            td data-v=(row.base) { (row.before()) }
                            td data-v=(row.head) { (row.after()) }
                            td data-v=(row.added) { (row.difference()) }
                            td.word { (row.word()) }
                        }
                    }
                }
            }
        }
    }
}

fn class(row: &TrialRow) -> &'static str {
    match row.verdict {
        Verdict::Worse => "worse",
        Verdict::Better => "better",
        Verdict::Inconclusive | Verdict::NoChange => "doubt",
    }
}

/// The side of zero of a row without a verdict, whose class has none.
fn side(row: &TrialRow) -> &'static str {
    match (class(row), row.added >= 0.0) {
        ("doubt", true) => "; left: 50%",
        ("doubt", false) => "; right: 50%",
        _ => "",
    }
}

fn details(machine: &Machine, row: &TrialRow) -> Markup {
    html! {
        h3 id=(anchor(machine, &row.benchmark)) {
            (plain(&row.benchmark)) ": " (row.before()) " to " (row.after()) ", " span.(class(row)) { (row.change()) }
        }
        @if let Some(why) = row.why.as_ref().filter(|_| class(row) == "doubt") { p.rest { (plain(why)) "." } }
        @if !row.functions.is_empty() {
            ul.functions {
                @for guilty in &row.functions {
                    li {
                        code { (plain(&guilty.function)) } " " (signed(guilty.own)) ", " (plain(&guilty.how()))
                        @if let Some(place) = guilty.place() { " (" code { (plain(&place)) } ")" }
                    }
                }
            }
        }
        @if let Some(rest) = row.rest() { p.rest { (plain(&rest)) "." } }
        @if !row.calls.is_empty() { (graph(machine, row)) }
    }
}

/// A call where it is drawn.
struct Drawn<'a> {
    call: &'a Call,
    x: f64,
    width: f64,
    depth: usize,
}

/// Returns the calls that are wide enough, callers before callees.
fn drawn(calls: &[Call]) -> Vec<Drawn<'_>> {
    let all: u64 = calls.iter().map(|call| call.width).sum();
    let scale = WIDTH / all.max(1) as f64;
    let mut drawn = Vec::new();
    let mut open = vec![(calls, 0.0, 0)];
    while let Some((siblings, mut x, depth)) = open.pop() {
        for call in siblings {
            let width = call.width as f64 * scale;
            if width >= NARROWEST {
                drawn.push(Drawn {
                    call,
                    x,
                    width,
                    depth,
                });
                open.push((&call.children, x, depth + 1));
            }
            x += width;
        }
    }
    drawn
}

/// The differential flame graph: callers above the functions that they call, left to right in the order of time.
fn graph(machine: &Machine, row: &TrialRow) -> Markup {
    let calls = drawn(&row.calls);
    let rows = calls.iter().map(|one| one.depth + 1).max().unwrap_or(0);
    let most = calls
        .iter()
        .map(|one| one.call.added().unsigned_abs())
        .max();
    let most = most.unwrap_or(0).max(1) as f64;
    let name = format!("flame graph of {} on {}", row.benchmark, machine.machine);
    html! {
        div.graph {
            div.tools hidden {
                label { "Search " input.search type="search" placeholder="a function"; }
                button.reset type="button" hidden { "Whole graph" }
                output role="status" {}
            }
            div.scroll tabindex="0" role="region" aria-label=(plain(&name)) {
                svg.flame viewBox={ "0 0 " (WIDTH) " " (rows * ROW) } role="group" aria-label=(plain(&name)) {
                    @for one in &calls { (draw(one, most)) }
                }
            }
            p.rest {
                "Callers above the functions that they call, in the order of time. Width: instructions, of the side that has more. "
                "Red: more instructions of its own with the change; blue: fewer. A click or Enter zooms, Esc shows all."
            }
        }
    }
}

fn draw(one: &Drawn<'_>, most: f64) -> Markup {
    let Drawn {
        call,
        x,
        width,
        depth,
    } = *one;
    let added = call.added();
    let class = match added {
        0 => "same",
        added if added > 0 => "more",
        _ => "less",
    };
    // A small change is seen too.
    let share = 0.35 + 0.65 * (added.unsigned_abs() as f64 / most).sqrt();
    let [own, total] = [call.own, call.total].map(|[before, after]| match before == after {
        true => grouped(after as i64),
        false => format!("{} to {}", grouped(before as i64), grouped(after as i64)),
    });
    let place = match call.is_guest {
        true => "guest".to_owned(),
        false => format!("L{}", call.level),
    };
    let detail = format!(
        "{} ({place}): {total} instructions, {own} of its own ({})",
        call.function,
        signed(added)
    );
    let name = plain(&call.function);
    let text = fitted(&name, width);
    let y = depth * ROW;
    let (x, width) = (format!("{x:.3}"), format!("{width:.3}"));
    html! {
        g.(class) style={ "--share: " (format!("{share:.2}")) } data-x=(x) data-w=(width) data-d=(depth) data-n=(name) role="img"
            aria-label=(plain(&detail)) tabindex="-1" {
            title { (plain(&detail)) }
            rect x=(x) y=(y) width=(width) height=(ROW) {}
            text x=(format!("{:.3}", one.x + 3.0)) y=(y + ROW - 5) { (text) }
        }
    }
}
