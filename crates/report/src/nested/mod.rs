//! Nested virtualization in the layout of Tables 1, 6 and 7 of Lim et al., NEVE, SOSP 2017. For each microbenchmark:
//! the cost in a nested VM, its ratio to the cost in a VM that is not nested, the number of traps, and the published
//! numbers.

mod apps;
mod finding;

use crate::number;
use crate::reference::{Reference, SuiteRow};
use crate::text::{Set, Sheet, below_in_markdown, below_on_terminal, markdown, terminal};
use crate::unit_of_work::dash;

pub use apps::{NESTED_APPS_SCHEMA, NestedApp, NestedAppLine, NestedApps, Took};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use ws_analysis::{Summary, unlike};
use ws_results::{APPLICATION, Facts, HostView, ResultFile, Row, System};

/// The schema of the JSON.
pub const NESTED_SCHEMA: &str = "worldswitch-nested/2";

const PAPER: &str = "neve-2017";
const SUITE: &str = "neve2017";
/// The paper's tables with costs, the preferred one first, and its table with traps.
const COSTS: [&str; 2] = ["6", "1"];
const TRAPS: &str = "7";

/// The world switch of neve as host hypervisor, independent of its guest hypervisor's.
const HOST_POLICY: &str = "lean";

/// The row that ends an interrupt that it sent to itself.
const EOI: &str = "irq-completion";

/// The cause of traps that a KVM below the guest's own counted without their causes.
const BELOW: &str = "exits";
/// The traps of that row that are not due to the end of interrupt. They send the interrupt, or are in split mode the
/// call from the hypervisor's host half to its other half.
const SENDING: [&str; 2] = ["write_ICC_SGI1R_EL1", "hvc"];

/// All data of this view. Strings are not escaped yet; the renderers do that.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Nested {
    /// Always `worldswitch-nested/2`.
    #[schemars(extend("const" = NESTED_SCHEMA))]
    pub schema: &'static str,
    /// Microbenchmarks, in the paper's order.
    pub benchmarks: Vec<NestedBenchmark>,
}

/// A microbenchmark.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NestedBenchmark {
    /// The paper's name.
    pub row: String,
    /// Our benchmark.
    pub benchmark: String,
    /// Lines of the microbenchmark, one for each result, in their order.
    pub lines: Vec<NestedLine>,
    /// Columns of the paper without a counterpart of ours.
    pub others: Vec<Published>,
}

/// A microbenchmark on a platform.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NestedLine {
    pub platform: String,
    /// The cost of one operation; absent if there is none, with the reason in `why`.
    pub value: Option<f64>,
    pub unit: Option<String>,
    /// Whether all boots gave the same samples, on `insns`.
    pub exact: Option<bool>,
    /// Cost of a nested VM relative to a VM directly on its host hypervisor, like the paper's slowdown.
    pub over_l0: Option<Slowdown>,
    /// Cost of a nested VM relative to a VM directly on a hypervisor with its guest hypervisor's world switch.
    pub over_l1: Option<Slowdown>,
    /// Traps to the host hypervisor per operation, if it counted them.
    pub traps: Option<f64>,
    /// Traps per operation by cause. Causes of the guest hypervisor begin with `el2_`.
    pub causes: BTreeMap<String, f64>,
    /// The published numbers of the corresponding setup.
    pub published: Option<Published>,
    /// Why there is no value.
    pub why: Option<String>,
    /// Facts of the machine.
    #[serde(skip)]
    pub facts: Facts,
}

/// The cost in a nested VM relative to that in a VM that is not nested.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Slowdown {
    /// The platform of the other VM.
    pub vm: String,
    /// The nested VM's cost / that VM's; absent if one of them has none, or a cost of zero.
    pub ratio: Option<f64>,
}

/// The published numbers of one setup.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Published {
    /// The paper's column, such as `NEVE Nested VM VHE`.
    pub column: String,
    pub cycles: Option<f64>,
    pub slowdown: Option<f64>,
    pub traps: Option<f64>,
}

