//! The lab's machine with its disks (`worldswitch run io --on lab:kvm-linux`), in instructions. The model is checked
//! against it. Its parameters are from depth 1, but for two (docs/elvis-model.md).

use super::prices::{Parameter, Prices, parameter, value};
use super::setup::{Load, Placed, Serving, Setup};
use super::{Measured, Spent, play};
use crate::Params;
use serde::Serialize;

/// Ticks of a microsecond: the lab has an instruction a nanosecond.
const PER_US: u64 = 1_000;
const WARM_UP: u64 = 10_000_000;
const LENGTH: u64 = 50_000_000;
/// Number of runs, whose timers have different phases, as in boots of the lab: the prediction is their mean.
const RUNS: u64 = 20;

/// Parameters that all disks share. Profiles are of the rows at depth 1 (docs/elvis-model.md).
pub const COMMON: [Parameter; 18] = [
    parameter!(
        work = 4_096,
        "instructions",
        "profile: the guest's block layer and file, until the request is in the queue"
    ),
    parameter!(
        put = 950,
        "instructions",
        "in work, with interrupts off; trace at depth 16: 14,500 from an exit among the last 15 requests to the window"
    ),
    parameter!(
        reply = 2_000,
        "instructions",
        "profile: the same, from the reply on"
    ),
    parameter!(
        spread_percent = 20,
        "percent",
        "assumed: the guest's work is uniformly within this of its mean"
    ),
    parameter!(
        handler = 4_000,
        "instructions",
        "profile: the guest's interrupt, and waking the reader"
    ),
    parameter!(
        idle = 2_995,
        "instructions",
        "profile: the guest's scheduler, going idle and back"
    ),
    parameter!(
        halt = 6_000,
        "instructions",
        "profile: KVM and the host's scheduler, until the vCPU's thread sleeps"
    ),
    parameter!(
        resume = 7_000,
        "instructions",
        "profile: the same, until the guest runs again, with the injection"
    ),
    parameter!(
        kick = 3_480,
        "instructions",
        "profile: KVM with qemu-storage-daemon less with elvis"
    ),
    parameter!(
        call = 3_000,
        "instructions",
        "profile: irqfd, the vCPU's wake-up, the IPI"
    ),
    parameter!(
        interrupt = 2_000,
        "instructions",
        "profile: KVM's part of an exit"
    ),
    parameter!(
        read = 12_000,
        "instructions",
        "profile: the read, 8,400; half of waking a thread of the pool, which QEMU does for each request, 3,600"
    ),
    parameter!(
        complete = 2_866,
        "instructions",
        "profile: half of the request's user space"
    ),
    parameter!(
        window = 2_000,
        "instructions",
        "as interrupt; at depth 1 five of six calls to a guest that runs have it"
    ),
    parameter!(
        tick_gap = 4_000_000,
        "instructions",
        "Linux' 250 ticks a second, in host and guest, and a timer of QEMU's main loop, of the trace at depth 1"
    ),
    parameter!(
        tick_exits = 2,
        "exits",
        "depth 1: two of its timer's MSRs, beside that of the interrupt if the guest runs"
    ),
    parameter!(
        poll = 100,
        "instructions",
        "a look of elvis at its queues (docs/elvis-results.md, Ring)"
    ),
    parameter!(look = 400, "instructions", "epoll without waiting"),
];

/// A disk of the lab.
pub struct Disk {
    /// Name in the lab's recipe.
    pub name: &'static str,
    polls: bool,
    /// Value of [`Setup::tells_first`]. QEMU's main loop (`virtio_notify`) and its daemon (`vu_queue_notify`) call
    /// first; in an I/O thread the call waits until all are completed (`virtio_notify_irqfd`, `defer_call`).
    tells_first: bool,
    /// Core of the disk's server: that of QEMU's main loop is the first.
    io_core: usize,
    parameters: [Parameter; 2],
}

