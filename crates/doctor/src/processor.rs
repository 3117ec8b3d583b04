//! Checks the CPUs: frequency, threads that share a core (SMT), and mitigations. Paths are from the
//! kernel's Documentation/ABI/testing/sysfs-devices-system-cpu and
//! Documentation/admin-guide/pm/cpufreq.rst, intel_pstate.rst, amd-pstate.rst.

use crate::finding::{Concerns, Cure, Finding, Group, Topic};
use crate::parse::{has_word, short};
use crate::place::Place;
use crate::sys::Sys;
use std::collections::BTreeMap;

const CPU: &str = "/sys/devices/system/cpu";

const GOVERNOR: Topic = Topic {
    id: "processor.governor",
    group: Group::Processor,
    concerns: Concerns::Time,
    title: "frequency governor",
    why: "The governor changes the CPU's frequency with the load, but a tick keeps its length. So the same work takes another number of ticks.",
};

const TURBO: Topic = Topic {
    id: "processor.turbo",
    group: Group::Processor,
    concerns: Concerns::Time,
    title: "turbo",
    why: "The CPU's frequency depends on temperature and on how many cores are busy, while a tick \
          keeps its length.",
};

const SMT: Topic = Topic {
    id: "processor.smt",
    group: Group::Processor,
    concerns: Concerns::Time,
    title: "SMT",
    why: "Work on a core's other thread slows down the measured thread.",
};

const MITIGATIONS: Topic = Topic {
    id: "processor.mitigations",
    group: Group::Processor,
    concerns: Concerns::Time,
    title: "mitigations",
    why: "Some mitigations run at every entry to a guest and every exit, so a world switch includes their cost. Compare only hosts with the same mitigations.",
};

pub fn findings(sys: &dyn Sys, place: &Place, virtual_machine: bool) -> Vec<Finding> {
    vec![
        governor(sys, place, virtual_machine),
        turbo(sys, place, virtual_machine),
        smt(sys, place, virtual_machine),
        mitigations(sys),
    ]
}

/// The finding in a virtual machine that does not show this setting of its CPU.
const BELOW: &str = "not seen from here: the host below this virtual machine decides";

/// The cpufreq policies, each of one or more CPUs that change their frequency together.
fn policies(sys: &dyn Sys) -> Vec<String> {
    let names = sys.list(&format!("{CPU}/cpufreq"));
    names
        .iter()
        .filter(|name| name.starts_with("policy"))
        .map(|name| format!("{CPU}/cpufreq/{name}"))
        .collect()
}

fn governor(sys: &dyn Sys, place: &Place, virtual_machine: bool) -> Finding {
    let policies = policies(sys);
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for policy in &policies {
        if let Some(name) = sys.line(&format!("{policy}/scaling_governor")) {
            *count.entry(short(&name)).or_default() += 1;
        }
    }
    if count.is_empty() {
        return match virtual_machine {
            true => GOVERNOR.note(BELOW, None),
            false => GOVERNOR.note(
                "the kernel has none: only firmware sets the frequency",
                None,
            ),
        };
    }
    let all = policies.len();
    let mut found: Vec<String> = count
        .iter()
        .map(|(name, number)| match *number == all {
            true => name.clone(),
            false => format!("{name} on {number} of {all} CPU groups"),
        })
        .collect();
    let first = policies.first().map_or("", String::as_str);
    if let Some(driver) = sys.line(&format!("{first}/scaling_driver")) {
        found.push(format!("driver {}", short(&driver)));
    }
    let found = found.join(", ");
    // "userspace" keeps the frequency that the administrator set.
    if count
        .keys()
        .all(|name| name == "performance" || name == "userspace")
    {
        return GOVERNOR.ok(found);
    }
    let offered = sys.line(&format!("{first}/scaling_available_governors"));
    let cure = match offered.is_none_or(|offered| has_word(&offered, "performance")) {
        true => place.setting(
            "performance",
            &format!("{CPU}/cpufreq/policy*/scaling_governor"),
            "keep the highest frequency",
        ),
        false => Cure::no(
            "load the governor performance",
            "this kernel does not offer it",
        ),
    };
    GOVERNOR.warning(found, Some(cure))
}

