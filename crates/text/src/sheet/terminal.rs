//! A table on a terminal: aligned columns.

use super::{Group, Set, Sheet};
use crate::{Ink, Style, pad_left, pad_right, terminal, width, wrapped};

/// Blanks before a group of columns.
const GROUP_GAP: usize = 4;

impl Sheet {
    /// Aligned lines, each after this indent and with a newline. The line of heads is left out if all are empty.
    pub fn to_terminal(&self, indent: &str) -> String {
        self.to_coloured(indent, &Style::new(false))
    }

    /// Renders aligned lines as [`Sheet::to_terminal`] does, with coloured cells and dim heads.
    pub fn to_coloured(&self, indent: &str, style: &Style) -> String {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        Layout::of(self, indent).draw(&all, style)
    }

    /// Renders aligned lines of at most `columns`, if one group fits into them. Groups that do not fit beside the
    /// others follow below, again after the columns before all groups.
    pub fn to_fitted(&self, columns: usize, style: &Style) -> String {
        let layout = Layout::of(self, "");
        let margin: Vec<usize> = (0..self.margin()).collect();
        let room = columns.saturating_sub(layout.width(&margin));
        let mut out = String::new();
        let mut rest = &*self.groups;
        while !rest.is_empty() {
            let mut used = 0;
            let fit = rest.iter().take_while(|group| {
                used += GROUP_GAP + layout.width(&group.columns());
                used <= room
            });
            let (beside, below) = rest.split_at(fit.count().max(1));
            let columns = beside.iter().flat_map(Group::columns);
            let columns: Vec<usize> = margin.iter().copied().chain(columns).collect();
            let gap = if out.is_empty() { "" } else { "\n" };
            out += &format!("{gap}{}", layout.draw(&columns, style));
            rest = below;
        }
        out
    }

    /// Number of columns before all groups.
    fn margin(&self) -> usize {
        self.groups.first().map_or(0, |group| group.columns.start)
    }

    fn starts_group(&self, column: usize) -> bool {
        let mut groups = self.groups.iter();
        groups.any(|group| group.columns.start == column)
    }
}

impl Group {
    fn columns(&self) -> Vec<usize> {
        self.columns.clone().collect()
    }

    fn title(&self) -> String {
        let title = format!("{} {}", self.head, self.remark);
        terminal(title.trim_end()).into_owned()
    }
}

/// A line as a terminal shows it.
struct Shown {
    /// The sheet's line.
    number: usize,
    /// Escaped texts, without those that are shown once.
    texts: Vec<String>,
    /// Whether the last text is not padded, and widens no column.
    spans: bool,
}

/// A sheet's texts and the widths of its columns.
struct Layout<'a> {
    sheet: &'a Sheet,
    indent: &'a str,
    heads: Vec<String>,
    lines: Vec<Shown>,
    /// Width of each column; None of a column that is not shown.
    widths: Vec<Option<usize>>,
}

impl<'a> Layout<'a> {
    fn of(sheet: &'a Sheet, indent: &'a str) -> Self {
        let heads = sheet.columns.iter().enumerate();
        let heads = heads.map(|(at, column)| match at < sheet.margin() {
            true => String::new(),
            false => terminal(&column.head).into_owned(),
        });
        let mut layout = Self {
            sheet,
            indent,
            heads: heads.collect(),
            lines: shown(sheet),
            widths: Vec::new(),
        };
        let columns = 0..sheet.columns.len();
        layout.widths = columns.map(|at| layout.widest(at)).collect();
        // A title wider than its group widens the group's first column.
        for group in &sheet.groups {
            let title = width(&group.title());
            let lacking = title.saturating_sub(layout.width(&group.columns()));
            if let Some(Some(first)) = layout.widths.get_mut(group.columns.start) {
                *first += lacking;
            }
        }
        if let Some(columns) = sheet.wrap {
            layout.wrap(columns);
        }
        layout
    }

    /// Returns the width of a column; None if it has no text and is left out.
    fn widest(&self, column: usize) -> Option<usize> {
        let spans = |line: &&Shown| line.spans && column + 1 == line.texts.len();
        let lines = self.lines.iter().filter(|line| !spans(line));
        let texts = lines.filter_map(|line| line.texts.get(column));
        let widths = texts.chain(self.heads.get(column)).map(|text| width(text));
        let widest = widths.max().unwrap_or(0);
        // A group's title needs its first column.
        let is_shown = widest > 0 || !self.sheet.drops_empty || self.sheet.starts_group(column);
        is_shown.then(|| widest.max(self.sheet.columns[column].wide))
    }

