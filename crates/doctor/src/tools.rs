//! Programs and images that a run needs. The caller looks for them; this judges what it found.

use crate::finding::{Concerns, Cure, Finding, Group, Topic};
use crate::place::Place;
use crate::sys::Sys;

/// What the caller found: where it is, or why there is none.
#[derive(Clone, Debug)]
pub struct Tools {
    /// QEMU: its version and its place.
    pub qemu: Result<String, String>,
    /// The guest image's place.
    pub guest: Result<String, String>,
    /// The KVM monitor's place.
    pub monitor: Result<String, String>,
}

const QEMU: Topic = Topic {
    id: "tools.qemu",
    group: Group::Tools,
    concerns: Concerns::All,
    title: "QEMU",
    why: "The lab and the platforms qemu-* run the guest in it.",
};

const GUEST: Topic = Topic {
    id: "tools.guest",
    group: Group::Tools,
    concerns: Concerns::All,
    title: "guest image",
    why: "It is what is booted and what measures.",
};

const MONITOR: Topic = Topic {
    id: "tools.monitor",
    group: Group::Tools,
    concerns: Concerns::Kvm,
    title: "KVM monitor",
    why: "Platform kvm runs the guest in it, with nothing else between the guest and KVM.",
};

pub fn findings(sys: &dyn Sys, place: &Place, tools: &Tools) -> Vec<Finding> {
    let install = || {
        sys.exists("/usr/bin/apt-get").then(|| {
            let command = place.as_root("apt-get install qemu-system-x86");
            // Even a container without rights over its host installs packages.
            Cure::yes("install it", &command)
        })
    };
    let build = || {
        Some(Cure::yes(
            "build it, in worldswitch's own tree",
            "make build",
        ))
    };
    vec![
        match &tools.qemu {
            Ok(found) => QEMU.ok(found),
            Err(why) => QEMU.problem(why, install()),
        },
        match &tools.guest {
            Ok(found) => GUEST.ok(found),
            Err(why) => GUEST.problem(why, build()),
        },
        match &tools.monitor {
            Ok(found) => MONITOR.ok(found),
            Err(why) if sys.exists("/dev/kvm") => MONITOR.problem(why, build()),
            Err(why) => MONITOR.note(
                format!("{why}; without /dev/kvm it would be of no use"),
                None,
            ),
        },
    ]
}
