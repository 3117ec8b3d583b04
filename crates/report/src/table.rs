//! The table as data: benchmarks by platforms. The renderers only format it.

use crate::baselines::{architecture, baselines};
use crate::notes::Notes;
use crate::outside::{IdleSpread, Outside};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use ws_analysis::{CompareError, Comparison, Summary, Unlike, compare, unlike};
use ws_results::{Facts, ResultFile, Row, Status, Verdict};

/// The schema of the table's JSON.
pub const SCHEMA: &str = "worldswitch-table/2";

/// The note on a column of a software KVM.
pub(crate) const SOFTWARE_KVM: &str = "a software KVM, without VMX or SVM: ring 0 is emulated, so its figures and counts say nothing about hardware";

/// Options of the table.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The platform that the others are compared with; for the default see [`baselines`].
    pub baseline: Option<String>,
    /// Conditions that may differ between compared results (`--allow FIELD`).
    pub allow: Vec<String>,
}

/// The JSON Schema of [`Table::to_json`], the content of `docs/table-schema.json`.
pub fn table_schema() -> String {
    format!("{:#}\n", schemars::schema_for!(Table).to_value())
}

/// Why no table can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The baseline is not among the results.
    #[error("no result of the baseline {baseline:?}; there are results of {}", there.join(", "))]
    NoBaseline {
        /// The requested baseline.
        baseline: String,
        /// The platforms of the results, escaped for a terminal.
        there: Vec<String>,
    },
}

/// Benchmarks by platforms. Strings are not escaped yet; the renderers do that.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Table {
    /// Always `worldswitch-table/2`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// Columns, one for each result, in the order given.
    pub columns: Vec<Column>,
    /// Rows, one for each benchmark, in the guest's order.
    pub rows: Vec<TableRow>,
    /// Texts that columns and cells refer to by index, from 0. They are shown numbered from 1.
    pub notes: Vec<String>,
}

/// A platform.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Column {
    /// Canonical name of the platform.
    pub platform: String,
    /// Start of the platform's run.
    pub created: String,
    /// The unit of all values in the column; absent if nothing was measured, or in several units.
    pub unit: Option<String>,
    /// The number of boots in the result file, perturbed ones aside.
    pub boots: usize,
    /// The column that this one is compared with, from 0; a baseline has its own number.
    pub baseline: Option<usize>,
    /// Notes on the whole column.
    pub notes: Vec<usize>,
    /// Facts of the machine.
    #[serde(skip)]
    pub facts: Facts,
    /// Architecture of the guest, as the guest named it; None of a published column.
    #[serde(skip)]
    pub architecture: Option<String>,
}

/// A benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TableRow {
    /// Name of the benchmark.
    pub benchmark: String,
    /// Category of the benchmark.
    pub category: String,
    /// Cells, one for each column; absent if that run did not select this benchmark.
    pub cells: Vec<Option<Cell>>,
}

/// A benchmark on a platform.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cell {
    /// Status of the row in the result file. A cell can have both a value and a bad status if only some boots failed.
    pub status: Status,
    /// The unit of `value`, `min`, `max` and `added`.
    pub unit: Option<String>,
    /// The cost of one operation: see `ws_analysis::Summary::value`.
    pub value: Option<f64>,
    /// The least cost in any boot.
    pub min: Option<f64>,
    /// The greatest cost in any boot.
    pub max: Option<f64>,
    /// The number of boots with samples.
    pub boots: usize,
    /// The number of samples in these boots.
    pub samples: usize,
    /// (max - min) / median of the boots' values, a fraction.
    pub spread: Option<f64>,
    /// Whether the value cannot be told from zero, on units of time.
    pub near_zero: bool,
    /// Whether the value is noise, an order of magnitude at best, on units of time.
    pub noisy: bool,
    /// Whether all boots gave the same samples, on `insns`.
    pub exact: Option<bool>,
    /// The verdict of the benchmark's check, the worst of all boots.
    pub check: Option<Verdict>,
    /// The cost as timed by the host; absent if the host did not time it.
    pub external: Option<Outside>,
    /// Value less the baseline's, on counts.
    pub added: Option<f64>,
    /// Value / the baseline's, on units of time (HyperBench's GNR).
    pub slowdown: Option<f64>,
    /// Index of the note that says why there is neither `added` nor `slowdown`, although there is a baseline.
    pub not_compared: Option<usize>,
    /// Notes on the cell.
    pub notes: Vec<usize>,
}

