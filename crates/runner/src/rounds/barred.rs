//! Rows that a machine can't run, or not on the CPUs that this program can use.

use ws_cpus::list::Set;
use ws_cpus::{Cpus, named};
use ws_machines::hypercall;
use ws_machines::image::BenchmarkRow;
use ws_machines::machine::{Description, Machine};

/// Separates the rows that a machine can't run, with the reason, from the others.
pub fn barred<'a>(
    machine: &dyn Machine,
    rows: &'a [BenchmarkRow],
    cpus: &Cpus,
) -> (Vec<(&'a BenchmarkRow, String)>, Vec<&'a BenchmarkRow>) {
    let forbidden = hypercall::forbidden(machine.description().engine);
    let bar = |row: &BenchmarkRow| {
        let forbidden = || forbidden.filter(|_| row.has_hypercall).map(str::to_owned);
        let missing = row.missing.clone();
        let lacks = || machine.lacks(row);
        let too_few = || too_few(machine.description(), row.cpus, cpus);
        missing.or_else(forbidden).or_else(lacks).or_else(too_few)
    };
    let (mut barred, mut others) = (Vec::new(), Vec::new());
    for row in rows {
        match bar(row) {
            Some(why) => barred.push((row, why)),
            None => others.push(row),
        }
    }
    (barred, others)
}

/// Reason why a row that needs so many CPUs at once can't be timed: its vCPUs would run by turns. In the lab they
/// always do, and counts do not depend on that.
fn too_few(machine: &Description, wanted: u32, cpus: &Cpus) -> Option<String> {
    if machine.unit == Some("insns") {
        return None;
    }
    let count = wanted as usize;
    let why = match machine.pins.as_slice() {
        [] => cpus.too_few(count)?,
        pins => {
            let pins: Set = pins.iter().take(count).copied().collect();
            if pins.len() >= count {
                return None;
            }
            format!("its vCPUs are pinned to {}", named(&pins))
        }
    };
    Some(format!("needs {wanted} CPUs at once, but {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ws_machines::machine::{Console, Control, Engine, LaunchRequest, MachineError};
    use ws_results::Identity;

    struct Fake(Description);

    impl Machine for Fake {
        fn description(&self) -> &Description {
            &self.0
        }
        fn prepare(&mut self) -> Result<(), MachineError> {
            Ok(())
        }
        fn launch(&mut self, _: &LaunchRequest) -> Result<(), MachineError> {
            Ok(())
        }
        fn console(&mut self, _: &mut Vec<u8>) -> Result<Console, MachineError> {
            Ok(Console::Quiet)
        }
        fn identity(&self) -> Identity {
            Identity::default()
        }
    }

    fn fake(unit: &'static str, pins: &[u32]) -> Fake {
        Fake(Description {
            pins: pins.to_vec(),
            ..Description::new(Control::Launched, Some(unit), Engine::Emulator)
        })
    }

    /// A host of four CPUs, of which the affinity mask has these.
    fn host(affinity: &str) -> Cpus {
        Cpus::read(&|path| match path {
            "/sys/devices/system/cpu/online" => Some("0-3".to_owned()),
            "/proc/self/status" => Some(format!("Cpus_allowed_list:\t{affinity}")),
            _ => None,
        })
    }

    fn row(cpus: u32) -> BenchmarkRow {
        BenchmarkRow {
            name: format!("of-{cpus}"),
            cpus,
            ..BenchmarkRow::default()
        }
    }

    #[test]
    fn a_row_that_needs_two_cpus_is_barred_on_one_with_the_reason() {
        let machine = |pins: &[u32]| fake("tsc_ticks", pins);
        let rows = [row(1), row(2)];
        let (out, left) = barred(&machine(&[]), &rows, &host("0"));
        assert_eq!((left.len(), &*out[0].0.name), (1, "of-2"));
        assert_eq!(
            out[0].1,
            "needs 2 CPUs at once, but this program can use one CPU (0): the affinity mask (taskset, CPUAffinity=) leaves out CPUs 1-3"
        );
        let (out, _) = barred(&machine(&[2, 2]), &rows, &host("0-3"));
        assert_eq!(
            out[0].1,
            "needs 2 CPUs at once, but its vCPUs are pinned to CPU 2"
        );
    }

    proptest! {
        /// Rows are barred where fewer CPUs are left to its vCPUs than it needs at once, if time is measured.
        #[test]
        fn no_row_is_timed_on_fewer_cpus_than_it_needs(
            affinity in 1u32..16, pins in prop::collection::vec(0u32..4, 0..5), wanted in 0u32..4, exact: bool,
        ) {
            prop_assume!(pins.is_empty() || pins.len() >= wanted as usize);
            let cpus: Set = (0..4).filter(|cpu| affinity >> cpu & 1 == 1).collect();
            let distinct: Set = pins.iter().take(wanted as usize).copied().collect();
            let left = if pins.is_empty() { cpus.len() } else { distinct.len() };
            let unit = if exact { "insns" } else { "tsc_ticks" };
            let rows = [row(wanted)];
            let (out, _) = barred(&fake(unit, &pins), &rows, &host(&ws_cpus::list::show(&cpus)));
            prop_assert_eq!(!out.is_empty(), !exact && left < wanted as usize);
        }
    }
}
