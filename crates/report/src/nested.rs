//! Nested virtualization as the paper's Tables 1, 6 and 7 have it (Lim et al., NEVE, SOSP 2017): of each
//! microbenchmark its cost in a nested VM, how often that is the cost in a VM that is not nested, and the
//! traps that it takes; beside each what the paper printed for the like.

use crate::number;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use ws_analysis::{Summary, unlike};
use crate::reference::{Reference, SuiteRow};
use ws_results::{ResultFile, Row};
use crate::text::{markdown, pad_left, pad_right, terminal};

/// The schema of the JSON.
pub const NESTED_SCHEMA: &str = "worldswitch-nested/2";

const PAPER: &str = "neve-2017";
const SUITE: &str = "neve2017";
/// Those with costs, the first that has a column wins; and the one with traps.
const COSTS: [&str; 2] = ["6", "1"];
const TRAPS: &str = "7";

/// The world switch of the paper's guest hypervisor: only that stands beside the paper's numbers.
const PAPERS_POLICY: &str = "kvm-4.10";
/// The world switch of neve as host hypervisor, whatever its guest hypervisor's is.
const HOST_POLICY: &str = "lean";

/// Ends an interrupt that it sent to itself.
const EOI: &str = "irq-completion";
/// What a VM leaves for in that row beside its end: to send the interrupt, and in split mode the host's half
/// of its hypervisor to call the other.
const SENDING: [&str; 2] = ["write_ICC_SGI1R_EL1", "hvc"];

/// All that there is to show. Strings are as they came: a renderer escapes them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nested {
    /// [`NESTED_SCHEMA`].
    pub schema: &'static str,
    /// In the paper's order.
    pub benchmarks: Vec<NestedBenchmark>,
}

/// A microbenchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NestedBenchmark {
    /// As the paper calls it.
    pub row: String,
    /// As we do.
    pub benchmark: String,
    /// One for each result, in their order.
    pub lines: Vec<NestedLine>,
    /// Columns of the paper that stand beside none of ours.
    pub others: Vec<Published>,
}

/// A microbenchmark on a platform.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NestedLine {
    pub platform: String,
    /// The cost of one operation; absent where there is none, and `why` says why.
    pub value: Option<f64>,
    pub unit: Option<String>,
    /// On `insns`: whether all boots gave the same samples.
    pub exact: Option<bool>,
    /// For a nested VM: against a VM directly on its host hypervisor, as the paper's slowdown is.
    pub over_l0: Option<Slowdown>,
    /// For a nested VM: against a VM directly on a hypervisor with its guest hypervisor's world switch.
    pub over_l1: Option<Slowdown>,
    /// Traps to the host hypervisor of one operation, where it counted them.
    pub traps: Option<f64>,
    /// The same by cause; those of the guest hypervisor begin with `el2_`.
    pub causes: BTreeMap<String, f64>,
    /// What the paper printed for the like.
    pub published: Option<Published>,
    /// Why there is no value.
    pub why: Option<String>,
}

/// The cost in a nested VM against that in a VM that is not nested.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slowdown {
    /// The platform of the other VM.
    pub vm: String,
    /// The nested VM's cost over that VM's; absent where one of them has none, or a cost of zero.
    pub ratio: Option<f64>,
}

/// What the paper printed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Published {
    /// `NEVE Nested VM VHE`.
    pub column: String,
    pub cycles: Option<f64>,
    pub slowdown: Option<f64>,
    pub traps: Option<f64>,
}

/// A platform's name, as far as it says what kind of machine it is.
struct Machine<'a> {
    base: &'a str,
    variant: Option<&'a str>,
    options: Vec<&'a str>,
}

impl<'a> Machine<'a> {
    fn of(platform: &'a str) -> Self {
        let mut parts = platform.split('+');
        let name = parts.next().unwrap_or_default();
        let (base, variant) = match name.split_once('@') {
            Some((base, variant)) => (base, Some(variant)),
            None => (name, None),
        };
        Self {
            base,
            variant,
            options: parts.collect(),
        }
    }

    fn has(&self, option: &str) -> bool {
        self.options.contains(&option)
    }

    fn is_nested(&self) -> bool {
        matches!(self.base, "lab:neve-nested" | "lab:kvm-nested")
    }