impl Cell {
    /// A cell without a value, with the reason in `notes`.
    pub(crate) fn without_value(status: Status, notes: Vec<usize>) -> Self {
        Self {
            status,
            unit: None,
            value: None,
            min: None,
            max: None,
            boots: 0,
            samples: 0,
            spread: None,
            near_zero: false,
            noisy: false,
            exact: None,
            check: None,
            external: None,
            added: None,
            slowdown: None,
            not_compared: None,
            notes,
        }
    }
}

/// Makes the table, with columns in the order of `results`, each compared with its own baseline (see
/// [`baselines`]).
pub fn table(results: &[ResultFile], options: &Options) -> Result<Table, TableError> {
    let named = options.baseline.as_deref();
    if let Some(name) = named.filter(|name| results.iter().all(|r| r.platform != **name)) {
        let there = results.iter().map(|r| crate::text::terminal(&r.platform));
        return Err(TableError::NoBaseline {
            baseline: name.to_owned(),
            there: there.map(Into::into).collect(),
        });
    }
    let baselines = baselines(results, named);
    let allow = &options.allow;
    let costs: Vec<Costs> = results.iter().map(Summary::costs).collect();
    let idle: Vec<Option<IdleSpread>> = results.iter().map(IdleSpread::of).collect();

    let mut notes = Notes::default();
    let columns: Vec<Column> = (results.iter().zip(&costs).zip(&baselines))
        .map(|((result, costs), baseline)| column(result, costs, *baseline, &mut notes))
        .collect();
    let mut rows = Vec::new();
    for (benchmark, category) in benchmarks(results) {
        let find = |column: usize| -> Option<Side> {
            Some(Side {
                result: &results[column],
                row: results[column].row(&benchmark)?,
                summary: costs[column].get(benchmark.as_str()),
            })
        };
        let cells = (0..results.len())
            .map(|column| {
                let here = find(column)?;
                let mut cell = cell(&here, idle[column], &mut notes);
                if let Some(baseline) = baselines[column].filter(|&baseline| baseline != column) {
                    let base = (&*results[baseline].platform, find(baseline));
                    here.compare(base, allow, &mut cell, &mut notes);
                }
                Some(cell)
            })
            .collect();
        rows.push(TableRow {
            benchmark,
            category,
            cells,
        });
    }
    Ok(Table {
        schema: SCHEMA,
        columns,
        rows,
        notes: notes.into_texts(),
    })
}

/// Summaries by benchmark.
type Costs<'a> = BTreeMap<&'a str, Summary>;

/// Makes the column of a platform, with the notes on all its cells.
fn column(
    result: &ResultFile,
    costs: &Costs,
    baseline: Option<usize>,
    notes: &mut Notes,
) -> Column {
    let mut units = costs.values().map(|summary| &summary.unit);
    let first = units.next();
    let interrupted = "interrupted: the run was stopped before its last boot";
    let texts = [
        result.interrupted.then_some(interrupted),
        result.is_software_kvm().then_some(SOFTWARE_KVM),
        result.caveat(),
    ];
    Column {
        platform: result.platform.clone(),
        created: result.created.clone(),
        unit: first
            .filter(|first| units.all(|unit| unit == *first))
            .cloned(),
        boots: result.boots.len() - result.perturbed().len(),
        baseline,
        notes: texts
            .into_iter()
            .flatten()
            .map(|text| notes.add(text.into()))
            .collect(),
        facts: result.facts().into_owned(),
        architecture: architecture(result).map(str::to_owned),
    }
}

/// All benchmarks with their categories. A benchmark that only a later result has is placed after its predecessor in
/// that result.
fn benchmarks(results: &[ResultFile]) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for result in results {
        let mut next = 0;
        for row in &result.rows {
            match all.iter().position(|(name, _)| *name == row.benchmark) {
                Some(at) => next = at + 1,
                None => {
                    all.insert(next, (row.benchmark.clone(), row.category.clone()));
                    next += 1;
                }
            }
        }
    }
    all
}

