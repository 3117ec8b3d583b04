//! Whether a platform can measure a benchmark, as far as it can be known before a boot.

use ws_machines::hypercall::Hypercall;
use ws_machines::image::BenchmarkRow;
use ws_machines::machine::{Control, Engine, Machine};

/// Requirements that every machine of this program meets.
const ALWAYS: [&str; 7] = [
    "two CPUs",
    "an interrupt controller",
    "a second serial port",
    "floating point",
    "memory for the working set",
    "memory for page tables",
    "untouched memory",
];
const MONITOR: &str = "our own monitor";
const XEN: &str = "Xen";
const KVM: &str = "KVM";
const HYPERCALLS: &str = "a hypervisor that answers hypercalls";

/// Whether a platform can measure a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Yes,
    /// The guest looks for these parts, and skips the benchmark where one is missing.
    If(String),
    /// The platform can't measure the benchmark, for this reason.
    No(String),
}

impl Answer {
    /// Answers for `row` on a machine.
    pub fn of(row: &BenchmarkRow, machine: &dyn Machine) -> Self {
        if let Some(why) = row.missing.clone().or_else(|| machine.lacks(row)) {
            return Self::No(why);
        }
        let machine = machine.description();
        let answered = Hypercall::answered_by(machine.engine);
        // The parts of a machine that somebody else boots are not known here.
        let known = machine.control == Control::Launched;
        let mut open = Vec::new();
        for need in row.requires.split(", ").filter(|need| !need.is_empty()) {
            match need {
                _ if ALWAYS.contains(&need) => {}
                HYPERCALLS if known && answered == Hypercall::None => {
                    return Self::No("no hypervisor below answers hypercalls".to_owned());
                }
                HYPERCALLS if known => {}
                MONITOR if known && machine.doorbell.is_none() => {
                    return Self::No("needs the test device of vmm: use a machine with that monitor, such as kvm or lab:kvm".to_owned());
                }
                MONITOR if known => {}
                XEN if known && answered != Hypercall::Xen => {
                    return Self::No("it needs Xen".to_owned());
                }
                XEN if known => {}
                KVM if known && is_kvm(machine.engine) => {}
                KVM if known => return Self::No("it needs KVM".to_owned()),
                other => open.push(other),
            }
        }
        match open.as_slice() {
            [] => Self::Yes,
            open => Self::If(open.join(", ")),
        }
    }
}

fn is_kvm(engine: Engine) -> bool {
    matches!(engine, Engine::SoftwareKvm | Engine::HardwareKvm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{qemu, vmm};
    use ws_machines::logfile::LogFile;

    fn answer(requires: &str, machine: &dyn Machine) -> Answer {
        let row = BenchmarkRow {
            requires: requires.into(),
            ..BenchmarkRow::default()
        };
        Answer::of(&row, machine)
    }

    fn is_no(answer: &Answer) -> bool {
        matches!(answer, Answer::No(_))
    }

    #[test]
    fn what_a_machine_has_is_known_before_it_boots() {
        let (tcg, hardware) = (qemu(None), qemu(Some(Engine::HardwareKvm)));
        assert_eq!(answer("", &tcg), Answer::Yes);
        assert_eq!(answer("two CPUs", &tcg), Answer::Yes);
        assert!(is_no(&answer(HYPERCALLS, &tcg)));
        assert_eq!(answer(HYPERCALLS, &hardware), Answer::Yes);
        assert!(is_no(&answer("Xen, and a domain that answers", &hardware)));
        assert!(is_no(&answer("KVM, two CPUs", &tcg)));
        assert_eq!(answer("KVM, two CPUs", &hardware), Answer::Yes);
        assert!(is_no(&answer("our own monitor, two CPUs", &hardware)));
        let vmm = vmm(Engine::SoftwareKvm);
        assert_eq!(answer("our own monitor, two CPUs", &vmm), Answer::Yes);
        assert!(is_no(&answer(HYPERCALLS, &vmm)));
    }

    #[test]
    fn what_only_the_guest_can_see_is_left_open() {
        let needs = "a TSC deadline timer";
        assert_eq!(answer(needs, &qemu(None)), Answer::If(needs.into()));
        assert_eq!(
            answer(XEN, &LogFile::new("console.txt")),
            Answer::If(XEN.into())
        );
    }
}
