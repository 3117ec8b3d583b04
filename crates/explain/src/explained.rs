//! An operation, explained.

use crate::adds::Lack;
use crate::debug::{self, LineCount, Sites};
use crate::left_out::{self, LeftOut};
pub use crate::per_function::FunctionCount;
use crate::per_function::counts;
use crate::phases::{self, Phase};
use crate::place::{Function, Kind, Machine, Places};
use crate::reckoning::Reckoning;
use crate::registers::{self, Accesses, Class, Registers};
use crate::sum::{Measured, Sum, SumError};
use crate::trace::{Architecture, Trace};
use crate::traps::{Trap, traps};
use crate::tree::Tree;
use crate::windows::{Followed, Windows, follow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Name and version of the schema of [`Explained`] as JSON.
pub const SCHEMA: &str = "worldswitch-explain/1";

/// Reasons why a trace can't be explained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// The guest's part of the trace is not as expected.
    #[error(
        "the trace has no window of a timed loop: was the guest's own file given, and did the benchmark run?"
    )]
    NoLoop,
    /// The trace has several benchmarks.
    #[error("the trace has several benchmarks ({0}): record one alone")]
    Loops(String),
    /// The guest has sent no sample.
    #[error("the guest has sent no samples, so there is nothing to compare the trace with")]
    NoSamples,
    /// The benchmark times only a part of the window.
    #[error(
        "{0} reads the clock itself, so half of its samples or more cover only part of the recording: explain can't attribute these"
    )]
    SelfTimed(String),
    /// The recorded and the measured instructions do not agree.
    #[error(transparent)]
    Sum(#[from] SumError),
}

/// Number of instructions of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseCount {
    /// The phase.
    pub phase: Phase,
    /// Number of instructions.
    pub instructions: u64,
}

/// Accesses to a register in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RegisterCount {
    /// Class of the register.
    pub class: Class,
    /// Name of the register; on x86 it may be the instruction's.
    pub register: String,
    /// The phase.
    pub phase: Phase,
    /// Number of accesses.
    #[serde(flatten)]
    pub accesses: Accesses,
}

/// A path that is not the most common one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherPath {
    /// Number of samples with this path.
    pub windows: u64,
    /// Sum of the path.
    pub sum: Sum,
    /// Reason why the path is longer.
    pub because: Option<Because>,
}

/// Reason why a path is longer than the most common one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Because {
    /// The function with the most additional instructions.
    pub function: String,
    /// Whether the function is not in the most common path.
    pub is_new: bool,
    /// Instructions of the function and its callees, if it is new; else its additional own instructions.
    pub instructions: u64,
}

/// Addition of the emulator to the most common path ([`crate::adds`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    /// Name of the emulator's lack.
    pub name: String,
    /// The cause of the addition, in words.
    pub why: String,
    /// Instructions that the emulator adds to the timed loop.
    pub instructions: u64,
    /// Instructions that the emulator adds to the control loop, which the measurement takes off.
    #[serde(default)]
    pub control: u64,
}

