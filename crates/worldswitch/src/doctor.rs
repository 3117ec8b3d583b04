//! `worldswitch doctor`: what this host lacks, what on it spoils a measurement, and the cure; and
//! the short form of it that `run` tells.

use crate::output::{self, Colours};
use crate::{cli::DoctorArgs, data};
use std::path::PathBuf;
use std::time::Duration;
use ws_doctor::{Around, Probe, Report, Root, Sys, Tools};
use ws_machines::name::PlatformName;
use ws_machines::platforms::Resources;
use ws_machines::qemu::Emulator;

/// Between two looks at what the CPUs do: enough of the kernel's ticks to tell a share.
const LOOK: Duration = Duration::from_millis(150);

/// Examines and tells.
///
/// # Errors
/// Standard output can't be written.
pub fn doctor(args: &DoctorArgs, colours: Colours) -> anyhow::Result<()> {
    let resources = Resources {
        qemu: args.qemu.clone(),
        guest: Some(data::guest_image(args.guest.as_deref())),
    };
    let report = examine(&resources);
    output::data(&if args.json {
        format!("{}\n", serde_json::to_string_pretty(&report)?)
    } else {
        ws_doctor::long(&report, colours.stdout)
    })
}

/// Tells what somebody should know who is about to measure time on these platforms. Nothing is
/// said of a host that is in order.
pub fn warn(resources: &Resources, names: &[PlatformName], colours: Colours) {
    let kvm = |name: &PlatformName| matches!(name.base().as_str(), "kvm" | "qemu-kvm");
    let lines = ws_doctor::short(&examine(resources), names.iter().any(kvm));
    if !lines.is_empty() {
        let text = format!(
            "this host disturbs what is measured in time\n{}",
            lines.join("\n")
        );
        output::remark(&text, colours);
    }
}

fn examine(resources: &Resources) -> Report {
    let host = Root::at("/");
    let monitor = data::monitor();
    let tools = Tools {
        qemu: Emulator::find(resources.qemu.as_deref())
            .map(|qemu| format!("{}, {}", qemu.version, qemu.program.display()))
            .map_err(|error| error.to_string()),
        guest: place(
            resources
                .guest
                .clone()
                .unwrap_or_else(|| data::guest_image(None)),
        ),
        monitor: place(monitor.clone()),
    };
    let probe = probe(&monitor);
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

fn place(found: Result<PathBuf, String>) -> Result<String, String> {
    found.map(|path| path.display().to_string())
}

/// Whether KVM runs a guest is for the monitor to say, as the doctor makes no machine itself.
fn probe(monitor: &Result<PathBuf, String>) -> Probe {
    Probe::NotMade(match monitor {
        Ok(path) => format!("{} --probe tries it", path.display()),
        Err(_) => "there is no KVM monitor to try it with".to_owned(),
    })
}
