//! The tables of applications as text.

use super::networks;
use super::predicted_text;
use super::vcpus::is_vcpu;
use super::{
    App, AppLine, Apps, NestedRatio, Part, Spread, TimedApp, TimedLine, TimedPart,
    TimedTransaction, Transaction, named,
};
use crate::number;
use crate::requests::text::idle;
use crate::text::{Block, Set, Sheet};
use crate::unit_of_work::{base, cpus, dash, insns, insns_of, two};

use Set::{Number, Text};

const COLUMNS: [(&str, Set); 8] = [
    ("workload", Text),
    ("platform", Text),
    ("insns a unit", Number),
    ("ratio", Number),
    ("band", Number),
    ("Dall", Number),
    ("exits", Number),
    ("most by reason", Text),
];

const LEGEND: [&str; 4] = [
    "insns a unit: executed instructions of client, server, kernels and hypervisor together for one unit of work, without idle time on machines with one CPU.",
    "ratio: relative to the platform without a hypervisor. band: range of the ratio over perturbed boots (--perturb).",
    "exits: from the guest to KVM for one unit, counted by KVM. For a short workload, a separate run counts exits by reason.",
    "Dall: time in the VM / native time, from Table 5 of Dall et al. (2015): x86 on a Dell r320, ARM on an HP m400, whose KVM had no VHE. There client and server were two machines with a wire between them, which TCP_STREAM and TCP_MAERTS saturated. Here both are on one CPU, and the wire costs nothing.",
];

const TIMES: &str = "in real time";

const TIMES_COLUMNS: [(&str, Set); 8] = [
    ("workload", Text),
    ("platform", Text),
    ("us a unit", Number),
    ("95 %", Number),
    ("a second", Number),
    ("boots", Number),
    ("ratio", Number),
    ("Dall", Number),
];

const TIMES_LEGEND: [&str; 3] = [
    "us a unit: time of client, server, kernels and hypervisor for one unit of work, waiting included: the median over boots. 95 %: confidence interval of the median, from three boots on; else the range of the boots. !: noise, an order of magnitude at best.",
    "ratio: relative to the host itself.",
    "Dall: time in the VM / native time, from Table 5 of Dall et al. (2015), on a Dell r320. There client and server were two machines with a wire between them. Here both are on this host.",
];

/// Note below times of a VM in an emulator.
const EMULATED: &str = "qemu-tcg is an emulator, and qemu-tcg-nested runs in its VM. Their times say nothing about virtualization.";

const TIMED_PARTS: &str = "parts of a transaction, in time";

const TIMED_PARTS_COLUMNS: [(&str, Set); 6] = [
    ("workload", Text),
    ("platform", Text),
    ("part", Text),
    ("us", Number),
    ("share", Number),
    ("Dall us", Number),
];

const TIMED_PARTS_LEGEND: [&str; 3] = [
    PARTS_OF,
    "us: time in a separate run with captured packets, in the boot with the median time of a transaction. The start and the end of the run belong to no part.",
    PARTS_DALL,
];

const PARTS: &str = "parts of a transaction";

const PARTS_COLUMNS: [(&str, Set); 6] = [
    ("workload", Text),
    ("platform", Text),
    ("part", Text),
    ("insns", Number),
    ("share", Number),
    ("Dall us", Number),
];

/// Legend of the parts of a transaction.
const PARTS_OF: &str = "send to recv: the client, from the reply at the host's bridge to the next packet there. recv to send: the rest. In a VM, the rest has three parts. recv to VM recv: from the bridge to the guest's stack. VM recv to VM send: in the guest. VM send to send: back to the bridge.";
const PARTS_DALL: &str = "Dall: Table 6 of Dall et al. (2015), on ARM (HP Moonshot m400), in us; its parts do not sum to its transactions (reference.md).";

const PARTS_LEGEND: [&str; 3] = [
    PARTS_OF,
    "insns: of separate runs with tracing on.",
    PARTS_DALL,
];

const RECORDED_PARTS_LEGEND: [&str; 3] = [
    PARTS_OF,
    "insns: of the recorded run; nothing was traced. Bridge and stacks begin and end parts at these functions: br_dev_xmit, __netif_receive_skb_core, __dev_queue_xmit, br_pass_frame_up.",
    PARTS_DALL,
];

const VCPUS: &str = "instructions by vCPU";