/// An operation, explained: the most common path of its samples, and how the others differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    /// Always `worldswitch-explain/1`.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The machine's name.
    pub platform: String,
    /// The benchmark's name.
    pub benchmark: String,
    /// `x86_64`, `aarch64`, `riscv64`.
    pub architecture: String,
    /// Levels of hypervisors.
    pub hypervisors: u8,
    /// vCPUs that the benchmark needs. They take turns. JSON leaves out 1.
    #[serde(default = "one_vcpu", skip_serializing_if = "is_one_vcpu")]
    pub vcpus: u32,
    /// Number of samples.
    pub samples: u64,
    /// Samples without a path: the benchmark reads the clock itself, and measured only a part of the recording.
    #[serde(default)]
    pub partial: u64,
    /// Number of samples with the most common path.
    pub windows: u64,
    /// Sum of the most common path.
    pub sum: Sum,
    /// Instructions of the control loop outside of the guest, which the sum takes off.
    pub control: i64,
    /// Functions of the instructions; nodes refer to them.
    pub functions: Vec<Function>,
    /// The call tree of the most common path, the guest's own instructions and the harness's in it.
    pub tree: Tree,
    /// Images and modules with debug information, so that inlined functions and lines are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub debug: Vec<String>,
    /// Lines of the source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LineCount>,
    /// Instructions by phase; empty if the phases of this hypervisor are not known.
    pub phases: Vec<PhaseCount>,
    /// Accesses to registers, by class, name and phase.
    pub registers: Vec<RegisterCount>,
    /// Instructions that access registers, by class. An instruction that stores a pair of registers is one read.
    pub accessing: BTreeMap<Class, Accesses>,
    /// Arm: returns of the host's hypervisor from traps to EL2. Each path begins and ends in the guest, so there are as
    /// many traps.
    pub returns: u64,
    /// Traps: exits of the guest and of guest hypervisors, by cause.
    pub traps: Vec<Trap>,
    /// x86: whether accesses to MSRs and fields of a VMCS by their numbers were recorded.
    #[serde(default)]
    pub has_accesses: bool,
    /// x86: whether accesses to fields of VMCBs were recorded.
    #[serde(default = "yes")]
    pub has_fields: bool,
    /// Additions of the emulator.
    pub added: Vec<Added>,
    /// Additions of the emulator that the tree, phases, registers and traps leave out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// The other paths, the most frequent first.
    pub others: Vec<OtherPath>,
    /// Estimate in cycles, if prices were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reckoning: Option<Reckoning>,
}

fn yes() -> bool {
    true
}

impl Explained {
    /// Explains the one benchmark of a trace.
    ///
    /// # Errors
    /// The trace has several benchmarks or none, or a sample's sum does not agree with its measurement.
    pub fn of(
        trace: &Trace,
        machine: &Machine,
        benchmark: &str,
        measured: &Measured,
    ) -> Result<Self, ExplainError> {
        Self::of_without(trace, machine, benchmark, measured, &[], &Sites::default())
    }

    /// Explains the one benchmark of a trace, with debug information, in a view without the emulator's additions of
    /// these names. The sum still includes them.
    pub fn of_without(
        trace: &Trace,
        machine: &Machine,
        benchmark: &str,
        measured: &Measured,
        names: &[String],
        sites: &Sites,
    ) -> Result<Self, ExplainError> {
        let mut places = Places::of(trace, machine);
        let paths = follow(trace, &mut places);
        let functions = std::mem::take(&mut places.functions);
        let mut windows = Windows::of(trace, &paths, measured)?;
        let all = windows.run.len();
        let sums = windows.whole(trace, &paths, &functions, measured)?;
        let run: Vec<u32> = windows
            .run
            .iter()
            .map(|path| paths[*path as usize].index)
            .collect();
        let (main, first) = most_common(&run, &sums).ok_or(ExplainError::NoSamples)?;
        let (path, control) = (
            &paths[main as usize],
            &paths[windows.control[first] as usize],
        );
        let view = View::of(trace, &functions, path, control, names);
        let mut explained = Self {
            schema: SCHEMA.to_owned(),
            platform: machine.name.clone(),
            benchmark: benchmark.to_owned(),
            architecture: trace.architecture.name().to_owned(),
            hypervisors: machine.hypervisors,
            vcpus: 1,
            samples: all as u64,
            partial: (all - run.len()) as u64,
            windows: run.iter().filter(|path| **path == main).count() as u64,
            sum: sums[first],
            control: control.count.attributed,
            tree: view.tree,
            debug: sites.names(),
            lines: Vec::new(),
            phases: count_phases(&view.phases),
            traps: view.traps,
            registers: view.counted.registers,
            accessing: view.counted.accessing,
            returns: view.counted.returns,
            has_accesses: trace.has_accesses,
            has_fields: trace.has_fields(),
            added: added(trace.architecture, &functions, path, control),
            left_out: view.left_out,
            functions,
            others: Vec::new(),
            reckoning: None,
        };
        explained.others = explained.find_others(&run, &sums, main, &paths, &view.lacks);
        // Expanded last: all steps above go by the functions that have symbols.
        let left_out = left_out::caused(&path.walk.tree, &explained.functions, &view.lacks);
        let insns = &trace.paths[main as usize].insns;
        (explained.tree, explained.lines) = debug::expand(
            &path.walk,
            insns,
            &left_out,
            sites,
            &mut explained.functions,
        );
        Ok(explained)
    }

