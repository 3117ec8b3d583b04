//! What terminal and Markdown tables have in common: which columns a platform takes, and the text
//! of each cell. Platform names, units and benchmarks are not yet escaped here.

use crate::number;
use crate::table::{Cell, Column, Table, status_word};
use ws_results::{Status, Verdict};

/// The heads of what the host timed.
pub(crate) const EXTERNAL_HEADS: [&str; 3] = ["external", "differs", "noise"];

/// What stands in place of a cost that cannot be told from zero.
pub(crate) const NEAR_ZERO: &str = "~0: it cannot be told from zero: zero or less in some boot, or within three standard errors of it in half of them.";
/// What the mark of noise means.
pub(crate) const NOISY: &str = "!: noise, an order of magnitude at best: samples or boots scatter by more than a third, or nearly all samples lie at more than three times the least. Look at: worldswitch doctor.";

/// How a platform's columns are drawn.
pub(crate) struct Group<'a> {
    /// The platform.
    pub column: &'a Column,
    /// Whether others are compared with it.
    pub baseline: bool,
    /// Whether spreads are shown: some cell has one.
    pub spread: bool,
    /// Whether the host's times are shown: some cell has one, or should.
    pub external: bool,
    /// The head of the comparison, if one is shown.
    pub comparison: Option<&'static str>,
    /// Notes at the head: the column's, and the reason why nothing is compared when all cells
    /// share it.
    pub notes: Vec<usize>,
}

/// What one cell shows.
#[derive(Default)]
pub(crate) struct Texts {
    /// The value, or the status instead.
    pub value: String,
    /// `?` and notes.
    pub marks: String,
    pub spread: String,
    /// The cost as the host timed it, how far that lies from the value, and how far it may.
    pub external: [String; 3],
    pub comparison: String,
    /// Whether something went wrong, for colour.
    pub bad: bool,
}

/// One for each column.
pub(crate) fn groups(table: &Table) -> Vec<Group<'_>> {
    let mut groups = Vec::new();
    for (index, column) in table.columns.iter().enumerate() {
        let cells = || {
            table
                .rows
                .iter()
                .filter_map(|row| row.cells.get(index)?.as_ref())
        };
        let added = cells().any(|cell| cell.added.is_some());
        let slowdown = cells().any(|cell| cell.slowdown.is_some());
        let mut reasons: Vec<usize> = cells().filter_map(|cell| cell.not_compared).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let mut notes = column.notes.clone();
        let comparison = match (added, slowdown, reasons.as_slice()) {
            (true, false, _) => Some("added"),
            (false, true, _) => Some("slowdown"),
            (true, true, _) => Some("compared"),
            (false, false, []) => None,
            (false, false, [reason]) => {
                notes.push(*reason);
                None
            }
            (false, false, _) => Some("compared"),
        };
        groups.push(Group {
            column,
            baseline: is_baseline(table, index),
            spread: cells().any(|cell| cell.boots > 1),
            external: cells().any(|cell| cell.external.is_some()),
            comparison,
            notes,
        });
    }
    groups
}

/// Whether another column is compared with this one.
pub(crate) fn is_baseline(table: &Table, index: usize) -> bool {
    let columns = table.columns.iter().enumerate();
    let mut others = columns.filter(|(other, _)| *other != index);
    others.any(|(_, column)| column.baseline == Some(index))
}