    /// Whether it is a VM that this nested one is set beside, if the hypervisors are alike.
    fn is_vm_of(&self, nested: &Machine) -> bool {
        let base = match nested.base {
            "lab:neve-nested" => "lab:neve",
            "lab:kvm-nested" => "lab:kvm-vhe",
            _ => return false,
        };
        // The paper's VM runs on a hypervisor without VHE, and so does the host hypervisor here.
        self.base == base && !self.has("vhe=1")
    }

    /// The paper's column. FEAT_NV2 is in none of its tables, and nor is a third level.
    fn column(&self) -> Option<String> {
        let is_papers = self.has(&format!("policy={PAPERS_POLICY}"));
        let depth = self
            .options
            .iter()
            .any(|option| option.starts_with("depth="));
        let vhe = if self.has("vhe=1") { " VHE" } else { "" };
        match (self.base, self.variant) {
            ("lab:kvm-vhe" | "lab:kvm-nvhe", _) => Some("ARMv8.3 VM".into()),
            ("lab:neve", _) if is_papers && vhe.is_empty() => Some("ARMv8.3 VM".into()),
            ("lab:neve-nested", Some("nv" | "pv")) if is_papers && !depth => {
                Some(format!("ARMv8.3 Nested VM{vhe}"))
            }
            ("lab:neve-nested", Some("neve")) if is_papers && !depth => {
                Some(format!("NEVE Nested VM{vhe}"))
            }
            _ => None,
        }
    }
}

impl Nested {
    /// Of these results, in their order.
    pub fn of(results: &[ResultFile], reference: &Reference) -> Self {
        let rows = reference.suite(SUITE);
        let benchmarks = rows.iter().map(|row| benchmark(row, results, reference));
        Self {
            schema: NESTED_SCHEMA,
            benchmarks: benchmarks.collect(),
        }
    }

    /// Whether any of these results is of a nested VM.
    pub fn concerns(results: &[ResultFile]) -> bool {
        let is_nested = |result: &ResultFile| Machine::of(&result.platform).is_nested();
        results.iter().any(is_nested)
    }

