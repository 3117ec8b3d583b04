//! Applications in nested VMs, as Figure 2 of Lim et al., NEVE, SOSP 2017. For each workload: the instructions of one
//! unit of work natively, in a VM, and in nested VMs; the exits of the nested VM to its hypervisor; and that
//! hypervisor's traps to the one below, by cause.

use crate::apps::{NestedRatio, is_timed, published};
use crate::number;
use crate::reference::Reference;
use crate::text::{Block, Set, Sheet};
use crate::unit_of_work::{Unit, cpus, dash, insns_of, two};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use ws_results::{APPLICATION, Facts, ResultFile, Role, System};

/// The schema of the JSON.
pub const NESTED_APPS_SCHEMA: &str = "worldswitch-nested-apps/1";

/// The counter of all exits, and of all traps.
const EXITS: &str = "exits";

/// The two mechanisms that are judged, of neve below a Linux.
const TRAPPING: &str = "nv";
const SAVING: &str = "nv2";

/// The least cost of a nested VM over a VM, relative to the VM's, of which the share that a mechanism takes away is
/// shown.
const COST_AT_LEAST: f64 = 0.05;

/// All data of this view. Strings are not escaped yet; the renderers do that.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NestedApps {
    /// Always `worldswitch-nested-apps/1`.
    #[schemars(extend("const" = NESTED_APPS_SCHEMA))]
    pub schema: &'static str,
    /// Workloads, in the order of their results.
    pub workloads: Vec<NestedApp>,
    /// Duration of each platform's machines.
    pub took: Vec<Took>,
}

/// A workload.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NestedApp {
    pub workload: String,
    /// Name of a unit of work, such as `transaction`.
    pub unit: Option<String>,
    /// Lines of the workload, one for each result: without a hypervisor, in a VM, then in nested VMs.
    pub lines: Vec<NestedAppLine>,
}

/// A workload on a platform.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NestedAppLine {
    pub platform: String,
    /// Instructions of one unit, of everything in the machine; absent if there are none, with the reason
    /// in `why`.
    pub insns: Option<f64>,
    /// Whether all boots but the perturbed ones gave the same samples.
    pub exact: Option<bool>,
    /// Instructions relative to the machine without a hypervisor.
    pub over_native: Option<f64>,
    /// Instructions of a nested VM relative to the VM.
    pub over_vm: Option<f64>,
    /// Exits of one unit to the hypervisor that runs the VM.
    pub exits: Option<f64>,
    /// Traps of one unit in a nested VM to the hypervisor below: L2's exits and L1's.
    pub traps: Option<f64>,
    /// Traps of one unit by cause. Linux KVM counts them in a run of their own.
    pub causes: BTreeMap<String, f64>,
    /// Share of the cost of a nested VM by FEAT_NV over a VM that FEAT_NV2 takes away. Only for neve by FEAT_NV2.
    pub taken_away: Option<f64>,
    /// Time relative to native time that Lim et al. state for the corresponding setup.
    pub published: Option<NestedRatio>,
    pub why: Option<String>,
    /// Facts of the machine.
    #[serde(skip)]
    pub facts: Facts,
}

/// Duration of a platform's machines, each from its start to its end.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Took {
    pub platform: String,
    pub seconds: f64,
}

/// Whether a result is one of this view: of instructions, of a whole Linux with one CPU, as a nested VM has.
fn is_of_view(result: &ResultFile) -> bool {
    let facts = result.facts();
    facts.system == Some(System::Linux)
        && facts.role.is_some()
        && !is_timed(result)
        && cpus(&result.platform).is_none()
}

impl NestedApps {
    /// Whether the results have no row of the view.
    pub fn is_empty(&self) -> bool {
        self.workloads.is_empty()
    }

    /// Builds the view from results of one architecture. Rows that are no workloads are left out.
    pub fn of(results: &[ResultFile], reference: &Reference) -> Self {
        let mut results: Vec<&ResultFile> = (results.iter())
            .filter(|result| is_of_view(result))
            .collect();
        let nested: Vec<_> = (results.iter().map(|result| result.facts()))
            .filter(|facts| facts.is_nested())
            .collect();
        // If there are nested VMs, only VMs that they are compared with are shown.
        results.retain(|result| {
            let facts = result.facts();
            facts.role != Some(Role::Vm)
                || nested.is_empty()
                || nested.iter().any(|nested| facts.is_vm_of(nested))
        });
        results.sort_by_key(|result| result.facts().role);
        let mut names: Vec<&str> = Vec::new();
        for row in results.iter().flat_map(|result| &result.rows) {
            if row.category == APPLICATION && !names.contains(&&*row.benchmark) {
                names.push(&row.benchmark);
            }
        }
        Self {
            schema: NESTED_APPS_SCHEMA,
            workloads: (names.iter())
                .map(|name| workload(name, &results, reference))
                .collect(),
            took: results.iter().map(|result| took(result)).collect(),
        }
    }