/// Makes a cell. A row that failed in some boots has a value, and the reason as a note.
fn cell(side: &Side, idle: Option<IdleSpread>, notes: &mut Notes) -> Cell {
    let Side { row, summary, .. } = side;
    let mut cell = Cell {
        check: worst_check(row),
        external: Outside::of(row, idle),
        ..Cell::without_value(row.status, Vec::new())
    };
    if let Some(summary) = summary {
        cell.unit = Some(summary.unit.clone());
        cell.value = Some(summary.value);
        cell.min = summary.boots.iter().map(|boot| boot.min).reduce(f64::min);
        cell.max = summary.boots.iter().map(|boot| boot.max).reduce(f64::max);
        cell.boots = summary.boots.len();
        cell.samples = summary.boots.iter().map(|boot| boot.samples).sum();
        cell.spread = summary.spread;
        cell.near_zero = summary.is_near_zero();
        cell.noisy = summary.is_noisy() && !cell.near_zero;
        cell.exact = summary.exact;
    }
    if row.status != Status::Ok {
        let reason = row.reason.as_deref().unwrap_or("no reason is given");
        let word = row.status.word();
        let failed = row
            .outcomes
            .iter()
            .find(|outcome| outcome.status != Status::Ok);
        cell.notes.push(notes.add(match (summary, failed) {
            (Some(_), Some(outcome)) => format!("{word} in boot {}: {reason}", outcome.boot),
            _ => format!("{word}: {reason}"),
        }));
    }
    if let Some(how) = row.host.iter().flat_map(|view| &view.strayed).next() {
        cell.notes
            .push(notes.add(format!("pinning did not hold: {how}")));
    }
    let note = cell.external.as_ref().and_then(|e| e.note(row, idle));
    cell.notes.extend(note.map(|note| notes.add(note)));
    cell.notes.extend(polling(row).map(|note| notes.add(note)));
    let several = row.conditions.get("vcpus").and_then(|vcpus| vcpus.as_u64()) > Some(1);
    if several && cell.unit.as_deref() == Some("insns") {
        cell.notes.push(
            notes.add(
                "vCPUs take turns on one instruction clock: a path length, not a latency".into(),
            ),
        );
    }
    cell
}

/// Returns the note on a row of two paths. KVM polls for a halted vCPU before it blocks, and timing decides which halts
/// the poll ends. KVM's counters of successful polls and of halts (x86, ARM) show such a row.
fn polling(row: &Row) -> Option<String> {
    let count = |name| -> u64 {
        let counts = row.host.iter().filter_map(|view| view.kvm.as_ref());
        counts.filter_map(|kvm| kvm.get(name)).sum()
    };
    let polled = count("halt_successful_poll");
    let halts = count("halt_exits") + count("wfi_exit_stat");
    (polled > 0 && polled < halts).then(|| {
        format!(
            "{polled} of {halts} halts ended in KVM's polling: two paths in one row; timing decides (kvm.halt_poll_ns)"
        )
    })
}

/// A benchmark on a platform.
struct Side<'a> {
    result: &'a ResultFile,
    row: &'a Row,
    /// Figures of the row; absent if there are none, or if the benchmark's check failed: its figures mean nothing then.
    summary: Option<&'a Summary>,
}

impl Side<'_> {
    /// Fills in the comparison with the baseline, or the reason why there is none. A cell without a value
    /// already has a reason.
    fn compare(
        &self,
        (platform, base): (&str, Option<Side>),
        allow: &[String],
        cell: &mut Cell,
        notes: &mut Notes,
    ) {
        let Some(summary) = self.summary else {
            return;
        };
        match self.comparison(summary, base, allow) {
            Ok(Comparison::Added(added)) => cell.added = Some(added),
            Ok(Comparison::Slowdown(slowdown)) => cell.slowdown = Some(slowdown),
            Err(why) => {
                let text = format!("not compared with {platform}: {why}");
                cell.not_compared = Some(notes.add(text));
            }
        }
    }

    fn comparison(
        &self,
        summary: &Summary,
        base: Option<Side>,
        allow: &[String],
    ) -> Result<Comparison, String> {
        let base = base.and_then(|base| Some((base.summary?, base)));
        let (base_summary, base) = base.ok_or("it has no value there")?;
        let compared = compare(summary, base_summary);
        // Units before conditions: `allow` never permits different units.
        if let Err(error @ CompareError::UnlikeUnits { .. }) = compared {
            return Err(error.to_string());
        }
        let (ours, theirs) = (&self.result.identity, &base.result.identity);
        let mut differ = unlike(&ours.conditions, &theirs.conditions, allow);
        differ.extend(unlike(&self.row.conditions, &base.row.conditions, allow));
        if !differ.is_empty() {
            let fields: Vec<String> = differ.iter().map(Unlike::describe).collect();
            return Err(format!("different {}", fields.join(", ")));
        }
        compared.map_err(|error| error.to_string())
    }
}

/// The worst verdict of all boots.
fn worst_check(row: &Row) -> Option<Verdict> {
    let rank = |verdict: &Verdict| match verdict {
        Verdict::Proved => 0,
        Verdict::Unproven => 1,
        Verdict::Failed => 2,
    };
    row.outcomes
        .iter()
        .filter_map(|o| o.check.as_ref())
        .map(|c| c.verdict)
        .max_by_key(rank)
}

/// The verdict as in the result file.
pub(crate) fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Proved => "proved",
        Verdict::Unproven => "unproven",
        Verdict::Failed => "failed",
    }
}