const VCPUS_LEGEND: [&str; 3] = [
    "vcpu0, vcpu1: instructions of that vCPU's thread for one unit, the guest's and KVM's. Other columns: the other threads.",
    "bound: units in 1,000,000,000 instructions of the busiest vCPU, as if that vCPU alone set the rate. gain: relative to the bound with all interrupts on one vCPU.",
    "Dall: added time of a unit over native, from section 5 of Dall et al. (2015), KVM on ARM (HP Moonshot m400), four vCPUs: with all virtual interrupts on one vCPU, with interrupts spread over several, and the gain.",
];

/// Note below instructions of systems of several CPUs.
const SEVERAL_CPUS: &str = "+cpus=: number of CPUs of the measured system. Clients have another CPU, and so has vhost. All CPUs take turns on one clock. insns a unit is the sum over all CPUs, with the time in which all were idle. Ratios are relative to the native machine with as many CPUs.";

/// Limit of exit reasons in the table; the JSON has all.
pub(super) const REASONS: usize = 3;

impl AppLine {
    /// The commonest reasons of exits, as text.
    fn most_reasons(&self) -> String {
        let mut reasons: Vec<(&String, f64)> = self.reasons.iter().map(|(k, n)| (k, *n)).collect();
        reasons.sort_by(|a, b| b.1.total_cmp(&a.1));
        let words = reasons.iter().take(REASONS);
        let words = words.filter(|(_, count)| *count >= 0.005);
        let words: Vec<String> = words.map(|(name, n)| format!("{name} {n:.2}")).collect();
        words.join(", ")
    }
}

impl App {
    fn lines(&self) -> impl Iterator<Item = Vec<String>> {
        let band = |[low, high]: [f64; 2]| format!("{low:.2} to {high:.2}");
        self.lines.iter().enumerate().map(move |(index, line)| {
            vec![
                first(index, || self.name()),
                line.platform.clone(),
                insns_of(line.insns, line.exact),
                dash(line.ratio.map(two)),
                dash(line.ratio_band.map(band)),
                dash(line.published.map(two)),
                dash(line.exits().map(two)),
                line.most_reasons(),
            ]
        })
    }

    /// Returns NEVE's ratios of the workload: `memcached more than 40 times (ARMv8.3 Nested VM)`.
    fn nested(&self) -> Option<String> {
        let words = |ratio: &NestedRatio| format!("{} ({})", ratio.stated(), ratio.column);
        let stated: Vec<String> = self.nested.iter().map(words).collect();
        (!stated.is_empty()).then(|| format!("{} {}", self.workload, stated.join(", ")))
    }
}

/// The text in the first of several lines; nothing in the others.
pub(super) fn first(index: usize, text: impl Fn() -> String) -> String {
    if index == 0 { text() } else { String::new() }
}

impl Transaction {
    fn lines(&self) -> impl Iterator<Item = Vec<String>> {
        let line = |(index, part): (usize, &Part)| {
            let indent = if part.within { "  " } else { "" };
            vec![
                first(index, || named(&self.workload, self.unit.as_deref())),
                first(index, || self.platform.clone()),
                format!("{indent}{}", part.part),
                insns(part.insns),
                number::percent(part.share),
                dash(part.published_us.map(|us| format!("{us:.1}"))),
            ]
        };
        self.parts.iter().enumerate().map(line)
    }

    /// Returns the note on the instructions that tracing adds to a unit.
    fn tracing(&self) -> Option<String> {
        if self.is_recorded {
            return None;
        }
        let added = self.traced_insns - self.insns?;
        Some(format!(
            "{} on {}: a traced {} takes {} instructions, {} than the {} of an untraced one",
            self.workload,
            self.platform,
            self.unit.as_deref().unwrap_or("unit"),
            insns(self.traced_insns),
            match added < 0.0 {
                true => format!("{} fewer", insns(-added)),
                false => format!("{} more", insns(added)),
            },
            insns(self.insns?),
        ))
    }
}

/// Nanoseconds as microseconds.
fn us(ns: f64) -> String {
    number::value(ns / 1e3, "us")
}

impl TimedTransaction {
    fn lines(&self) -> impl Iterator<Item = Vec<String>> {
        let line = |(index, part): (usize, &TimedPart)| {
            let indent = if part.within { "  " } else { "" };
            vec![
                first(index, || named(&self.workload, self.unit.as_deref())),
                first(index, || self.platform.clone()),
                format!("{indent}{}", part.part),
                us(part.ns),
                number::percent(part.share),
                dash(part.published_us.map(|us| format!("{us:.1}"))),
            ]
        };
        self.parts.iter().enumerate().map(line)
    }