fn turbo(sys: &dyn Sys, place: &Place, virtual_machine: bool) -> Finding {
    let advice = "keep the nominal frequency";
    let intel = format!("{CPU}/intel_pstate/no_turbo");
    let common = format!("{CPU}/cpufreq/boost");
    let policies = policies(sys);
    let each = |policy: &String| sys.line(&format!("{policy}/boost"));
    let each: Vec<String> = policies.iter().filter_map(each).collect();
    let off = |cure: &str, path: &str| place.setting(cure, path, advice);
    match (sys.line(&intel).as_deref(), sys.line(&common).as_deref()) {
        (Some("1"), _) | (None, Some("0")) => TURBO.ok("off"),
        (Some("0"), _) => TURBO.warning("on", Some(off("1", &intel))),
        (None, Some("1")) => TURBO.warning("on", Some(off("0", &common))),
        (Some(other), _) | (None, Some(other)) => TURBO.note(
            format!("the setting is neither 0 nor 1: {}", short(other)),
            None,
        ),
        (None, None) if each.iter().any(|boost| boost == "1") => {
            let pattern = format!("{CPU}/cpufreq/policy*/boost");
            TURBO.warning("on", Some(off("0", &pattern)))
        }
        (None, None) if !each.is_empty() => TURBO.ok("off"),
        (None, None) if virtual_machine => TURBO.note(BELOW, None),
        (None, None) => TURBO.note("unknown: there is none, or only firmware knows", None),
    }
}

fn smt(sys: &dyn Sys, place: &Place, virtual_machine: bool) -> Finding {
    let control_path = format!("{CPU}/smt/control");
    let control = sys.line(&control_path);
    match sys.line(&format!("{CPU}/smt/active")).as_deref() {
        Some("1") => {
            let cure = match control.as_deref() {
                // A number of threads, on CPUs that can run a core with some of its threads.
                Some(word) if word == "on" || word.parse::<u8>().is_ok() => place.setting(
                    "off",
                    &control_path,
                    "run one thread a core, which takes the other CPUs offline",
                ),
                _ => Cure::no(
                    "turn SMT (hyper-threading) off in the firmware's setup",
                    "this kernel cannot change SMT at run time",
                ),
            };
            SMT.warning("on: two or more threads share a core", Some(cure))
        }
        Some("0") if virtual_machine => SMT.note(
            "none seen; on the host below, another tenant may run on the other thread",
            None,
        ),
        Some("0") => SMT.ok(match control.as_deref() {
            Some("notsupported") => "the CPU has none",
            _ => "off",
        }),
        _ => SMT.note("not reported by the kernel", None),
    }
}

fn mitigations(sys: &dyn Sys) -> Finding {
    let folder = format!("{CPU}/vulnerabilities");
    let (mut mitigated, mut vulnerable, mut unaffected, mut unknown) = (vec![], vec![], 0, 0);
    for name in sys.list(&folder) {
        match sys.line(&format!("{folder}/{name}")) {
            Some(state) if state.starts_with("Not affected") => unaffected += 1,
            Some(state) if state.starts_with("Mitigation:") => mitigated.push(short(&name)),
            Some(state) if state.starts_with("Vulnerable") => vulnerable.push(short(&name)),
            // itlb_multihit begins with "KVM: Mitigation: ..." or "KVM: Vulnerable".
            Some(state) if state.contains("Mitigation:") => mitigated.push(short(&name)),
            Some(state) if state.contains("Vulnerable") => vulnerable.push(short(&name)),
            _ => unknown += 1,
        }
    }
    let mut found = Vec::new();
    if !mitigated.is_empty() {
        found.push(format!("mitigated: {}", mitigated.join(", ")));
    }
    if !vulnerable.is_empty() {
        found.push(format!("vulnerable: {}", vulnerable.join(", ")));
    }
    for (number, what) in [
        (unaffected, "not affecting this CPU"),
        (unknown, "not known"),
    ] {
        if number > 0 {
            found.push(format!("{number} {what}"));
        }
    }
    let boot = sys.line("/proc/cmdline").unwrap_or_default();
    if has_word(&boot, "mitigations=off") {
        found.push("booted with mitigations=off".to_owned());
    }
    let text = found.join("; ");
    match (
        text.is_empty(),
        mitigated.is_empty() && vulnerable.is_empty(),
    ) {
        (true, _) => MITIGATIONS.note("not reported by the kernel", None),
        (_, true) => MITIGATIONS.ok(text),
        _ => MITIGATIONS.note(text, None),
    }
}
