//! A table as plain text, for views whose cells are texts already: aligned columns for a terminal, or
//! Markdown. Cells, reasons and legends may be anything; they are escaped here.

use crate::{Ink, Style, markdown, pad_left, pad_right, terminal, width};
use std::collections::BTreeMap;

/// The gap between two columns.
const GAP: &str = "  ";

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Text, on the left.
    Text,
    /// Numbers, on the right.
    Number,
}

/// A table: its columns, and lines with a cell for each of them. A line may lack its last cells.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    columns: Vec<(String, Set)>,
    lines: Vec<Vec<String>>,
    /// Coloured cells, by line and column.
    inks: BTreeMap<(usize, usize), Ink>,
    /// Whether a terminal has no columns without any text.
    drops_empty: bool,
}

impl Sheet {
    /// A table without lines.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, Set)>) -> Self {
        let columns = columns.into_iter();
        Self {
            columns: columns.map(|(head, set)| (head.to_owned(), set)).collect(),
            ..Self::default()
        }
    }

    /// A list: a table without heads.
    pub fn list<const N: usize>(sets: [Set; N]) -> Self {
        Self::new(sets.map(|set| ("", set)))
    }

    /// Leaves out columns without any text, their heads included, on a terminal.
    pub fn without_empty_columns(mut self) -> Self {
        self.drops_empty = true;
        self
    }

    /// Adds lines.
    pub fn extend<L: Into<Vec<String>>>(&mut self, lines: impl IntoIterator<Item = L>) {
        self.lines.extend(lines.into_iter().map(Into::into));
    }

    /// Colours a cell.
    pub fn ink(&mut self, line: usize, column: usize, ink: Ink) {
        self.inks.insert((line, column), ink);
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

    /// Aligned lines, each after this indent and with a newline. The line of heads is left out if all are empty.
    pub fn to_terminal(&self, indent: &str) -> String {
        self.to_coloured(indent, &Style::new(false))
    }

    /// Renders aligned lines as [`Sheet::to_terminal`] does, with coloured cells and dim heads.
    pub fn to_coloured(&self, indent: &str, style: &Style) -> String {
        let escaped = |text: &String| terminal(text).into_owned();
        let lines = self.lines.iter();
        let lines = lines.map(|line| line.iter().map(escaped).collect());
        let heads: Vec<String> = self.columns.iter().map(|(head, _)| escaped(head)).collect();
        let has_heads = heads.iter().any(|head| !head.is_empty());
        let all: Vec<Vec<String>> = [heads].into_iter().chain(lines).collect();
        let widths = self.widths(&all);
        let mut out = String::new();
        for (number, cells) in all.iter().enumerate().skip(usize::from(!has_heads)) {
            let cell = |(column, wide): &(usize, usize)| {
                let text = padded(cells.get(*column), *wide, self.set(*column));
                let ink = number
                    .checked_sub(1)
                    .and_then(|line| self.inks.get(&(line, *column)));
                match ink {
                    Some(ink) => style.ink(*ink, &text),
                    None => text,
                }
            };
            let line = widths.iter().map(cell).collect::<Vec<_>>().join(GAP);
            let line = match number {
                0 => style.dim(line.trim_end()),
                _ => line.trim_end().to_owned(),
            };
            out += &format!("{indent}{line}\n");
        }
        out
    }

    /// Returns each column that is shown, and its width.
    fn widths(&self, lines: &[Vec<String>]) -> Vec<(usize, usize)> {
        let widest = |column| {
            let cells = lines
                .iter()
                .filter_map(|line| line.get(column).map(String::as_str));
            (column, cells.map(width).max().unwrap_or(0))
        };
        let widths = (0..self.columns.len()).map(widest);
        widths
            .filter(|(_, wide)| !self.drops_empty || *wide > 0)
            .collect()
    }

    /// Markdown; each line ends in a newline.
    pub fn to_markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let rules = self.columns.iter().map(|(_, set)| match set {
            Set::Text => "---",
            Set::Number => "---:",
        });
        let rules: Vec<&str> = rules.collect();
        let mut out = line(self.heads().map(markdown).collect());
        out += &format!("|{}|\n", rules.join("|"));
        let lines = self.lines.iter();
        out.extend(lines.map(|cells| line(cells.iter().map(|cell| markdown(cell)).collect())));
        out
    }
}

fn padded(text: Option<&String>, wide: usize, set: Set) -> String {
    let text = text.map_or("", String::as_str);
    match set {
        Set::Text => pad_right(text, wide),
        Set::Number => pad_left(text, wide),
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
        sheet.extend([["a|\u{1b}".to_owned(), "12".to_owned()]]);
        assert_eq!(sheet.to_terminal(" "), " name       n\n a|\\u{1b}  12\n");
        assert_eq!(
            sheet.to_markdown(),
            "| name | n |\n|---|---:|\n| a\\|\\\\u{1b} | 12 |\n"
        );
        assert_eq!(below_in_markdown(["<b>"]), "- &lt;b&gt;\n");
        assert_eq!(below_on_terminal(["\u{1b}"]), "\\u{1b}\n");
    }

    #[test]
    fn empty_columns_and_empty_heads_go() {
        let texts = |line: &[&str]| {
            line.iter()
                .map(|cell| (*cell).to_owned())
                .collect::<Vec<_>>()
        };
        let mut sheet = Sheet::list([Set::Text, Set::Text, Set::Number]);
        sheet.extend([
            texts(&["a", "", "1"]),
            texts(&["bcd", "", "234"]),
            texts(&["e"]),
        ]);
        assert_eq!(sheet.to_terminal(""), "a        1\nbcd    234\ne\n");
        let sheet = sheet.without_empty_columns();
        assert_eq!(sheet.to_terminal(""), "a      1\nbcd  234\ne\n");
    }

    #[test]
    fn a_coloured_cell_is_as_wide_as_others() {
        let mut sheet = Sheet::new([("", Set::Text), ("n", Set::Number)]);
        sheet.extend([
            ["a".to_owned(), "1".to_owned()],
            ["bc".to_owned(), String::new()],
        ]);
        sheet.ink(0, 0, Ink::Red);
        sheet.ink(1, 1, Ink::Red);
        let coloured = sheet.to_coloured("", &Style::new(true));
        assert_eq!(
            coloured,
            "\u{1b}[2m    n\u{1b}[0m\n\u{1b}[31ma \u{1b}[0m  1\nbc\n"
        );
        assert_eq!(
            sheet.to_coloured("", &Style::new(false)),
            sheet.to_terminal("")
        );
    }
}
