//! Converts the counts of KVM and its monitor to a workload's events.
//!
//! KVM's statistics (Linux, Documentation/virt/kvm/api.rst, KVM_GET_STATS_FD; the names are in
//! arch/x86/kvm/x86.c, kvm_vcpu_stats_desc) count exits by their reason, not by the guest's instruction. So some counts
//! are no events of the model; those are listed.

use std::collections::BTreeMap;
use ws_results::HostView;

/// The events from the counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostEvents {
    /// Event counts by benchmark of the model.
    pub counts: BTreeMap<String, f64>,
    /// Counts that could not be converted, as text.
    pub left_out: Vec<String>,
}

/// KVM's counters and the benchmarks whose events they count.
const EVENTS: [(&str, &str); 3] = [
    ("hypercalls", "hypercall"),
    ("halt_exits", "ipi-halted"),
    ("pf_taken", "cold-memory-access"),
];

/// The bytes that one operation of the benchmark print writes (guest/bench/print.c).
const PRINT_BYTES: f64 = 32.0;

/// Totals, and counters that are contained in others.
const CONTAINED: [&str; 6] = [
    "exits",
    "io_exits",
    "pf_fixed",
    "pf_emulate",
    "insn_emulation",
    "irq_injections",
];

/// KVM's totals.
struct Exits {
    all: f64,
    io: f64,
    /// Instructions that KVM decoded. The only port accesses among them are string instructions.
    emulated: f64,
}

/// Assigns `io` port accesses to the benchmarks that measure them. KVM emulates string instructions
/// byte by byte, at twice the cost of a plain access, which it does not decode.
fn port_accesses(io: f64, exits: &Exits, events: &mut HostEvents) {
    if io <= 0.0 {
        return;
    }
    // Other exits may be decoded too, each at most once.
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
            "reads and writes of {plain} port accesses are not counted separately: half is taken for each"
        ));
    }
    if perhaps > 0.0 {
        events.left_out.push(format!(
            "up to {perhaps} port accesses may be string instructions, which cost twice as much: the model counts these as plain accesses"
        ));
    }
}

/// Converts the host's counts of one row in all its boots to events: means per boot.
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
    // The monitor's own count is exact, and exists even without KVM's.
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
        .map(|(name, count)| format!("{count} {name}: no benchmark measures these"));
    events.left_out.extend(others);
    events
}
