//! Options of `worldswitch run nested`.

use crate::cli::{PlatformList, Usual, platforms};
use clap::Args;

const EXAMPLES: &str = "\
Examples:
  worldswitch run nested -o nested              everything: three minutes of one core
  worldswitch run nested --short                only the paper's world switch, without Linux: 20 s
  worldswitch run nested --long -o long         applications in nested VMs (duration:
                                                docs/apps-nested.md)
  worldswitch run nested --long --workload '^(hackbench|kernbench|sevenzip|tcp-rr)$'
  worldswitch show nested --export-markdown nested.md
  worldswitch run nested --on lab:neve+policy=kvm-4.10 \\
                         --on lab:neve-nested@pv+cpu=cortex-a57+policy=kvm-4.10
  worldswitch report nested -o nested.html      an HTML page with plots";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct NestedArgs {
    /// Platforms, separated by commas; may be repeated. Default: lab:neve-nested with the mechanisms nv, pv, neve and
    /// nv2, each with and without VHE and with both policies; and Linux KVM in Linux KVM. For comparison, the default
    /// has a VM on each of these hypervisors without nesting too.
    #[arg(long, value_name = "PLATFORM,...", value_parser = platforms, conflicts_with = "short")]
    pub on: Vec<PlatformList>,
    /// Measure only the world switch of Linux 4.10, as in the paper, without Linux KVM itself.
    #[arg(long)]
    pub short: bool,
    /// Measure applications in a nested VM of a whole Linux with KVM and QEMU. The first hypervisor is Linux KVM, or
    /// neve with FEAT_NV or FEAT_NV2. For comparison, the applications also run natively and in a VM.
    #[arg(long, conflicts_with = "short")]
    pub long: bool,
    /// Run only workloads whose name matches this regular expression (any part of the name). Needs --long.
    #[arg(long, value_name = "REGEX", value_parser = regex::Regex::new, requires = "long")]
    pub workload: Option<regex::Regex>,
    /// Boots of each platform. The second boot proves that the counts are exact. It resumes the state of the first,
    /// unless --no-resume is given. Default: 2; with --long, 1.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub boots: Option<u32>,
    #[command(flatten)]
    pub usual: Usual,
}
