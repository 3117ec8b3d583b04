//! Checks the clock that counts ticks (TSC or the ARM counter) and the kernel's clock source.

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
    why: "Ticks are the CPU's time stamp counter (TSC). The TSC is a clock only if its rate is the same at every CPU frequency and in sleep. A kernel that uses another source found the TSC unstable.",
};

/// Flags that the TSC must have to be a clock.
const EVEN: [&str; 2] = ["constant_tsc", "nonstop_tsc"];
/// Further flags of a good TSC, only reported.
const TRUSTED: [&str; 2] = ["tsc_reliable", "tsc_known_freq"];

pub fn findings(sys: &dyn Sys, place: &Place, virtual_machine: bool) -> Vec<Finding> {
    let Some(current) = sys.line(&format!("{SOURCE}/current_clocksource")) else {
        return vec![CLOCK.note("not reported by the kernel", None)];
    };
    let current = short(&current);
    if place.arch != Arch::X86 {
        // The rate of ARM's generic timer is constant by definition.
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
            "use a machine whose TSC has a constant rate",
            "a property of the CPU, or of the CPU that a hypervisor presents",
        );
        return vec![CLOCK.warning(found, Some(cure))];
    }
    let found = format!("{current}{said}");
    vec![match current.as_str() {
        "tsc" => CLOCK.ok(found),
        // Computed from the TSC with factors that the hypervisor gives.
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
            "use the TSC again",
        ),
        false => Cure::no(
            "find out why (dmesg | grep -i tsc): often firmware, or unsynchronized sockets",
            "the kernel found the TSC unstable and no longer offers it",
        ),
    }
}
