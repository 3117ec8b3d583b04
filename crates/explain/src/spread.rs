//! The functions that execute the work of a workload, natively and with a VM, and those that do more with a VM.

use crate::components;
use crate::counts::{Counts, Exits, LEVELS, Reason, Way, Window};
use crate::modules;
use crate::place::{Kind, is_kvm};
use crate::symbols::Symbols;
use crate::trace::Insn;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use ws_text::number::{grouped, signed};
use ws_text::{Set, Sheet};

/// Percentage by which sum and ticks may differ. The clock is also charged for the rest of blocks that an exception
/// left.
const DIFFER_PERCENT: u64 = 1;
/// Functions with a line of their own.
const SHOWN: usize = 10;
/// Bit of an address that is 0 in a process's code, in the lower half.
const KERNEL_BIT: u32 = 63;

/// Reasons why counts can't be explained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpreadError {
    /// No window is the measured one.
    #[error(
        "no recorded run of {row} has about the {ticks} instructions that were measured; the recorded runs have {recorded}"
    )]
    NoWindow {
        /// The row's name.
        row: String,
        /// Measured ticks, without idle time.
        ticks: u64,
        /// Instructions of each recorded window.
        recorded: String,
    },
    /// The machine's own kernel is in several places, or a VM's kernel is in its place.
    #[error(
        "the kernel at {0:#x} is not where its other code of this level is, so the VM's code can't be told apart"
    )]
    Levels(u64),
}

/// A function, or code without a name that is shown together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// Name of the function, or of the code that is shown together.
    pub name: String,
    /// The kernel's module that has the function, or Xen.
    pub module: Option<String>,
    /// Kind of software.
    pub kind: Kind,
}

/// Names of parts that are no function.
const PROGRAMS: &str = "all programs";
const UNNAMED: &str = "code without a name";
const UNNAMED_MODULES: &str = "modules of the VM's kernel";
/// The module of Xen's functions.
const XEN: &str = "Xen";
/// Beginning of the names of KVM's functions at EL2 without VHE.
const AT_EL2: &str = "__kvm_nvhe_";

impl Part {
    /// Returns the part's name, with its module.
    pub(crate) fn label(&self) -> String {
        match &self.module {
            Some(module) => format!("{} [{module}]", self.name),
            None => self.name.clone(),
        }
    }

    /// Whether the part is all modules of a VM's kernel, whose functions have no names here.
    pub fn is_unnamed_module(&self) -> bool {
        self.module.is_none() && self.name == UNNAMED_MODULES
    }
}

/// Executed instructions by function and level. A negative number: the function executed more in the shorter run, which is
/// taken off.
pub type Parts = BTreeMap<Part, [i64; LEVELS]>;

/// Functions of the software that a machine and its VM execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Software {
    /// Functions of the machine's Linux. With Xen it is dom0's, and the VM's kernel has the same core.
    pub linux: Symbols,
    pub xen: Option<Symbols>,
}

/// A measured run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// Executed instructions by function and level.
    pub parts: Parts,
    /// Ticks of the clock, without idle time.
    pub ticks: u64,
    /// Ticks in which all CPUs halted; none if they are not known.
    pub halted: Option<u64>,
    /// Exits by the VM's level and their reason, on ARM.
    pub exits: BTreeMap<(usize, Reason), u64>,
    /// How often each way between two points was taken, and the ticks of all times together.
    pub ways: BTreeMap<(u64, u64), [u64; 2]>,
}

/// A measured run of one row: a workload, or requests.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Name of the row.
    pub row: &'a str,
    /// Ticks of the clock, without idle time.
    pub ticks: u64,
    /// Whether a shorter run, which came just before, was taken off.
    pub has_shorter: bool,
    /// Whether idle time is in the ticks even so, as on machines of several CPUs.
    pub has_idle: bool,
}

