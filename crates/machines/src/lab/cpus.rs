//! The CPUs of a machine whose measured system has several (`+cpus=4`). As in Dall et al. (2015), each vCPU has a CPU
//! of its own, and clients and back-ends have others.

use crate::image::BenchmarkRow;
use ws_lab::workload::Place;

/// The CPU of clients, of the agent, and of QEMU's main loop or Xen's tool stack.
const CLIENTS: u32 = 0;

/// The name of the process by which dom0's agent starts the tool stack (`xl/start.sh`).
const TOOL_STACK: &str = "busybox";

/// Reason why a workload with a number of vCPUs of its own is not measured there.
const OWN: &str =
    "the workload sets its own number of vCPUs: measure it on the machine without +cpus=";

/// The measured system: the machine's own Linux, or a VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    Native,
    VmOfKvm,
    /// A VM beside dom0, which has two CPUs.
    VmOfXen,
}

/// A measured system of several CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// Number of the system's CPUs.
    pub count: u32,
    pub system: System,
}

impl Cpus {
    /// Number of the machine's CPUs, for a workload at this place. Natively, clients have a CPU beside the system's.
    /// With a VM there are two beside its vCPUs: the clients' and vhost's, or both of dom0.
    pub fn of_machine(self, place: Place) -> u32 {
        match (self.system, place) {
            (System::VmOfKvm | System::VmOfXen, _) => self.count + 2,
            (System::Native, Place::Client) => self.count + 1,
            (System::Native, Place::Inside) => self.count,
        }
    }

    /// The row on this machine, which misses a workload whose number of vCPUs is not the system's.
    pub fn row(self, row: BenchmarkRow, place: Place) -> BenchmarkRow {
        let is_own = row.cpus != self.count;
        BenchmarkRow {
            host_cpus: self.of_machine(place),
            missing: row.missing.or_else(|| is_own.then(|| OWN.to_owned())),
            ..row
        }
    }

    /// The lines of the machine's agent, which place threads on a machine with `machine_cpus`.
    pub fn lines(self, machine_cpus: u32) -> Vec<String> {
        let place = |cpu: u32, thread: &str| format!("pin={cpu} {thread}");
        match self.system {
            System::Native if machine_cpus > self.count => vec![place(CLIENTS, "clients")],
            System::Native => Vec::new(),
            System::VmOfKvm => {
                let vcpus = (0..self.count).map(|vcpu| place(vcpu + 1, &format!("CPU {vcpu}/KVM")));
                let vhost = place(self.count + 1, "vhost-");
                vcpus.chain([vhost]).collect()
            }
            System::VmOfXen => vec![place(CLIENTS, TOOL_STACK)],
        }
    }

    /// The line of a domain's configuration that gives each vCPU one of the CPUs after dom0's two.
    pub fn domain_line(self) -> String {
        let cpus = (2..self.count + 2).map(|cpu| format!("\"{cpu}\""));
        format!("cpus=[{}]", cpus.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beside_the_system_has_cpus_of_its_own() {
        let of = |system| Cpus { count: 4, system };
        let [natively, in_kvm, in_xen] = [System::Native, System::VmOfKvm, System::VmOfXen].map(of);
        let places = [Place::Inside, Place::Client];
        assert_eq!(places.map(|place| natively.of_machine(place)), [4, 5]);
        assert_eq!(places.map(|place| in_kvm.of_machine(place)), [6, 6]);
        assert_eq!(natively.lines(4), [""; 0]);
        assert_eq!(natively.lines(5), ["pin=0 clients"]);
        assert_eq!(
            in_kvm.lines(6),
            [
                "pin=1 CPU 0/KVM",
                "pin=2 CPU 1/KVM",
                "pin=3 CPU 2/KVM",
                "pin=4 CPU 3/KVM",
                "pin=5 vhost-"
            ]
        );
        assert_eq!(in_xen.lines(6), ["pin=0 busybox"]);
        assert_eq!(in_xen.domain_line(), r#"cpus=["2","3","4","5"]"#);
    }
}
