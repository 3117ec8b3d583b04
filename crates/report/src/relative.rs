//! Platforms beside their baseline, in a sentence: in how many benchmarks each costs less, and in how many more. A
//! table has the sentence if the baseline is a platform with guests too, or if nothing costs more than there.

use crate::baselines::is_usual;
use crate::main_rows::NOTHING;
use crate::number;
use crate::table::{Cell, Table, TableRow};
use crate::text::terminal;
use std::cmp::Ordering;
use ws_analysis::{Thresholds, UnitKind};

/// The most platforms that one sentence compares.
const COMPARED: usize = 3;

/// The sentence, such as "lab:kvm@6.12 takes fewer instructions than lab:kvm@6.1 in all 4 benchmarks; most of all
/// hypercall, 3,032 to 2,881 (-151)". None if something costs more than on a machine without a hypervisor, or if
/// nothing has a baseline. Names are escaped for a terminal.
pub(crate) fn sentence(table: &Table) -> Option<String> {
    let columns = columns(table);
    let is_peer = columns.iter().any(|&column| table.has_peer(column));
    let costs = |row: &TableRow| {
        let mut costs = columns.iter().map(|&column| table.cost_in(row, column));
        costs.any(|cost| cost.is_some_and(|cost| cost > NOTHING))
    };
    if !is_peer && table.rows.iter().any(costs) {
        return None;
    }
    let sides: Vec<Side> = columns
        .iter()
        .map(|&column| Side::of(table, column))
        .collect();
    let first = sides.first()?;
    // A machine without figures does not show that nothing costs more.
    if !is_peer && sides.iter().all(|side| side.rows.is_empty()) {
        return None;
    }
    if let [one] = &*sides {
        let than = one.base();
        return Some(match one.rows.is_empty() {
            true => format!("N{}.", &one.nothing(Some(&than))[1..]),
            false => format!("{}{}.", one.clause(Some(&than)), one.most()),
        });
    }
    let shown = sides.iter().take(COMPARED).map(|side| side.clause(None));
    let more = match sides.len().saturating_sub(COMPARED) {
        0 => String::new(),
        1 => "; 1 more platform is below".to_owned(),
        more => format!("; {more} more platforms are below"),
    };
    let clauses: Vec<String> = shown.collect();
    Some(format!(
        "Compared with {}: {}{more}.",
        first.base(),
        clauses.join("; ")
    ))
}

/// Chooses a column of each platform that has another as its baseline: that with the most figures to compare, and of
/// these the newest.
fn columns(table: &Table) -> Vec<usize> {
    let compared = |column: &usize| {
        let baseline = table.columns[*column].baseline;
        baseline.is_some_and(|baseline| baseline != *column)
    };
    let rank = |column: &usize| {
        let created = &table.columns[*column].created;
        (Side::of(table, *column).rows.len(), created, *column)
    };
    let all: Vec<usize> = (0..table.columns.len()).filter(compared).collect();
    let is_best = |column: &usize| {
        let platform = &table.columns[*column].platform;
        let alike = all
            .iter()
            .filter(|other| table.columns[**other].platform == *platform);
        alike.max_by_key(|other| rank(other)) == Some(column)
    };
    all.iter().copied().filter(is_best).collect()
}

impl Table {
    /// Whether a column's baseline has guests too, as far as is known.
    pub(crate) fn has_peer(&self, column: usize) -> bool {
        let baseline = self.columns[column].baseline.map(|at| &self.columns[at]);
        baseline.is_some_and(|baseline| !is_usual(&baseline.platform, &baseline.facts))
    }

    /// Why no figure can be compared with the `named` baseline; none if one can.
    pub fn not_comparable(&self, named: &str) -> Option<String> {
        let sides = columns(self)
            .into_iter()
            .map(|column| Side::of(self, column));
        let mut why = format!("there is no other platform to compare with {named}");
        for side in sides {
            if !side.rows.is_empty() {
                return None;
            }
            why = side.nothing(Some(&side.base()));
        }
        Some(why)
    }
}