/// Disks of the lab.
pub const DISKS: [Disk; 4] = [
    Disk {
        name: "qemu",
        polls: false,
        tells_first: true,
        io_core: 0,
        parameters: [
            parameter!(out_each = POOLED, "instructions", "as storage-daemon"),
            parameter!(
                server_wake = 51_813,
                "instructions",
                "the rest of 105,893 at depth 1: the main loop's rounds"
            ),
        ],
    },
    Disk {
        name: "iothread",
        polls: false,
        tells_first: false,
        io_core: 2,
        parameters: [
            parameter!(out_each = POOLED, "instructions", "as storage-daemon"),
            parameter!(
                server_wake = 37_548,
                "instructions",
                "the rest of 91,714 at depth 1: the thread's rounds"
            ),
        ],
    },
    Disk {
        name: "storage-daemon",
        polls: false,
        tells_first: true,
        io_core: 2,
        parameters: [
            parameter!(
                out_each = POOLED,
                "instructions",
                "profile: the other halves of the request's user space, 2,867, and of waking a thread, 3,600"
            ),
            parameter!(
                server_wake = 23_821,
                "instructions",
                "the rest of 77,914 at depth 1: the thread's rounds"
            ),
        ],
    },
    Disk {
        name: "elvis",
        polls: true,
        tells_first: false,
        io_core: 2,
        parameters: [
            parameter!(
                out_each = 9_198,
                "instructions",
                "profile: the read, 7,120; half of user space, 2,078"
            ),
            parameter!(visit = 456, "instructions", "the rest of 39,238 at depth 1"),
        ],
    },
];

/// Instructions of QEMU's block layer until the pool has a request.
const POOLED: u64 = 6_467;

/// Counts, or the prediction, of one request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Request {
    pub insns: f64,
    pub exits: f64,
    pub kicks: f64,
    pub halts: f64,
}

impl Disk {
    /// Returns the parameters that only this disk has.
    #[must_use]
    pub fn own(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Returns the lab's machine with `depth` requests at a time.
    #[must_use]
    pub fn setup(&self, depth: u32) -> Setup {
        let all: Vec<Parameter> = self.own().iter().chain(&COMMON).copied().collect();
        let value = |name| value(&all, name);
        let mut prices = Prices::of(&all);
        prices.slice = u64::MAX / 4;
        Setup {
            guests: vec![Placed {
                load: Load {
                    depth,
                    work: value("work"),
                    put: value("put"),
                    reply: value("reply"),
                    spread_percent: value("spread_percent"),
                    outs: 1,
                    ins: 0,
                    together: true,
                    out_each: value("out_each"),
                    in_each: 0,
                    wire_each: 0,
                    away: 0,
                    bytes: 4096,
                },
                core: Some(1),
                io_core: Some(self.io_core),
                is_far: false,
                port: 0,
            }],
            cores: 3,
            serving: if self.polls {
                Serving::Polling
            } else {
                Serving::Own
            },
            exitless: false,
            takes_first: true,
            tells_first: self.tells_first,
            main_loop: self.io_core == 0,
            nic_anywhere: false,
            spins: false,
            in_turns: true,
            prices,
            ticks_per_us: PER_US,
            // In the lab a row at depth 1 came before. After it one kick starts polling again, however far apart kicks
            // are.
            params: Params {
                poll_on_gap_ns: Params::default().poll_off_idle_ns,
                ..Params::default()
            },
            warmup: WARM_UP,
            length: LENGTH,
            seed: 1,
        }
    }

    /// Returns the model's prediction of a request.
    #[must_use]
    pub fn request(&self, depth: u32) -> Request {
        let setup = self.setup(depth);
        let runs: Vec<Measured> = (1..=RUNS)
            .map(|seed| {
                play(&Setup {
                    seed,
                    ..setup.clone()
                })
            })
            .collect();
        let all = |of: fn(&Measured) -> u64| runs.iter().map(of).sum::<u64>() as f64;
        let transactions = all(|run| run.guests[0].transactions).max(1.0);
        Request {
            insns: all(|run| run.cores.iter().map(Spent::busy).sum()) / transactions,
            exits: all(|run| run.guests[0].exits()) / transactions,
            kicks: all(|run| run.guests[0].kicks) / transactions,
            halts: all(|run| run.guests[0].halts) / transactions,
        }
    }
}

/// Counts of a disk's request in the lab at a depth: instructions, exits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Counted {
    pub disk: &'static str,
    pub depth: u32,
    pub insns: f64,
    pub exits: f64,
}

