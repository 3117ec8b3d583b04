//! The components of kernels: the scheduler, vhost, the network stack. They sum up the functions of a workload.

use crate::place::Kind;
use crate::spread::Part;
use std::sync::LazyLock;

/// Component of processes, whose functions have no names here.
const PROGRAMS: &str = "programs";
/// Component of modules of the VM's kernel, which have no names either: they are its drivers.
const UNNAMED_MODULES: &str = "drivers in the VM";
/// Component of functions that no line of the file matches.
const OTHERS: &str = "other kernel code";

/// A component and the patterns of its functions.
struct Component {
    name: &'static str,
    patterns: Vec<Pattern>,
}

/// A pattern of a component.
enum Pattern {
    Module(&'static str),
    Function(&'static str),
    Beginning(&'static str),
}

static COMPONENTS: LazyLock<Vec<Component>> = LazyLock::new(|| {
    let lines = include_str!("components.txt").lines();
    lines.filter_map(component).collect()
});

fn component(line: &'static str) -> Option<Component> {
    let (name, patterns) = line.split_once(": ").filter(|_| !line.starts_with('#'))?;
    let pattern = |word: &'static str| {
        let module = word
            .strip_prefix('[')
            .and_then(|word| word.strip_suffix(']'));
        match (module, word.strip_suffix('*')) {
            (Some(module), _) => Pattern::Module(module),
            (None, Some(beginning)) => Pattern::Beginning(beginning),
            (None, None) => Pattern::Function(word),
        }
    };
    Some(Component {
        name,
        patterns: patterns.split(' ').map(pattern).collect(),
    })
}

impl Pattern {
    fn has(&self, part: &Part) -> bool {
        match self {
            Self::Module(module) => part.module.as_deref() == Some(module),
            Self::Function(name) => part.name == *name,
            Self::Beginning(beginning) => part.name.starts_with(beginning),
        }
    }
}

/// Returns the component that a function is part of.
pub fn of(part: &Part) -> &'static str {
    if part.kind == Kind::User {
        return PROGRAMS;
    }
    if part.is_unnamed_module() {
        return UNNAMED_MODULES;
    }
    let has = |component: &&Component| component.patterns.iter().any(|pattern| pattern.has(part));
    let found = COMPONENTS.iter().find(has);
    found.map_or(OTHERS, |component| component.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::part;

    #[test]
    fn a_function_is_part_of_the_first_component_that_has_it() {
        for (name, module, wanted) in [
            ("vcpu_run", Some("kvm"), "KVM"),
            ("handle_tx", Some("vhost_net"), "vhost"),
            ("br_handle_frame", Some("bridge"), "tap, bridge and veth"),
            ("virtqueue_get_buf", None, "drivers in the VM"),
            (
                "gnttab_batch_copy",
                None,
                "Xen's drivers and event channels",
            ),
            ("leave_hypervisor_to_guest", Some("Xen"), "Xen"),
            ("vgic_v3_load", None, "KVM"),
            ("gic_handle_irq", None, "interrupts, timers and softirqs"),
            ("el0t_64_sync_handler", None, "system calls and files"),
            ("__schedule", None, "scheduler and wake-ups"),
            ("schedule_timeout", None, "scheduler and wake-ups"),
            ("handle_softirqs", None, "interrupts, timers and softirqs"),
            ("tcp_ack", None, "network stack"),
            ("clear_page_erms", None, "memory"),
            ("ksys_read", None, "system calls and files"),
            ("_raw_spin_lock", None, "locks"),
            ("crc32c", None, "other kernel code"),
        ] {
            assert_eq!(of(&part(name, module, Kind::Kernel)), wanted, "{name}");
        }
        assert_eq!(of(&part("__schedule", None, Kind::User)), "programs");
    }

    #[test]
    fn every_line_is_read_and_no_pattern_is_there_twice() {
        let lines = include_str!("components.txt").lines();
        assert_eq!(
            COMPONENTS.len(),
            lines.filter(|line| !line.starts_with('#')).count()
        );
        let words = COMPONENTS.iter().flat_map(|component| &component.patterns);
        let mut words: Vec<&str> = words
            .map(|pattern| match pattern {
                Pattern::Module(word) | Pattern::Function(word) | Pattern::Beginning(word) => word,
            })
            .copied()
            .collect();
        words.sort_unstable();
        let twice = words.windows(2).find(|pair| pair[0] == pair[1]);
        assert!(twice.is_none(), "{twice:?}");
        assert!(words.iter().all(|word| !word.is_empty()));
    }
}