impl Spread {
    /// Finds the measured run of a row among the recorded windows, and counts its functions.
    ///
    /// # Errors
    /// No window has about the measured instructions, or levels can't be told apart.
    pub fn of(counts: &Counts, software: &Software, run: &Run<'_>) -> Result<Self, SpreadError> {
        let own = check_levels(counts, &software.linux)?;
        let software = &settled(counts, software);
        let first = usize::from(run.has_shorter);
        // Of a window, less the shorter run before it.
        let less = |at: usize, of: &dyn Fn(usize) -> u64| {
            let shorter = run.has_shorter.then(|| of(at - 1));
            of(at).saturating_sub(shorter.unwrap_or(0))
        };
        let halted_of = |at: usize| counts.windows[at].halted_ns;
        let ticks = |at: usize| {
            let halted = less(at, &|at| halted_of(at).unwrap_or(0));
            run.ticks
                .saturating_sub(if run.has_idle { halted } else { 0 })
        };
        let sum = |at: usize| less(at, &|at| counts.sum(at));
        let mut windows = first..counts.windows.len();
        let Some(at) = windows.find(|at| is_about(sum(*at), ticks(*at))) else {
            let sums = (0..counts.windows.len()).map(|at| counts.sum(at).to_string());
            let sums: Vec<String> = sums.collect();
            return Err(SpreadError::NoWindow {
                row: run.row.to_owned(),
                ticks: run.ticks,
                recorded: sums.join(", "),
            });
        };
        let parts = |at: usize| parts(&counts.windows[at], counts, software, own);
        let mut parts_of_run = parts(at);
        let mut exits = exits(&counts.windows[at].exits);
        let mut ways = ways(&counts.windows[at].ways);
        if run.has_shorter {
            let shorter = &counts.windows[at - 1];
            take(&mut parts_of_run, parts(at - 1));
            take_exits(&mut exits, &shorter.exits);
            take_ways(&mut ways, &shorter.ways);
        }
        Ok(Self {
            parts: parts_of_run,
            ticks: ticks(at),
            halted: halted_of(at).map(|_| less(at, &|at| halted_of(at).unwrap_or(0))),
            exits,
            ways,
        })
    }

    /// Accesses to memory that left a VM on ARM. They are counted, but the clock does not charge them.
    pub fn aborted(&self) -> u64 {
        let exits = self.exits.iter();
        exits
            .filter(|((_, reason), _)| *reason == Reason::ABORT)
            .map(|(_, times)| times)
            .sum()
    }

    /// Instructions of all parts.
    pub fn counted(&self) -> i64 {
        self.parts.values().flatten().sum()
    }
}

fn is_about(sum: u64, ticks: u64) -> bool {
    sum.abs_diff(ticks).saturating_mul(100) <= ticks.saturating_mul(DIFFER_PERCENT)
}

/// Checks that the machine's own kernel is in one place of memory, and a VM's is not there. The levels themselves come
/// from VMRUN, on ARM from ERET (plugin/counts.h). Returns the distance of a location of the machine's own kernel to its
/// address, if that kernel executed anything.
fn check_levels(counts: &Counts, linux: &Symbols) -> Result<Option<u64>, SpreadError> {
    let core = linux.core();
    let mut own = None;
    for level in 0..LEVELS {
        for count in counts.windows.iter().flat_map(|window| &window.counts) {
            let insn = &counts.insns[count.insn];
            if count.times[level] == 0 || !core.contains(&insn.address) {
                continue;
            }
            let distance = insn.location.wrapping_sub(insn.address);
            let is_own = *own.get_or_insert(distance) == distance;
            if is_own != (level == 0) {
                return Err(SpreadError::Levels(insn.address));
            }
        }
    }
    Ok(own)
}

/// Returns the software with modules where the machine's own kernel calls them. They may be elsewhere than when the
/// machine printed its symbols. A module whose place is not sure has no functions.
fn settled(counts: &Counts, software: &Software) -> Software {
    let mut own = vec![false; counts.insns.len()];
    for count in counts.windows.iter().flat_map(|window| &window.counts) {
        own[count.insn] |= count.times[0] > 0;
    }
    let insns = counts.insns.iter().zip(own);
    let insns: Vec<Insn> = insns
        .filter_map(|(insn, own)| own.then_some(*insn))
        .collect();
    let mut software = software.clone();
    modules::settle_insns(&mut software.linux, counts.architecture, &insns);
    software
}

