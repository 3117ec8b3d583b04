//! The machine of the ELVIS paper (section 4.1), its configurations (4.2) and loads, in cycles.

use super::prices::{self, Parameter, Prices, parameter};
use super::setup::{Load, Placed, Serving, Setup};
use crate::Params;

/// Cycles in a microsecond, and in a second: 2.2 GHz (section 4.1).
pub const PER_US: u64 = 2_200;
const PER_S: f64 = PER_US as f64 * 1e6;

/// Guests of a socket: eight cores, one of which serves (section 4.2).
pub(super) const OF_A_SOCKET: u32 = 7;

/// Returns a direct price times the factor for caches, the only one of the model.
const fn cold(cycles: u64) -> u64 {
    cycles * CACHES_PERCENT / 100
}
const CACHES_PERCENT: u64 = 156;

/// Prices of operations on the paper's machine. They are those of a processor of the same kind (Xeon E5-2450, Sandy
/// Bridge), as Dall et al. measured them.
pub const PRICES: [Parameter; 20] = [
    parameter!(
        kick = cold(1_300),
        "cycles",
        "Hypercall (Dall et al. 2015, Table 2, x86 KVM), times the factor for caches"
    ),
    parameter!(
        wake = 1_488,
        "cycles",
        "half of the lab's io-latency-out-woken less -spinning (2,975 instructions), one cycle each"
    ),
    parameter!(
        idle = 2_000,
        "cycles",
        "the lab's guest at depth 1, one cycle an instruction"
    ),
    parameter!(
        halt = cold(1_300),
        "cycles",
        "Hypercall, times the factor for caches"
    ),
    parameter!(
        resume = 18_923,
        "cycles",
        "I/O Latency In, to a halted VM (Dall et al. 2015, Table 2, x86 KVM)"
    ),
    parameter!(
        interrupt = cold(2_846),
        "cycles",
        "Virtual IPI less Interrupt Controller Trap (5,230 - 2,384), times the factor for caches"
    ),
    parameter!(
        end = cold(1_556),
        "cycles",
        "Virtual IRQ Completion, times the factor for caches"
    ),
    parameter!(
        handler = 2_000,
        "cycles",
        "the lab's guest at depth 1, one cycle an instruction"
    ),
    parameter!(
        server_wake = 4_812,
        "cycles",
        "VM Switch (Dall et al. 2015, Table 2, x86 KVM)"
    ),
    parameter!(visit = 110, "cycles", "50 ns of the policy's simulation"),
    parameter!(call = 1_488, "cycles", "an IPI, as wake"),
    parameter!(
        call_after = 1,
        "replies",
        "Linux 3.1: vhost signals each packet"
    ),
    parameter!(
        poll = 220,
        "cycles",
        "a round of 20 looks of 5 ns, as the policy's simulation has it"
    ),
    parameter!(
        look = 300,
        "cycles",
        "vhost's work queue, a list in memory; assumed"
    ),
    parameter!(spin = 1_000, "cycles", "no load of the paper spins"),
    parameter!(
        switch = cold(4_812),
        "cycles",
        "VM Switch, times the factor for caches"
    ),
    parameter!(
        slice = 6_600_000,
        "cycles",
        "3 ms: Linux 3.1's sched_min_granularity on eight CPUs"
    ),
    parameter!(
        nic_gap = 73_333,
        "cycles",
        "30,000 interrupts a second without interposition (ELVIS, section 4.3)"
    ),
    parameter!(
        far_percent = 146,
        "percent",
        "Intel Memory Latency Checker on a Xeon E7-4800: 135 ns near, 194 to 202 ns far"
    ),
    parameter!(
        far_guest_percent = 110,
        "percent",
        "assumed: a fifth of the guest's work is on memory that the I/O core writes"
    ),
];

