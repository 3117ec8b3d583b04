//! A trial as a picture: a bar for each row that changed, around zero.

use crate::page::{class, plain};
use crate::row::TrialRow;
use crate::trial::{Machine, Trial};
use maud::{Markup, PreEscaped, html};
use ws_report::page::COLOURS;

/// Width of the picture, in units of its drawing.
const WIDTH: f64 = 900.0;
/// Place of zero, between the names and the right edge.
const ZERO: f64 = 530.0;
/// Length of the longest bar. Its label has the rest of each side.
const LONGEST: f64 = 240.0;
/// Height of a line.
const LINE: f64 = 24.0;
/// Base line of a line's text.
const TEXT: f64 = 17.0;

const STYLE: &str = "\
.back{fill:var(--bg)}line{stroke:var(--line)}text{font:13px system-ui,sans-serif;fill:var(--fg)}\
.title{font-weight:600}.dim{fill:var(--dim)}.worse{fill:var(--bad)}.better{fill:var(--good)}.doubt{fill:var(--dim)}";

impl Trial {
    /// Returns an SVG picture of the rows that changed, in percent; None if there are none.
    pub fn to_svg(&self) -> Option<String> {
        let greatest = self.rows().filter_map(|(_, row)| row.percent);
        let greatest = greatest.map(f64::abs).fold(0.0, f64::max);
        let machines = self.machines.iter().filter(|one| !one.rows.is_empty());
        let lines: usize = machines.clone().map(|one| one.rows.len() + 1).sum();
        if greatest == 0.0 {
            return None;
        }
        let title = format!(
            "{} against {}: instructions of one operation",
            self.head.name, self.base.name
        );
        let height = (lines + 1) as f64 * LINE + 16.0;
        let mut y = LINE + 8.0;
        let mut blocks = Vec::new();
        for machine in machines {
            blocks.push(block(machine, y, greatest));
            y += (machine.rows.len() + 1) as f64 * LINE;
        }
        let svg = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (height) } role="img" {
                title { (plain(&title)) }
                style { (PreEscaped(COLOURS)) (PreEscaped(STYLE)) }
                rect.back width=(WIDTH) height=(height) {}
                text.title x="16" y=(TEXT + 8.0) { (plain(&title)) }
                @for block in &blocks { (block) }
            }
        };
        Some(svg.into_string())
    }
}

/// The rows of a machine below its name.
fn block(machine: &Machine, y: f64, greatest: f64) -> Markup {
    html! {
        text.dim x="16" y=(y + TEXT) { (plain(&machine.machine)) }
        line x1=(ZERO) x2=(ZERO) y1=(y + LINE) y2=(y + (machine.rows.len() + 1) as f64 * LINE) {}
        @for (at, row) in (1..).map(f64::from).zip(&machine.rows) { (bar(row, y + at * LINE, greatest)) }
    }
}

fn bar(row: &TrialRow, y: f64, greatest: f64) -> Markup {
    // A row from 0 has no percentage: its bar is the longest.
    let percent = row.percent.unwrap_or(greatest.copysign(row.added));
    // A small change is seen too.
    let length = (LONGEST * percent.abs() / greatest).max(2.0);
    let (x, label, anchor) = match percent < 0.0 {
        true => (ZERO - length, ZERO - length - 6.0, "end"),
        false => (ZERO, ZERO + length + 6.0, "start"),
    };
    let text = format!("{} ({})", row.percentage(), row.difference());
    html! {
        text x="32" y=(y + TEXT) { (plain(&row.benchmark)) }
        rect class=(class(row)) x=(format!("{x:.1}")) y=(y + 5.0) width=(format!("{length:.1}")) height=(LINE - 10.0) rx="2" {}
        text x=(format!("{label:.1}")) y=(y + TEXT) text-anchor=(anchor) { (text) }
    }
}
