//! `worldswitch run io`: the cost of I/O, with servers on this host or with a VM's devices in the lab.

mod host;
mod lab;

use crate::cli::io::IoArgs;
use crate::shared::Done;

/// Measures, shows the table, keeps the results.
pub fn io(args: &IoArgs) -> anyhow::Result<Done> {
    match args.lab.is_chosen() {
        true => lab::lab(args),
        false => host::host(args),
    }
}