const fn counted(disk: &'static str, depth: u32, insns: f64, exits: f64) -> Counted {
    Counted {
        disk,
        depth,
        insns,
        exits,
    }
}

/// Counts of the lab (docs/elvis-model.md). Only depth 1 was used for parameters.
pub const COUNTED: [Counted; 24] = [
    counted("qemu", 1, 105_893.0, 2.0743),
    counted("qemu", 2, 67_462.0, 1.0838),
    counted("qemu", 4, 47_874.0, 0.5805),
    counted("qemu", 8, 44_002.0, 0.3332),
    counted("qemu", 16, 38_710.0, 0.2135),
    counted("qemu", 32, 35_912.0, 0.1377),
    counted("iothread", 1, 91_714.0, 2.0873),
    counted("iothread", 2, 59_563.0, 1.0790),
    counted("iothread", 4, 47_310.0, 0.5867),
    counted("iothread", 8, 38_913.0, 0.3227),
    counted("iothread", 16, 35_027.0, 0.1944),
    counted("iothread", 32, 32_963.0, 0.1158),
    counted("storage-daemon", 1, 77_914.0, 2.0703),
    counted("storage-daemon", 2, 54_454.0, 1.0815),
    counted("storage-daemon", 4, 42_267.0, 0.5732),
    counted("storage-daemon", 8, 36_246.0, 0.3248),
    counted("storage-daemon", 16, 32_282.0, 0.1938),
    counted("storage-daemon", 32, 30_502.0, 0.1268),
    counted("elvis", 1, 39_238.0, 1.0463),
    counted("elvis", 2, 28_128.0, 0.5460),
    counted("elvis", 4, 21_264.0, 0.2775),
    counted("elvis", 8, 17_846.0, 0.1498),
    counted("elvis", 16, 16_235.0, 0.0867),
    counted("elvis", 32, 15_494.0, 0.0509),
];

/// Requests a second of elvis by the number of devices, measured on a host (docs/elvis-model.md, The policy alone): one
/// request at a time for each, a mean pause of 100 us, 20 us of the I/O core.
pub const DEVICES: [(u32, f64); 8] = [
    (1, 8_340.0),
    (2, 16_160.0),
    (3, 23_010.0),
    (4, 29_680.0),
    (5, 35_410.0),
    (6, 40_750.0),
    (7, 43_910.0),
    (8, 45_100.0),
];

/// Returns the requests a second of `count` devices by the model, in ticks of a ns. `handler` is the time of one device
/// beyond its pause and the I/O core's work.
#[must_use]
pub fn devices(count: u32) -> f64 {
    let guest = |core| Placed {
        load: Load {
            depth: 1,
            work: 100_000,
            put: 0,
            reply: 0,
            spread_percent: 100,
            outs: 1,
            ins: 0,
            together: false,
            out_each: 20_000,
            in_each: 0,
            wire_each: 0,
            away: 0,
            bytes: 4096,
        },
        core: Some(core),
        io_core: Some(count as usize),
        is_far: false,
        port: 0,
    };
    let length = 500_000_000;
    let measured = play(&Setup {
        guests: (0..count as usize).map(guest).collect(),
        cores: count as usize + 1,
        serving: Serving::Polling,
        exitless: true,
        takes_first: false,
        tells_first: false,
        main_loop: false,
        nic_anywhere: false,
        spins: true,
        in_turns: false,
        prices: Prices {
            handler: 500,
            poll: 50,
            visit: 50,
            look: 400,
            spin: 1_000,
            slice: length,
            ..Prices::default()
        },
        ticks_per_us: PER_US,
        params: Params {
            call_delay_ns: 0,
            ..Params::default()
        },
        warmup: WARM_UP,
        length,
        seed: 1,
    });
    let done: u64 = measured.guests.iter().map(|guest| guest.transactions).sum();
    done as f64 * 1e9 / length as f64
}
