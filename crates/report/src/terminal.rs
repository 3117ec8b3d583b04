//! Renders the table as aligned text.

use crate::grid::{EXTERNAL_HEADS, Group, groups, legend, reference, texts};
use crate::style::Style;
use crate::table::{Cell, Table};
use crate::text::{pad_left, pad_right, terminal, width};

/// The gap between two columns of one platform, and that between platforms.
const GAP: &str = "  ";
const GROUP_GAP: &str = "    ";

impl Table {
    /// Aligned text for a terminal, with its legend and notes. Ends in a newline.
    pub fn to_terminal(&self, colour: bool) -> String {
        let style = Style::new(colour);
        let groups = groups(self);
        let mut lines = Lines::default();

        // Text first, then widths, then colour, which must not count as width.
        let first: Vec<[String; 2]> = self
            .rows
            .iter()
            .scan(None, |last, row| {
                let repeated = last.replace(&row.category) == Some(&row.category);
                let category = if repeated {
                    String::new()
                } else {
                    terminal(&row.category).into()
                };
                Some([category, terminal(&row.benchmark).into()])
            })
            .collect();
        let blocks: Vec<Block> = groups
            .iter()
            .enumerate()
            .map(|(index, group)| Block::new(self, index, group))
            .collect();
        let widths = [0, 1].map(|i| first.iter().map(|row| width(&row[i])).max().unwrap_or(0));
        let margin = " ".repeat(widths[0] + GAP.len() + widths[1]);

        let heads = blocks
            .iter()
            .map(|block| style.bold(&pad_left(&block.platform, block.width())));
        lines.push(&margin, heads);
        let heads = blocks
            .iter()
            .map(|block| style.dim(&block.line(&block.heads)));
        lines.push(&margin, heads);
        for (index, [category, benchmark]) in first.iter().enumerate() {
            let category = style.dim(&pad_right(category, widths[0]));
            let start = format!("{category}{GAP}{}", pad_right(benchmark, widths[1]));
            let cells = blocks.iter().map(|block| {
                let text = block.line(&block.rows[index].0);
                if block.rows[index].1 {
                    style.red(&text)
                } else {
                    text
                }
            });
            lines.push(&start, cells);
        }
        let mut below: Vec<String> = legend(self).into_iter().map(str::to_owned).collect();
        below.extend(
            (0..)
                .zip(&self.notes)
                .map(|(i, n)| format!("{} {}", reference(i), terminal(n))),
        );
        if !below.is_empty() {
            lines.0.push('\n');
        }
        for line in below {
            lines.0.push_str(&style.dim(&line));
            lines.0.push('\n');
        }
        lines.0
    }
}

/// Collects lines without trailing blanks.
#[derive(Default)]
struct Lines(String);

impl Lines {
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
    /// Which columns are shown.
    drawn: [bool; COLUMNS],
}

/// A cell's texts by column, and whether the row failed.
fn cells(cell: Option<&Cell>, group: &Group) -> ([String; COLUMNS], bool) {
    let texts = texts(cell, group);
    let value = terminal(&texts.value).into_owned();
    let [external, differs, noise] = texts.external;
    let (marks, spread, comparison) = (texts.marks, texts.spread, texts.comparison);
    let cells = [value, marks, spread, external, differs, noise, comparison];
    (cells, texts.bad)
}

impl Block {
    fn new(table: &Table, index: usize, group: &Group) -> Self {
        let mut platform = terminal(&group.column.platform).into_owned();
        if group.baseline {
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
        let rows: Vec<_> = table
            .rows
            .iter()
            .map(|row| cells(row.cells.get(index).and_then(Option::as_ref), group))
            .collect();
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