/// The texts of a cell; all empty where there is none.
pub(crate) fn texts(cell: Option<&Cell>, group: &Group) -> Texts {
    let Some(cell) = cell else {
        return Texts::default();
    };
    let mut texts = Texts {
        bad: !matches!(cell.status, Status::Ok | Status::Skip),
        ..Texts::default()
    };
    let mut marks = Vec::new();
    match (cell.value, &cell.unit) {
        (Some(value), Some(unit)) => {
            texts.value = match cell.near_zero {
                true => "~0".into(),
                false => number::value(value, unit),
            };
            if group.column.unit.is_none() {
                texts.value = format!("{} {unit}", texts.value);
            }
            if cell.noisy {
                marks.push("!".to_owned());
            }
            if cell.check == Some(Verdict::Unproven) {
                marks.push("?".to_owned());
            }
        }
        _ => texts.value = status_word(cell.status).into(),
    }
    marks.extend(cell.notes.iter().map(|&note| reference(note)));
    texts.marks = marks.join(" ");
    texts.spread = match (cell.exact, cell.spread) {
        (Some(true), _) => "exact".into(),
        (Some(false), Some(0.0)) => "inexact".into(),
        (_, Some(spread)) if !cell.near_zero => number::percent(spread),
        _ if cell.boots > 1 => "-".into(),
        _ => String::new(),
    };
    if let (Some(outside), Some(unit)) = (&cell.external, &cell.unit) {
        let dash = || "-".to_owned();
        texts.external = [
            match outside.value {
                Some(_) if outside.near_zero => "~0".into(),
                Some(value) => number::value(value, unit),
                None => dash(),
            },
            outside.difference.map_or_else(dash, number::difference),
            outside.noise.map_or_else(dash, number::percent),
        ];
    }
    texts.comparison = match (cell.added, cell.slowdown, cell.not_compared) {
        (Some(added), _, _) => number::added(added),
        (_, Some(slowdown), _) => number::slowdown(slowdown),
        (_, _, Some(note)) => reference(note),
        _ => String::new(),
    };
    texts
}

/// How a note is referred to; numbers shown begin at 1.
pub(crate) fn reference(note: usize) -> String {
    format!("[{}]", note + 1)
}

/// What the signs in this table mean: only of those that occur.
pub(crate) fn legend(table: &Table) -> Vec<&'static str> {
    let cells = || table.rows.iter().flat_map(|row| row.cells.iter().flatten());
    let unit = |wanted: &str| cells().any(|cell| cell.unit.as_deref() == Some(wanted));
    let measured = |test: fn(&Cell) -> bool| cells().any(|cell| cell.value.is_some() && test(cell));
    let mut legend = Vec::new();
    if unit("insns") {
        legend.push(
            "insns: executed instructions for one operation (the mode). \
             This is path length, not time: a trap itself costs nothing.",
        );
    }
    if unit("tsc_ticks") || unit("cntvct_ticks") {
        legend.push(
            "ticks: of the guest's clock for one operation (the median). A tick is not a cycle.",
        );
    }
    if unit("cycles") {
        legend.push(
            "cycles: as the paper printed them, of its machine. They are neither instructions nor ticks.",
        );
    }
    if measured(|cell| cell.boots > 1) {
        legend.push("spread: greatest less least of the boots' values, over their median.");
    }
    if measured(|cell| cell.external.is_some()) {
        legend.extend([
            "external: the same batches timed by the host, which the guest tells of their ends \
             by bytes on its serial line.",
            "differs: external less the guest's own of the same samples, over the latter.",
            "noise: what hearing those bytes moves a single sample by: Idle's spread from outside \
             over the cost of one of this row's batches. Medians are steadier.",
        ]);
    }
    if measured(|cell| cell.near_zero || cell.external.as_ref().is_some_and(|e| e.near_zero)) {
        legend.push(NEAR_ZERO);
    }
    if measured(|cell| cell.exact == Some(true)) {
        legend.push("exact: every boot gave the same samples, to the digit.");
    }
    if measured(|cell| cell.exact == Some(false) && cell.spread == Some(0.0)) {
        legend.push("inexact: the boots' samples differ, their modes do not.");
    }
    if measured(|cell| cell.added.is_some()) {
        legend.push("added: instructions more than on the baseline of its run and architecture.");
    }
    if measured(|cell| cell.slowdown.is_some()) {
        legend.push("slowdown: time over the baseline's time.");
    }
    if measured(|cell| cell.noisy) {
        legend.push(NOISY);
    }
    if measured(|cell| cell.check == Some(Verdict::Unproven)) {
        legend.push("?: unproven, only the host could see that the event took place.");
    }
    legend
}