/// Parameters of the loads of section 4. A parameter called fitted is chosen so that one statement of the paper holds,
/// which then is no prediction.
pub const LOADS: [Parameter; 24] = [
    parameter!(
        caches = CACHES_PERCENT,
        "percent",
        "fitted: TCP stream of one VM with Baseline, 1.08 Gbps (section 4.6)"
    ),
    parameter!(
        stream_bytes = 2 * MSS,
        "bytes",
        "two segments of an MTU of 1500: a receiver acknowledges every second one (RFC 1122)"
    ),
    parameter!(
        stream_work = 31_700,
        "cycles",
        "fitted: ELVIS, one VM, 1.45 Gbps (section 4.6)"
    ),
    parameter!(stream_depth = 22, "segments", "a window of 64 KiB"),
    parameter!(
        stream_away = 20 * PER_US,
        "cycles",
        "two wires and the other machine; assumed"
    ),
    parameter!(
        packet_out = 2_800,
        "cycles",
        "with packet_in fitted: line rate with 6 VMs near, saturated with 5 far (section 4.8)"
    ),
    parameter!(packet_in = 2_000, "cycles", "as packet_out"),
    parameter!(
        reply = 1_500,
        "cycles",
        "a packet in the guest's interrupt handler; assumed"
    ),
    parameter!(
        spread_percent = 50,
        "percent",
        "assumed: the guest's work is uniformly within this of its mean"
    ),
    parameter!(
        apache_work = 40_000,
        "cycles",
        "fitted: Baseline, one VM, 109,000 exits a second (section 4.3); more than 98,280 the model does not reach"
    ),
    parameter!(
        apache_exchanges = 3,
        "exchanges",
        "of packets in a request: the connection, request and answer, its end; apache_work is that of one"
    ),
    parameter!(
        apache_outs = 2,
        "packets",
        "of each exchange: the lab's apache has 5.95 kicks a request (docs/apps.md)"
    ),
    parameter!(apache_ins = 2, "packets", "as many"),
    parameter!(apache_depth = 2, "requests", "section 4.3"),
    parameter!(apache_away = 20 * PER_US, "cycles", "assumed"),
    parameter!(
        memcached_work = 37_700,
        "cycles",
        "fitted: Baseline, one VM, 146,000 exits a second (section 4.3)"
    ),
    parameter!(
        memcached_outs = 2,
        "packets",
        "the lab's memcached: 1.71 kicks a request (docs/apps.md)"
    ),
    parameter!(memcached_ins = 2, "packets", "as many"),
    parameter!(memcached_depth = 32, "requests", "section 4.3"),
    parameter!(
        rr_work = 17_162,
        "cycles",
        "half of the lab's native udp-rr (34,323 instructions of both ends), one cycle each"
    ),
    parameter!(rr_away = 20 * PER_US, "cycles", "as stream_away"),
    parameter!(
        disk_work = 97_900,
        "cycles",
        "fitted: ELVIS, one VM, 21,613 operations a second (section 4.5)"
    ),
    parameter!(
        disk_out = 8_000,
        "cycles",
        "a copy of 4 KiB and a block request in the kernel; assumed"
    ),
    parameter!(
        disk_depth = 8,
        "threads",
        "four readers, four writers (section 4.5)"
    ),
];

const MSS: u64 = 1_448;

/// A configuration of sections 4.2 and 4.7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Configuration {
    Elvis,
    /// ELVIS without exitless notifications.
    FineGrained,
    Baseline,
    Affinity,
    NoInterposition,
}

impl Configuration {
    /// Returns the paper's name of the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Elvis => "ELVIS",
            Self::FineGrained => "fine-grained I/O scheduling",
            Self::Baseline => "Baseline",
            Self::Affinity => "Baseline with Affinity",
            Self::NoInterposition => "No Interposition",
        }
    }
}

/// A load of section 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Workload {
    Stream,
    Apache,
    Memcached,
    UdpRr,
    Filebench,
}

fn value(name: &str) -> u64 {
    prices::value(&LOADS, name)
}

impl Workload {
    /// Returns the load: one transaction of the workload.
    #[must_use]
    pub fn load(self) -> Load {
        let net = Load {
            depth: 1,
            work: value("rr_work"),
            put: 0,
            reply: value("reply"),
            spread_percent: value("spread_percent"),
            outs: 1,
            ins: 1,
            together: false,
            out_each: value("packet_out"),
            in_each: value("packet_in"),
            wire_each: on_the_wire(64),
            away: value("rr_away"),
            bytes: 64,
        };
        match self {
            Self::UdpRr => net,
            Self::Stream => Load {
                depth: value("stream_depth") as u32,
                work: value("stream_work"),
                wire_each: on_the_wire(value("stream_bytes")),
                away: value("stream_away"),
                bytes: value("stream_bytes"),
                ..net
            },
            Self::Apache => Load {
                depth: value("apache_depth") as u32,
                work: value("apache_work"),
                outs: value("apache_outs") as u32,
                ins: value("apache_ins") as u32,
                wire_each: on_the_wire(4096 / value("apache_exchanges")),
                away: value("apache_away"),
                bytes: 4096 / value("apache_exchanges"),
                ..net
            },
            Self::Memcached => Load {
                depth: value("memcached_depth") as u32,
                work: value("memcached_work"),
                outs: value("memcached_outs") as u32,
                ins: value("memcached_ins") as u32,
                ..net
            },
            Self::Filebench => Load {
                depth: value("disk_depth") as u32,
                work: value("disk_work"),
                ins: 0,
                out_each: value("disk_out"),
                bytes: 4096,
                ..net
            },
        }
    }

