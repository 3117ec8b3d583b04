//! Checks memory: huge pages (Documentation/admin-guide/mm/transhuge.rst) and swap.

use crate::finding::{Concerns, Finding, Group, Topic};
use crate::parse::{chosen, field, short};
use crate::place::Place;
use crate::sys::Sys;

const THP_PATH: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Memory that must be available: a guest's and its monitor's, with room to spare.
const AVAILABLE_KIB: u64 = 1 << 20;

const THP: Topic = Topic {
    id: "memory.transparent-hugepages",
    group: Group::Memory,
    concerns: Concerns::Time,
    title: "transparent huge pages",
    why: "The pages of a guest's memory, huge or not, decide the depth of page walks and the cost of a first touch. So the memory rows depend on this setting.",
};

const SWAP: Topic = Topic {
    id: "memory.swap",
    group: Group::Memory,
    concerns: Concerns::Time,
    title: "swap",
    why: "A page of the guest that was swapped out costs a disk access at its next touch.",
};

pub fn findings(sys: &dyn Sys, place: &Place) -> Vec<Finding> {
    vec![huge_pages(sys, place), swap(sys, place)]
}

fn huge_pages(sys: &dyn Sys, place: &Place) -> Finding {
    let setting = sys.read(THP_PATH);
    match setting.as_deref().map(chosen) {
        None => THP.note("the kernel has none, or does not report it", None),
        Some(None) => THP.note("the setting is not recognized", None),
        Some(Some("always")) => THP.note(
            "always: the kernel makes and splits huge pages on its own",
            Some(place.setting(
                "madvise",
                THP_PATH,
                "only where a program asks for huge pages",
            )),
        ),
        Some(Some(word)) => THP.ok(short(word)),
    }
}

fn swap(sys: &dyn Sys, place: &Place) -> Finding {
    let Some(meminfo) = sys.read("/proc/meminfo") else {
        return SWAP.note("not reported by the kernel", None);
    };
    let kib = |key: &str| {
        let value = field(&meminfo, key)?;
        value.split_ascii_whitespace().next()?.parse::<u64>().ok()
    };
    let (total, free) = (kib("SwapTotal"), kib("SwapFree"));
    let used = total
        .unwrap_or_default()
        .saturating_sub(free.unwrap_or_default());
    let available = kib("MemAvailable");
    if used == 0 {
        return SWAP.ok(match total {
            Some(1..) => "not in use",
            _ => "there is none",
        });
    }
    let found = format!(
        "{} MiB in use, {} of memory available",
        used >> 10,
        available.map_or("an unknown amount".to_owned(), |kib| format!(
            "{} MiB",
            kib >> 10
        ))
    );
    let enough = available.is_some_and(|kib| kib >= AVAILABLE_KIB);
    // swapoff needs memory for all that is swapped in.
    let fits = available.is_some_and(|kib| kib > used.saturating_add(AVAILABLE_KIB));
    let cure = match fits {
        true => Some(place.by_root("turn swap off, until the next boot", "swapoff -a")),
        false => None,
    };
    match enough {
        true => SWAP.note(found, cure),
        false => SWAP.warning(found, cure),
    }
}
