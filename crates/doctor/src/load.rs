//! Checks the load of other programs, and the CPU time that a hypervisor below takes (steal).

use crate::finding::{Concerns, Cure, Finding, Group, Topic};
use crate::parse::{CpuTimes, cpu_times};
use crate::place::Place;
use crate::sys::Sys;

/// CPUs that a measurement needs: the widest rows run on two vCPUs.
const CPUS_WANTED: f64 = 2.0;
/// A load below this is an idle system's background work.
const QUIET_CPUS: f64 = 0.5;
/// Shares of CPU time. Over a short interval a single stolen tick is 1 % already, so this is more.
const STEAL_NOW: f64 = 0.02;
const STEAL_SINCE_BOOT: f64 = 0.005;

const LOAD: Topic = Topic {
    id: "host.load",
    group: Group::Host,
    concerns: Concerns::Time,
    title: "load",
    why: "Other programs take the CPU in the middle of a batch, and evict its caches.",
};

const STEAL: Topic = Topic {
    id: "host.steal",
    group: Group::Host,
    concerns: Concerns::Time,
    title: "stolen time",
    why: "The guest's clock keeps running while the hypervisor below runs something else.",
};

/// `earlier` is the text of `/proc/stat` some 100 ms before.
pub fn findings(sys: &dyn Sys, place: &Place, earlier: Option<&str>) -> Vec<Finding> {
    let stat = sys.read("/proc/stat");
    let since_boot = stat.as_deref().and_then(cpu_times);
    let now = since_boot.and_then(|times| times.since(earlier.and_then(cpu_times)?));
    vec![load(sys, place, now), steal(since_boot, now)]
}

fn load(sys: &dyn Sys, place: &Place, now: Option<CpuTimes>) -> Finding {
    let cpus = place.cpus.online.len() as f64;
    let average = sys
        .line("/proc/loadavg")
        .and_then(|line| line.split(' ').next()?.parse::<f64>().ok())
        .filter(|load| (0.0..1e6).contains(load));
    let busy = now.map(|times| times.busy_share() * cpus);
    let on = match place.cpus.online.len() {
        1 => "1 CPU".to_owned(),
        cpus => format!("{cpus} CPUs"),
    };
    let found = match (average, busy) {
        (Some(average), Some(busy)) => {
            format!("average {average:.2} in the last minute, {busy:.1} now, on {on}")
        }
        (Some(average), None) => format!("average {average:.2} in the last minute, on {on}"),
        (None, Some(busy)) => format!("{busy:.1} now, on {on}"),
        (None, None) => return LOAD.note("not reported by the kernel", None),
    };
    let cure = || {
        Some(Cure::yes(
            "stop programs that need not run; this command lists them",
            "top",
        ))
    };
    let crowded = |load: f64| load + CPUS_WANTED.min(cpus) > cpus + QUIET_CPUS || load > cpus / 2.0;
    // The average still contains a load that has just ended and no longer disturbs.
    if busy
        .or(average)
        .is_some_and(|load| load > QUIET_CPUS && crowded(load))
    {
        LOAD.warning(found, cure())
    } else if [busy, average]
        .iter()
        .flatten()
        .any(|load| *load > QUIET_CPUS)
    {
        LOAD.note(found, cure())
    } else {
        LOAD.ok(found)
    }
}

fn steal(since_boot: Option<CpuTimes>, now: Option<CpuTimes>) -> Finding {
    let Some(boot) = since_boot.map(CpuTimes::steal_share) else {
        return STEAL.note("not reported by the kernel", None);
    };
    let now = now.map(CpuTimes::steal_share);
    let found = match now {
        Some(now) => format!("{} since boot, {} now", percent(boot), percent(now)),
        None => format!("{} since boot", percent(boot)),
    };
    let cure = Cure::no(
        "use a machine with CPUs of its own (dedicated, not burstable)",
        "the host below shares its CPUs among virtual machines",
    );
    if now.is_some_and(|now| now >= STEAL_NOW) || boot >= STEAL_SINCE_BOOT {
        STEAL.warning(found, Some(cure))
    } else if boot > 0.0 || now.is_some_and(|now| now > 0.0) {
        STEAL.note(found, None)
    } else {
        STEAL.ok("none reported")
    }
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "none".to_owned(),
        little if little < 0.1 => "under 0.1 %".to_owned(),
        much => format!("{much:.1} %"),
    }
}
