//! Checks this host's KVM: hardware, device, permission, and settings. No virtual machine is
//! created here: the caller's [`Probe`] says whether KVM really runs a guest.

use crate::exitless;
use crate::finding::{Concerns, Cure, Finding, Group, Topic};
use crate::parse::{field, short};
use crate::place::{Arch, Place};
use crate::sys::{Node, Sys};

const DEVICE_PATH: &str = "/dev/kvm";
const HALT_POLLING_PATH: &str = "/sys/module/kvm/parameters/halt_poll_ns";

/// The result of running a guest in `/dev/kvm` with the monitor (`vmm/`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// No guest was tried, and why.
    NotMade(String),
    /// A guest ran.
    Ran {
        /// Whether KVM emulated the guest in software, without hardware virtualization.
        software: bool,
        /// Time of one exit to the monitor and back.
        exit_ns: u64,
    },
    /// No guest ran, and why not.
    Failed(String),
}

const HARDWARE: Topic = Topic {
    id: "kvm.hardware",
    group: Group::Kvm,
    concerns: Concerns::Kvm,
    title: "hardware virtualization",
    why: "Without these extensions KVM emulates a CPU in software. Its figures say nothing about hardware, and a hypercall instruction must never be executed there.",
};

const DEVICE: Topic = Topic {
    id: "kvm.device",
    group: Group::Kvm,
    concerns: Concerns::Kvm,
    title: "/dev/kvm",
    why: "Platforms kvm and qemu-kvm create their VMs through this device.",
};

const WORKS: Topic = Topic {
    id: "kvm.works",
    group: Group::Kvm,
    concerns: Concerns::Kvm,
    title: "KVM runs a guest",
    why: "The device can exist but run no guest, or emulate one in software.",
};

const HALT_POLLING: Topic = Topic {
    id: "kvm.halt-polling",
    group: Group::Kvm,
    concerns: Concerns::Kvm,
    title: "halt polling",
    why: "When a vCPU halts, KVM polls for this long before its thread sleeps, so ipi-halted \
          measures either a poll or a wake-up.",
};

pub fn findings(
    sys: &dyn Sys,
    place: &Place,
    virtual_machine: bool,
    probe: &Probe,
) -> Vec<Finding> {
    let device = sys.node(DEVICE_PATH).filter(|node| node.device);
    vec![
        hardware(place, virtual_machine, device.is_some()),
        permission(sys, place, virtual_machine, device),
        works(probe),
        halt_polling(sys, place),
        exitless::finding(sys, place),
    ]
}

/// Returns the CPU's hardware virtualization, by its CPU flag. The kernel clears the flag where firmware has locked the
/// feature.
fn hardware_flag(place: &Place) -> Option<&'static str> {
    match place.arch {
        Arch::X86 if place.flag("vmx") => Some("Intel VMX"),
        Arch::X86 if place.flag("svm") => Some("AMD SVM"),
        _ => None,
    }
}

/// Checks for VMX or SVM. Other architectures have no flag for it: only the device shows it there.
fn hardware(place: &Place, virtual_machine: bool, device: bool) -> Finding {
    if let Some(name) = hardware_flag(place) {
        return HARDWARE.ok(name);
    }
    if place.arch != Arch::X86 {
        let found = "CPU flags do not show it on this architecture";
        return match device {
            true => HARDWARE.ok(format!("{found}, but {DEVICE_PATH} is there")),
            false => HARDWARE.note(found, None),
        };
    }
    if device {
        return HARDWARE.problem(
            "a software KVM: there is /dev/kvm, but the CPU has no flag vmx or svm",
            Some(Cure::no(
                "use a machine with hardware virtualization, bare or with nested virtualization",
                "the CPU lacks it, or the hypervisor below hides it",
            )),
        );
    }
    HARDWARE.problem(
        "the CPU has no flag vmx or svm",
        Some(match virtual_machine {
            true => Cure::no(
                "have nested virtualization enabled for this virtual machine",
                "a setting of the host below",
            ),
            false => Cure::no(
                "enable VT-x or SVM in the firmware's setup",
                "a setting of the firmware, which older CPUs lack",
            ),
        }),
    )
}

