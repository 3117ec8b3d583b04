//! Options of `worldswitch run place`.

use crate::cli::{PlatformList, Usual, platforms};
use clap::Args;
use ws_results::place::PlaceKind;

const EXAMPLES: &str = "\
The experiments of Rasmusson and Corcoran (2013): the host and its VM do the same work on chosen
CPUs, each alone and both together. A placement has the CPUs of the host's sender and receiver, of
the vCPU, and of the monitor's other threads. The command measures as many placements and kinds of
work as fit into --time.

Kinds of work, --kind:
  net-self       host or VM sends data to itself
  net-host       host or VM sends data to the host
  net-guest      host or VM sends data to a second VM
  disk-buffered  fio reads a disk with an empty page cache
  disk-cached    fio reads a disk whose data are in the page cache
  cpu, memory    sysbench's tests with these names
  trip-host      a byte to the host, and one back
  trip-guest     a byte to a second VM, and one back

Examples:
  worldswitch lab fetch linux kvm-linux         once: Debian's packages of the applications
  worldswitch run place -o place
  worldswitch run place --on qemu-tcg --kind net-self,cpu --time 3
  worldswitch show place --export-markdown place.md
  worldswitch report place -o place.html        heat maps
  worldswitch compare before:qemu-kvm after:qemu-kvm
                                                two results, as for any benchmark";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PlaceArgs {
    /// The platform of the VM: qemu-kvm or qemu-tcg.
    #[arg(long, value_name = "PLATFORM", value_parser = platforms, default_value = "qemu-kvm")]
    pub on: PlatformList,
    /// Measure only these kinds of work (below). Default: all.
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = kind)]
    pub kind: Vec<PlaceKind>,
    /// Time limit. Placements that do not fit are skipped, and the exit code is 1.
    #[arg(long, value_name = "MINUTES", default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(1..=600))]
    pub time: u32,
    /// Measure at most N placements.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub cells: Option<u32>,
    /// Boots of the VM. Each boot measures everything. Intervals need three boots.
    #[arg(long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub boots: u32,
    #[command(flatten)]
    pub usual: Usual,
}

fn kind(word: &str) -> Result<PlaceKind, String> {
    PlaceKind::parse(word).ok_or_else(|| {
        let known = PlaceKind::ALL.map(PlaceKind::word).join(", ");
        format!("no such kind: choose of {known}")
    })
}
