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
use ws_report::page::{GRAPH_SCRIPT, GRAPH_STYLE, GraphCall, graph, head, placed};
use ws_text::number::{grouped, signed};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// A string of a result, with invisible characters made visible.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    ws_text::terminal(text)
}

impl Trial {
    /// Returns the page.
    pub fn to_html(&self) -> String {
        let title = format!("{} against {}", self.head.name, self.base.name);
        let (style, script) = (
            STYLE.to_owned() + GRAPH_STYLE,
            SCRIPT.to_owned() + GRAPH_SCRIPT,
        );
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head(&title, &style, &script))
                body {
                    header { h1 { (plain(&self.sentence)) } }
                    @for over in &self.over_budget { p.worse { "Over the budget: " (plain(&over.text())) "." } }
                    main { @for machine in &self.machines { (section(machine)) } }
                    script { (PreEscaped(&script)) }
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
                                a href={ "#" (anchor(machine, &row.benchmark)) } title=[row.measures.as_deref().map(plain)] {
                                    (plain(&row.benchmark))
                                }
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

/// Class of a row's colour.
pub(crate) fn class(row: &TrialRow) -> &'static str {
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
        @if let Some(measures) = &row.measures { p.rest { "Operation: " (plain(measures)) "." } }
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
        @if !row.calls.is_empty() { (flame(machine, row)) }
    }
}

/// The differential flame graph.
fn flame(machine: &Machine, row: &TrialRow) -> Markup {
    let calls = placed(
        row.calls.iter().collect(),
        |call| call.width as f64,
        |call| call.children.iter().collect(),
        |call, x, width, depth| drawn(call, (x, width, depth)),
    );
    let most = calls.iter().map(|call| call.share).fold(1.0, f64::max);
    let strong = |call: GraphCall| GraphCall {
        // A small change is seen too.
        share: 0.35 + 0.65 * (call.share / most).sqrt(),
        ..call
    };
    let calls: Vec<GraphCall> = calls.into_iter().map(strong).collect();
    let legend = html! {
        "Width: instructions, of the side that has more. "
        "Red: more instructions of its own with the change; blue: fewer."
    };
    let name = format!("flame graph of {} on {}", row.benchmark, machine.machine);
    graph(&name, &calls, &legend)
}

/// A call where it is drawn; its share is the number of own instructions that changed.
fn drawn(call: &Call, (x, width, depth): (f64, f64, usize)) -> GraphCall {
    let added = call.added();
    let [own, total] = [call.own, call.total].map(|[before, after]| match before == after {
        true => grouped(after as i64),
        false => format!("{} to {}", grouped(before as i64), grouped(after as i64)),
    });
    let replaces = match &call.replaces {
        Some(old) => format!(", before: {old}"),
        None => String::new(),
    };
    let place = match call.is_guest {
        true => "guest".to_owned(),
        false => format!("L{}", call.level),
    };
    GraphCall {
        x,
        width,
        depth,
        name: call.function.clone(),
        detail: format!(
            "{} ({place}{replaces}): {total} instructions, {own} of its own ({})",
            call.function,
            signed(added)
        ),
        class: match added {
            0 => "same",
            added if added > 0 => "more",
            _ => "less",
        },
        share: added.unsigned_abs() as f64,
        is_added: call.is_added,
    }
}