    /// Breaks the texts of the last column, so that lines have at most `most` columns.
    fn wrap(&mut self, most: usize) {
        let last = self.sheet.columns.len().saturating_sub(1);
        let before: Vec<usize> = (0..last).collect();
        let gap = self.sheet.columns.last().map_or(0, |column| column.gap);
        let start = width(self.indent) + self.width(&before) + gap;
        let lines = std::mem::take(&mut self.lines).into_iter();
        let lines = lines.flat_map(|line| {
            let text = line.texts.get(last).filter(|_| !line.spans);
            let Some(text) = text else {
                return vec![line];
            };
            let parts = wrapped(text, most.saturating_sub(start), "").into_iter();
            let lines = parts.enumerate().map(|(number, part)| {
                let mut texts = match number {
                    0 => line.texts[..last].to_vec(),
                    _ => vec![String::new(); last],
                };
                texts.push(part);
                Shown { texts, ..line }
            });
            lines.collect()
        });
        self.lines = lines.collect();
    }

    /// Returns those of the columns that are shown, each with the gap before it and its width.
    fn cells(&self, columns: &[usize]) -> impl Iterator<Item = (usize, usize, usize)> {
        let shown = columns
            .iter()
            .filter_map(|at| Some((*at, self.widths[*at]?)));
        shown.enumerate().map(|(number, (at, wide))| {
            let gap = match (number, self.sheet.starts_group(at)) {
                (0, _) => 0,
                (_, true) => GROUP_GAP,
                (_, false) => self.sheet.columns[at].gap,
            };
            (at, gap, wide)
        })
    }

    /// Width of these columns with the gaps between them.
    fn width(&self, columns: &[usize]) -> usize {
        self.cells(columns).map(|(_, gap, wide)| gap + wide).sum()
    }

    /// Draws these columns: titles of groups, heads, and lines.
    fn draw(&self, columns: &[usize], style: &Style) -> String {
        let mut out = String::new();
        let mut put = |line: String| {
            out += format!("{}{line}", self.indent).trim_end();
            out.push('\n');
        };
        let has_groups = !self.sheet.groups.is_empty();
        if has_groups {
            put(self.titles(columns, style));
        }
        if has_groups || self.heads.iter().any(|head| !head.is_empty()) {
            put(self.line(columns, &self.heads, false, style, |_| Some(Ink::Dim)));
        }
        for line in &self.lines {
            let ink = |column| self.sheet.inks.get(&(line.number, column)).copied();
            put(self.line(columns, &line.texts, line.spans, style, ink));
        }
        out
    }

    fn titles(&self, columns: &[usize], style: &Style) -> String {
        let margin: Vec<usize> = (0..self.sheet.margin()).collect();
        let mut line = " ".repeat(self.width(&margin));
        let groups = self.sheet.groups.iter();
        for group in groups.filter(|group| columns.contains(&group.columns.start)) {
            let title = pad_left(&group.title(), self.width(&group.columns()));
            line += &" ".repeat(GROUP_GAP);
            line += &style.bold(&title);
        }
        line
    }

    /// Draws a line. Neighbours of one colour in a group are coloured together, with the gap between them.
    fn line(
        &self,
        columns: &[usize],
        texts: &[String],
        spans: bool,
        style: &Style,
        ink: impl Fn(usize) -> Option<Ink>,
    ) -> String {
        let mut runs: Vec<(usize, Option<Ink>, String)> = Vec::new();
        for (at, gap, wide) in self.cells(columns) {
            let text = texts.get(at).map_or("", String::as_str);
            let text = match self.sheet.columns[at].set {
                _ if spans && at + 1 >= texts.len() => text.to_owned(),
                Set::Text => pad_right(text, wide),
                Set::Number => pad_left(text, wide),
            };
            match runs.last_mut() {
                Some((_, before, run)) if *before == ink(at) && !self.sheet.starts_group(at) => {
                    *run += &format!("{:gap$}{text}", "");
                }
                _ => runs.push((gap, ink(at), text)),
            }
        }
        if let Some((_, _, last)) = runs.last_mut() {
            last.truncate(last.trim_end().len());
        }
        let runs = runs.into_iter().map(|(gap, ink, text)| {
            let text = ink.map_or_else(|| text.clone(), |ink| style.ink(ink, &text));
            format!("{:gap$}{text}", "")
        });
        runs.collect()
    }
}

fn shown(sheet: &Sheet) -> Vec<Shown> {
    let mut lines: Vec<Shown> = Vec::new();
    for (number, line) in sheet.lines.iter().enumerate() {
        let before = number
            .checked_sub(1)
            .map(|before| &sheet.lines[before].cells);
        let repeats = |at: usize, cell: &String| {
            let is_once = sheet.columns.get(at).is_some_and(|column| column.once);
            is_once && before.is_some_and(|before| before.get(at) == Some(cell))
        };
        let cells = line.cells.iter().enumerate();
        let texts = cells.map(|(at, cell)| match repeats(at, cell) {
            true => String::new(),
            false => terminal(cell).into_owned(),
        });
        lines.push(Shown {
            number,
            texts: texts.collect(),
            spans: line.spans,
        });
    }
    lines
}