    /// Returns the notes on accuracy: the time with and without capture, and the bound on the clocks' comparison.
    fn below(&self) -> Vec<String> {
        let of = format!("{} on {}", self.workload, self.platform);
        let times = self.captured_ns.zip(self.uncaptured_ns);
        let capture = times.map(|(with, without)| {
            format!(
                "{of}: with its run's start and end {} us captured, {} not captured",
                us(with),
                us(without)
            )
        });
        let clock = self.clock_bound_ns.map(|bound| {
            format!(
                "{of}: the clocks of host and VM agree to {} us, so each of the VM's parts may be off by as much",
                us(bound)
            )
        });
        capture.into_iter().chain(clock).collect()
    }
}

/// Makes the table of vCPUs, with a column for each thread of any line.
fn spreads(spreads: &[Spread]) -> Sheet {
    let mut threads: Vec<&str> = Vec::new();
    for thread in spreads.iter().flat_map(|spread| spread.threads.keys()) {
        if !threads.contains(&&**thread) {
            threads.push(thread);
        }
    }
    // vCPUs first.
    threads.sort_by_key(|thread| (!is_vcpu(thread), *thread));
    let texts = ["workload", "platform"].map(|head| (head, Text));
    let rest = ["bound", "gain", "Dall", "Dall's gain"];
    let numbers = threads.iter().copied().chain(rest);
    let numbers = numbers.map(|head| (head, Number));
    let columns = texts.into_iter().chain([("insns a unit", Number)]);
    let mut sheet = Sheet::new(columns.chain(numbers));
    sheet.extend(spreads.iter().map(|spread| {
        let of = |thread: &&str| dash(spread.threads.get(*thread).map(|count| insns(*count)));
        let mut line = vec![
            named(&spread.workload, spread.unit.as_deref()),
            spread.platform.clone(),
            dash(spread.insns.map(insns)),
        ];
        line.extend(threads.iter().map(of));
        line.extend([
            insns(spread.bound),
            dash(spread.gain.map(two)),
            dash(spread.published_overhead.map(number::percent)),
            dash(spread.published_gain.map(two)),
        ]);
        line
    }));
    sheet
}

impl TimedApp {
    fn lines(&self) -> impl Iterator<Item = Vec<String>> {
        let range = move |[low, high]: [f64; 2]| format!("{} to {}", us(low), us(high));
        let line = move |(index, line): (usize, &TimedLine)| {
            let noise = if line.noisy { " !" } else { "" };
            let of_second = line.ns.filter(|ns| *ns > 0.0).map(|ns| 1e9 / ns);
            vec![
                first(index, || self.name()),
                line.platform.clone(),
                dash(line.ns.map(|ns| us(ns) + noise)),
                dash(line.interval.or(line.range).map(range)),
                dash(of_second.map(|rate| number::value(rate, "per_s"))),
                line.boots.to_string(),
                dash(line.ratio.map(two)),
                dash(line.published.map(two)),
            ]
        };
        self.lines.iter().enumerate().map(line)
    }
}

impl Apps {
    fn reasons(&self) -> impl Iterator<Item = String> {
        self.workloads.iter().flat_map(|app| {
            let lines = app.lines.iter();
            lines.filter_map(|line| {
                let (workload, platform) = (&app.workload, &line.platform);
                Some(format!("{workload} on {platform}: {}", line.why.as_ref()?))
            })
        })
    }

    /// Returns the notes on systems of several CPUs: their legend, and their idle time if it is much.
    fn several_cpus(&self) -> Vec<String> {
        let lines = self.workloads.iter().flat_map(|app| {
            let lines = app.lines.iter();
            lines.map(move |line| (&app.workload, line))
        });
        let lines: Vec<_> = lines
            .filter(|(_, line)| cpus(&line.platform).is_some())
            .collect();
        let legend = lines.first().map(|_| SEVERAL_CPUS.to_owned());
        let idle = lines
            .iter()
            .filter_map(|(workload, line)| idle(workload, &line.platform, line.idle));
        legend.into_iter().chain(idle).collect()
    }

    /// NEVE's ratios of all workloads, as one text.
    fn nested(&self) -> Option<String> {
        let stated: Vec<String> = self.workloads.iter().filter_map(App::nested).collect();
        let mut machines: Vec<&str> = Vec::new();
        for ratio in self.workloads.iter().flat_map(|app| &app.nested) {
            let name = ratio.hardware.split(',').next().unwrap_or_default();
            if !machines.contains(&name) {
                machines.push(name);
            }
        }
        let lines = self.workloads.iter().flat_map(|app| &app.lines);
        let mut nested = lines.filter(|line| line.insns.is_some() && line.facts.is_nested());
        let measured = match nested.next() {
            Some(_) => "",
            None => ", not measured here",
        };
        (!stated.is_empty()).then(|| {
            format!(
                "NEVE: time in a nested VM / native time, from section 7.2 of Lim et al. (2017), for {}{measured}: {}.",
                ws_text::and(&machines),
                stated.join("; ")
            )
        })
    }