/// A column beside its baseline.
struct Side<'a> {
    table: &'a Table,
    column: usize,
    baseline: usize,
    /// Benchmarks that both measured, and how this column's cost compares.
    rows: Vec<(&'a TableRow, &'a Cell, Ordering)>,
    /// Benchmarks that both measured, where one has only noise.
    noisy: usize,
}

impl<'a> Side<'a> {
    fn of(table: &'a Table, column: usize) -> Self {
        let mut side = Self {
            table,
            column,
            baseline: table.columns[column].baseline.unwrap_or(column),
            rows: Vec::new(),
            noisy: 0,
        };
        for row in &table.rows {
            let Some(cell) = row.cells[column].as_ref() else {
                continue;
            };
            let base = row.cells[side.baseline].as_ref();
            let is_noise = cell.noisy || base.is_some_and(|base| base.noisy);
            match order(cell) {
                Some(_) if is_noise => side.noisy += 1,
                Some(order) => side.rows.push((row, cell, order)),
                None => {}
            }
        }
        side
    }

    fn platform(&self, column: usize) -> String {
        terminal(&self.table.columns[column].platform).into_owned()
    }

    fn base(&self) -> String {
        self.platform(self.baseline)
    }

    fn count(&self, order: Ordering) -> usize {
        self.rows.iter().filter(|(_, _, is)| *is == order).count()
    }

    /// The direction of most rows that differ; if as many are cheaper as more expensive, the latter.
    fn direction(&self) -> Ordering {
        match (self.count(Ordering::Less), self.count(Ordering::Greater)) {
            (0, 0) => Ordering::Equal,
            (less, more) if less > more => Ordering::Less,
            _ => Ordering::Greater,
        }
    }

    /// `lab:kvm@6.12 takes fewer instructions than lab:kvm@6.1 in 2 of 4 benchmarks and more in 1`.
    fn clause(&self, than: Option<&str>) -> String {
        let name = self.platform(self.column);
        let words = Words::of(self.rows.iter().map(|(_, cell, _)| *cell));
        let beside = |joint: &str| than.map_or(String::new(), |base| format!(" {joint} {base}"));
        let noise = match self.noisy {
            0 => String::new(),
            noisy => format!(", {noisy} too noisy to tell"),
        };
        let total = self.rows.len();
        let (direction, less) = (self.direction(), self.count(Ordering::Less));
        let all = match total {
            1 => "the one benchmark that both measured".to_owned(),
            2 => "both benchmarks".to_owned(),
            all => format!("all {all} benchmarks"),
        };
        let of = |count: usize| match count {
            count if count == total => all.clone(),
            count => format!("{count} of {total} benchmarks"),
        };
        match (direction, total) {
            (_, 0) => self.nothing(than),
            (Ordering::Equal, _) => {
                format!("{name} {}{} in {all}{noise}", words.same, beside("as"))
            }
            (Ordering::Less, _) => {
                let other = self.other(Ordering::Greater, words.greater.1);
                let (count, than) = (of(less), beside("than"));
                format!("{name} {}{than} in {count}{other}{noise}", words.less.0)
            }
            (Ordering::Greater, _) => {
                let other = self.other(Ordering::Less, words.less.1);
                let (count, than) = (of(self.count(direction)), beside("than"));
                format!("{name} {}{than} in {count}{other}{noise}", words.greater.0)
            }
        }
    }

    /// ` and more in 1`.
    fn other(&self, order: Ordering, word: &str) -> String {
        match self.count(order) {
            0 => String::new(),
            count => format!(" and {word} in {count}"),
        }
    }