impl Nested {
    /// Whether the results have no row of the view.
    pub fn is_empty(&self) -> bool {
        let mut lines = self.benchmarks.iter().flat_map(|row| &row.lines);
        lines.all(|line| line.value.is_none())
    }

    /// Builds the view from results, in their order.
    pub fn of(results: &[ResultFile], reference: &Reference) -> Self {
        let rows = reference.suite(SUITE);
        let benchmarks = rows.iter().map(|row| benchmark(row, results, reference));
        Self {
            schema: NESTED_SCHEMA,
            benchmarks: benchmarks.collect(),
        }
    }

    /// Whether any of these results has microbenchmarks of a nested VM.
    pub fn concerns(results: &[ResultFile]) -> bool {
        let is_micro = |row: &Row| row.category != APPLICATION;
        let is_nested = |result: &ResultFile| result.facts().is_nested();
        let mut results = results.iter();
        results.any(|result| is_nested(result) && result.rows.iter().any(is_micro))
    }

    /// Renders the data as JSON, with a newline at the end.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

fn benchmark(row: &SuiteRow, results: &[ResultFile], reference: &Reference) -> NestedBenchmark {
    let lines: Vec<NestedLine> = results
        .iter()
        .map(|result| line(row, result, results, reference))
        .collect();
    let beside = |column: &str| {
        let published = lines.iter().filter_map(|line| line.published.as_ref());
        published.into_iter().any(|p| p.column == column)
    };
    let mut others: Vec<Published> = Vec::new();
    // In the order of Table 1: VMs before nested ones.
    for value in COSTS
        .iter()
        .rev()
        .flat_map(|table| reference.of_table(PAPER, table))
    {
        let known = others.iter().any(|other| other.column == value.column);
        if value.row == row.row && !known && !beside(&value.column) {
            others.push(published(row, &value.column, reference));
        }
    }
    NestedBenchmark {
        row: row.row.clone(),
        benchmark: row.benchmark.clone(),
        lines,
        others,
    }
}

fn published(row: &SuiteRow, column: &str, reference: &Reference) -> Published {
    let value = |table: &str, unit: &str| reference.value([PAPER, table, &row.row, column, unit]);
    let cost = |unit| COSTS.iter().find_map(|table| value(table, unit));
    Published {
        column: column.to_owned(),
        cycles: cost("cycles"),
        slowdown: cost("ratio"),
        traps: value(TRAPS, "traps"),
    }
}

/// The paper's column beside a machine. Its tables of costs are of microbenchmarks.
fn column<'a>(facts: &Facts, reference: &'a Reference) -> Option<&'a str> {
    let of_table = |table| {
        let mut published = facts.published_in(PAPER, table);
        published.find_map(|of| reference.column(PAPER, table, of))
    };
    COSTS.iter().find_map(|table| of_table(table))
}

fn cost(result: &ResultFile, benchmark: &str) -> Option<Summary> {
    Summary::cost(result.row(benchmark)?, &result.perturbed())
}

fn line(
    row: &SuiteRow,
    result: &ResultFile,
    results: &[ResultFile],
    reference: &Reference,
) -> NestedLine {
    let facts = result.facts();
    let here = cost(result, &row.benchmark);
    let over = |policy: Option<&serde_json::Value>| {
        let vm = results
            .iter()
            .filter(|_| facts.system == Some(System::Guest))
            .filter(|other| other.facts().is_vm_of(&facts))
            .find(|other| self::policy(other) == policy && is_alike(result, other))?;
        let of_vm = cost(vm, &row.benchmark);
        let ratio = here.as_ref().zip(of_vm).and_then(|(here, vm)| {
            let alike = here.unit == vm.unit && vm.value > 0.0;
            alike.then(|| here.value / vm.value)
        });
        let vm = vm.platform.clone();
        Some(Slowdown { vm, ratio })
    };
    let of_l1 = policy(result);
    // Linux has no policy; both levels are the same kernel.
    let of_l0 = of_l1.map(|_| json!(HOST_POLICY));
    let (over_l0, over_l1) = (over(of_l0.as_ref()), over(of_l1));
    let causes = result
        .row(&row.benchmark)
        .map_or_else(BTreeMap::new, causes);
    let reason = || {
        let found = result.row(&row.benchmark);
        let text = found.and_then(|row| row.reason.as_deref());
        text.unwrap_or("not measured there").to_owned()
    };
    NestedLine {
        platform: result.platform.clone(),
        value: here.as_ref().map(|here| here.value),
        unit: here.as_ref().map(|here| here.unit.clone()),
        exact: here.as_ref().and_then(|here| here.exact),
        over_l0,
        over_l1,
        traps: traps(&row.benchmark, &causes),
        published: column(&facts, reference).map(|column| published(row, column, reference)),
        why: here.is_none().then(reason),
        causes,
        facts: facts.into_owned(),
    }
}