    /// Counts all functions outside of the guest, the most own instructions first.
    pub fn counts(&self) -> Vec<FunctionCount> {
        let mut counts = counts(&self.tree);
        counts.retain(|count| self.functions[count.function as usize].kind != Kind::Guest);
        counts
    }

    /// Returns the cost of the operation without the named lacks of the emulator, and only those.
    pub fn without(&self, lacks: &[&str]) -> i64 {
        let named = self
            .added
            .iter()
            .filter(|added| lacks.contains(&&*added.name));
        let named = named.map(|added| added.instructions as i64 - added.control as i64);
        self.sum.measured - named.sum::<i64>()
    }

    /// Tells for each node of the tree whether it runs only because of something that the emulator lacks.
    pub fn added_nodes(&self) -> Vec<bool> {
        let architecture = Architecture::of_name(&self.architecture);
        let lacks = architecture.map(|architecture| left_out::lacks(architecture, None));
        left_out::caused(&self.tree, &self.functions, &lacks.unwrap_or_default())
    }

    fn find_others(
        &self,
        run: &[u32],
        sums: &[Sum],
        main: u32,
        paths: &[Followed],
        lacks: &[&Lack],
    ) -> Vec<OtherPath> {
        let mut others: BTreeMap<(u32, i64), OtherPath> = BTreeMap::new();
        for (path, sum) in run.iter().zip(sums).filter(|(path, _)| **path != main) {
            let other = others
                .entry((*path, sum.measured))
                .or_insert_with(|| OtherPath {
                    windows: 0,
                    sum: *sum,
                    because: {
                        let tree = &paths[*path as usize].walk.tree;
                        let left_out = left_out::caused(tree, &self.functions, lacks);
                        self.because(&left_out::without(tree, &left_out))
                    },
                });
            other.windows += 1;
        }
        let mut others: Vec<OtherPath> = others.into_values().collect();
        others.sort_by_key(|other| (std::cmp::Reverse(other.windows), other.sum.measured));
        others
    }

    /// Finds the reason why another path is longer.
    fn because(&self, tree: &Tree) -> Option<Because> {
        let usual: HashMap<u32, u64> = counts(&self.tree)
            .iter()
            .map(|count| (count.function, count.own))
            .collect();
        let counts = counts(tree);
        let because = |count: &FunctionCount, is_new, instructions| Because {
            function: self.functions[count.function as usize].name.clone(),
            is_new,
            instructions,
        };
        let new = counts
            .iter()
            .filter(|count| !usual.contains_key(&count.function));
        if let Some(largest) = new.max_by_key(|count| count.total) {
            return Some(because(largest, true, largest.total));
        }
        let more = |count: &FunctionCount| {
            count
                .own
                .checked_sub(usual[&count.function])
                .filter(|more| *more > 0)
        };
        let longer = counts
            .iter()
            .filter_map(|count| Some((more(count)?, count)));
        let (more, count) = longer.max_by_key(|(more, _)| *more)?;
        Some(because(count, false, more))
    }
}

/// The shown part of the most common path.
struct View {
    lacks: Vec<&'static Lack>,
    tree: Tree,
    phases: Vec<Option<Phase>>,
    traps: Vec<Trap>,
    counted: Counted,
    left_out: Option<LeftOut>,
}

impl View {
    /// Takes a path without the emulator's additions of these names.
    fn of(
        trace: &Trace,
        functions: &[Function],
        path: &Followed,
        control: &Followed,
        names: &[String],
    ) -> Self {
        let lacks = left_out::lacks(trace.architecture, Some(names));
        let tree = &path.walk.tree;
        let left_out = left_out::caused(tree, functions, &lacks);
        let mut phases = phases::phases(&path.walk, functions);
        for (phase, node) in phases.iter_mut().zip(&path.walk.nodes) {
            *phase = phase.filter(|_| !left_out[*node as usize]);
        }
        let recorded = &trace.paths[path.index as usize];
        let (places, walk) = (&path.places, &path.walk);
        Self {
            tree: left_out::without(tree, &left_out),
            traps: traps(trace, recorded, places, functions, walk, &left_out),
            counted: count_registers(trace, path, functions, &phases),
            left_out: (!names.is_empty()).then(|| LeftOut {
                names: BTreeSet::from_iter(names).into_iter().cloned().collect(),
                instructions: left_out::instructions(tree, &left_out),
                control: caused_in(control, functions, &lacks),
            }),
            lacks,
            phases,
        }
    }
}

