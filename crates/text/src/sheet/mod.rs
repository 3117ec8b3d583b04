//! A table: the only place that aligns columns, and that writes tables in Markdown and CSV. Cells are texts already.
//! Cells, heads and titles may be anything; they are escaped here for each form.

mod column;
mod flat;
mod terminal;

pub use column::{Column, Set};

use crate::{Ink, markdown, terminal};
use std::collections::BTreeMap;
use std::ops::Range;

/// A table: its columns, and lines with a cell for each of them. A line may lack its last cells.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    columns: Vec<Column>,
    groups: Vec<Group>,
    lines: Vec<Line>,
    /// Coloured cells, by line and column.
    inks: BTreeMap<(usize, usize), Ink>,
    /// Cells that have a Markdown of their own, by line and column.
    prepared: BTreeMap<(usize, usize), String>,
    /// Whether a terminal has no columns without any text.
    drops_empty: bool,
    /// Columns of a terminal at which texts of the last column are wrapped.
    wrap: Option<usize>,
}

/// Columns with a common head.
#[derive(Clone, Debug)]
struct Group {
    head: String,
    /// Words after the head.
    remark: String,
    columns: Range<usize>,
}

/// Cells of a line.
#[derive(Clone, Debug)]
struct Line {
    cells: Vec<String>,
    /// Whether the last cell runs over all columns after it, and widens none.
    spans: bool,
}

impl Sheet {
    /// A table without lines.
    pub fn new<C: Into<Column>>(columns: impl IntoIterator<Item = C>) -> Self {
        Self {
            columns: columns.into_iter().map(Into::into).collect(),
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

    /// Wraps the texts of the last column so that a terminal's lines have at most `columns`. Spanning texts stay.
    pub fn wrapped(mut self, columns: usize) -> Self {
        self.wrap = Some(columns);
        self
    }

    /// Adds columns with a common head and a remark on it. The columns before the first group have no heads on a
    /// terminal.
    pub fn group<C: Into<Column>>(
        &mut self,
        head: &str,
        remark: &str,
        columns: impl IntoIterator<Item = C>,
    ) {
        let first = self.columns.len();
        self.columns.extend(columns.into_iter().map(Into::into));
        self.groups.push(Group {
            head: head.to_owned(),
            remark: remark.to_owned(),
            columns: first..self.columns.len(),
        });
    }

    /// Adds lines.
    pub fn extend<L: Into<Vec<String>>>(&mut self, lines: impl IntoIterator<Item = L>) {
        self.lines.extend(lines.into_iter().map(|cells| Line {
            cells: cells.into(),
            spans: false,
        }));
    }

    /// Adds a line whose last cell runs over all columns after it, such as a remark on the line before.
    pub fn span(&mut self, cells: impl Into<Vec<String>>) {
        self.lines.push(Line {
            cells: cells.into(),
            spans: true,
        });
    }

    /// Colours a cell. Cells of a group that are next to each other are coloured with the gap between them.
    pub fn ink(&mut self, line: usize, column: usize, ink: Ink) {
        self.inks.insert((line, column), ink);
    }

    /// Gives a cell a Markdown of its own, which is escaped already.
    pub fn prepare(&mut self, line: usize, column: usize, markdown: String) {
        self.prepared.insert((line, column), markdown);
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
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
mod tests;