fn ways(of: &[Way]) -> BTreeMap<(u64, u64), [u64; 2]> {
    let ways = of.iter();
    ways.map(|way| ((way.from, way.to), [way.times, way.ticks]))
        .collect()
}

fn take_ways(of: &mut BTreeMap<(u64, u64), [u64; 2]>, shorter: &[Way]) {
    for (way, [times, ticks]) in ways(shorter) {
        let longer = of.entry(way).or_default();
        *longer = [
            longer[0].saturating_sub(times),
            longer[1].saturating_sub(ticks),
        ];
    }
}

fn exits(of: &[Exits]) -> BTreeMap<(usize, Reason), u64> {
    let mut exits = BTreeMap::new();
    for exit in of {
        *exits.entry((exit.level, exit.reason)).or_default() += exit.times;
    }
    exits
}

fn take_exits(of: &mut BTreeMap<(usize, Reason), u64>, shorter: &[Exits]) {
    for (kind, times) in exits(shorter) {
        if let Some(exits) = of.get_mut(&kind) {
            *exits = exits.saturating_sub(times);
        }
    }
    of.retain(|_, times| *times > 0);
}

/// Takes off the parts of a shorter run.
fn take(parts: &mut Parts, shorter: Parts) {
    for (part, times) in shorter {
        let longer = parts.entry(part).or_default();
        for (longer, times) in longer.iter_mut().zip(times) {
            *longer -= times;
        }
    }
    parts.retain(|_, times| times.iter().any(|time| *time != 0));
}

fn parts(window: &Window, counts: &Counts, software: &Software, own: Option<u64>) -> Parts {
    let mut parts = Parts::new();
    for count in &window.counts {
        let insn = &counts.insns[count.insn];
        for (level, times) in count.times.into_iter().enumerate() {
            if times > 0 {
                let part = part(insn, level, software, own);
                parts.entry(part).or_default()[level] += times as i64;
            }
        }
    }
    parts
}

/// Returns the part that has an instruction.
fn part(insn: &Insn, level: usize, software: &Software, own: Option<u64>) -> Part {
    let own = own.filter(|_| level == 0);
    if let Some(part) = hypervisor(insn, level, software, own) {
        return part;
    }
    let unnamed = |name: &str, kind| Part {
        name: name.to_owned(),
        module: None,
        kind,
    };
    let linux = &software.linux;
    if insn.address >> KERNEL_BIT == 0 {
        return unnamed(PROGRAMS, Kind::User);
    }
    // A VM's kernel is the machine's, but its modules are others, or are elsewhere.
    let is_named = level == 0 || linux.core().contains(&insn.address);
    let symbol = linux.find(insn.address).filter(|_| is_named);
    let Some(symbol) = symbol.and_then(|(index, _)| linux.get(index)) else {
        return match is_named {
            true => unnamed(UNNAMED, Kind::Kernel),
            false => unnamed(UNNAMED_MODULES, Kind::Kernel),
        };
    };
    Part {
        name: symbol.name.clone(),
        module: symbol.module.clone(),
        kind: match is_kvm(symbol.module.as_deref()) {
            true => Kind::Hypervisor,
            false => Kind::Kernel,
        },
    }
}

/// Returns the part of a hypervisor with an address space of its own, in the lower half of addresses: Xen on ARM; or KVM's
/// code at EL2 without VHE, which is in the kernel's image.
fn hypervisor(insn: &Insn, level: usize, software: &Software, own: Option<u64>) -> Option<Part> {
    if level > 0 {
        return None;
    }
    let xen = software
        .xen
        .as_ref()
        .filter(|xen| xen.core().contains(&insn.address));
    let (name, module) = match xen {
        Some(xen) => (
            &xen.get(xen.find(insn.address)?.0)?.name,
            Some(XEN.to_owned()),
        ),
        None => {
            let (linux, address) = (&software.linux, insn.location.wrapping_sub(own?));
            let is_alias = address != insn.address && linux.core().contains(&address);
            let symbol = linux.find(address).filter(|_| is_alias);
            let name = &linux.get(symbol?.0)?.name;
            (name.starts_with(AT_EL2).then_some(name)?, None)
        }
    };
    Some(Part {
        name: name.clone(),
        module,
        kind: Kind::Hypervisor,
    })
}

