//! Machines for tests, which are never started, and the settings of their run.

use crate::rounds::job::Common;
use crate::rounds::plan::Parameters;
use crate::rounds::turns::Turns;
use ws_machines::emulator::Emulator;
use ws_machines::machine::Engine;
use ws_machines::qemu::{self, Qemu};
use ws_machines::vmm::{self, Kvm, Vmm};
use ws_terminal::Stop;

fn kvm(engine: Engine) -> Kvm {
    Kvm {
        engine,
        exit_ns: 1000,
        monitor: "vmm".into(),
        monitor_version: "vmm 9.9".into(),
    }
}

/// QEMU, with a KVM of this kind or without.
pub fn qemu(engine: Option<Engine>) -> Qemu {
    Qemu::new(qemu::Settings {
        emulator: Emulator {
            name: "qemu",
            program: "qemu".into(),
            leading: Vec::new(),
            version: "10.0".into(),
            build: String::new(),
        },
        guest: "guest.elf".into(),
        cpu: None,
        memory_mib: None,
        kvm: engine.map(kvm),
        pins: Vec::new(),
    })
}

/// Our own monitor, with a KVM of this kind.
pub fn vmm(engine: Engine) -> Vmm {
    Vmm::new(vmm::Settings {
        kvm: kvm(engine),
        guest: "guest.elf".into(),
        memory_mib: None,
        pins: Vec::new(),
    })
}

/// The settings of a run without options.
pub fn common() -> Common {
    Common {
        bench: None,
        parameters: Parameters::default(),
        smp: None,
        seed: 0,
        perturbed_boots: 0,
        digits: None,
        bench_limit: None,
        stop: Stop::default(),
        turns: Turns::default(),
    }
}
