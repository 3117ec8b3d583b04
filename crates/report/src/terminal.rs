//! Renders the table as aligned text.

use crate::grid::{Detail, EXTERNAL_HEADS, Group, groups, legend, reference, shared, texts};
use crate::table::{Table, TableRow};
use crate::text::{Style, pad_left, pad_right, terminal, width, wrapped};
use ws_results::Status;

/// The gap between two columns of one platform, and that between platforms.
const GAP: &str = "  ";
const GROUP_GAP: &str = "    ";

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
        let mut lines = Lines::default();
        let margin = Margin::of(&there);
        let groups = groups(&there, detail);
        let blocks = groups.iter().map(|group| Block::new(&there, group, detail));
        let blocks: Vec<Block> = blocks.collect();
        let room = columns.saturating_sub(margin.width());
        for (index, blocks) in side_by_side(&blocks, room).into_iter().enumerate() {
            if index > 0 {
                lines.0.push('\n');
            }
            lines.blocks(&margin, blocks, &style);
        }
        let below = below(&there, &absent, legend(&there, &groups));
        if !below.is_empty() {
            lines.0.push('\n');
        }
        for line in below.iter().flat_map(|text| wrapped(text, columns, "  ")) {
            lines.0.push_str(&style.dim(&line));
            lines.0.push('\n');
        }
        lines.0
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

/// Returns the texts below a table: its legend, the rows that it leaves out, its notes.
fn below(table: &Table, absent: &[&str], legend: Vec<String>) -> Vec<String> {
    let mut legend: Vec<String> = legend.iter().map(|line| terminal(line).into()).collect();
    if !absent.is_empty() {
        let names: Vec<_> = absent.iter().map(|name| terminal(name)).collect();
        legend.push(format!(
            "Not on these platforms: {} (why: worldswitch benchmarks --on PLATFORM).",
            names.join(", ")
        ));
    }
    let notes = (0..).zip(&table.notes);
    legend.extend(notes.map(|(index, note)| format!("{} {}", reference(index), terminal(note))));
    legend
}

/// Least number of rows that no platform can have at which a line names them, without their reasons.
const ABSENT: usize = 3;

/// Groups of blocks that fit side by side into `room`, at least one block each.
fn side_by_side(blocks: &[Block], room: usize) -> Vec<&[Block]> {
    let mut groups = Vec::new();
    let mut rest = blocks;
    while !rest.is_empty() {
        let mut used = 0;
        let fit = rest.iter().take_while(|block| {
            used += GROUP_GAP.len() + block.width();
            used <= room
        });
        let (group, others) = rest.split_at(fit.count().max(1));
        groups.push(group);
        rest = others;
    }
    groups
}

/// Texts at the left of the blocks: each row's category, if the row before has another, and benchmark.
struct Margin {
    rows: Vec<[String; 2]>,
    widths: [usize; 2],
}

impl Margin {
    fn of(table: &Table) -> Self {
        let rows = table.rows.iter().scan(None, |last, row| {
            let repeated = last.replace(&row.category) == Some(&row.category);
            let category = if repeated {
                String::new()
            } else {
                terminal(&row.category).into()
            };
            let notes = shared(row).into_iter();
            let notes = notes.map(|note| format!(" {}", reference(note)));
            let benchmark = terminal(&row.benchmark).into_owned() + &notes.collect::<String>();
            Some([category, benchmark])
        });
        let rows: Vec<[String; 2]> = rows.collect();
        let widths = [0, 1].map(|i| rows.iter().map(|row| width(&row[i])).max().unwrap_or(0));
        Self { rows, widths }
    }

    /// The gap after the category; none where no row has one.
    fn gap(&self) -> &'static str {
        if self.widths[0] == 0 { "" } else { GAP }
    }

    fn width(&self) -> usize {
        self.widths[0] + self.gap().len() + self.widths[1]
    }
}

/// Collects lines without trailing blanks.
#[derive(Default)]
struct Lines(String);

