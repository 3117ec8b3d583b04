//! The common part of terminal and Markdown tables: a platform's columns and the text of each cell.
//! Platform names, units and benchmarks are not yet escaped here.

use crate::number;
use crate::table::{Cell, Column, Table, TableRow};
use std::borrow::Cow;
use ws_explain::trace::Architecture;
use ws_results::{CLOCK_UNITS, Status, Verdict};

/// The heads of the external timing.
pub(crate) const EXTERNAL_HEADS: [&str; 3] = ["external", "differs", "noise"];

/// The legend of `~0`.
pub(crate) const NEAR_ZERO: &str = "~0: cannot be told from zero: zero or less in some boot, or within three standard errors of zero in half of the boots.";
/// The legend of `!`.
pub(crate) const NOISY: &str = "!: noise, an order of magnitude at best: samples or boots scatter by more than a third, or nearly all samples are above three times the minimum. Run worldswitch doctor.";

/// How much of each platform is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The value and the added cost; noise is only marked.
    Brief,
    /// Spreads and times of the host too.
    Full,
}

/// The columns of a platform that are shown.
pub(crate) struct Group<'a> {
    /// The platform, and its place among the table's columns.
    pub column: &'a Column,
    pub index: usize,
    /// Whether others are compared with it.
    pub baseline: bool,
    /// Whether spreads are shown: some cell has one, and it is not of boots that gave the same samples.
    pub spread: bool,
    /// Whether external times are shown: they were requested for some cell.
    pub external: bool,
    /// The head of the comparison, if one is shown.
    pub comparison: Option<&'static str>,
    /// Notes at the head: the column's own, and why nothing is compared if all cells share the reason.
    pub notes: Vec<usize>,
}

/// The texts of one cell.
#[derive(Default)]
pub(crate) struct Texts {
    /// The value, or else the status.
    pub value: String,
    /// `!`, `?` and notes.
    pub marks: String,
    pub spread: String,
    /// The external cost, its difference from the value, and its noise.
    pub external: [String; 3],
    pub comparison: String,
    /// Whether the row failed, for colour.
    pub bad: bool,
}

/// Returns a group for each column of the table.
pub(crate) fn groups(table: &Table, detail: Detail) -> Vec<Group<'_>> {
    let full = detail == Detail::Full;
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
            index,
            baseline: is_baseline(table, index),
            spread: full && cells().any(|cell| cell.boots > 1 && cell.exact != Some(true)),
            external: full && cells().any(|cell| cell.external.is_some()),
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

/// Returns the notes that several values of a row have. They can be shown once, beside the row's name.
pub(crate) fn shared(row: &TableRow) -> Vec<usize> {
    let cells = || {
        row.cells
            .iter()
            .flatten()
            .filter(|cell| cell.value.is_some())
    };
    let several = |note: &usize| cells().filter(|cell| cell.notes.contains(note)).count() > 1;
    let mut notes: Vec<usize> = cells()
        .flat_map(|cell| &cell.notes)
        .copied()
        .filter(several)
        .collect();
    notes.sort_unstable();
    notes.dedup();
    notes
}

/// Returns the texts of a cell; all are empty without a cell. Notes in `elsewhere` are left out if the cell has a
/// value.
pub(crate) fn texts(cell: Option<&Cell>, group: &Group, elsewhere: &[usize]) -> Texts {
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
        _ => texts.value = cell.status.word().into(),
    }
    let here = |note: &&usize| cell.value.is_none() || !elsewhere.contains(note);
    marks.extend(cell.notes.iter().filter(here).map(|&note| reference(note)));
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

/// The reference to a note; shown numbers begin at 1.
pub(crate) fn reference(note: usize) -> String {
    format!("[{}]", note + 1)
}

