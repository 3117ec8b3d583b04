//! Workloads predicted by HyperBench's cost model (SIGMETRICS 2019, section 3), compared with their measurements.
//! T_guest = T_direct + T_virt (equation 2). T_virt is the sum over all exits of the cost of such an exit in a
//! microbenchmark (equations 3 to 6). Both are instructions, so T_two is 0.

use super::networks::FAULTS;
use super::traffic::{self, TrafficPrices};
use super::{App, AppLine};
use crate::baselines::{counts, machine};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use ws_analysis::Summary;
use ws_results::{ResultFile, Status, System};

/// The benchmark that prices exits that no benchmark makes: interrupts that arrive, and windows for them. The hypercall
/// is the exit with the least work.
const LEAST: &str = "hypercall";

/// Price of an exit of one reason, in rows of the suite.
struct Price {
    /// The reason as KVM's tracing names it, or its counter.
    reason: &'static str,
    benchmark: &'static str,
    /// A row whose cost is subtracted.
    less: Option<&'static str>,
    /// Whether QEMU answers the exit.
    by_qemu: bool,
}

const fn price(reason: &'static str, benchmark: &'static str) -> Price {
    Price {
        reason,
        benchmark,
        less: None,
        by_qemu: false,
    }
}

/// A halt, from its exit until the vCPU runs again: an IPI to a halted vCPU less one to a running vCPU.
const fn halt(reason: &'static str) -> Price {
    Price {
        less: Some("ipi-running"),
        ..price(reason, "ipi-halted")
    }
}

const fn by_qemu(reason: &'static str) -> Price {
    Price {
        by_qemu: true,
        ..price(reason, "in")
    }
}

const PRICES: [Price; 19] = [
    price("vmmcall", "hypercall"),
    price("cpuid", "cpuid"),
    halt("hlt"),
    by_qemu("io"),
    // Notifications of virtio devices, which eventfds take; less the faults of FAULTS.
    price("npf", "mmio-write-eventfd"),
    // The local APIC's registers: an interrupt's end, the timer.
    price("msr", "irq-completion"),
    price("hvc", "hypercall"),
    halt("wfx"),
    price("dabt", "out-eventfd"),
    price("iabt", "cold-memory-access"),
    price("sysreg", "read-id-register"),
    // KVM's own counters, where exits were not counted by reason.
    halt("halt_exits"),
    by_qemu("io_exits"),
    price("hypercalls", "hypercall"),
    halt("wfi_exit_stat"),
    price("mmio_exit_kernel", "out-eventfd"),
    by_qemu("mmio_exit_user"),
    price("hvc_exit_stat", "hypercall"),
    // A part of `npf`.
    price(FAULTS, "cold-memory-access"),
];

/// Exits of other reasons.
const OTHER: Price = price("other", LEAST);

/// The wake-up of the thread that a kick is for (HyperBench's T_out, at its receiver).
const WOKEN: Price = Price {
    less: Some("io-latency-out-spinning"),
    ..price("receiver", "io-latency-out-woken")
};

/// Exits that are kicks of devices. `npf` has page faults too, which FAULTS counts.
const KICKS: [&str; 3] = ["npf", "dabt", "mmio_exit_kernel"];

/// The least T_virt, relative to T_direct, whose error is shown. T_virt is a difference of two runs, whose noise is
/// about this large.
const NOISE: f64 = 0.02;

/// A workload on a platform with VMs. A field is absent if it can't be known, with the reason in `why`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Predicted {
    pub workload: String,
    pub unit: Option<String>,
    pub platform: String,
    /// The architecture of the platform's machine.
    pub architecture: Option<String>,
    /// T_direct: instructions of a unit natively.
    pub direct: Option<f64>,
    /// T_virt as predicted: instructions of a unit's exits, and of the threads that its kicks wake.
    pub exits_cost: Option<f64>,
    /// T_virt as measured: T_guest less T_direct.
    pub virt: Option<f64>,
    /// T_virt as predicted relative to T_virt as measured, less 1: negative if more was measured than predicted. Absent
    /// if T_virt is within the noise: below 2 % of T_direct, or not above 0 in the whole band of the ratio.
    pub virt_error: Option<f64>,
    /// Kicks of a unit.
    pub kicks: f64,
    /// KiB of data that a unit sends over the network, as the workload states it.
    pub kib: f64,
    /// Prices of the unit's traffic, fitted to the other half of the workloads.
    pub prices: Option<TrafficPrices>,
    /// T_virt as predicted from exits and traffic. Absent if some of the traffic has no price.
    pub with_traffic: Option<f64>,
    /// Error of `with_traffic`, computed as `virt_error`.
    pub with_traffic_error: Option<f64>,
    /// T_guest as predicted.
    pub predicted: Option<f64>,
    /// T_guest as measured.
    pub measured: Option<f64>,
    /// T_guest as predicted relative to measured, less 1.
    pub error: Option<f64>,
    /// The GNR as predicted: T_guest / T_direct.
    pub gnr: Option<f64>,
    /// Instructions of the threads that serve the VM's devices. They are in no exit's price.
    pub serving: Option<f64>,
    /// Exits of a unit by kind, the costliest first.
    pub events: Vec<PricedExit>,
    pub why: Option<String>,
}

