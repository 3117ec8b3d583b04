//! Options of `worldswitch explain`.

use super::help::{MACHINES, OUTPUT};
use super::{Form, PartsArgs, file};
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;
use ws_machines::name::PlatformName;

const EXAMPLES: &str = "\
The lab machine boots with an emulator plugin that records every instruction between the start and
the stop of the benchmark. The plugin does not change the counts. The sum over all functions is
exactly the count that the benchmark measures.

Examples:
  worldswitch explain hypercall --on lab:kvm
  worldswitch explain in --on lab:kvm-vhe --registers
  worldswitch explain hypercall --on lab:kvm --flamegraph hypercall.svg
  worldswitch explain hypercall --on lab:kvm -o run && worldswitch report run
                                   a page with the flame graph, the call tree and the results
  worldswitch explain hypercall --on lab:kvm-nvhe --prices dall-2015
                                   its register accesses in cycles of 2015
  worldswitch explain hypercall --on lab:kvm --without nrips
                                   as if the emulated processor had NRIPS
  worldswitch lab fetch --debug kvm && worldswitch explain hypercall --on lab:kvm --lines
                                   with inlined functions and source lines
  worldswitch explain --diff lab:kvm@6.1 lab:kvm@6.12 --bench hypercall
                                   functions that one kernel executes more than the other
  worldswitch benchmarks           the names of all benchmarks";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ExplainArgs {
    /// The benchmark to explain.
    #[arg(value_name = "BENCH", required_unless_present = "bench")]
    pub name: Option<String>,
    /// The benchmark to explain, in the form that other commands take.
    #[arg(long, value_name = "BENCH", conflicts_with = "name")]
    pub bench: Option<String>,
    /// The lab machine to record.
    #[arg(long, value_name = "PLATFORM", required_unless_present = "diff")]
    pub on: Option<PlatformName>,
    /// Compare two lab machines: list functions that B executes more and less than A.
    #[arg(long, value_names = ["A", "B"], num_args = 2, conflicts_with_all = ["on", "folded", "flamegraph"])]
    pub diff: Vec<PlatformName>,
    /// Print JSON instead of the text.
    #[arg(long, help_heading = OUTPUT)]
    pub json: bool,
    /// Print one stack a line with its instructions, the input format of flame graph programs.
    #[arg(long, conflicts_with = "json", help_heading = OUTPUT)]
    pub folded: bool,
    /// Draw a flame graph into FILE. With -, print the graph instead of the text.
    #[arg(long, value_name = "FILE", help_heading = OUTPUT, value_parser = file(Form::Svg))]
    pub flamegraph: Option<PathBuf>,
    /// Keep the explanation in this folder, where worldswitch report finds it.
    #[arg(short, long, value_name = "DIR", value_parser = super::folder(), help_heading = OUTPUT)]
    pub output: Option<PathBuf>,
    /// Replace an explanation that is already in the folder.
    #[arg(long, requires = "output", help_heading = OUTPUT)]
    pub force: bool,
    /// Leave out calls of fewer than N instructions, and print their number.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub least: u64,
    /// List every register that is read or written, by name.
    #[arg(long)]
    pub registers: bool,
    /// Leave instructions that only the emulator adds out of the tree, phases, registers and graphs. NAME is the
    /// cause. Totals are shown with and without these instructions. The sum is still checked over all instructions.
    /// May be repeated.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(ws_explain::adds::names()))]
    pub without: Vec<String>,
    /// List source lines, by function. Needs debug information.
    #[arg(long, conflicts_with_all = ["diff", "json", "folded"])]
    pub lines: bool,
    /// Debug information of the software: a vmlinux, a module (kvm.ko), a xen-syms, or a folder of these, such as
    /// /usr/lib/debug. Adds inlined functions. Packages from lab fetch --debug are found without this option. May be
    /// repeated.
    #[arg(long, value_name = "FILE|DIR")]
    pub debug: Vec<PathBuf>,
    /// Estimate cycles from register accesses and traps. NAME: published costs (dall-2015). FILE: a CSV file with your
    /// machine's costs (docs/reference.md). May be repeated: a later file's costs replace earlier ones.
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