/// Returns the legend of the units in a table.
fn units(table: &Table) -> Vec<Cow<'static, str>> {
    let cells = || table.rows.iter().flat_map(|row| row.cells.iter().flatten());
    let unit = |wanted: &str| cells().any(|cell| cell.unit.as_deref() == Some(wanted));
    let mut legend = Vec::new();
    if unit("insns") {
        legend.push(
            "insns: executed instructions for one operation (the mode). \
             This is path length, not time: a trap itself costs nothing."
                .into(),
        );
    }
    let has = |name: &&str| {
        let mut columns = table.columns.iter();
        columns.any(|column| column.architecture.as_deref() == Some(name))
    };
    let architectures = Architecture::ALL.iter().map(|one| one.name()).filter(has);
    let architectures: Vec<&str> = architectures.collect();
    if unit("insns") && architectures.len() > 1 {
        legend.push(Cow::Owned(format!(
            "architectures: instructions of {} differ. Compare only figures of the same architecture.",
            ws_text::and(&architectures)
        )));
    }
    if CLOCK_UNITS.into_iter().any(unit) {
        legend.push(
            "ticks: of the guest's clock for one operation (the median). A tick is not a cycle."
                .into(),
        );
    }
    if unit("cycles") {
        legend.push(
            "cycles: as printed in the paper, on the paper's machine. Cycles are neither instructions nor ticks."
                .into(),
        );
    }
    legend
}

/// Returns the legend of the marks and columns that occur in a table. Names of platforms are not yet escaped.
pub(crate) fn legend(table: &Table, groups: &[Group]) -> Vec<String> {
    let cells = || table.rows.iter().flat_map(|row| row.cells.iter().flatten());
    let measured = |test: fn(&Cell) -> bool| cells().any(|cell| cell.value.is_some() && test(cell));
    let units = units(table);
    let mut legend = Vec::new();
    if groups.iter().any(|group| group.spread) {
        legend.push("spread: (max - min) / median across boots.");
    }
    if groups.iter().any(|group| group.external) {
        legend.extend([
            "external: the same batches timed by the host; the guest marks their ends by bytes on \
             its serial line.",
            "differs: (external - guest) / guest, over the same samples.",
            "noise: how far the delay of these bytes can move a single sample: Idle's external spread / the cost of one batch of this row. Medians move less.",
        ]);
    }
    if measured(|cell| cell.near_zero || cell.external.as_ref().is_some_and(|e| e.near_zero)) {
        legend.push(NEAR_ZERO);
    }
    let mixed = |group: &Group| group.spread && has_exact(table, group.index);
    if groups.iter().any(mixed) {
        legend.push("exact: every boot gave exactly the same samples.");
    }
    if measured(|cell| cell.exact == Some(false) && cell.spread == Some(0.0)) {
        legend.push("inexact: the boots' samples differ, but not their modes.");
    }
    if measured(|cell| cell.added.is_some()) {
        legend.push("added: extra instructions over the baseline of its run and architecture.");
    }
    if measured(|cell| cell.slowdown.is_some()) {
        legend.push("slowdown: time / the baseline's time.");
    }
    if measured(|cell| cell.noisy) {
        legend.push(NOISY);
    }
    if measured(|cell| cell.check == Some(Verdict::Unproven)) {
        legend.push("?: unproven, only the host could see that the event took place.");
    }
    let exact = groups.iter().filter(|group| !group.spread);
    let exact = exact.filter(|group| is_exact(table, group.index));
    let exact: Vec<&str> = exact.map(|group| &*group.column.platform).collect();
    let exact = (!exact.is_empty()).then(|| {
        let names = ws_text::and(&exact);
        format!("Exact: every boot of {names} gave exactly the same samples.")
    });
    let legend = legend.into_iter().map(Cow::Borrowed);
    let all = units.into_iter().chain(legend).map(Cow::into_owned);
    all.chain(exact).collect()
}

/// Whether all boots of a column gave the same samples, of every row that has several.
fn is_exact(table: &Table, column: usize) -> bool {
    let cells = || {
        table
            .rows
            .iter()
            .filter_map(|row| row.cells.get(column)?.as_ref())
    };
    let several = || cells().filter(|cell| cell.boots > 1 && cell.value.is_some());
    several().next().is_some() && several().all(|cell| cell.exact == Some(true))
}

/// Whether some row's boots gave the same samples.
fn has_exact(table: &Table, column: usize) -> bool {
    let mut cells = table
        .rows
        .iter()
        .filter_map(|row| row.cells.get(column)?.as_ref());
    cells.any(|cell| cell.exact == Some(true) && cell.value.is_some())
}