    /// Returns the notes below times: reasons of missing times, and whether some are an emulator's.
    fn times_below(&self) -> Vec<String> {
        let lines = || {
            let apps = self.times.iter();
            apps.flat_map(|app| app.lines.iter().map(move |line| (&app.workload, line)))
        };
        let why = |(workload, line): (&String, &TimedLine)| {
            let why = line.why.as_ref()?;
            Some(format!("{workload} on {}: {why}", line.platform))
        };
        let mut below: Vec<String> = lines().filter_map(why).collect();
        let is_emulated =
            |(_, line): (&String, &TimedLine)| base(&line.platform).starts_with("qemu-tcg");
        below.extend(lines().any(is_emulated).then(|| EMULATED.to_owned()));
        below
    }

    /// The tables of measurements in time.
    fn timed_blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        if !self.times.is_empty() {
            let mut sheet = Sheet::new(TIMES_COLUMNS);
            sheet.extend(self.times.iter().flat_map(TimedApp::lines));
            let mut below = self.times_below();
            below.extend(TIMES_LEGEND.map(str::to_owned));
            blocks.push(Block {
                title: (!self.workloads.is_empty()).then_some(TIMES),
                sheet,
                below,
            });
        }
        if !self.timed_transactions.is_empty() {
            let transactions = self.timed_transactions.iter();
            let mut sheet = Sheet::new(TIMED_PARTS_COLUMNS);
            sheet.extend(transactions.clone().flat_map(TimedTransaction::lines));
            let mut below: Vec<String> = transactions.flat_map(TimedTransaction::below).collect();
            below.extend(TIMED_PARTS_LEGEND.map(str::to_owned));
            blocks.push(Block {
                title: Some(TIMED_PARTS),
                sheet,
                below,
            });
        }
        blocks
    }

    /// The table of transactions that were traced, or recorded, if there are any.
    fn parts(&self, is_recorded: bool, legend: &[&str]) -> Option<Block> {
        let all = self.transactions.iter();
        let transactions = all.filter(|one| one.is_recorded == is_recorded);
        let mut below: Vec<String> = transactions
            .clone()
            .filter_map(Transaction::tracing)
            .collect();
        below.extend(legend.iter().map(|text| (*text).to_owned()));
        let lines: Vec<Vec<String>> = transactions.flat_map(Transaction::lines).collect();
        let mut sheet = Sheet::new(PARTS_COLUMNS);
        sheet.extend(lines.iter().cloned());
        (!lines.is_empty()).then_some(Block {
            title: Some(PARTS),
            sheet,
            below,
        })
    }

    /// The table of transactions that the emulator recorded, if there are any. Ends in a newline.
    pub fn recorded_to_terminal(&self) -> Option<String> {
        let parts = self.parts(true, &RECORDED_PARTS_LEGEND)?;
        Some(parts.to_terminal())
    }

    /// The tables: of all workloads, and where there are any, of parts and of vCPUs.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        let legend = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let mut blocks = Vec::new();
        if !self.workloads.is_empty() {
            let mut sheet = Sheet::new(COLUMNS);
            sheet.extend(self.workloads.iter().flat_map(App::lines));
            let mut below: Vec<String> = self.reasons().collect();
            below.extend(LEGEND.map(str::to_owned));
            below.extend(self.several_cpus());
            below.extend(self.nested());
            blocks.push(Block {
                title: None,
                sheet,
                below,
            });
        }
        blocks.extend(networks::concern(&self.workloads).then(|| Block {
            title: Some(networks::TITLE),
            sheet: self.networks(),
            below: self.networks_below(),
        }));
        blocks.extend(self.timed_blocks());
        blocks.extend(self.parts(false, &PARTS_LEGEND));
        if !self.vcpus.is_empty() {
            blocks.push(Block {
                title: Some(VCPUS),
                sheet: spreads(&self.vcpus),
                below: legend(&VCPUS_LEGEND),
            });
        }
        if !self.predicted.is_empty() {
            blocks.push(Block {
                title: Some(predicted_text::TITLE),
                sheet: self.predictions(),
                below: self.predictions_below(),
            });
        }
        blocks
    }

    /// Aligned text. Ends in a newline.
    pub fn to_terminal(&self) -> String {
        self.blocks().iter().map(Block::to_terminal).collect()
    }

    /// Markdown tables. Ends in a newline.
    pub fn to_markdown(&self) -> String {
        self.blocks().iter().map(Block::to_markdown).collect()
    }
}