    /// Returns the model's transactions in one that the benchmark counts.
    #[must_use]
    pub fn exchanges(self) -> f64 {
        match self {
            Self::Apache => value("apache_exchanges") as f64,
            _ => 1.0,
        }
    }

    /// Returns the data of a transaction that counts as throughput.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Stream => value("stream_bytes"),
            _ => 0,
        }
    }
}

/// Returns the cycles of a packet of `bytes` of data on a wire of 10 Gbps: with 90 bytes of headers and gaps for each
/// 1448.
fn on_the_wire(bytes: u64) -> u64 {
    let all = bytes + 90 * bytes.div_ceil(MSS);
    all * 8 * PER_US / 10_000
}

/// Returns the paper's machine in a configuration, with a guest for each load, on one socket or, from eight guests on,
/// two.
#[must_use]
pub fn setup(configuration: Configuration, loads: &[Load]) -> Setup {
    let (count, of_a_socket) = (loads.len(), OF_A_SOCKET as usize);
    let sockets = count.div_ceil(of_a_socket).max(1);
    let free = configuration == Configuration::Baseline;
    let guests = loads.iter().enumerate().map(|(number, load)| {
        let socket = number / of_a_socket;
        Placed {
            load: load.clone(),
            core: (!free).then_some(number),
            io_core: (!free).then_some(count + socket),
            is_far: false,
            port: socket,
        }
    });
    let mut prices = Prices::of(&PRICES);
    if loads.iter().all(|load| load.ins == 0) {
        // A disk's thread signals its completed requests when nothing is left.
        prices.call_after = u64::MAX;
    }
    Setup {
        guests: guests.collect(),
        cores: count + sockets,
        serving: match configuration {
            Configuration::Elvis => Serving::Polling,
            Configuration::FineGrained => Serving::Shared,
            Configuration::Baseline | Configuration::Affinity => Serving::Own,
            Configuration::NoInterposition => Serving::None,
        },
        exitless: matches!(
            configuration,
            Configuration::Elvis | Configuration::NoInterposition
        ),
        takes_first: false,
        tells_first: false,
        main_loop: false,
        nic_anywhere: free,
        spins: false,
        in_turns: false,
        prices,
        ticks_per_us: PER_US,
        params: Params::default(),
        warmup: 10_000 * PER_US,
        length: 50_000 * PER_US,
        seed: 1,
    }
}

/// Puts the I/O core of each guest of a setup on the other socket (section 4.8).
#[must_use]
pub fn unaligned(mut setup: Setup) -> Setup {
    for guest in &mut setup.guests {
        guest.is_far = true;
    }
    setup
}

/// Rates and latency of some guests, each on average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Each {
    pub per_s: f64,
    pub latency_us: f64,
    pub exits_per_s: f64,
    pub interrupts_per_s: f64,
}

impl Each {
    #[must_use]
    pub fn of(setup: &Setup, load: &Load, guests: &[super::Counted]) -> Self {
        let depth = f64::from(load.depth);
        let seconds = setup.length as f64 / PER_S * guests.len() as f64;
        let sum = |of: fn(&super::Counted) -> u64| guests.iter().map(of).sum::<u64>() as f64;
        let done = sum(|it| it.transactions);
        Self {
            per_s: done / seconds,
            // Little's law: as a benchmark sees it, which waits for its guest's core too.
            latency_us: 1e6 * depth / (done / seconds).max(1.0),
            exits_per_s: sum(super::Counted::exits) / seconds,
            interrupts_per_s: sum(|it| it.injected) / seconds,
        }
    }
}
