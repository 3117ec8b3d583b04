//! The clock that ticks are counted in, and the one that the kernel trusts.

use crate::finding::{Concerns, Cure, Finding, Group, Topic};
use crate::parse::{has_word, short};
use crate::place::{Arch, Place};
use crate::sys::Sys;

const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0";

const CLOCK: Topic = Topic {
    id: "host.clock",
    group: Group::Host,
    concerns: Concerns::Time,
    title: "clock source",
    why: "Ticks are the CPU's time stamp counter, which is a clock only where it runs evenly at \
          every speed and in sleep; a kernel that left it for another source found it wanting.",
};

/// Flags without which the time stamp counter is no clock.
const EVEN: [&str; 2] = ["constant_tsc", "nonstop_tsc"];
/// Flags that say more in its favour.
const TRUSTED: [&str; 2] = ["tsc_reliable", "tsc_known_freq"];

pub fn findings(sys: &dyn Sys, place: &Place, virtual_machine: bool) -> Vec<Finding> {
    let Some(current) = sys.line(&format!("{SOURCE}/current_clocksource")) else {
        return vec![CLOCK.note("the kernel does not tell", None)];
    };
    let current = short(&current);
    if place.arch != Arch::X86 {
        // The architecture's own counter is even by definition.
        return vec![match current.as_str() {
            "arch_sys_counter" => CLOCK.ok(current),
            _ => CLOCK.note(current, None),
        }];
    }
    let (has, lacks): (Vec<&str>, Vec<&str>) = EVEN.iter().partition(|flag| place.flag(flag));
    let mut said = has;
    said.extend(TRUSTED.iter().filter(|flag| place.flag(flag)));
    let said = match said.is_empty() {
        true => String::new(),
        false => format!(" ({})", said.join(", ")),
    };
    if !lacks.is_empty() {
        let found = format!("{current}{said}; the CPU lacks {}", lacks.join(", "));
        let cure = Cure::no(
            "take a machine with an even time stamp counter",
            "it is a property of the CPU, or of how a hypervisor shows it",
        );
        return vec![CLOCK.warning(found, Some(cure))];
    }
    let found = format!("{current}{said}");
    vec![match current.as_str() {
        "tsc" => CLOCK.ok(found),
        // Read from the time stamp counter by a formula of the hypervisor's.
        "kvm-clock" | "xen" | "hyperv_clocksource_tsc_page" if virtual_machine => {
            CLOCK.note(found, None)
        }
        _ => CLOCK.warning(found, Some(cure(sys, place))),
    }]
}

fn cure(sys: &dyn Sys, place: &Place) -> Cure {
    let offered = sys.line(&format!("{SOURCE}/available_clocksource"));
    match offered.is_some_and(|offered| has_word(&offered, "tsc")) {
        true => place.setting(
            "tsc",
            &format!("{SOURCE}/current_clocksource"),
            "take the time stamp counter again",
        ),
        false => Cure::no(
            "find out why (dmesg | grep -i tsc): often firmware, or sockets out of step",
            "the kernel has found the time stamp counter unstable and offers it no more",
        ),
    }
}
