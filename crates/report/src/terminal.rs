//! Renders the table as aligned text and as Markdown.

use crate::grid::{Detail, EXTERNAL_HEADS, Group, groups, legend, reference, shared, texts};
use crate::table::{Table, TableRow};
use crate::text::{Column, Ink, Sheet, Style, below_in_markdown, terminal, wrapped};
use ws_results::Status;

/// Least number of rows that no platform can have at which a line names them, without their reasons.
const ABSENT: usize = 3;

/// The form of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Terminal,
    Markdown,
}

impl Table {
    /// Renders aligned text with its legend and notes. Lines have at most `columns` where one platform fits into them:
    /// platforms that do not fit beside the others are below them. Rows that no platform can have are named in a line.
    /// Ends in a newline.
    pub fn to_terminal(&self, colour: bool, columns: usize) -> String {
        self.drawn(colour, columns, Detail::Full)
    }

    /// Renders aligned text as [`Table::to_terminal`] does, with only the values and added costs of each platform.
    pub fn to_terminal_in_brief(&self, colour: bool, columns: usize) -> String {
        self.drawn(colour, columns, Detail::Brief)
    }

    fn drawn(&self, colour: bool, columns: usize, detail: Detail) -> String {
        let style = Style::new(colour);
        let (there, absent) = self.absent();
        let groups = groups(&there, detail);
        let mut out = there
            .sheet(&groups, detail, Form::Terminal)
            .to_fitted(columns, &style);
        let below = below(&there, &absent, &groups);
        if !below.is_empty() {
            out.push('\n');
        }
        for line in below
            .iter()
            .flat_map(|text| wrapped(&terminal(text), columns, "  "))
        {
            out += &format!("{}\n", style.dim(&line));
        }
        out
    }

    /// A Markdown table with its legend and notes. Ends in a newline.
    pub fn to_markdown(&self) -> String {
        let groups = groups(self, Detail::Full);
        let out = self
            .sheet(&groups, Detail::Full, Form::Markdown)
            .to_markdown();
        let below = below(self, &[], &groups);
        let gap = if below.is_empty() { "" } else { "\n" };
        out + gap + &below_in_markdown(below.iter().map(String::as_str))
    }

    /// Returns the table of these platforms. On a terminal, notes that several values of a row have stand beside the
    /// row's name.
    fn sheet(&self, groups: &[Group], detail: Detail, form: Form) -> Sheet {
        let margin = [Column::text("category").once(), Column::text("benchmark")];
        let mut sheet = Sheet::new(margin).without_empty_columns();
        for group in groups {
            let mut remark: Vec<String> = group.notes.iter().map(|note| reference(*note)).collect();
            if group.baseline && detail == Detail::Full {
                remark.insert(0, "(baseline)".to_owned());
            }
            let platform = &group.column.platform;
            sheet.group(platform, &remark.join(" "), columns(group));
        }
        for (line, row) in self.rows.iter().enumerate() {
            let elsewhere = match form {
                Form::Terminal => shared(row),
                Form::Markdown => Vec::new(),
            };
            let notes = elsewhere
                .iter()
                .map(|note| format!(" {}", reference(*note)));
            let benchmark = row.benchmark.clone() + &notes.collect::<String>();
            let mut cells = vec![row.category.clone(), benchmark];
            sheet.ink(line, 0, Ink::Dim);
            for group in groups {
                let first = cells.len();
                let cell = row.cells.get(group.index).and_then(Option::as_ref);
                let texts = texts(cell, group, &elsewhere);
                cells.extend([texts.value, texts.marks]);
                cells.extend(group.spread.then_some(texts.spread));
                cells.extend(texts.external.into_iter().filter(|_| group.external));
                cells.extend(group.comparison.map(|_| texts.comparison));
                for column in (first..cells.len()).filter(|_| texts.bad) {
                    sheet.ink(line, column, Ink::Red);
                }
            }
            sheet.extend([cells]);
        }
        sheet
    }

    /// Returns the rows that some platform has or should have, and the names of the others if they are many.
    fn absent(&self) -> (Table, Vec<&str>) {
        let can = |row: &&TableRow| {
            let mut cells = row.cells.iter().flatten();
            cells.any(|cell| cell.value.is_some() || cell.status != Status::Skip)
        };
        let (there, absent): (Vec<_>, Vec<_>) = self.rows.iter().partition(can);
        if absent.len() < ABSENT || there.is_empty() {
            return (self.clone(), Vec::new());
        }
        let absent = absent.into_iter().map(|row| &*row.benchmark).collect();
        (self.with_rows(there.into_iter().cloned().collect()), absent)
    }
}

/// Returns a platform's columns: value, its marks, spread, the host's times (3), comparison.
fn columns(group: &Group) -> Vec<Column> {
    let unit = group.column.unit.as_deref().unwrap_or("");
    // Marks follow their value directly.
    let marks = Column::text("").after(1).joined();
    let external = EXTERNAL_HEADS.iter().filter(|_| group.external);
    let more = group.spread.then_some("spread").into_iter();
    let more = more.chain(external.copied()).chain(group.comparison);
    let more = more.map(Column::number);
    [Column::number(unit), marks]
        .into_iter()
        .chain(more)
        .collect()
}

/// Returns the texts below a table: its legend, the rows that it leaves out, its notes.
fn below(table: &Table, absent: &[&str], groups: &[Group]) -> Vec<String> {
    let mut below = legend(table, groups);
    if !absent.is_empty() {
        below.push(format!(
            "Not on these platforms: {} (why: worldswitch benchmarks --on PLATFORM).",
            absent.join(", ")
        ));
    }
    let notes = (0..).zip(&table.notes);
    below.extend(notes.map(|(index, note)| format!("{} {note}", reference(index))));
    below
}