    /// Renders the data as JSON, with a newline at the end.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Aligned text. Ends in a newline.
    pub fn to_terminal(&self) -> String {
        self.block().to_terminal()
    }

    /// A Markdown table. Ends in a newline.
    pub fn to_markdown(&self) -> String {
        self.block().to_markdown()
    }

    fn block(&self) -> Block {
        let mut sheet = Sheet::new(COLUMNS);
        sheet.extend(self.workloads.iter().flat_map(NestedApp::cells));
        Block {
            title: None,
            sheet,
            below: self.below(),
        }
    }

    /// Reasons, the legend and the time.
    fn below(&self) -> Vec<String> {
        let lines = self.workloads.iter().flat_map(|app| {
            let reason = |line: &NestedAppLine| {
                let (workload, platform) = (&app.workload, &line.platform);
                Some(format!("{workload} on {platform}: {}", line.why.as_ref()?))
            };
            app.lines.iter().filter_map(reason)
        });
        let of_one = |took: &Took| format!("{} {}", took.platform, minutes(took.seconds));
        let each: Vec<String> = self.took.iter().map(of_one).collect();
        let all = minutes(self.took.iter().map(|took| took.seconds).sum());
        lines
            .chain(LEGEND.map(str::to_owned))
            .chain([format!(
                "Took {all} of machines' time: {}.",
                each.join(", ")
            )])
            .collect()
    }
}

fn minutes(seconds: f64) -> String {
    format!("{:.1} min", seconds / 60.0)
}

fn took(result: &ResultFile) -> Took {
    let launches = result.boots.iter().flat_map(|boot| &boot.launches);
    let ms: u64 = launches.map(|launch| launch.wall_ms).sum();
    Took {
        platform: result.platform.clone(),
        seconds: ms as f64 / 1000.0,
    }
}

fn workload(name: &str, results: &[&ResultFile], reference: &Reference) -> NestedApp {
    let rows = results.iter().filter_map(|result| result.row(name));
    let mut lines: Vec<NestedAppLine> = (results.iter())
        .map(|result| line(name, result, reference))
        .collect();
    let insns_of = |wanted: &dyn Fn(&Facts) -> bool| {
        let mut lines = lines.iter();
        lines.find(|line| wanted(&line.facts))?.insns
    };
    let native = insns_of(&|facts| facts.role == Some(Role::Native));
    let by = [TRAPPING, SAVING].map(|mechanism| insns_of(&|facts| facts.is_by(mechanism)));
    let vms: Vec<Option<f64>> = (lines.iter())
        .map(|nested| insns_of(&|facts| facts.is_vm_of(&nested.facts)))
        .collect();
    for (line, vm) in lines.iter_mut().zip(vms) {
        let over = |other: Option<f64>| {
            let other = other.filter(|other| *other > 0.0)?;
            Some(line.insns? / other)
        };
        let is_native = line.facts.role == Some(Role::Native);
        (line.over_native, line.over_vm) = (over(native).filter(|_| !is_native), over(vm));
        let [trapping, saving] = by.map(|insns| insns.filter(|_| line.facts.is_by(SAVING)));
        line.taken_away = taken_away(vm, trapping, saving);
    }
    NestedApp {
        workload: name.to_owned(),
        unit: rows.into_iter().find_map(|row| row.work.clone()),
        lines,
    }
}

/// Returns the share of trapping's cost over a VM that is saved; `None` if that cost is too small.
fn taken_away(vm: Option<f64>, trapping: Option<f64>, saving: Option<f64>) -> Option<f64> {
    let (vm, trapping, saving) = (vm?, trapping?, saving?);
    let cost = trapping - vm;
    (cost > COST_AT_LEAST * vm).then(|| (trapping - saving) / cost)
}

