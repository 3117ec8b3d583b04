//! Workloads predicted by HyperBench's cost model (SIGMETRICS 2019, section 3): T_guest = T_direct + T_virt
//! (equation 2), where T_virt is the sum over all exits of what such an exit costs in a microbenchmark
//! (equations 3 to 6), held against what was measured. Both are instructions, so T_two is 0.

use super::{App, AppLine};
use crate::unit_of_work::base;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use ws_analysis::Summary;
use ws_results::{ResultFile, Status};

/// What is paid for exits that no benchmark makes: interrupts that arrive, and windows for them. The hypercall
/// is the exit with the least work.
const LEAST: &str = "hypercall";

/// The reason as KVM's tracing names it, the benchmark with such exits, and whether QEMU answers them.
const PRICED: [(&str, &str, bool); 18] = [
    ("vmmcall", "hypercall", false),
    ("cpuid", "cpuid", false),
    ("hlt", "ipi-halted", false),
    ("io", "in", true),
    // Notifications of virtio devices, which eventfds take.
    ("npf", "out-eventfd", false),
    // The local APIC's registers: an interrupt's end, the timer.
    ("msr", "irq-completion", false),
    ("hvc", "hypercall", false),
    ("wfx", "ipi-halted", false),
    ("dabt", "out-eventfd", false),
    ("iabt", "cold-memory-access", false),
    ("sysreg", "read-id-register", false),
    // KVM's own counters, where exits were not counted by reason.
    ("halt_exits", "ipi-halted", false),
    ("io_exits", "in", true),
    ("hypercalls", "hypercall", false),
    ("wfi_exit_stat", "ipi-halted", false),
    ("mmio_exit_kernel", "out-eventfd", false),
    ("mmio_exit_user", "in", true),
    ("hvc_exit_stat", "hypercall", false),
];

/// A workload on a platform with VMs. A field is absent if it can't be known, with the reason in `why`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Predicted {
    pub workload: String,
    pub unit: Option<String>,
    pub platform: String,
    /// T_direct: instructions of a unit natively.
    pub direct: Option<f64>,
    /// T_virt: instructions of its exits, as predicted.
    pub exits_cost: Option<f64>,
    /// T_guest as predicted.
    pub predicted: Option<f64>,
    /// T_guest as measured.
    pub measured: Option<f64>,
    /// Predicted relative to measured, less 1: negative if it costs more than predicted.
    pub error: Option<f64>,
    /// The GNR as predicted: T_guest / T_direct.
    pub gnr: Option<f64>,
    /// Instructions of the threads that serve the VM's devices, which no exit's price has.
    pub serving: Option<f64>,
    /// The error if those are added.
    pub error_serving: Option<f64>,
    /// Each kind of exit, the costliest first.
    pub events: Vec<PricedExit>,
    pub why: Option<String>,
}

/// One kind of exit of a unit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PricedExit {
    pub reason: String,
    /// Exits for one unit.
    pub count: f64,
    /// The benchmark with such exits, and the platform on which it was measured.
    pub benchmark: String,
    pub of: String,
    /// Instructions of one.
    pub each: f64,
    /// Instructions of all.
    pub total: f64,
}

/// The predictions for all lines of platforms with VMs, if any result has prices.
pub(super) fn predictions(
    apps: &[App],
    results: &[ResultFile],
    serving: &dyn Fn(&str, &str) -> Option<f64>,
) -> Vec<Predicted> {
    let of_line = |app: &App, line: &AppLine| {
        let result = results
            .iter()
            .find(|result| result.platform == line.platform)?;
        let prices = Prices::of(result, results)?;
        let direct = line
            .insns
            .zip(line.ratio)
            .map(|(insns, ratio)| insns / ratio);
        let serving = serving(&app.workload, &line.platform);
        Some(predicted(app, line, direct, serving, &prices))
    };
    let lines = apps
        .iter()
        .flat_map(|app| app.lines.iter().map(move |line| (app, line)));
    lines.filter_map(|(app, line)| of_line(app, line)).collect()
}

fn predicted(
    app: &App,
    line: &AppLine,
    direct: Option<f64>,
    serving: Option<f64>,
    prices: &Prices<'_>,
) -> Predicted {
    let events = prices.events(line);
    let exits_cost =
        (!line.counts.is_empty()).then(|| events.iter().map(|event| event.total).sum());
    let predicted = direct
        .zip(exits_cost)
        .map(|(direct, cost): (f64, f64)| direct + cost);
    let error = |more: f64| Some((predicted? + more) / line.insns? - 1.0);
    let why = match (line.insns, direct, exits_cost) {
        (None, ..) => line.why.clone(),
        (_, None, _) => Some("natively it was not measured".to_owned()),
        (_, _, None) => Some("its exits were not counted".to_owned()),
        _ => None,
    };
    Predicted {
        workload: app.workload.clone(),
        unit: app.unit.clone(),
        platform: line.platform.clone(),
        direct,
        exits_cost,
        predicted,
        measured: line.insns,
        error: error(0.0),
        gnr: predicted.zip(direct).map(|(guest, direct)| guest / direct),
        serving,
        error_serving: serving.and_then(error),
        events,
        why,
    }
}