impl Lines {
    /// The heads and rows of blocks that stand side by side.
    fn blocks(&mut self, margin: &Margin, blocks: &[Block], style: &Style) {
        let empty = " ".repeat(margin.width());
        let heads = blocks
            .iter()
            .map(|block| style.bold(&pad_left(&block.platform, block.width())));
        self.push(&empty, heads);
        let heads = blocks
            .iter()
            .map(|block| style.dim(&block.line(&block.heads)));
        self.push(&empty, heads);
        for (index, [category, benchmark]) in margin.rows.iter().enumerate() {
            let category = style.dim(&pad_right(category, margin.widths[0]));
            let benchmark = pad_right(benchmark, margin.widths[1]);
            let start = format!("{category}{}{benchmark}", margin.gap());
            let cells = blocks.iter().map(|block| {
                let text = block.line(&block.rows[index].0);
                if block.rows[index].1 {
                    style.red(&text)
                } else {
                    text
                }
            });
            self.push(&start, cells);
        }
    }

    fn push(&mut self, start: &str, cells: impl Iterator<Item = String>) {
        let mut line = start.to_owned();
        for cell in cells {
            line.push_str(GROUP_GAP);
            line.push_str(&cell);
        }
        self.0.push_str(line.trim_end());
        self.0.push('\n');
    }
}

/// The most columns that a platform can have.
const COLUMNS: usize = 7;

/// A platform's columns as text: value, marks, spread, the host's times (3), comparison.
struct Block {
    platform: String,
    heads: [String; COLUMNS],
    /// The texts of each row, and whether it failed.
    rows: Vec<([String; COLUMNS], bool)>,
    widths: [usize; COLUMNS],
    /// Whether each column is shown.
    drawn: [bool; COLUMNS],
}

/// A cell's texts by column, and whether the row failed.
fn cells(row: &TableRow, group: &Group) -> ([String; COLUMNS], bool) {
    let cell = row.cells.get(group.index).and_then(Option::as_ref);
    let texts = texts(cell, group, &shared(row));
    let value = terminal(&texts.value).into_owned();
    let [external, differs, noise] = texts.external;
    let (marks, spread, comparison) = (texts.marks, texts.spread, texts.comparison);
    let cells = [value, marks, spread, external, differs, noise, comparison];
    (cells, texts.bad)
}

impl Block {
    fn new(table: &Table, group: &Group, detail: Detail) -> Self {
        let mut platform = terminal(&group.column.platform).into_owned();
        if group.baseline && detail == Detail::Full {
            platform.push_str(" (baseline)");
        }
        for &note in &group.notes {
            platform.push_str(&format!(" {}", reference(note)));
        }
        let heads = [
            terminal(group.column.unit.as_deref().unwrap_or("")).into_owned(),
            String::new(),
            "spread".into(),
            EXTERNAL_HEADS[0].into(),
            EXTERNAL_HEADS[1].into(),
            EXTERNAL_HEADS[2].into(),
            group.comparison.unwrap_or("").into(),
        ];
        let rows: Vec<_> = table.rows.iter().map(|row| cells(row, group)).collect();
        let drawn = [
            true,
            rows.iter().any(|(t, _)| !t[1].is_empty()),
            group.spread,
            group.external,
            group.external,
            group.external,
            group.comparison.is_some(),
        ];
        let mut widths = [0; COLUMNS];
        for texts in rows.iter().map(|(texts, _)| texts).chain([&heads]) {
            for (widest, text) in widths.iter_mut().zip(texts) {
                *widest = width(text).max(*widest);
            }
        }
        let mut block = Block {
            platform,
            heads,
            rows,
            widths,
            drawn,
        };
        // A name wider than its columns widens the first column.
        block.widths[0] += width(&block.platform).saturating_sub(block.width());
        block
    }

    /// The width of the whole block.
    fn width(&self) -> usize {
        width(&self.line(&Default::default()))
    }

    fn line(&self, texts: &[String; COLUMNS]) -> String {
        let mut line = pad_left(&texts[0], self.widths[0]);
        for i in (1..COLUMNS).filter(|&i| self.drawn[i]) {
            // Marks belong to the value and follow it directly.
            let (gap, pad): (_, fn(&str, usize) -> String) = if i == 1 {
                (" ", pad_right)
            } else {
                (GAP, pad_left)
            };
            line.push_str(gap);
            line.push_str(&pad(&texts[i], self.widths[i]));
        }
        line
    }
}
