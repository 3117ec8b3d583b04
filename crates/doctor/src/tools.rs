//! Checks the programs and images that a run needs, as the caller found them.

use crate::finding::{Concerns, Cure, Finding, Group, Topic};
use crate::place::Place;
use crate::sys::Sys;

/// Tools as the caller found them: the path of each, or why it is missing.
#[derive(Clone, Debug)]
pub struct Tools {
    /// QEMU's version and path.
    pub qemu: Result<String, String>,
    /// The guest image's path.
    pub guest: Result<String, String>,
    /// The KVM monitor's path.
    pub monitor: Result<String, String>,
}

const QEMU: Topic = Topic {
    id: "tools.qemu",
    group: Group::Tools,
    concerns: Concerns::All,
    title: "QEMU",
    why: "The lab and the platforms qemu-* run the guest in QEMU.",
};

const GUEST: Topic = Topic {
    id: "tools.guest",
    group: Group::Tools,
    concerns: Concerns::All,
    title: "guest image",
    why: "The kernel that boots and measures.",
};

const MONITOR: Topic = Topic {
    id: "tools.monitor",
    group: Group::Tools,
    concerns: Concerns::Kvm,
    title: "KVM monitor",
    why: "Platform kvm runs the guest in this monitor, with nothing else between the guest and KVM.",
};

pub fn findings(sys: &dyn Sys, place: &Place, tools: &Tools) -> Vec<Finding> {
    let install = || {
        sys.exists("/usr/bin/apt-get").then(|| {
            let command = place.as_root("apt-get install qemu-system-x86");
            // Root can install packages even in a container without rights over its host.
            Cure::yes("install it", &command)
        })
    };
    let build = || {
        Some(Cure::yes(
            "build it, in worldswitch's source tree",
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
                format!("{why}; it is not needed, as there is no /dev/kvm"),
                None,
            ),
        },
    ]
}
