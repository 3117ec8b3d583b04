//! Figures of lab results as text, for lists of counts.

use crate::value;
use ws_analysis::Figure;
use ws_results::ResultFile;

/// Formats the figure's band; empty if its ends are equal.
pub fn band(figure: &Figure) -> String {
    let (low, high) = figure.band;
    match low == high {
        true => String::new(),
        false => format!("{} to {}", number(low), number(high)),
    }
}

/// Formats a number of instructions for a table.
pub fn number(insns: f64) -> String {
    value(insns, "insns")
}

/// Formats the legend of a table: the unit, and each caveat of the machines once.
pub fn legend<'a>(results: impl Iterator<Item = &'a ResultFile>) -> String {
    let unit = "executed instructions for one operation (the mode): path length, not time; a trap itself costs nothing";
    let mut lines = vec![unit];
    for caveat in results.filter_map(ResultFile::caveat) {
        if !lines.contains(&caveat) {
            lines.push(caveat);
        }
    }
    let lines = lines.into_iter();
    lines
        .map(|line| ws_text::terminal(line).into_owned() + "\n")
        .collect()
}
