//! Options of `worldswitch run apps`.

use crate::cli::{PlatformList, Usual, platforms};
use clap::Args;

const EXAMPLES: &str = "\
Each workload does a fixed amount of work. The table has the instructions of one unit of it, natively
and in a virtual machine, exactly the same on every host. On host, qemu-kvm and qemu-tcg it has the
time of a unit, on this host and in a VM there. Workloads are files of lab/workloads, and of
workloads/ in the folders of --lab-dir.

Examples:
  worldswitch lab fetch linux kvm-linux         once: Debian's packages of the applications
  worldswitch run apps
  worldswitch run apps --workload '^tcp-rr$' --boots 1 --perturb 0
                                                the quickest
  worldswitch run apps --workload '^tcp-rr$' --explain
                                                which functions are the difference
  worldswitch run apps --on lab:linux,lab:kvm-linux,lab:kvm-linux@6.1 -o apps
  worldswitch run apps --on lab:arm-linux,lab:kvm-vhe-linux
                                                on ARM
  worldswitch run apps --on lab:kvm-linux+net=vhost,lab:kvm-linux+net=elvis --workload '^tcp-rr$'
                                                two servers of the VM's network
  worldswitch run apps --on lab:linux+cpus=4,lab:kvm-linux+cpus=4
                                                four CPUs, and a VM of four vCPUs
  worldswitch run apps --on host,qemu-kvm --boots 16
                                                in time, on this host
  worldswitch show apps --export-markdown apps.md
  worldswitch compare old:lab:kvm-linux new:lab:kvm-linux
                                                two results, as of any benchmark";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct AppsArgs {
    /// Platforms, separated by commas; may be repeated. Ratios relate to the platform without a hypervisor:
    /// lab:linux, on ARM lab:arm-linux, with +cpus=4 this one with +cpus=4, in time host.
    #[arg(long, value_name = "PLATFORM,...", value_parser = platforms,
        default_value = "lab:linux,lab:kvm-linux")]
    pub on: Vec<PlatformList>,
    /// Only workloads whose name matches this regular expression (any part of it).
    #[arg(long, value_name = "REGEX", value_parser = regex::Regex::new)]
    pub workload: Option<regex::Regex>,
    /// Also show which functions the instructions of each workload are in, natively and in the VM: each
    /// platform boots once more, recorded. For at most three workloads (--workload).
    #[arg(long, conflicts_with = "list")]
    pub explain: bool,
    /// List the workloads and what they do instead of measuring (now worldswitch benchmarks).
    #[arg(long, hide = true)]
    pub list: bool,
    /// Also show the cost model's predictions and their errors. Prices of exits are from these results of
    /// microbenchmarks (worldswitch run --on lab:kvm@6.12 ...). May be repeated.
    #[arg(long, value_name = "RUN")]
    pub prices: Vec<String>,
    /// Boots of each platform. The second proves that the counts are exact. With --no-resume it boots
    /// again.
    #[arg(long, value_name = "N", default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub boots: u32,
    /// Extra boots that vary what should not matter (instructions before each workload, memory size).
    /// They give the band.
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(0..=100))]
    pub perturb: u32,
    #[command(flatten)]
    pub usual: Usual,
}