/// A workload on two machines, of which one has a VM.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The workload's name, and the name of a unit of its work.
    pub workload: (&'a str, &'a str),
    /// Number of units of a run.
    pub units: u64,
    /// The machine without a VM: its name and its executed instructions.
    pub natively: (&'a str, &'a Spread),
    /// The machine with a VM: its name and its executed instructions.
    pub in_vm: (&'a str, &'a Spread),
    /// Whether there are other machines with a VM, so that titles name this one.
    pub is_one_of_several: bool,
}

/// All functions of a whole run of a workload, as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WorkloadExplained {
    pub workload: String,
    /// Unit of the workload's work.
    pub unit: String,
    /// Number of units of a run.
    pub units: u64,
    /// The machine without a VM.
    pub natively: Recorded,
    /// The machine with a VM.
    pub in_vm: Recorded,
    /// Sums of components, the one with the largest difference first.
    pub components: Vec<ComponentExplained>,
    /// Functions, the one with the largest difference first.
    pub functions: Vec<FunctionExplained>,
    /// Exits of VMs by reason, the most frequent first; on ARM only.
    pub exits: Vec<ExitExplained>,
}

/// Exits for one reason in a whole run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExitExplained {
    /// Name of the reason, as in results.
    pub reason: String,
    /// Exits of Xen's dom0.
    pub dom0: u64,
    /// Exits of the VM.
    pub vm: u64,
}

/// The functions that are part of one component.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComponentExplained {
    pub component: &'static str,
    /// Instructions on the machine without a VM.
    pub natively: i64,
    /// Instructions that the host executes, with a VM.
    pub host: i64,
    /// Instructions that the VM executes.
    pub vm: i64,
}

/// A recorded run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Recorded {
    pub platform: String,
    /// Instructions of all functions.
    pub counted: i64,
    /// Instructions by the clock, without idle time.
    pub by_clock: u64,
    /// Accesses to memory that left a VM on ARM: they are in `counted`, and not in `by_clock`.
    pub trapped_accesses: u64,
    /// Ticks of the clock in which all CPUs halted; null if they are not known.
    pub halted: Option<u64>,
}

/// A function, or code without a name that is counted together, with its instructions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FunctionExplained {
    pub function: String,
    /// The kernel's module that has the function, or Xen.
    pub module: Option<String>,
    pub kind: Kind,
    /// Component that the function is part of.
    pub component: &'static str,
    /// Instructions on the machine without a VM.
    pub natively: i64,
    /// Instructions that the host executes, with a VM; with Xen, those of Xen and dom0.
    pub host: i64,
    /// Instructions that the VM executes.
    pub vm: i64,
}

/// Instructions natively, and by level with the VM.
#[derive(Clone, Copy, Default)]
struct Line {
    natively: i64,
    in_vm: [i64; LEVELS],
}

impl Line {
    fn difference(&self) -> i64 {
        self.in_vm.iter().sum::<i64>() - self.natively
    }

    fn add(&mut self, other: &Self) {
        self.natively += other.natively;
        for (to, from) in self.in_vm.iter_mut().zip(other.in_vm) {
            *to += from;
        }
    }
}

