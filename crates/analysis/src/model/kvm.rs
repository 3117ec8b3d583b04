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

/// What one operation of the benchmark print writes, byte by byte (guest/bench/print.c).
const PRINT_BYTES: f64 = 32.0;

/// Totals, and counters of what is in another already.
const CONTAINED: [&str; 6] = [
    "exits",
    "io_exits",
    "pf_fixed",
    "pf_emulate",
    "insn_emulation",
    "irq_injections",
];

/// What KVM counted of all exits together.
struct Exits {
    all: f64,
    io: f64,
    /// Instructions that KVM decoded: of port accesses only those of strings.
    emulated: f64,
}

/// `io` accesses of ports by the benchmark that measures the like. KVM emulates string instructions, a
/// byte a time and at twice the cost of a plain access, which it does not decode.
fn port_accesses(io: f64, exits: &Exits, events: &mut HostEvents) {
    if io <= 0.0 {
        return;
    }
    // Other exits may be decoded too, each once at most.
    let strings = (exits.emulated - (exits.all - exits.io)).clamp(0.0, io);
    let perhaps = exits.emulated.clamp(0.0, io) - strings;
    if strings > 0.0 {
        events.counts.insert("print".into(), strings / PRINT_BYTES);
    }
    let plain = io - strings;
    if plain > 0.0 {
        for benchmark in ["in", "out"] {
            events.counts.insert(benchmark.into(), plain / 2.0);
        }
        events.left_out.push(format!(
            "which of {plain} port accesses were reads: nothing counts that, half is taken for each"
        ));
    }
    if perhaps > 0.0 {
        events.left_out.push(format!(
            "up to {perhaps} port accesses may be of strings, which cost twice as much: they are taken for plain ones"
        ));
    }
}

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
    let exits = Exits {
        all: counter("exits"),
        io: counter("io_exits"),
        emulated: counter("insn_emulation"),
    };
    port_accesses(io, &exits, &mut events);
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
