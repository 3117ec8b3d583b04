//! Applications by who serves the network of their VM (`+net=elvis`): exits by reason and interrupts of one unit of
//! work, beside the rates that ELVIS (2013) states.

use super::{App, AppLine, Apps};
use crate::exit_columns;
use crate::requests::text::{idle, stated};
use crate::text::{Set, Sheet};
use crate::unit_of_work::{dash, insns_of, option, two};

pub(super) const TITLE: &str = "by who serves the network";

const LEGEND: &str = "insns a unit: of all CPUs together. Client and QEMU share one CPU, the vCPU has one, and so has vhost's thread or elvis (+net=). injected: interrupts injected into the guest. faults: first touches of the guest's memory in the measured run. In the run by reason, the kicks contain such faults too.";

/// KVM's counter of page faults of the guest's memory.
pub(super) const FAULTS: &str = "pf_taken";

/// The option of a platform's name that says who serves the network.
const OPTION: &str = "net";

/// Whether the platform's name says who serves the network.
pub(super) fn is_chosen(platform: &str) -> bool {
    option(platform, OPTION).is_some()
}

/// Whether any platform's name says who serves the network.
pub(super) fn concern(workloads: &[App]) -> bool {
    let mut lines = workloads.iter().flat_map(|app| &app.lines);
    lines.any(|line| is_chosen(&line.platform))
}

/// Whether the line is of a VM whose network is served on a CPU of its own.
fn is_line(line: &&AppLine) -> bool {
    is_chosen(&line.platform) && line.insns.is_some()
}

impl Apps {
    /// Makes the table: a line for each workload and network.
    pub(super) fn networks(&self) -> Sheet {
        use Set::{Number, Text};
        let numbers = ["insns a unit", "exits"].into_iter();
        let numbers = numbers.chain(exit_columns::heads()).chain(["faults"]);
        let columns = ["workload", "platform"].map(|head| (head, Text));
        let mut sheet = Sheet::new(
            columns
                .into_iter()
                .chain(numbers.map(|head| (head, Number))),
        );
        sheet.extend(self.workloads.iter().flat_map(|app| {
            let lines = app.lines.iter().filter(is_line).enumerate();
            lines.map(|(index, line)| {
                let mut cells = vec![
                    super::text::first(index, || app.name()),
                    line.platform.clone(),
                    insns_of(line.insns, line.exact),
                    dash(line.exits().map(two)),
                ];
                cells.extend(exit_columns::cells(&line.counts, &line.reasons));
                cells.push(dash(exit_columns::counted(&line.counts, FAULTS).map(two)));
                cells
            })
        }));
        sheet
    }

    /// Returns the notes below that table: idle time, the legend, and the rates of ELVIS.
    pub(super) fn networks_below(&self) -> Vec<String> {
        let idle = self.workloads.iter().flat_map(|app| {
            let lines = app.lines.iter();
            lines.filter_map(|line| idle(&app.workload, &line.platform, line.idle))
        });
        let mut below: Vec<String> = idle.collect();
        below.extend([LEGEND, exit_columns::LEGEND].map(str::to_owned));
        below.extend(stated(&self.exits_stated));
        below
    }
}