/// The world switch of the hypervisor that runs the guest; only neve has several.
fn policy(result: &ResultFile) -> Option<&serde_json::Value> {
    result.identity.subject.get("hypervisor_policy")
}

/// Whether both are the same hypervisor, world switch aside, on the same CPU.
fn is_alike(result: &ResultFile, other: &ResultFile) -> bool {
    let (ours, theirs) = (&result.identity, &other.identity);
    let same = |key: &str| ours.subject.get(key) == theirs.subject.get(key);
    // The guest at the same level on the same CPU; other properties of the emulated CPU may differ.
    let allow = ["emulator_cpu".to_owned()];
    same("kernel")
        && same("exception_level")
        && unlike(&ours.conditions, &theirs.conditions, &allow).is_empty()
}

/// Traps per operation by cause, from the first boot in which neve counted them.
fn causes(row: &Row) -> BTreeMap<String, f64> {
    if let Some(traps) = row.host.iter().find_map(of_below) {
        return traps;
    }
    let counted = row.host.iter().find(|view| view.kvm.is_none());
    let Some((view, operations)) = counted.and_then(|view| Some((view, view.operations?))) else {
        return BTreeMap::new();
    };
    let returns = view.returns.iter();
    returns
        .map(|(cause, &count)| (cause.clone(), count as f64 / operations as f64))
        .collect()
}

/// Returns the traps per operation that a KVM below the guest's own counted: its exits, without those for interrupts of
/// the host itself.
fn of_below(view: &HostView) -> Option<BTreeMap<String, f64>> {
    let (below, operations) = (view.below.as_ref()?, view.operations?);
    let count = |name: &str| below.get(name).copied().unwrap_or(0);
    let traps = count("exits").saturating_sub(count("irq_exits"));
    Some(BTreeMap::from([(
        BELOW.to_owned(),
        traps as f64 / operations as f64,
    )]))
}

/// The number of traps; for [`EOI`] only those that the end of interrupt itself can cause.
fn traps(benchmark: &str, causes: &BTreeMap<String, f64>) -> Option<f64> {
    // KVM's total of exits does not tell which of them are due to the end of interrupt.
    if causes.is_empty() || benchmark == EOI && causes.contains_key(BELOW) {
        return None;
    }
    let of_end = |cause: &str| !cause.starts_with("el2_") && !SENDING.contains(&cause);
    let counted = causes
        .iter()
        .filter(|(cause, _)| benchmark != EOI || of_end(cause));
    Some(counted.fold(0.0, |sum, (_, count)| sum + count))
}

// ---- Renderers ----------------------------------------------------------------------------------

/// The heads of the columns: ours, then the paper's.
pub(crate) const HEADS: [&str; 9] = [
    "platform",
    "insns",
    "over L0's",
    "over L1's",
    "traps",
    "published",
    "cycles",
    "slowdown",
    "traps",
];

/// The first of the paper's columns.
pub(crate) const PUBLISHED: usize = 5;