fn caused_in(path: &Followed, functions: &[Function], lacks: &[&Lack]) -> u64 {
    let tree = &path.walk.tree;
    left_out::instructions(tree, &left_out::caused(tree, functions, lacks))
}

/// Lists the emulator's additions to a path and to its control loop.
fn added(
    architecture: Architecture,
    functions: &[Function],
    path: &Followed,
    control: &Followed,
) -> Vec<Added> {
    let lacks = left_out::lacks(architecture, None).into_iter();
    let added = lacks.map(|lack| Added {
        name: lack.name.to_owned(),
        why: lack.why.to_owned(),
        instructions: caused_in(path, functions, &[lack]),
        control: caused_in(control, functions, &[lack]),
    });
    added.filter(|added| added.instructions > 0).collect()
}

/// Returns the path of most windows, the shortest of several, and its first window.
fn most_common(windows: &[u32], sums: &[Sum]) -> Option<(u32, usize)> {
    let mut counts: HashMap<u32, (usize, usize)> = HashMap::new();
    for (index, path) in windows.iter().enumerate() {
        counts.entry(*path).or_insert((0, index)).0 += 1;
    }
    let best = counts.into_iter().max_by_key(|(path, (count, first))| {
        (*count, std::cmp::Reverse((sums[*first].measured, *path)))
    });
    best.map(|(path, (_, first))| (path, first))
}

fn count_phases(phases: &[Option<Phase>]) -> Vec<PhaseCount> {
    if !phases::are_known(phases) {
        return Vec::new();
    }
    let count = |phase| PhaseCount {
        phase,
        instructions: phases.iter().filter(|of| **of == Some(phase)).count() as u64,
    };
    let counts = Phase::ALL.into_iter().map(count);
    counts.filter(|count| count.instructions > 0).collect()
}

/// Number of accesses to registers, and of returns from traps.
struct Counted {
    registers: Vec<RegisterCount>,
    accessing: BTreeMap<Class, Accesses>,
    returns: u64,
}

/// Counts accesses to registers by class and phase, and the host's returns from traps. User space is left
/// out.
fn count_registers(
    trace: &Trace,
    path: &Followed,
    functions: &[Function],
    phases: &[Option<Phase>],
) -> Counted {
    let architecture = trace.architecture;
    let mut registers = Registers::new();
    let mut accessing: BTreeMap<Class, Accesses> = BTreeMap::new();
    let mut returns = 0;
    let recorded = &trace.paths[path.index as usize];
    let insns = trace.path(path.index).zip(&path.places).zip(phases);
    for (at, ((insn, place), phase)) in insns.enumerate() {
        let function = &functions[place.function as usize];
        let (Some(phase), true) = (phase, function.kind != Kind::User) else {
            continue;
        };
        let name = &function.name;
        let accessed = recorded.accessed(at);
        let added = registers::add(&mut registers, architecture, insn, accessed, name, *phase);
        if let Some((class, insns)) = added {
            *accessing.entry(class).or_default() += insns;
        }
        let is_host = function.level == 0;
        returns += u64::from(is_host && registers::returns_from_trap(architecture, insn, name));
    }
    let mut counts = Vec::new();
    for (class, names) in registers {
        for (register, phases) in names {
            counts.extend(phases.into_iter().map(|(phase, accesses)| RegisterCount {
                class,
                register: register.clone(),
                phase,
                accesses,
            }));
        }
    }
    Counted {
        registers: counts,
        accessing,
        returns,
    }
}

const fn one_vcpu() -> u32 {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_one_vcpu(vcpus: &u32) -> bool {
    *vcpus == 1
}

#[cfg(test)]
#[path = "explained_tests.rs"]
mod tests;
