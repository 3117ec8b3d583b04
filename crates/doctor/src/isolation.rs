//! Checks for CPUs that the kernel keeps free of other work: isolcpus= and nohz_full= on its
//! command line, and isolated partitions of cgroups (Documentation/admin-guide/cgroup-v2.rst).

use crate::finding::{Concerns, Cure, Finding, Group, Topic};
use crate::parse::{cpu_list, show_cpus};
use crate::place::Place;
use crate::sys::Sys;
use std::collections::BTreeSet;

const CPU: &str = "/sys/devices/system/cpu";

/// Cores that the cure isolates: the widest rows run on two vCPUs.
const CORES_WANTED: usize = 2;

const ISOLATED: Topic = Topic {
    id: "processor.isolated",
    group: Group::Processor,
    concerns: Concerns::Time,
    title: "isolated CPUs",
    why: "On a CPU of its own a guest is not interrupted by other programs, and with nohz_full not \
          by the timer either.",
};

pub fn findings(sys: &dyn Sys, place: &Place) -> Vec<Finding> {
    let set = |path: &str| {
        let text = sys.read(path).unwrap_or_default();
        cpu_list(&text).unwrap_or_default()
    };
    let by_boot = set(&format!("{CPU}/isolated"));
    let tickless = set(&format!("{CPU}/nohz_full"));
    // The second is the mount point in systemd's hybrid mode, beside cgroup v1.
    let groups = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
    let partitions = groups.map(|root| set(&format!("{root}/cpuset.cpus.isolated")));
    let isolated: BTreeSet<u32> = partitions.iter().fold(by_boot, |all, some| &all | some);
    let name = show_cpus;
    let finding = if isolated.is_empty() {
        let found = match tickless.is_empty() {
            true => "none".to_owned(),
            false => format!("none, but nohz_full has {}", name(&tickless)),
        };
        ISOLATED.note(found, Some(cure(sys, place)))
    } else if isolated.is_subset(&tickless) {
        ISOLATED.ok(format!("{}, without a timer tick", name(&isolated)))
    } else {
        let found = format!("{}, but with a timer tick", name(&isolated));
        let words = format!("nohz_full={0} rcu_nocbs={0}", name(&isolated));
        ISOLATED.note(found, Some(place.boot_words(&words, "stop the tick there")))
    };
    vec![finding]
}

fn cure(sys: &dyn Sys, place: &Place) -> Cure {
    let advice = "isolate some CPUs";
    match cores_to_isolate(sys, place) {
        Some(cpus) => {
            let cpus = show_cpus(&cpus);
            let words =
                format!("isolcpus=managed_irq,domain,{cpus} nohz_full={cpus} rcu_nocbs={cpus}");
            place.boot_words(&words, advice)
        }
        None => Cure::no(
            advice,
            "this host has too few CPUs: the rest of the system needs some",
        ),
    }
}

/// The last cores with all their threads; none if less than half of the CPUs would be left.
fn cores_to_isolate(sys: &dyn Sys, place: &Place) -> Option<BTreeSet<u32>> {
    let mut chosen = BTreeSet::new();
    let mut cores = 0;
    for cpu in place.cpus.iter().rev() {
        if cores == CORES_WANTED {
            break;
        }
        if chosen.contains(cpu) {
            continue;
        }
        let threads = sys.read(&format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"));
        let threads = threads.as_deref().and_then(cpu_list).unwrap_or_default();
        chosen.extend(threads.intersection(&place.cpus));
        chosen.insert(*cpu);
        cores += 1;
    }
    (cores == CORES_WANTED && chosen.len() <= place.cpus.len() / 2).then_some(chosen)
}
