//! Findings of the doctor on this host, before time is measured on it.

use std::path::PathBuf;
use std::time::Duration;
use ws_doctor::{Around, Finding, Probe, Report, Root, Sys, Tools};
use ws_machines::machine::{Engine, MachineError};
use ws_machines::name::PlatformName;
use ws_machines::resources::Resources;
use ws_results::Disturbance;
use ws_terminal::output;

/// Interval of two readings of the CPUs' load: enough of the kernel's ticks for a percentage.
const LOOK: Duration = Duration::from_millis(150);

/// Examines the host before time is measured on these platforms, and prints what disturbs the
/// measurement, if anything.
pub fn warn(resources: &Resources, names: &[PlatformName]) -> Report {
    let kvm = names.iter().any(uses_kvm);
    let report = examine(resources, kvm);
    let lines = ws_doctor::short(&report, kvm);
    if !lines.is_empty() {
        let text = format!(
            "this host disturbs measurements of time\n{}",
            lines.join("\n")
        );
        output::remark(&text);
    }
    report
}

/// The findings that go into the result of a platform.
pub fn disturbances(report: &Report, platform: &str) -> Vec<Disturbance> {
    let kvm = platform.parse().is_ok_and(|name| uses_kvm(&name));
    let findings = report.disturbing(kvm);
    let disturbance = |finding: &Finding| Disturbance {
        id: finding.id.into(),
        severity: finding.severity.name().into(),
        title: finding.title.into(),
        found: finding.found.clone(),
        why: finding.why.into(),
    };
    findings.map(disturbance).collect()
}

/// Whether this platform runs on the host's own KVM.
fn uses_kvm(platform: &PlatformName) -> bool {
    matches!(platform.base().as_str(), "kvm" | "qemu-kvm")
}

/// Examines the host. `kvm`: also checks whether KVM works.
pub fn examine(resources: &Resources, kvm: bool) -> Report {
    let host = Root::at("/");
    let tools = Tools {
        qemu: resources
            .emulator()
            .map(|qemu| format!("{}, {}", qemu.version, qemu.program.display()))
            .map_err(|error| error.to_string()),
        guest: place(resources.guest()),
        monitor: place(resources.monitor()),
    };
    let probe = if kvm {
        probe(resources)
    } else {
        Probe::NotMade("no platform of this run needs it".into())
    };
    // The load is read after the programs above have run: they must not count as load of the host.
    let earlier_stat = host.read("/proc/stat");
    std::thread::sleep(LOOK);
    ws_doctor::examine(
        &host,
        &Around {
            tools,
            probe,
            signature: ws_doctor::hypervisor_signature(),
            earlier_stat,
        },
    )
}

fn place(found: Result<PathBuf, MachineError>) -> Result<String, String> {
    found
        .map(|path| path.display().to_string())
        .map_err(|error| error.to_string())
}

/// Asks the monitor whether KVM runs a guest; the doctor itself starts no machine.
fn probe(resources: &Resources) -> Probe {
    if resources.monitor().is_err() {
        return Probe::NotMade("there is no KVM monitor to try it with".into());
    }
    match resources.kvm() {
        Ok(kvm) => Probe::Ran {
            software: kvm.engine == Engine::SoftwareKvm,
            exit_ns: kvm.exit_ns,
        },
        Err(why) => Probe::Failed(why.to_string()),
    }
}