impl Comparison<'_> {
    /// Returns all parts of either machine, the one with the largest difference first.
    fn lines(&self) -> Vec<(&Part, Line)> {
        let (natively, in_vm) = (&self.natively.1.parts, &self.in_vm.1.parts);
        let all: BTreeSet<&Part> = natively.keys().chain(in_vm.keys()).collect();
        let mut lines: Vec<(&Part, Line)> = all
            .into_iter()
            .map(|part| {
                let line = Line {
                    natively: natively.get(part).map_or(0, |times| times.iter().sum()),
                    in_vm: in_vm.get(part).copied().unwrap_or_default(),
                };
                (part, line)
            })
            .collect();
        lines.sort_by_key(|(_, line)| std::cmp::Reverse(line.difference()));
        lines
    }

    /// Returns the sums of all components, the one with the largest difference first.
    fn components(&self) -> Vec<(&'static str, Line)> {
        let mut sums: BTreeMap<&'static str, Line> = BTreeMap::new();
        for (part, line) in self.lines() {
            sums.entry(components::of(part)).or_default().add(&line);
        }
        let mut sums: Vec<(&'static str, Line)> = sums.into_iter().collect();
        sums.sort_by_key(|(_, line)| std::cmp::Reverse(line.difference()));
        sums
    }

    /// Returns a title, and the table by component. `exits_cost`: the prediction of the cost model for the exits of a
    /// unit. The difference that the model does not predict is its error, as a last line.
    pub fn components_table(&self, exits_cost: Option<f64>) -> (String, Sheet) {
        let title = self.title("instructions", "by component of their functions");
        let components = self.components();
        let mut all = Line::default();
        components.iter().for_each(|(_, line)| all.add(line));
        let mut table = sheet("part", "");
        table.extend(
            components
                .iter()
                .map(|(name, line)| self.cells((*name).to_owned(), "", line)),
        );
        table.extend([self.cells("all".to_owned(), "", &all)]);
        if let Some(cost) = exits_cost.map(|cost| cost.round() as i64) {
            let of = |name: &str, difference: i64| {
                let mut cells = [const { String::new() }; 6];
                cells[0] = name.to_owned();
                cells[5] = signed(difference);
                cells
            };
            let rest = self.a_unit(all.difference()) - cost;
            table.extend([
                of("minus the cost model's prediction for exits", -cost),
                of("the model's error: the difference", rest),
            ]);
        }
        (title, table)
    }

    fn title(&self, what: &str, by: &str) -> String {
        let (name, unit) = self.workload;
        match self.is_one_of_several {
            true => format!("{name} on {}: {what} a {unit}, {by}", self.in_vm.0),
            false => format!("{name}: {what} a {unit}, {by}"),
        }
    }

    fn a_unit(&self, number: i64) -> i64 {
        (number as f64 / self.units.max(1) as f64).round() as i64
    }

    /// The cells of a line.
    fn cells(&self, name: String, kind: &str, line: &Line) -> [String; 6] {
        let number = |number: i64| grouped(self.a_unit(number));
        let [host, vm] = line.in_vm;
        let difference = signed(self.a_unit(line.difference()));
        [
            name,
            kind.to_owned(),
            number(line.natively),
            number(host),
            number(vm),
            difference,
        ]
    }

    /// Returns a title, and the table by function, with the rest and the sum.
    pub fn table(&self) -> (String, Sheet) {
        let title = self.title("instructions", "by the functions that execute them");
        let lines = self.lines();
        let (shown, others) = lines.split_at(SHOWN.min(lines.len()));
        let sum = |lines: &[(&Part, Line)]| {
            let mut sum = Line::default();
            lines.iter().for_each(|(_, line)| sum.add(line));
            sum
        };
        let mut table = sheet("function", "kind");
        table.extend(
            shown
                .iter()
                .map(|(part, line)| self.cells(part.label(), &part.kind.to_string(), line)),
        );
        let rest = format!("{} others", others.len());
        table.extend([
            self.cells(rest, "", &sum(others)),
            self.cells("all".to_owned(), "", &sum(&lines)),
        ]);
        (title, table)
    }

    /// Returns all components and functions, as JSON has them.
    pub fn explained(&self) -> WorkloadExplained {
        let recorded = |(platform, spread): (&str, &Spread)| Recorded {
            platform: platform.to_owned(),
            counted: spread.counted(),
            by_clock: spread.ticks,
            trapped_accesses: spread.aborted(),
            halted: spread.halted,
        };
        let functions = self.lines().into_iter().map(|(part, line)| {
            let [host, vm] = line.in_vm;
            FunctionExplained {
                function: part.name.clone(),
                module: part.module.clone(),
                kind: part.kind,
                component: components::of(part),
                natively: line.natively,
                host,
                vm,
            }
        });
        let components = self.components().into_iter().map(|(component, line)| {
            let [host, vm] = line.in_vm;
            ComponentExplained {
                component,
                natively: line.natively,
                host,
                vm,
            }
        });
        WorkloadExplained {
            workload: self.workload.0.to_owned(),
            unit: self.workload.1.to_owned(),
            units: self.units,
            natively: recorded(self.natively),
            in_vm: recorded(self.in_vm),
            components: components.collect(),
            functions: functions.collect(),
            exits: self.exits(),
        }
    }

    /// Returns the exits by reason, those of the most exits first.
    fn exits(&self) -> Vec<ExitExplained> {
        let mut reasons: BTreeMap<String, [u64; LEVELS]> = BTreeMap::new();
        for ((level, reason), times) in &self.in_vm.1.exits {
            reasons.entry(reason.to_string()).or_default()[*level] += times;
        }
        let mut exits: Vec<ExitExplained> = reasons
            .into_iter()
            .map(|(reason, [dom0, vm])| ExitExplained { reason, dom0, vm })
            .collect();
        exits.sort_by_key(|exit| std::cmp::Reverse(exit.vm + exit.dom0));
        exits
    }

    /// Returns a title and the table of exits by reason; none if the machine has no exits that are known.
    pub fn exits_table(&self) -> Option<(String, Sheet)> {
        let exits = self.exits();
        let has_dom0 = exits.iter().any(|exit| exit.dom0 > 0);
        let title = self.title("exits", "by reason");
        let vms = if has_dom0 {
            &["VM", "dom0"][..]
        } else {
            &["VM"]
        };
        let numbers = vms.iter().map(|head| (*head, Set::Number));
        let mut table = Sheet::new([("reason", Set::Text)].into_iter().chain(numbers));
        let line = |name: &str, vm: u64, dom0: u64| {
            let a_unit = |times: u64| format!("{:.2}", times as f64 / self.units.max(1) as f64);
            let mut cells = vec![name.to_owned(), a_unit(vm)];
            cells.extend(has_dom0.then(|| a_unit(dom0)));
            cells
        };
        table.extend(
            exits
                .iter()
                .map(|exit| line(&exit.reason, exit.vm, exit.dom0)),
        );
        let sum = |of: fn(&ExitExplained) -> u64| exits.iter().map(of).sum();
        table.extend([line("all", sum(|exit| exit.vm), sum(|exit| exit.dom0))]);
        (!exits.is_empty()).then_some((title, table))
    }

    /// Compares the sums with the clock, in words.
    pub fn proof(&self) -> String {
        let mut text = String::new();
        for (name, spread) in [self.natively, self.in_vm] {
            let sum = spread.counted();
            // Writing to a String cannot fail.
            let _ = write!(
                text,
                "{name}: {} instructions counted, {} by the clock",
                grouped(sum),
                grouped(spread.ticks as i64)
            );
            if spread.aborted() > 0 {
                let aborted = grouped(spread.aborted() as i64);
                let _ = write!(
                    text,
                    "; accesses that trapped, which the clock does not charge: {aborted}"
                );
            }
            let halted = spread.halted.map(|halted| grouped(halted as i64));
            let _ = match halted {
                Some(halted) => writeln!(text, "; idle for {halted} ticks"),
                None => writeln!(text),
            };
        }
        text
    }
}

/// The table's columns; the first two are words.
fn sheet(what: &str, kind: &str) -> Sheet {
    let words = [(what, Set::Text), (kind, Set::Text)].into_iter();
    let numbers = ["natively", "host", "VM", "difference"];
    Sheet::new(words.chain(numbers.map(|head| (head, Set::Number))))
}

#[cfg(test)]
#[path = "spread_tests.rs"]
mod tests;