fn permission(sys: &dyn Sys, place: &Place, virtual_machine: bool, node: Option<Node>) -> Finding {
    let Some(node) = node else {
        return missing(place, virtual_machine);
    };
    let mode = node.mode;
    if node.usable {
        return DEVICE.ok(format!("readable and writable (mode {mode:03o})"));
    }
    let group = group_name(sys, node.gid);
    let found = format!(
        "present, but not accessible to you (mode {mode:03o}, group {})",
        group.as_deref().map_or(node.gid.to_string(), short)
    );
    if place.administrator {
        return DEVICE.problem(
            found,
            Some(Cure::no(
                "let this container or service use the device",
                "even root is refused: a device list (cgroup) or a security module forbids it",
            )),
        );
    }
    // Nobody should join group root.
    let cure = match group.filter(|name| node.gid != 0 && mode & 0o060 == 0o060 && plain(name)) {
        Some(group) if is_member(sys, &group) => Cure::yes(
            "you were added to its group after you logged in: log in again, or start a shell that has it",
            &format!("newgrp {group}"),
        ),
        Some(group) => place.by_root(
            "join its group, then log in again",
            &format!("usermod -aG {group} \"$USER\""),
        ),
        None => place.by_root(
            "give yourself access, until the next boot",
            &format!("chown \"$USER\" {DEVICE_PATH}"),
        ),
    };
    DEVICE.problem(found, Some(cure))
}

/// Explains a missing /dev/kvm. A container hides the device whatever the CPU has, so it is checked first.
fn missing(place: &Place, virtual_machine: bool) -> Finding {
    if place.container {
        return DEVICE.problem(
            "missing in this container",
            Some(Cure::no(
                "start the container with --device /dev/kvm",
                "devices are chosen where the container is started",
            )),
        );
    }
    match (place.arch, hardware_flag(place)) {
        (_, Some(flag)) => {
            let module = match flag {
                "AMD SVM" => "kvm_amd",
                _ => "kvm_intel",
            };
            let advice = "load KVM's module";
            let cure = place.by_root(advice, &format!("modprobe {module}"));
            DEVICE.problem("missing, though the CPU supports KVM", Some(cure))
        }
        (Arch::X86, None) => DEVICE.note("missing: no hardware virtualization", None),
        (_, None) => DEVICE.problem(
            "missing",
            Some(match virtual_machine {
                true => Cure::no(
                    "have nested virtualization enabled for this virtual machine",
                    "a setting of the host below",
                ),
                false => Cure::no(
                    "boot a kernel that has KVM, at EL2",
                    "KVM is built into the kernel on this architecture, and works only if firmware \
                     starts the kernel at EL2",
                ),
            }),
        ),
    }
}

/// Whether a name is safe in a shell command.
fn plain(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && !name.starts_with('-') && name.chars().all(good)
}

/// The fields of the first line in `/etc/group` or `/etc/passwd` for which `wanted` holds.
fn entry(text: &str, wanted: impl Fn(&[&str]) -> bool) -> Option<Vec<&str>> {
    text.lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| wanted(fields))
}

fn group_name(sys: &dyn Sys, gid: u32) -> Option<String> {
    let groups = sys.read("/etc/group")?;
    let gid = gid.to_string();
    let fields = entry(&groups, |fields| fields.get(2) == Some(&gid.as_str()))?;
    fields.first().map(|name| (*name).to_owned())
}

/// Whether `/etc/group` has the user in the group; the running login may not have it yet.
fn is_member(sys: &dyn Sys, group: &str) -> bool {
    let member = || {
        let status = sys.read("/proc/self/status")?;
        let uid = field(&status, "Uid")?.split_ascii_whitespace().next()?;
        let users = sys.read("/etc/passwd")?;
        let user = entry(&users, |fields| fields.get(2) == Some(&uid))?;
        let name = user.first().filter(|name| !name.is_empty())?;
        let groups = sys.read("/etc/group")?;
        let group = entry(&groups, |fields| fields.first() == Some(&group))?;
        Some(group.get(3)?.split(',').any(|member| member == *name))
    };
    member().unwrap_or_default()
}

fn works(probe: &Probe) -> Finding {
    match probe {
        Probe::NotMade(why) => WORKS.note(format!("not tried: {why}"), None),
        Probe::Failed(why) => WORKS.problem(format!("no: {why}"), None),
        Probe::Ran { software, exit_ns } => {
            let found = format!("yes: an exit to the monitor and back takes {exit_ns} ns");
            match software {
                true => WORKS.problem(format!("{found}, in software"), None),
                false => WORKS.ok(found),
            }
        }
    }
}

fn halt_polling(sys: &dyn Sys, place: &Place) -> Finding {
    let setting = sys.line(HALT_POLLING_PATH);
    match setting.as_deref().map(str::parse::<u64>) {
        Some(Ok(0)) => HALT_POLLING.ok("off"),
        Some(Ok(ns)) => HALT_POLLING.note(
            format!("up to {ns} ns"),
            Some(place.setting(
                "0",
                HALT_POLLING_PATH,
                "turn polling off to measure only wake-ups, in VMs that start afterwards",
            )),
        ),
        Some(Err(_)) => HALT_POLLING.note("the setting is not a number", None),
        None => HALT_POLLING.note(
            "unknown: no KVM module is loaded, or it has no such setting",
            None,
        ),
    }
}