/// The legend below the tables.
pub(crate) const LEGEND: [&str; 5] = [
    "insns: executed instructions for one operation (the mode). For the IPI, whose two vCPUs take turns on one clock, it is a path length, not a latency.",
    "over L0's: relative to a VM directly on the host hypervisor, like the paper's slowdown. neve's world switch as host is always lean, whatever its guest hypervisor's is; the paper's host and guest hypervisor were the same KVM.",
    "over L1's: relative to a VM directly on a hypervisor with the guest hypervisor's world switch (without VHE): how much longer that switch gets one level up.",
    "traps: to the host hypervisor, which counts them. For the EOI, only traps of the EOI itself; the row also sends the interrupt.",
    "published: Lim et al., NEVE, SOSP 2017, Tables 1, 6 and 7, next to the rows with the world switch of the paper's hypervisor. The paper's cycles cannot be compared with our instructions.",
];

fn of_slowdown(slowdown: Option<&Slowdown>) -> String {
    dash(slowdown.and_then(|s| s.ratio).map(number::slowdown))
}

fn of_published(published: Option<&Published>) -> [String; 4] {
    let Some(p) = published else {
        return Default::default();
    };
    let count = |value: Option<f64>| dash(value.map(|value| number::value(value, "count")));
    [
        p.column.clone(),
        count(p.cycles),
        dash(p.slowdown.map(number::slowdown)),
        count(p.traps),
    ]
}

impl NestedBenchmark {
    /// The cells of all lines, by [`HEADS`].
    pub(crate) fn cells(&self) -> Vec<[String; HEADS.len()]> {
        let ours = self.lines.iter().map(|line| {
            let [column, cycles, slower, traps] = of_published(line.published.as_ref());
            let inexact = if line.exact == Some(false) {
                " inexact"
            } else {
                ""
            };
            let unit = line.unit.as_deref().unwrap_or("count");
            let value = line.value.map(|value| number::value(value, unit) + inexact);
            [
                line.platform.clone(),
                dash(value),
                of_slowdown(line.over_l0.as_ref()),
                of_slowdown(line.over_l1.as_ref()),
                dash(line.traps.map(|traps| number::value(traps, "count"))),
                column,
                cycles,
                slower,
                traps,
            ]
        });
        let theirs = self.others.iter().map(|other| {
            let mut cells: [String; HEADS.len()] = Default::default();
            cells[PUBLISHED..].clone_from_slice(&of_published(Some(other)));
            cells
        });
        ours.chain(theirs).collect()
    }

    /// The reason of each line without a value.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let lines = self.lines.iter();
        let reason = |line: &NestedLine| Some(format!("{}: {}", line.platform, line.why.as_ref()?));
        lines.filter_map(reason).collect()
    }

    pub(crate) fn head(&self) -> String {
        format!("{} ({})", self.row, self.benchmark)
    }

    fn sheet(&self) -> Sheet {
        let set = |column| match [0, PUBLISHED].contains(&column) {
            true => Set::Text,
            false => Set::Number,
        };
        let columns = HEADS.iter().enumerate();
        let mut sheet = Sheet::new(columns.map(|(column, head)| (*head, set(column))));
        sheet.extend(self.cells());
        sheet
    }
}

impl Nested {
    /// Aligned text. Ends in a newline.
    pub fn to_terminal(&self) -> String {
        let mut out = String::new();
        for benchmark in &self.benchmarks {
            out += &format!("{}\n", terminal(&benchmark.head()));
            out += &benchmark.sheet().to_terminal("  ");
            for reason in benchmark.reasons() {
                out += &format!("  {}\n", terminal(&reason));
            }
            out.push('\n');
        }
        out + &below_on_terminal(LEGEND)
    }

    /// A Markdown table for each microbenchmark. Ends in a newline.
    pub fn to_markdown(&self) -> String {
        let mut out = String::new();
        for benchmark in &self.benchmarks {
            out += &format!("### {}\n\n", markdown(&benchmark.head()));
            out += &benchmark.sheet().to_markdown();
            out.push('\n');
            out += &below_in_markdown(benchmark.reasons().iter().map(String::as_str));
            out.push('\n');
        }
        out + &below_in_markdown(LEGEND)
    }
}
