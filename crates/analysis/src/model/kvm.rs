//! A workload's events from what KVM and its monitor counted.
//!
//! KVM's statistics (Linux, Documentation/virt/kvm/api.rst, KVM_GET_STATS_FD; the names stand in
//! arch/x86/kvm/x86.c, kvm_vcpu_stats_desc) count exits by their reason, not by the guest's
//! instruction. So not all of them are events of the model; those that are not are named.

use std::collections::BTreeMap;
use ws_results::HostView;

/// What could be made of the counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostEvents {
    /// By benchmark of the model.
    pub counts: BTreeMap<String, f64>,
    /// What could not, in words.
    pub left_out: Vec<String>,
}

/// KVM's counter and the benchmark whose event it counts.
const EVENTS: [(&str, &str); 3] = [
    ("hypercalls", "hypercall"),
    ("halt_exits", "ipi-halted"),
    ("pf_taken", "cold-memory-access"),
];

/// Totals, and counters of what is in another already.
const CONTAINED: [&str; 6] = [
    "exits",
    "io_exits",
    "pf_fixed",
    "pf_emulate",
    "insn_emulation",
    "irq_injections",
];

/// From what the host saw of one row in all its boots: the mean of a boot.
pub fn host_events(views: &[HostView]) -> HostEvents {
    let mut events = HostEvents::default();
    let boots = views.len().max(1) as f64;
    let sum = |of: &dyn Fn(&HostView) -> u64| views.iter().map(|view| of(view) as f64).sum::<f64>();
    let counter = |name: &str| {
        let of = |view: &HostView| {
            let kvm = view.kvm.as_ref();
            kvm.and_then(|kvm| kvm.get(name)).copied().unwrap_or(0)
        };
        sum(&of) / boots
    };
    for (name, benchmark) in EVENTS {
        let count = counter(name);
        if count > 0.0 {
            events.counts.insert(benchmark.into(), count);
        }
    }
    // The monitor's own count is exact, and there without KVM's too.
    let io = sum(&|view| view.returns.get("io").copied().unwrap_or(0)) / boots;
    let io = if io > 0.0 { io } else { counter("io_exits") };
    if io > 0.0 {
        for benchmark in ["in", "out"] {
            events.counts.insert(benchmark.into(), io / 2.0);
        }
        events.left_out.push(format!(
            "which of {io} port accesses were reads: nothing counts that, half is taken for each"
        ));
    }
    let mut others: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, count) in views.iter().filter_map(|view| view.kvm.as_ref()).flatten() {
        let known = EVENTS.iter().any(|(event, _)| event == name);
        if *count > 0 && !known && !CONTAINED.contains(&name.as_str()) {
            *others.entry(name).or_default() += *count as f64 / boots;
        }
    }
    let others = others
        .into_iter()
        .map(|(name, count)| format!("{count} {name}: no benchmark measures them"));
    events.left_out.extend(others);
    events
}