/// A kind of exit of a unit, with its price.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PricedExit {
    pub reason: String,
    /// Exits for one unit.
    pub count: f64,
    /// The benchmark with such exits, and the platform on which it was measured.
    pub benchmark: String,
    pub of: String,
    /// Instructions of one exit.
    pub each: f64,
    /// Instructions of all these exits.
    pub total: f64,
}

/// Inputs of the cost model for a workload on a platform, beside its line.
pub(super) struct Known {
    pub architecture: Option<String>,
    /// Bytes of data that a unit sends, if its workload states them; else 0.
    pub bytes: u64,
    /// Instructions of the threads that serve the VM's devices.
    pub serving: Option<f64>,
}

/// The predictions for all lines of platforms with VMs, if any result has prices.
pub(super) fn predictions(
    apps: &[App],
    results: &[ResultFile],
    known: &dyn Fn(&str, &ResultFile) -> Known,
) -> Vec<Predicted> {
    let of_line = |app: &App, line: &AppLine| {
        let mut of_platform = results
            .iter()
            .filter(|result| result.platform == line.platform);
        let result = of_platform.find(|result| result.row(&app.workload).is_some())?;
        let prices = Prices::of(result, results)?;
        Some(predicted(app, line, known(&app.workload, result), &prices))
    };
    let lines = apps
        .iter()
        .flat_map(|app| app.lines.iter().map(move |line| (app, line)));
    let mut all = lines
        .filter_map(|(app, line)| of_line(app, line))
        .collect::<Vec<_>>();
    let order: Vec<&str> = apps.iter().map(|app| &*app.workload).collect();
    traffic::add(&mut all, &order);
    all
}

fn predicted(app: &App, line: &AppLine, known: Known, prices: &Prices<'_>) -> Predicted {
    let direct = line
        .insns
        .zip(line.ratio)
        .map(|(insns, ratio)| insns / ratio);
    let exits = exits(line);
    let kicks = KICKS.iter().filter_map(|name| exits.get(*name));
    let kicks = kicks.fold(0.0, |sum, count| sum + count);
    let events = prices.events(&exits, kicks);
    let exits_cost =
        (!line.counts.is_empty()).then(|| events.iter().map(|event| event.total).sum());
    let predicted = direct
        .zip(exits_cost)
        .map(|(direct, cost): (f64, f64)| direct + cost);
    let virt = line.insns.zip(direct).map(|(guest, direct)| guest - direct);
    // Otherwise some boot took fewer instructions than natively: T_virt is within the band.
    let is_added = line.ratio_band.is_none_or(|[low, _]| low > 1.0);
    let judged = virt
        .zip(direct)
        .filter(|(virt, direct)| is_added && *virt >= NOISE * direct);
    let virt_error = exits_cost
        .zip(judged)
        .map(|(cost, (virt, _)): (f64, _)| cost / virt - 1.0);
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
        architecture: known.architecture,
        direct,
        exits_cost,
        predicted,
        measured: line.insns,
        virt,
        virt_error,
        kicks,
        kib: known.bytes as f64 / 1024.0,
        prices: None,
        with_traffic: None,
        with_traffic_error: None,
        error: predicted
            .zip(line.insns)
            .map(|(predicted, guest)| predicted / guest - 1.0),
        gnr: predicted.zip(direct).map(|(guest, direct)| guest / direct),
        serving: known.serving,
        events,
        why,
    }
}

/// Whether the benchmarks' guest runs at a virtual EL2, where an exit has another cost than that of a Linux at EL1.
fn is_at_el2(result: &ResultFile) -> bool {
    let level = result.identity.subject.get("exception_level");
    let level = level.and_then(|level| level.as_str());
    level.is_some_and(|level| level.starts_with("el2"))
}

/// Costs of exits on a hypervisor.
struct Prices<'a> {
    /// Platform and instructions of one operation, by benchmark. `own` is of machines without QEMU as monitor, `qemu`
    /// of machines with QEMU.
    own: BTreeMap<&'a str, (&'a str, f64)>,
    qemu: BTreeMap<&'a str, (&'a str, f64)>,
}

