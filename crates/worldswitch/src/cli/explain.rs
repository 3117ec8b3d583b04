//! Options of `worldswitch explain`.

use super::help::{MACHINES, OUTPUT};
use super::{Form, PartsArgs, file};
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;
use ws_machines::name::PlatformName;

const EXAMPLES: &str = "\
A lab machine is booted with a plugin in its emulator that records every instruction between the
benchmark's start and stop; it counts the same with and without it. The sum of all functions is what
the benchmark measures, to the instruction.

Examples:
  worldswitch explain hypercall --on lab:kvm
  worldswitch explain in --on lab:kvm-vhe --registers
  worldswitch explain hypercall --on lab:kvm --flamegraph hypercall.svg
  worldswitch explain hypercall --on lab:kvm -o run && worldswitch report run
                                   a page with the flame graph, the call tree and the results
  worldswitch explain hypercall --on lab:kvm-nvhe --prices dall-2015
                                   what its accesses to registers took in cycles in 2015
  worldswitch explain hypercall --on lab:kvm --without nrips
                                   as if the emulated processor had what it lacks
  worldswitch lab fetch --debug kvm && worldswitch explain hypercall --on lab:kvm --lines
                                   with inlined functions and lines of the source
  worldswitch explain --diff lab:kvm@6.1 lab:kvm@6.12 --bench hypercall
                                   functions that one kernel has more of than the other
  worldswitch benchmarks      their names";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ExplainArgs {
    /// The benchmark.
    #[arg(value_name = "BENCH", required_unless_present = "bench")]
    pub name: Option<String>,
    /// The same, as other commands name it.
    #[arg(long, value_name = "BENCH", conflicts_with = "name")]
    pub bench: Option<String>,
    /// The lab machine.
    #[arg(long, value_name = "PLATFORM", required_unless_present = "diff")]
    pub on: Option<PlatformName>,
    /// Two lab machines: what the second one does more and less than the first.
    #[arg(long, value_names = ["A", "B"], num_args = 2, conflicts_with_all = ["on", "folded", "flamegraph"])]
    pub diff: Vec<PlatformName>,
    /// Print JSON instead of the text.
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
    /// Print stacks with their own instructions, one a line, as programs that draw flame graphs read them.
    #[arg(long, conflicts_with = "json", help_heading = OUTPUT)]
    pub folded: bool,
    /// Also draw a flame graph. FILE may be -, standard output, which then has nothing else.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, value_parser = file(Form::Svg))]
    pub flamegraph: Option<PathBuf>,
    /// Also keep the explanation in this folder, where `worldswitch report` finds it.
    #[arg(short, long, value_name = "DIR", value_parser = super::folder(), help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    /// Replace an explanation that is already in the folder.
    #[arg(long, requires = "output", help_heading = OUTPUT)]
    pub force: bool,
    /// Leave out calls of fewer instructions, and say how many.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub least: u64,
    /// Every register that is read or written, by its name.
    #[arg(long)]
    pub registers: bool,
    /// Leave out of tree, phases, registers and graphs what only the emulator adds, by its name. Totals with and without
    /// it are shown, and the sum is checked over everything. May be repeated.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(ws_explain::adds::names()))]
    pub without: Vec<String>,
    /// Lines of the source, by function. Needs debug information.
    #[arg(long, conflicts_with_all = ["diff", "json", "folded"])]
    pub lines: bool,
    /// Debug information of what runs: a vmlinux, a module (kvm.ko), a xen-syms, or a folder with them, such as
    /// /usr/lib/debug. Adds inlined functions. May be repeated. What lab fetch --debug fetched is found without.
    #[arg(long, value_name = "FILE|DIR")]
    pub debug: Vec<PathBuf>,
    /// Reckon accesses to registers, and traps, in cycles: dall-2015, or a CSV file with a machine's prices
    /// (docs/reference.md). May be repeated: a later file's prices replace those of an earlier one.
    #[arg(long, value_name = "NAME|FILE", conflicts_with_all = ["diff", "folded"])]
    pub prices: Vec<PathBuf>,
    #[command(flatten, next_help_heading = MACHINES)]
    pub parts: PartsArgs,
}

impl ExplainArgs {
    /// The benchmark's name.
    pub fn benchmark(&self) -> &str {
        let name = self.name.as_deref().or(self.bench.as_deref());
        name.unwrap_or_default()
    }
}