    /// As JSON. Ends in a newline.
    ///
    /// # Errors
    /// Only what a fault of this program would be.
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
    // As Table 1 has them: VMs before nested ones.
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

fn cost(result: &ResultFile, benchmark: &str) -> Option<Summary> {
    Summary::cost(result.row(benchmark)?, &result.perturbed())
}

fn line(
    row: &SuiteRow,
    result: &ResultFile,
    results: &[ResultFile],
    reference: &Reference,
) -> NestedLine {
    let machine = Machine::of(&result.platform);
    let here = cost(result, &row.benchmark);
    let over = |policy: Option<&serde_json::Value>| {
        let vm = results
            .iter()
            .filter(|_| machine.is_nested())
            .filter(|other| Machine::of(&other.platform).is_vm_of(&machine))
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
    // Linux has no policy: both levels are the same kernel.
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
        published: machine
            .column()
            .map(|column| published(row, &column, reference)),
        why: here.is_none().then(reason),
        causes,
    }
}

/// The world switch of the hypervisor that runs the guest; only neve has several.
fn policy(result: &ResultFile) -> Option<&serde_json::Value> {
    result.identity.subject.get("hypervisor_policy")
}

/// The same hypervisor, world switch aside, on the same CPU.
fn is_alike(result: &ResultFile, other: &ResultFile) -> bool {
    let (ours, theirs) = (&result.identity, &other.identity);
    let same = |key: &str| ours.subject.get(key) == theirs.subject.get(key);
    // Of one CPU; properties of the emulated one that are not the guest's business may differ.
    let allow = ["emulator_cpu".to_owned()];
    same("kernel") && unlike(&ours.conditions, &theirs.conditions, &allow).is_empty()
}

/// Of the first boot in which neve counted: traps of one operation by cause.
fn causes(row: &Row) -> BTreeMap<String, f64> {
    let counted = row.host.iter().find(|view| view.kvm.is_none());
    let Some((view, operations)) = counted.and_then(|view| Some((view, view.operations?))) else {
        return BTreeMap::new();
    };
    let returns = view.returns.iter();
    returns
        .map(|(cause, &count)| (cause.clone(), count as f64 / operations as f64))
        .collect()
}

/// All of them; of the row that ends an interrupt only what the end itself could have taken.
fn traps(benchmark: &str, causes: &BTreeMap<String, f64>) -> Option<f64> {
    if causes.is_empty() {
        return None;
    }
    let of_end = |cause: &str| !cause.starts_with("el2_") && !SENDING.contains(&cause);
    let counted = causes
        .iter()
        .filter(|(cause, _)| benchmark != EOI || of_end(cause));
    Some(counted.fold(0.0, |sum, (_, count)| sum + count))
}

// ---- Renderers ----------------------------------------------------------------------------------

/// Of the columns: ours, then the paper's.
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

/// The first column of the paper's.
pub(crate) const PUBLISHED: usize = 5;

/// What stands under a table.
pub(crate) const LEGEND: [&str; 5] = [
    "insns: executed instructions for one operation (the mode). Of the IPI, on two vCPUs that take turns on one clock, a path length and no latency.",
    "over L0's: over a VM directly on the host hypervisor, as the paper's slowdown is. Neve's world switch as host is lean, whatever its guest hypervisor's is; the paper's host and guest hypervisor were the same KVM.",
    "over L1's: over a VM directly on a hypervisor with the guest hypervisor's world switch (without VHE): how much longer that switch becomes one level up.",
    "traps: to the host hypervisor, as it counted them. Of the EOI those of the end itself; the row sends the interrupt too.",
    "published: Lim et al., NEVE, SOSP 2017, Tables 1, 6 and 7; beside the world switch that the paper's hypervisor had. Cycles are neither instructions nor time of ours.",
];

fn dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".into())
}

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

    /// Why there is no value, of each line that has none.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let lines = self.lines.iter();
        let reason = |line: &NestedLine| Some(format!("{}: {}", line.platform, line.why.as_ref()?));
        lines.filter_map(reason).collect()
    }

    pub(crate) fn head(&self) -> String {
        format!("{} ({})", self.row, self.benchmark)
    }
}

impl Nested {
    /// Aligned text. Ends in a newline.
    pub fn to_terminal(&self) -> String {
        let mut out = String::new();
        for benchmark in &self.benchmarks {
            out += &format!("{}\n", terminal(&benchmark.head()));
            let mut lines = vec![HEADS.map(str::to_owned)];
            let cells = benchmark.cells();
            lines.extend(
                cells
                    .iter()
                    .map(|line| line.each_ref().map(|cell| terminal(cell).into_owned())),
            );
            let widths: [usize; HEADS.len()] = std::array::from_fn(|column| {
                let widths = lines.iter().map(|line| crate::text::width(&line[column]));
                widths.max().unwrap_or(0)
            });
            for line in lines {
                let cells = line.iter().zip(widths).enumerate();
                let padded = cells.map(|(column, (text, width))| match column {
                    0 | PUBLISHED => pad_right(text, width),
                    _ => pad_left(text, width),
                });
                let text = padded.collect::<Vec<_>>().join("  ");
                out += &format!("  {}\n", text.trim_end());
            }
            for reason in benchmark.reasons() {
                out += &format!("  {}\n", terminal(&reason));
            }
            out.push('\n');
        }
        for text in LEGEND {
            out += &format!("{text}\n");
        }
        out
    }

    /// A Markdown table for each microbenchmark. Ends in a newline.
    pub fn to_markdown(&self) -> String {
        let mut out = String::new();
        for benchmark in &self.benchmarks {
            out += &format!("### {}\n\n", markdown(&benchmark.head()));
            out += &format!("| {} |\n", HEADS.join(" | "));
            out += "|---|---:|---:|---:|---:|---|---:|---:|---:|\n";
            for line in benchmark.cells() {
                let cells = line.each_ref().map(|cell| markdown(cell));
                out += &format!("| {} |\n", cells.join(" | "));
            }
            out.push('\n');
            for reason in benchmark.reasons() {
                out += &format!("- {}\n", markdown(&reason));
            }
            out.push('\n');
        }
        for text in LEGEND {
            out += &format!("- {}\n", markdown(text));
        }
        out
    }
}
