//! Checks for CPUs that the kernel keeps free of other work: isolcpus= and nohz_full= on its
//! command line, and isolated partitions of cgroups (Documentation/admin-guide/cgroup-v2.rst).

use crate::finding::{Concerns, Cure, Finding, Group, Topic};
use crate::place::Place;
use ws_cpus::Cpus;
use ws_cpus::list::{Set, show};

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

pub fn findings(place: &Place) -> Vec<Finding> {
    let (isolated, tickless) = (&place.cpus.isolated, &place.cpus.tickless);
    let finding = if isolated.is_empty() {
        let found = match tickless.is_empty() {
            true => "none".to_owned(),
            false => format!("none, but nohz_full has {}", show(tickless)),
        };
        ISOLATED.note(found, Some(cure(place)))
    } else if isolated.is_subset(tickless) {
        ISOLATED.ok(format!("{}, without a timer tick", show(isolated)))
    } else {
        let found = format!("{}, but with a timer tick", show(isolated));
        let words = format!("nohz_full={0} rcu_nocbs={0}", show(isolated));
        ISOLATED.note(found, Some(place.boot_words(&words, "stop the tick there")))
    };
    vec![finding]
}

fn cure(place: &Place) -> Cure {
    let advice = "isolate some CPUs";
    match cores_to_isolate(&place.cpus) {
        Some(cpus) => {
            let cpus = show(&cpus);
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

/// The last cores of the fastest kind with all their threads; none if less than half of the CPUs would be left.
fn cores_to_isolate(cpus: &Cpus) -> Option<Set> {
    let alike = cpus.alike(&cpus.online, CORES_WANTED);
    let mut chosen = Set::new();
    let mut cores = 0;
    for cpu in alike.iter().rev() {
        if cores == CORES_WANTED {
            break;
        }
        if !chosen.contains(cpu) {
            chosen.extend(cpus.core_of(*cpu));
            cores += 1;
        }
    }
    (cores == CORES_WANTED && chosen.len() <= cpus.online.len() / 2).then_some(chosen)
}
