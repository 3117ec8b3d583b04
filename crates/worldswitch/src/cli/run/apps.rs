//! Options of `worldswitch run apps`.

use crate::cli::{PlatformList, Usual, platforms};
use clap::Args;

const EXAMPLES: &str = "\
Each workload does a fixed amount of work. The table has the instructions of one unit of work,
natively and in a VM. These counts are exactly the same on every host. For the platforms host,
qemu-kvm and qemu-tcg the table has the time of a unit, on this host and in a VM there. Workloads
are files in lab/workloads, and in workloads/ of each --lab-dir.

Examples:
  worldswitch lab fetch linux kvm-linux         once: Debian's packages of the applications
  worldswitch run apps
  worldswitch run apps --workload '^tcp-rr$' --boots 1 --perturb 0
                                                the quickest
  worldswitch run apps --workload '^tcp-rr$' --explain
                                                which functions make the difference
  worldswitch run apps --workload '^tcp-rr$' --explain --on lab:arm-linux,lab:arm-xen-linux
                                                the same on ARM, with the parts of a transaction
  worldswitch run apps --on lab:linux,lab:kvm-linux,lab:kvm-linux@6.1 -o apps
  worldswitch run apps --on lab:arm-linux,lab:kvm-vhe-linux
                                                on ARM
  worldswitch run apps --on lab:kvm-linux+net=vhost,lab:kvm-linux+net=elvis --workload '^tcp-rr$'
                                                two back-ends of the VM's network
  worldswitch run apps --on lab:linux+cpus=4,lab:kvm-linux+cpus=4
                                                four CPUs, and a VM of four vCPUs
  worldswitch run apps --on host,qemu-kvm --boots 16
                                                in time, on this host
  worldswitch show apps --export-markdown apps.md
  worldswitch compare old:lab:kvm-linux new:lab:kvm-linux
                                                two results, as for any benchmark";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct AppsArgs {
    /// Platforms, separated by commas; may be repeated. Ratios are relative to the platform without a hypervisor:
    /// lab:linux, on ARM lab:arm-linux, in time host. With +cpus=4, the platform without a hypervisor has +cpus=4 too.
    #[arg(long, value_name = "PLATFORM,...", value_parser = platforms,
        default_value = "lab:linux,lab:kvm-linux")]
    pub on: Vec<PlatformList>,
    /// Run only workloads whose name matches this regular expression (any part of the name).
    #[arg(long, value_name = "REGEX", value_parser = regex::Regex::new)]
    pub workload: Option<regex::Regex>,
    /// Show which functions execute the instructions of each workload, natively and in VMs; on ARM also exits by reason,
    /// and the parts of a transaction. Each platform boots once more for each workload, recorded. For at most three
    /// workloads (--workload).
    #[arg(long)]
    pub explain: bool,
    /// Predict the cost of the workloads with the cost model, and show the errors of the predictions. Prices of exits
    /// come from these results of microbenchmarks (worldswitch run --on lab:kvm@6.12 ...). May be repeated.
    #[arg(long, value_name = "RUN")]
    pub prices: Vec<String>,
    /// Boots of each platform. The second boot proves that the counts are exact. It resumes the state of the first,
    /// unless --no-resume is given.
    #[arg(long, value_name = "N", default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub boots: u32,
    /// Extra boots with more instructions before each workload and another memory size. The range of a figure over all
    /// boots is its band.
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(0..=100))]
    pub perturb: u32,
    #[command(flatten)]
    pub usual: Usual,
}
