//! Checks which CPUs this program can use, and whether they are all of one kind.

use crate::finding::{Concerns, Cure, Finding, Group, Here, Topic};
use crate::parse::short;
use crate::place::Place;
use ws_cpus::list::{Set, show};
use ws_cpus::{Cpus, Limit, named};

/// CPUs that a measurement needs: the widest rows run on two vCPUs.
const CPUS_WANTED: usize = 2;

const USABLE: Topic = Topic {
    id: "processor.usable",
    group: Group::Processor,
    concerns: Concerns::Time,
    title: "usable CPUs",
    why: "The guest's vCPUs and all other programs share the CPUs. Benchmarks that need two CPUs at once are skipped on one.",
};

const KINDS: Topic = Topic {
    id: "processor.kinds",
    group: Group::Processor,
    concerns: Concerns::Time,
    title: "kinds of cores",
    why: "The same work takes a different time on each kind. worldswitch run pins vCPUs to one kind; \
          other threads and commands run on all.",
};

pub fn findings(place: &Place) -> Vec<Finding> {
    vec![usable(place), kinds(&place.cpus)]
}

fn usable(place: &Place) -> Finding {
    let cpus = &place.cpus;
    let limits = cpus.limits();
    let usable = cpus.usable();
    let mut found = match (usable.len(), cpus.present.len()) {
        (1, 1) => "one, as this machine has no more".to_owned(),
        (all, there) if all == there => format!("all {all}"),
        (some, there) => format!("{some} of {there} ({})", show(&usable)),
    };
    for limit in &limits {
        // A control group's name is text of the host: `limit_text` cuts it.
        found += &format!("; {}", limit_text(limit));
    }
    if let Some(quota) = cpus.quota {
        found += &format!("; control groups grant the time of {quota:.2} CPUs");
    }
    if let Some(quota) = cpus.quota.filter(|quota| *quota < usable.len() as f64) {
        return USABLE.warning(found, Some(of_quota(place, quota)));
    }
    let cure = limits.first().map(|limit| cure(place, limit));
    match usable.len() {
        few if few < CPUS_WANTED && cure.is_some() => USABLE.warning(found, cure),
        few if few < CPUS_WANTED => USABLE.note(found, None),
        _ if limits.iter().all(is_harmless) => USABLE.ok(found),
        _ => USABLE.note(found, cure),
    }
}

/// Whether a limit needs no cure: second threads of cores are offline where the user took the doctor's cure for SMT.
fn is_harmless(limit: &Limit) -> bool {
    matches!(limit, Limit::SecondThreads(_))
}

fn limit_text(limit: &Limit) -> String {
    match limit {
        Limit::Cpuset(Some(group), cpus) => Limit::Cpuset(Some(short(group)), cpus.clone()).text(),
        other => other.text(),
    }
}

fn cure(place: &Place, limit: &Limit) -> Cure {
    let cpus = named(limit.cpus());
    match limit {
        Limit::Affinity(_) => Cure::yes(
            "start worldswitch without taskset; this command gives the calling shell all CPUs",
            &format!("taskset -pc {} $$", show(&place.cpus.bindable)),
        ),
        Limit::Cpuset(..) => by_host(
            place,
            &format!(
                "add {cpus} to the cpuset (docker update --cpuset-cpus, AllowedCPUs= of its unit)"
            ),
        ),
        Limit::Offline(offline) => {
            let which = match offline.len() {
                1 => format!("cpu{}", show(offline)),
                _ => "cpu[0-9]*".to_owned(),
            };
            let pattern = format!("/sys/devices/system/cpu/{which}/online");
            place.setting("1", &pattern, &format!("take {cpus} online"))
        }
        Limit::SecondThreads(_) => {
            place.setting("on", "/sys/devices/system/cpu/smt/control", "turn SMT on")
        }
    }
}

fn of_quota(place: &Place, quota: f64) -> Cure {
    let advice = format!(
        "raise the limit of {quota:.2} CPUs (docker update --cpus, CPUQuota= of its unit): at the limit all threads stop for \
         milliseconds"
    );
    by_host(place, &advice)
}

/// A cure by whoever set the limits of this process, without a command.
fn by_host(place: &Place, advice: &str) -> Cure {
    if place.container {
        return Cure::no(advice, "a container can't change its own limits");
    }
    Cure {
        advice: advice.to_owned(),
        command: None,
        here: match place.administrator {
            true => Here::Yes,
            false => Here::Root,
        },
        obstacle: None,
    }
}

fn kinds(cpus: &Cpus) -> Finding {
    let usable = cpus.usable();
    let kinds = cpus.kinds_among(&usable);
    match &*kinds {
        [] | [_] if cpus.kinds.len() < 2 => KINDS.ok("one"),
        [] => KINDS.note("not reported by the kernel", None),
        [(kind, cpus)] => {
            let found = format!("one in use: {} ({})", kind.name, show(cpus));
            KINDS.ok(found)
        }
        several => {
            let each = several.iter();
            let each = each.map(|(kind, cpus)| format!("{} ({})", kind.name, show(cpus)));
            let each: Vec<String> = each.collect();
            let found = format!("{}: {}", several.len(), each.join(", "));
            let one: Set = cpus.alike(&usable, CPUS_WANTED);
            let command = format!("taskset -c {} worldswitch run", show(&one));
            KINDS.warning(found, Some(Cure::yes("use CPUs of one kind", &command)))
        }
    }
}