/// What exits cost on a hypervisor.
struct Prices<'a> {
    /// By benchmark: the platform, and instructions of one. First of the machine whose monitor is the project's
    /// own, then of the one with QEMU.
    own: BTreeMap<&'a str, (&'a str, f64)>,
    qemu: BTreeMap<&'a str, (&'a str, f64)>,
}

impl<'a> Prices<'a> {
    /// Of the machine with the same hypervisor: lab:kvm and lab:qemu-kvm for lab:kvm-linux. `None` if there is
    /// none.
    fn of(result: &'a ResultFile, results: &'a [ResultFile]) -> Option<Self> {
        let hypervisor = base(&result.platform).strip_suffix("-linux")?;
        let name = hypervisor.strip_prefix("lab:")?;
        let prices = Self {
            own: costs(results, hypervisor),
            qemu: costs(results, &format!("lab:qemu-{name}")),
        };
        let is_known = |costs: &BTreeMap<&str, _>| costs.contains_key(LEAST);
        (is_known(&prices.own) || is_known(&prices.qemu)).then_some(prices)
    }

    fn price(&self, benchmark: &str, by_qemu: bool) -> Option<(&'a str, f64)> {
        let [first, second] = match by_qemu {
            true => [&self.qemu, &self.own],
            false => [&self.own, &self.qemu],
        };
        first
            .get(benchmark)
            .or_else(|| second.get(benchmark))
            .copied()
    }

    /// The exits of a unit, with their costs; by reason if KVM's tracing counted them so, else by KVM's own
    /// counters, where what these do not name has one line.
    fn events(&self, line: &AppLine) -> Vec<PricedExit> {
        let mut events: Vec<PricedExit> = match line.reasons.is_empty() {
            false => line
                .reasons
                .iter()
                .filter_map(|(reason, count)| self.event(reason, *count))
                .collect(),
            true => self.counted(line),
        };
        events.sort_by(|a, b| b.total.total_cmp(&a.total));
        events
    }

    fn counted(&self, line: &AppLine) -> Vec<PricedExit> {
        let is_named = |name: &str| Self::benchmark(name).is_some();
        let named = line.counts.iter().filter(|(name, _)| is_named(name));
        let named: Vec<(&String, &f64)> = named.collect();
        let all = line.exits().unwrap_or(0.0);
        let rest = all - named.iter().map(|(_, count)| **count).sum::<f64>();
        let events = named
            .into_iter()
            .filter_map(|(name, count)| self.event(name, *count));
        events.chain(self.event("other", rest.max(0.0))).collect()
    }

    /// The benchmark with such exits, and whether QEMU answers them.
    fn benchmark(reason: &str) -> Option<(&'static str, bool)> {
        let found = PRICED.iter().find(|(name, ..)| *name == reason)?;
        Some((found.1, found.2))
    }

    fn event(&self, reason: &str, count: f64) -> Option<PricedExit> {
        let (benchmark, by_qemu) = Self::benchmark(reason).unwrap_or((LEAST, false));
        let price = self
            .price(benchmark, by_qemu)
            .map(|price| (benchmark, price));
        let (benchmark, (of, each)) = price.or_else(|| Some((LEAST, self.price(LEAST, false)?)))?;
        (count > 0.0).then(|| PricedExit {
            reason: reason.to_owned(),
            count,
            benchmark: benchmark.to_owned(),
            of: of.to_owned(),
            each,
            total: count * each,
        })
    }
}

/// Each benchmark's cost on a platform: the mode of its operations. The mean of a few has the host's background
/// work in it, such as its timer's, which falls into one of them.
fn costs<'a>(results: &'a [ResultFile], platform: &str) -> BTreeMap<&'a str, (&'a str, f64)> {
    let mut costs = BTreeMap::new();
    let of_platform = |result: &&ResultFile| base(&result.platform) == platform;
    for result in results.iter().filter(of_platform) {
        for row in result.rows.iter().filter(|row| row.status == Status::Ok) {
            if let Some(summary) = Summary::cost(row, &result.perturbed()) {
                let cost = (&*result.platform, summary.value);
                costs.entry(&*row.benchmark).or_insert(cost);
            }
        }
    }
    costs
}
