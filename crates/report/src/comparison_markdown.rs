//! Comparisons as Markdown.

use crate::Comparisons;
use crate::comparison::{HEADS, OVER_HOSTS, changed, legend, noted, remarks, tally};
use crate::grid::reference;
use crate::hosts::heading;
use crate::text::{Sheet, below_in_markdown, markdown};
use ws_analysis::{RowComparison, SuiteComparison};

impl Comparisons {
    /// Renders Markdown for a comment on a change: the gaps, then for each pair a heading with the verdicts' counts and
    /// a table of the rows that changed. All rows and the remarks are folded.
    pub fn to_markdown(&self) -> String {
        let mut out = String::new();
        for gap in &self.gaps {
            out += &format!("- Not judged: {}\n", markdown(&gap.why));
        }
        if !self.gaps.is_empty() {
            out.push('\n');
        }
        for one in &self.over_hosts {
            out += &format!("### {}\n\n", markdown(&one.heading()));
            out += &match &*one.shown(false) {
                [] => format!("{}\n\n", one.nothing()),
                rows => one.sheet(rows).to_markdown() + "\n",
            };
        }
        if !self.over_hosts.is_empty() {
            out += &format!("{}\n\n", markdown(OVER_HOSTS));
        }
        for (side, kinds) in self.sides() {
            for kind in kinds {
                out += &format!("- Hosts {side}: {}\n", markdown(&heading(kind)));
            }
            out.push('\n');
        }
        for one in &self.comparisons {
            let (base, other) = (markdown(&one.base.platform), markdown(&one.other.platform));
            let tally = markdown(&tally(one));
            if let Some(host) = self.over_host(one) {
                let summary = format!("{other} on {}: {tally}", markdown(host));
                out += &self.fold(&summary, one);
                continue;
            }
            out += &format!("### {other} against {base}: {tally}\n\n");
            out += &markdown_table(&changed(one));
            out += &self.fold("all benchmarks, and what was compared", one);
        }
        out
    }

    /// Renders all rows and the remarks of a comparison, folded under a summary.
    fn fold(&self, summary: &str, one: &SuiteComparison) -> String {
        let mut out = format!("<details><summary>{summary}</summary>\n\n");
        out += &below_in_markdown(remarks(one).iter().map(String::as_str));
        out += &below_in_markdown(legend(&self.comparisons));
        let rows: Vec<_> = one.rows.iter().collect();
        out + &format!("\n{}</details>\n\n", markdown_table(&rows))
    }
}

/// A table of rows, and an empty line; nothing without rows.
fn markdown_table(rows: &[&RowComparison]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let (notes, rows) = noted(rows);
    let mut sheet = Sheet::new(HEADS);
    sheet.extend(rows);
    let mut out = sheet.to_markdown() + "\n";
    for (index, note) in (0..).zip(&notes) {
        out += &format!("{} {}\n\n", markdown(&reference(index)), markdown(note));
    }
    out
}
