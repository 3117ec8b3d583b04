//! A table as plain text, for views whose cells are texts already: aligned columns for a terminal, or
//! Markdown. Cells, reasons and legends may be anything; they are escaped here.

use crate::{aligned, markdown, terminal};

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Text, on the left.
    Text,
    /// Numbers, on the right.
    Number,
}

/// A table: its columns, and lines with a cell for each of them.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    columns: Vec<(String, Set)>,
    lines: Vec<Vec<String>>,
}

impl Sheet {
    /// A table without lines.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Set)>) -> Self {
        let columns = columns.into_iter();
        Self {
            columns: columns.map(|(head, set)| (head.to_owned(), set)).collect(),
            lines: Vec::new(),
        }
    }

    /// Adds lines.
    pub fn extend(&mut self, lines: impl IntoIterator<Item = Vec<String>>) {
        self.lines.extend(lines);
    }

    /// The heads of the columns.
    pub fn heads(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(head, _)| &**head)
    }

    /// Alignment of a column.
    pub fn set(&self, column: usize) -> Set {
        self.columns.get(column).map_or(Set::Text, |(_, set)| *set)
    }

    /// The lines.
    pub fn lines(&self) -> &[Vec<String>] {
        &self.lines
    }

    /// Aligned lines, each after this indent and with a newline.
    pub fn to_terminal(&self, indent: &str) -> String {
        let escaped = |text: &String| terminal(text).into_owned();
        let mut lines: Vec<Vec<String>> = vec![self.heads().map(str::to_owned).collect()];
        let cells = self.lines.iter();
        lines.extend(cells.map(|line| line.iter().map(escaped).collect()));
        let is_left = |column| self.set(column) == Set::Text;
        let lines = aligned(&lines, is_left).into_iter();
        lines.map(|line| format!("{indent}{line}\n")).collect()
    }

    /// Markdown; each line ends in a newline.
    pub fn to_markdown(&self) -> String {
        let heads: Vec<&str> = self.heads().collect();
        let rules = self.columns.iter().map(|(_, set)| match set {
            Set::Text => "---",
            Set::Number => "---:",
        });
        let rules: Vec<&str> = rules.collect();
        let mut out = format!("| {} |\n|{}|\n", heads.join(" | "), rules.join("|"));
        for line in &self.lines {
            let cells: Vec<_> = line.iter().map(|cell| markdown(cell)).collect();
            out += &format!("| {} |\n", cells.join(" | "));
        }
        out
    }
}

/// Renders notes below tables for a terminal, a line each.
pub fn below_on_terminal<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let texts = texts.into_iter();
    texts.map(|text| format!("{}\n", terminal(text))).collect()
}

/// Renders notes below tables in Markdown, as a list.
pub fn below_in_markdown<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let texts = texts.into_iter();
    texts
        .map(|text| format!("- {}\n", markdown(text)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned_and_escaped() {
        let mut sheet = Sheet::new([("name", Set::Text), ("n", Set::Number)]);
        sheet.extend([vec!["a|\u{1b}".to_owned(), "12".to_owned()]]);
        assert_eq!(sheet.to_terminal(" "), " name       n\n a|\\u{1b}  12\n");
        assert_eq!(
            sheet.to_markdown(),
            "| name | n |\n|---|---:|\n| a\\|\\\\u{1b} | 12 |\n"
        );
        assert_eq!(below_in_markdown(["<b>"]), "- &lt;b&gt;\n");
        assert_eq!(below_on_terminal(["\u{1b}"]), "\\u{1b}\n");
    }
}