fn line(workload: &str, result: &ResultFile, reference: &Reference) -> NestedAppLine {
    let unit = Unit::of(result.row(workload), result);
    let facts = result.facts().into_owned();
    let published = published::nested_beside(workload, &facts, reference);
    NestedAppLine {
        platform: result.platform.clone(),
        insns: unit.insns,
        exact: unit.exact,
        over_native: None,
        over_vm: None,
        exits: unit.counts.get(EXITS).copied(),
        traps: unit.below.get(EXITS).copied(),
        causes: unit.below_causes,
        taken_away: None,
        published,
        why: unit.why,
        facts,
    }
}

// ---- Renderers ----------------------------------------------------------------------------------

const COLUMNS: [(&str, Set); 11] = [
    ("workload", Set::Text),
    ("platform", Set::Text),
    ("insns a unit", Set::Number),
    ("native", Set::Number),
    ("VM", Set::Number),
    ("exits", Set::Number),
    ("traps", Set::Number),
    ("an exit", Set::Number),
    ("taken away", Set::Number),
    ("NEVE", Set::Number),
    ("most traps by cause", Set::Text),
];

const LEGEND: [&str; 6] = [
    "insns a unit: executed instructions of one unit of work, of everything in the machine: client, server, all kernels and hypervisors; idle time left out.",
    "native, VM: relative to the machine without a hypervisor, and to the VM. exits: of the VM to its KVM, which for a nested VM is L1's.",
    "traps: to L0, the hypervisor below L1. an exit: traps for one exit of L2. The marks at both ends of a measured run are not counted.",
    "most traps by cause: neve's begin with el2_ if they are L1's; Linux KVM counts by exception class, in a run of its own. The JSON has all.",
    "taken away: share of the added cost of a nested VM by FEAT_NV that FEAT_NV2 takes away, (nv - nv2) / (nv - VM). Empty if the added cost is below 5 % of the VM's cost.",
    "NEVE: time in a nested VM / native time, from section 7.2 of Lim et al., NEVE, SOSP 2017 (m400; on x86 c220). On ARM, L1 was a changed Linux 4.10, with VHE where the paper says so. >: more than, <: less than.",
];

/// Limit of causes of traps in the table.
const CAUSES: usize = 4;

impl NestedApp {
    fn cells(&self) -> impl Iterator<Item = Vec<String>> {
        self.lines.iter().enumerate().map(move |(index, line)| {
            let name = match (&self.unit, index) {
                (_, 1..) => String::new(),
                (Some(unit), 0) => format!("{} ({unit})", self.workload),
                (None, 0) => self.workload.clone(),
            };
            let an_exit = line.traps.zip(line.exits.filter(|exits| *exits > 0.0));
            vec![
                name,
                line.platform.clone(),
                insns_of(line.insns, line.exact),
                dash(line.over_native.map(two)),
                dash(line.over_vm.map(two)),
                dash(line.exits.map(two)),
                dash(line.traps.map(two)),
                dash(an_exit.map(|(traps, exits)| format!("{:.1}", traps / exits))),
                dash(line.taken_away.map(number::percent)),
                dash(line.published.as_ref().map(stated)),
                line.most_causes(),
            ]
        })
    }
}

/// Writes the paper's ratio: `1.14`, `11`, `>40`.
fn stated(ratio: &NestedRatio) -> String {
    let sign = match &*ratio.printed {
        printed if printed.starts_with("more than") => ">",
        printed if printed.starts_with("less than") => "<",
        _ => "",
    };
    match ratio.printed.ends_with('%') {
        true => two(ratio.ratio),
        false => format!("{sign}{}", number::value(ratio.ratio, "count")),
    }
}

impl NestedAppLine {
    fn most_causes(&self) -> String {
        let mut causes: Vec<(&String, f64)> = self.causes.iter().map(|(k, n)| (k, *n)).collect();
        causes.sort_by(|a, b| b.1.total_cmp(&a.1));
        let most = causes.iter().take(CAUSES);
        let most = most.filter(|(_, count)| *count >= 0.005);
        let words: Vec<String> = most.map(|(name, n)| format!("{name} {n:.2}")).collect();
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_taken_away_is_of_the_cost_over_the_vm() {
        assert_eq!(
            taken_away(Some(100.0), Some(500.0), Some(200.0)),
            Some(0.75)
        );
        assert_eq!(taken_away(Some(100.0), Some(104.0), Some(101.0)), None);
        assert_eq!(taken_away(None, Some(500.0), Some(200.0)), None);
    }
}