impl<'a> Prices<'a> {
    /// Collects the costs on the machines with the same hypervisor that run the benchmarks' guest: lab:kvm and
    /// lab:qemu-kvm for lab:kvm-linux. `None` if none of them measured [`LEAST`].
    fn of(result: &ResultFile, results: &'a [ResultFile]) -> Option<Self> {
        let facts = result.facts();
        facts.hypervisor.as_ref()?;
        let costs_under = |qemu: bool| {
            let is_priced = |other: &ResultFile| {
                let there = other.facts();
                counts(other)
                    && there.system == Some(System::Guest)
                    && !is_at_el2(other)
                    && (there.role, machine(other)) == (facts.role, machine(result))
                    && there.has_hypervisor_of(&facts)
                    && there.mechanism == facts.mechanism
                    && (there.monitor.as_deref() == Some("qemu")) == qemu
            };
            costs(results.iter().filter(|other| is_priced(other)))
        };
        let [own, qemu] = [false, true].map(costs_under);
        let prices = Self { own, qemu };
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

    fn cost(&self, price: &Price) -> Option<Cost<'a>> {
        let (of, cost) = self.price(price.benchmark, price.by_qemu)?;
        let (benchmark, each) = match price.less {
            None => (price.benchmark.to_owned(), cost),
            Some(less) => {
                let (_, part) = self.price(less, price.by_qemu)?;
                let benchmark = format!("{} - {less}", price.benchmark);
                (benchmark, (cost - part).max(0.0))
            }
        };
        Some(Cost {
            benchmark,
            of,
            each,
        })
    }

    /// Exits by reason and the wake-ups of kicks, with their costs, the costliest first.
    fn events(&self, exits: &BTreeMap<String, f64>, kicks: f64) -> Vec<PricedExit> {
        let exits = exits.iter().filter_map(|(reason, count)| {
            let price = PRICES.iter().find(|price| price.reason == reason);
            let cost = price.and_then(|price| self.cost(price));
            cost.or_else(|| self.cost(&OTHER))?.of(reason, *count)
        });
        let woken = self
            .cost(&WOKEN)
            .and_then(|cost| cost.of(WOKEN.reason, kicks));
        let mut events: Vec<PricedExit> = exits.chain(woken).collect();
        events.sort_by(|a, b| b.total.total_cmp(&a.total));
        events
    }
}

/// Cost of one exit.
struct Cost<'a> {
    /// Name of the row, or `one - another`.
    benchmark: String,
    /// The platform on which it was measured.
    of: &'a str,
    /// Instructions of one exit.
    each: f64,
}

impl Cost<'_> {
    /// Prices `count` exits; `None` if there are none.
    fn of(self, reason: &str, count: f64) -> Option<PricedExit> {
        (count > 0.0).then(|| PricedExit {
            reason: reason.to_owned(),
            count,
            benchmark: self.benchmark,
            of: self.of.to_owned(),
            each: self.each,
            total: count * self.each,
        })
    }
}

/// Returns the exits of a unit by reason if KVM's tracing counted them so, else by KVM's own counters. Page faults are
/// subtracted from `npf`, and have an entry of their own.
fn exits(line: &AppLine) -> BTreeMap<String, f64> {
    let mut exits = match line.reasons.is_empty() {
        false => line.reasons.clone(),
        true => counted(line),
    };
    let faults = line.counts.get(FAULTS).copied().unwrap_or(0.0);
    if let Some(kicks) = exits.get_mut("npf") {
        let faults = faults.min(*kicks);
        *kicks -= faults;
        exits.insert(FAULTS.to_owned(), faults);
    }
    exits
}

/// Returns KVM's own counters of exits that have a price, and all other exits as [`OTHER`].
fn counted(line: &AppLine) -> BTreeMap<String, f64> {
    let is_exit = |name: &str| name != FAULTS && PRICES.iter().any(|price| price.reason == name);
    let named = line.counts.iter().filter(|(name, _)| is_exit(name));
    let mut counts: BTreeMap<String, f64> =
        named.map(|(name, count)| (name.clone(), *count)).collect();
    let rest = line.exits().unwrap_or(0.0) - counts.values().sum::<f64>();
    counts.insert(OTHER.reason.to_owned(), rest.max(0.0));
    counts
}

/// Returns the median of the errors without their signs, and the number of errors.
pub(super) fn median_error(
    predicted: &[&Predicted],
    of: impl Fn(&Predicted) -> Option<f64>,
) -> Option<(f64, usize)> {
    let errors: Vec<f64> = predicted
        .iter()
        .filter_map(|one| of(one))
        .map(f64::abs)
        .collect();
    let count = errors.len();
    Some((ws_statistics::median(&errors)?, count))
}

/// Returns each benchmark's cost in these results: the mode. A mean of a few operations contains the host's background
/// work, such as its timer's, which falls into one of them.
fn costs<'a>(results: impl Iterator<Item = &'a ResultFile>) -> BTreeMap<&'a str, (&'a str, f64)> {
    let mut costs = BTreeMap::new();
    for result in results {
        for row in result.rows.iter().filter(|row| row.status == Status::Ok) {
            if let Some(summary) = Summary::cost(row, &result.perturbed()) {
                let cost = (&*result.platform, summary.value);
                costs.entry(&*row.benchmark).or_insert(cost);
            }
        }
    }
    costs
}
