//! The terms of HyperBench's cost model (SIGMETRICS 2019, section 3): which benchmark measures which
//! term, and which terms a platform has.

use schemars::JsonSchema;
use serde::Serialize;
use ws_results::Paging;

/// A component of T_virt, equation 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Component {
    /// T_cpu, equation 4.
    Cpu,
    /// T_memory, equation 5.
    Memory,
    /// T_io, equation 6.
    Io,
}

/// A term of equations 4 to 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Term {
    /// Sensitive instructions.
    Sen,
    /// Virtualization extensions: world switches that only a guest makes.
    Ext,
    /// Switching the page-table root.
    Switch,
    /// Synchronizing shadow tables with the guest's.
    Sync,
    /// Building the second set of page tables.
    Cons,
    /// Two-dimensional page walks.
    Two,
    /// Transfers from the device to the guest.
    In,
    /// Transfers from the guest to the device.
    Out,
}

/// All terms, in the order of the equations.
pub const TERMS: [Term; 8] = [
    Term::Sen,
    Term::Ext,
    Term::Switch,
    Term::Sync,
    Term::Cons,
    Term::Two,
    Term::In,
    Term::Out,
];

impl Component {
    /// Symbol of the component in the paper.
    pub fn symbol(self) -> &'static str {
        match self {
            Component::Cpu => "T_cpu",
            Component::Memory => "T_memory",
            Component::Io => "T_io",
        }
    }
}

impl Term {
    /// The component that the term belongs to.
    pub fn component(self) -> Component {
        match self {
            Term::Sen | Term::Ext => Component::Cpu,
            Term::Switch | Term::Sync | Term::Cons | Term::Two => Component::Memory,
            Term::In | Term::Out => Component::Io,
        }
    }

    /// Symbol of the term in the paper.
    pub fn symbol(self) -> &'static str {
        match self {
            Term::Sen => "T_sen",
            Term::Ext => "T_ext",
            Term::Switch => "T_switch",
            Term::Sync => "T_sync",
            Term::Cons => "T_cons",
            Term::Two => "T_two",
            Term::In => "T_in",
            Term::Out => "T_out",
        }
    }

    /// Returns the reason why this term is zero with this paging (the last two sentences on equation 5); `None` if the
    /// term is not zero.
    pub fn absent(self, paging: Paging) -> Option<&'static str> {
        match (self, paging) {
            (Term::Switch, Paging::Nested) => {
                Some("with nested paging the guest switches its own tables")
            }
            (Term::Sync, Paging::Nested) => {
                Some("with nested paging there are no shadow tables to synchronize")
            }
            (Term::Two, Paging::Shadow) => {
                Some("with shadow paging the processor walks only one set of tables")
            }
            _ => None,
        }
    }
}

/// The suite's rows that measure the same as kvm-unit-tests, and KVM's replacements for exits.
const EXITS: [&str; 26] = [
    "toggle-cr0-wp",
    "toggle-cr4-pge",
    "write-dr7",
    "tsc-adjust-read",
    "tsc-adjust-write",
    "write-gs-base",
    "cr8-read",
    "cr8-write",
    "self-ipi-halted",
    "self-ipi-priority",
    "self-ipi-no-eoi",
    "tsc-deadline-past",
    "tsc-deadline",
    "in-kernel",
    "out-kernel",
    "in-pm-timer",
    "out-eventfd",
    "mmio-write",
    "mmio-write-eventfd",
    "mmio-write-eventfd-any",
    "pvclock-read",
    "pv-ipi-halted",
    "pv-ipi-running",
    "hv-reference-counter",
    "hv-reference-tsc",
    "hv-hypercall",
];

/// Ends of the names of rows that repeat another row in another state of the guest: with paging off, with a masked
/// pending interrupt, or with floating point in use.
const STATES: [&str; 3] = ["-unpaged", "-pending", "-fp"];

/// Whether a benchmark's event needs a hypervisor, its services or its devices. Such an event does not occur natively,
/// so its whole cost counts as added.
pub fn guests_only(benchmark: &str) -> bool {
    let beginnings = ["io-latency-", "event-", "pv-", "pvclock-", "hv-"];
    benchmark == "hypercall" || beginnings.iter().any(|begin| benchmark.starts_with(begin))
}

/// Returns the term that a benchmark measures with this paging; `None` if it measures none, such as Idle. Benchmarks
/// outside the suite are assigned by category.
pub fn term_of(benchmark: &str, category: &str, paging: Paging) -> Option<Term> {
    match benchmark {
        "idle" => None,
        // Sums of the costs that other rows measure.
        "vm-switch" | "event-switch" | "event-channel" => None,
        "event-in" => Some(Term::In),
        "event-out" | "event-send" => Some(Term::Out),
        // Notifications of a device: the paper's T_in and T_out.
        _ if benchmark.starts_with("io-latency-in-") => Some(Term::In),
        _ if benchmark.starts_with("io-latency-out-") => Some(Term::Out),
        // Single exits that are not in the paper's terms (docs/benchmarks/exits.md).
        _ if EXITS.contains(&benchmark) => None,
        // Repetitions of other rows, in another state of the guest.
        _ if STATES.iter().any(|state| benchmark.ends_with(state)) => None,
        // Privileged and sensitive everywhere; with shadow paging it also switches the shadow root.
        "set-cr3" if paging == Paging::Nested => Some(Term::Sen),
        "set-cr3" => Some(Term::Switch),
        "remap-page" | "set-page-table-4k" | "set-page-table-2m" => Some(Term::Sync),
        "cold-memory-access" => Some(Term::Cons),
        "hot-memory-access" => Some(Term::Two),
        "in" => Some(Term::In),
        "out" | "print" => Some(Term::Out),
        _ => match category {
            "unprivileged" | "privileged" => Some(Term::Sen),
            "exception" => Some(Term::Ext),
            "io" => Some(Term::Out),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_paging_has_its_terms() {
        let absent = |paging| -> Vec<&str> {
            let terms = TERMS.iter().filter(|term| term.absent(paging).is_some());
            terms.map(|term| term.symbol()).collect()
        };
        assert_eq!(absent(Paging::Nested), ["T_switch", "T_sync"]);
        assert_eq!(absent(Paging::Shadow), ["T_two"]);
        assert!(absent(Paging::Software).is_empty());
    }

    #[test]
    fn a_root_switch_is_a_sensitive_instruction_or_a_switch_of_shadows() {
        let term = |paging| term_of("set-cr3", "privileged", paging);
        assert_eq!(term(Paging::Nested), Some(Term::Sen));
        assert_eq!(term(Paging::Shadow), Some(Term::Switch));
        assert_eq!(term_of("idle", "idle", Paging::Nested), None);
        assert_eq!(
            term_of("cpuid", "exception", Paging::Nested),
            Some(Term::Ext)
        );
        assert_eq!(term_of("mixed", "mixed", Paging::Nested), None);
        for variant in ["hypercall-pending", "hypercall-fp", "hypercall-unpaged"] {
            assert_eq!(term_of(variant, "exception", Paging::Nested), None);
        }
    }

    #[test]
    fn a_device_s_notifications_belong_to_their_direction() {
        let term = |benchmark: &str| term_of(benchmark, "io", Paging::Nested);
        for way in ["spinning", "woken", "userspace"] {
            assert_eq!(term(&format!("io-latency-in-{way}")), Some(Term::In));
            assert_eq!(term(&format!("io-latency-out-{way}")), Some(Term::Out));
        }
        assert_eq!(
            (term("event-in"), term("event-channel")),
            (Some(Term::In), None)
        );
    }
}
