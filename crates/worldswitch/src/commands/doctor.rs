//! `worldswitch doctor`: what this host lacks, what on it spoils a measurement, and the cure; and
//! the short form of it that `run` tells.

use crate::cli::DoctorArgs;
use crate::commands::parts;
use crate::terminal::{Colours, output};
use std::path::PathBuf;
use std::time::Duration;
use ws_doctor::{Around, Finding, Probe, Report, Root, Sys, Tools};
use ws_machines::machine::{Engine, MachineError};
use ws_machines::name::PlatformName;
use ws_machines::resources::Resources;
use ws_results::Disturbance;

/// Between two looks at what the CPUs do: enough of the kernel's ticks to tell a share.
const LOOK: Duration = Duration::from_millis(150);

/// Examines and tells.
///
/// # Errors
/// Standard output can't be written.
pub fn doctor(args: &DoctorArgs, colours: Colours) -> anyhow::Result<()> {
    let resources = parts::resources(&args.parts, Vec::new());
    let report = examine(&resources, true);
    output::data(&if args.json {
        format!("{}\n", serde_json::to_string_pretty(&report)?)
    } else {
        ws_doctor::long(&report, colours.stdout)
    })
}

/// Looks at the host for those who are about to measure time on these platforms, and tells what
/// they should know. Nothing is said of a host that is in order.
pub fn warn(resources: &Resources, names: &[PlatformName], colours: Colours) -> Report {
    let kvm = names.iter().any(uses_kvm);
    let report = examine(resources, kvm);
    let lines = ws_doctor::short(&report, kvm);
    if !lines.is_empty() {
        let text = format!(
            "this host disturbs what is measured in time\n{}",
            lines.join("\n")
        );
        output::remark(&text, colours);
    }
    report
}

/// What of a report stands in the result of a platform.
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

/// Does this platform run on the host's own KVM?
fn uses_kvm(platform: &PlatformName) -> bool {
    matches!(platform.base().as_str(), "kvm" | "qemu-kvm")
}

/// `kvm`: somebody wants to know whether KVM works.
fn examine(resources: &Resources, kvm: bool) -> Report {
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
    // The programs that were started until here are no load of this host's.
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

/// Whether KVM runs a guest is for the monitor to say, as the doctor makes no machine itself.
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
