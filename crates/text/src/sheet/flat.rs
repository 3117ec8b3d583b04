//! A table without layout: Markdown, CSV, and the cells of an HTML table. Titles of groups stand in the heads, and joined
//! cells in the cells before.

use super::{Line, Set, Sheet};
use crate::{markdown, spreadsheet};

impl Sheet {
    /// The heads of the columns.
    pub fn heads(&self) -> Vec<String> {
        let columns = self.columns.iter().enumerate();
        let heads = columns.filter(|(_, column)| !column.joined);
        let heads = heads.map(|(at, column)| {
            let mut groups = self.groups.iter();
            let group = groups.find(|group| group.columns.start == at);
            let group = group.map_or(("", ""), |group| (&*group.head, &*group.remark));
            match (group, &*column.head) {
                (("", ""), head) => head.to_owned(),
                ((title, remark), "") => format!("{title} {remark}").trim_end().to_owned(),
                ((title, remark), head) => {
                    format!("{title}, {head} {remark}").trim_end().to_owned()
                }
            }
        });
        heads.collect()
    }

    /// Alignment of each column.
    pub fn sets(&self) -> Vec<Set> {
        let columns = self.columns.iter().filter(|column| !column.joined);
        columns.map(|column| column.set).collect()
    }

    /// The cells of each line.
    pub fn lines(&self) -> Vec<Vec<String>> {
        let lines = self.lines.iter().map(|line| line.cells.iter().cloned());
        lines.map(|cells| self.joined(cells)).collect()
    }

    /// Joins cells with those that belong to them.
    fn joined(&self, cells: impl Iterator<Item = String>) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        for (cell, column) in cells.zip(&self.columns) {
            match out.last_mut() {
                Some(_) if column.joined && cell.is_empty() => {}
                Some(before) if column.joined => *before = format!("{before} {cell}"),
                _ => out.push(cell),
            }
        }
        out
    }

    /// Markdown; each line ends in a newline.
    pub fn to_markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rules = self.sets().into_iter().map(|set| match set {
            Set::Text => "---",
            Set::Number => "---:",
        });
        let rules: Vec<&str> = rules.collect();
        let mut out = line(self.heads().iter().map(|head| markdown(head)).collect());
        out += &format!("|{}|\n", rules.join("|"));
        for (number, Line { cells, .. }) in self.lines.iter().enumerate() {
            let cells = (0..self.columns.len()).filter_map(|column| {
                let prepared = self.prepared.get(&(number, column));
                prepared
                    .cloned()
                    .or_else(|| Some(markdown(cells.get(column)?)))
            });
            out += &line(self.joined(cells));
        }
        out
    }

    /// CSV (RFC 4180, but with `\n`): heads and lines. A cell of text that a spreadsheet would take for a formula gets
    /// a leading apostrophe.
    pub fn to_csv(&self) -> String {
        let line = |cells: Vec<String>| cells.join(",") + "\n";
        let mut out = line(self.heads().iter().map(|head| quoted(head)).collect());
        for cells in self.lines() {
            let cells = cells.iter().zip(self.sets());
            let cells = cells.map(|(cell, set)| match set {
                // -1 is a number, and -1+2 a formula.
                Set::Number if cell.parse::<f64>().is_ok() => cell.clone(),
                _ => quoted(&spreadsheet(cell)),
            });
            out += &line(cells.collect());
        }
        out
    }
}

/// Quotes a cell of a CSV file if it has a delimiter.
fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}