    /// `no figure of lab:kvm can be compared with lab:kvm-vhe: different arch`, with the first reason.
    fn nothing(&self, than: Option<&str>) -> String {
        let base = than.map_or(String::new(), |base| format!(" with {base}"));
        let name = self.platform(self.column);
        let mut cells = self.table.rows.iter();
        let note = cells.find_map(|row| row.cells[self.column].as_ref()?.not_compared);
        let note = note.and_then(|note| self.table.notes.get(note));
        // The note names the baseline before the colon; this sentence has named it already.
        let why = note.map(|note| note.split_once(": ").map_or(&**note, |(_, why)| why));
        let why = match why {
            Some(why) => terminal(why),
            None if self.noisy > 0 => "all are noise".into(),
            None => "it has none".into(),
        };
        format!("no figure of {name} can be compared{base}: {why}")
    }

    /// `; most of all hypercall, 3,032 to 2,881 (-151)`: the row that moved most in the direction of most rows.
    fn most(&self) -> String {
        let direction = self.direction();
        let moved = self
            .rows
            .iter()
            .filter(|(_, _, order)| *order == direction && *order != Ordering::Equal);
        let distance = |(row, cell, _): &&(&TableRow, &Cell, Ordering)| -> f64 {
            let base = self.value(row).unwrap_or_default();
            match (cell.slowdown, cell.value) {
                (Some(ratio), _) => ratio.ln().abs(),
                // A count may be 0.
                (None, value) => ((value.unwrap_or_default() + 1.0) / (base + 1.0))
                    .ln()
                    .abs(),
            }
        };
        let most = moved.max_by(|a, b| distance(a).total_cmp(&distance(b)));
        let text = most.and_then(|(row, cell, _)| {
            let unit = cell.unit.as_deref()?;
            let show = |value: f64| number::value(value, unit);
            let by = match (cell.added, cell.slowdown) {
                (Some(added), _) => number::added(added),
                (None, ratio) => number::slowdown(ratio?),
            };
            Some(format!(
                "; most of all {}, {} to {} ({by})",
                terminal(&row.benchmark),
                show(self.value(row)?),
                show(cell.value?)
            ))
        });
        text.unwrap_or_default()
    }

    /// The baseline's figure.
    fn value(&self, row: &TableRow) -> Option<f64> {
        row.cells[self.baseline].as_ref()?.value
    }
}

/// Compares a cell's cost with the baseline's, by the least effects that count; `None` if the cell was not compared.
fn order(cell: &Cell) -> Option<Ordering> {
    let least = Thresholds::default();
    match (cell.added, cell.slowdown) {
        (Some(added), _) if added.abs() < least.min_effect_insns => Some(Ordering::Equal),
        (Some(added), _) => added.partial_cmp(&0.0),
        (None, Some(ratio)) if ratio > 1.0 + least.min_effect => Some(Ordering::Greater),
        (None, Some(ratio)) if ratio < 1.0 / (1.0 + least.min_effect) => Some(Ordering::Less),
        (None, Some(_)) => Some(Ordering::Equal),
        (None, None) => None,
    }
}

/// The words for a unit: for a lower cost and for a higher cost, each with its short form, and for the same cost.
struct Words {
    less: (&'static str, &'static str),
    greater: (&'static str, &'static str),
    same: &'static str,
}

impl Words {
    fn of<'a>(cells: impl Iterator<Item = &'a Cell>) -> Self {
        let mut units: Vec<&str> = cells.filter_map(|cell| cell.unit.as_deref()).collect();
        units.sort_unstable();
        units.dedup();
        let is_count = |unit: &&str| UnitKind::of(unit) == UnitKind::Count;
        match &*units {
            ["insns"] => Self {
                less: ("takes fewer instructions", "fewer"),
                greater: ("takes more instructions", "more"),
                same: "takes as many instructions",
            },
            units if !units.iter().any(is_count) => Self {
                less: ("is more than 5 % faster", "faster"),
                greater: ("is more than 5 % slower", "slower"),
                same: "is as fast within 5 %",
            },
            _ => Self {
                less: ("costs less", "less"),
                greater: ("costs more", "more"),
                same: "costs as much",
            },
        }
    }
}
