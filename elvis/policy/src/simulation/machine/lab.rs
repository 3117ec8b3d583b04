//! The lab's machine with its disks (`worldswitch io --on lab:kvm-linux`), in instructions: what the model is
//! checked against. Its parameters are from depth 1 only.

use super::play;
use super::prices::{Parameter, Prices, parameter, value};
use super::setup::{Load, Placed, Serving, Setup};
use crate::Params;
use serde::Serialize;

/// The lab has an instruction a nanosecond.
const PER_US: u64 = 1_000;
const WARM_UP: u64 = 10_000_000;
const LENGTH: u64 = 200_000_000;

/// What is the same for all disks. Profiles are of the rows at depth 1 (docs/elvis-model.md).
pub const COMMON: [Parameter; 14] = [
    parameter!(
        work = 4_096,
        "instructions",
        "profile: the guest's block layer and file, until the request is in the queue"
    ),
    parameter!(
        reply = 2_000,
        "instructions",
        "profile: the same, from the reply on"
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
        call_after = u64::MAX,
        "replies",
        "QEMU and its daemon signal when nothing is left to complete"
    ),
    parameter!(
        interrupt = 2_000,
        "instructions",
        "profile: KVM's part of an exit"
    ),
    parameter!(
        tick_gap = 4_000_000,
        "instructions",
        "Linux' 250 ticks a second, in host and guest"
    ),
    parameter!(
        tick_exits = 4,
        "exits",
        "a tick of the host is one; one of the guest three: the interrupt, its timer's MSR, the window"
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
    /// As in the lab's recipe.
    pub name: &'static str,
    polls: bool,
    parameters: [Parameter; 2],
}

/// All of them.
pub const DISKS: [Disk; 4] = [
    Disk {
        name: "qemu",
        polls: false,
        parameters: [
            parameter!(out_each = POOLED, "instructions", "as storage-daemon"),
            parameter!(
                server_wake = 51_126,
                "instructions",
                "the rest of 105,330 at depth 1: the main loop's rounds"
            ),
        ],
    },
    Disk {
        name: "iothread",
        polls: false,
        parameters: [
            parameter!(out_each = POOLED, "instructions", "as storage-daemon"),
            parameter!(
                server_wake = 38_075,
                "instructions",
                "the rest of 92,239 at depth 1: the thread's rounds"
            ),
        ],
    },
    Disk {
        name: "storage-daemon",
        polls: false,
        parameters: [
            parameter!(
                out_each = POOLED,
                "instructions",
                "profile: the read, 8,400; half of user space, 5,733; waking a thread of the pool, which QEMU does for each request, 7,200"
            ),
            parameter!(
                server_wake = 25_163,
                "instructions",
                "the rest of 79,297 at depth 1: the thread's rounds"
            ),
        ],
    },
    Disk {
        name: "elvis",
        polls: true,
        parameters: [
            parameter!(
                out_each = 9_198,
                "instructions",
                "profile: the read, 7,120; half of user space, 2,078"
            ),
            parameter!(visit = 638, "instructions", "the rest of 39,227 at depth 1"),
        ],
    },
];

/// A request of QEMU's block layer, with its thread pool.
const POOLED: u64 = 21_333;

/// What was counted, or is predicted, of one request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Request {
    pub insns: f64,
    pub exits: f64,
    pub kicks: f64,
    pub halts: f64,
}

impl Disk {
    /// The parameters that are its own.
    #[must_use]
    pub fn own(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The lab's machine with so many requests at a time.
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
                    reply: value("reply"),
                    spread_percent: 0,
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
                io_core: Some(2),
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
            nic_anywhere: false,
            spins: false,
            in_turns: true,
            prices,
            ticks_per_us: PER_US,
            // A row at depth 1 came before, after which one kick starts polling again, however far apart
            // kicks are.
            params: Params {
                poll_on_gap_ns: Params::default().poll_off_idle_ns,
                ..Params::default()
            },
            warmup: WARM_UP,
            length: LENGTH,
            seed: 1,
        }
    }

    /// What the model says of a request.
    #[must_use]
    pub fn request(&self, depth: u32) -> Request {
        let measured = play(&self.setup(depth));
        let busy: u64 = measured.cores.iter().map(super::Spent::busy).sum();
        let guest = measured.guests[0];
        let each = |count: u64| count as f64 / guest.transactions.max(1) as f64;
        Request {
            insns: each(busy),
            exits: each(guest.exits()),
            kicks: each(guest.kicks),
            halts: each(guest.halts),
        }
    }
}

/// What the lab counted of a disk's request at a depth: instructions, exits.
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

/// What the lab counted: depths 1 and 8 in docs/io.md, the others in docs/elvis-model.md. Only depth 1 was
/// used for parameters.
pub const COUNTED: [Counted; 24] = [
    counted("qemu", 1, 105_330.0, 2.07),
    counted("qemu", 2, 67_178.0, 1.098),
    counted("qemu", 4, 54_693.0, 0.613),
    counted("qemu", 8, 41_947.0, 0.39),
    counted("qemu", 16, 38_901.0, 0.226),
    counted("qemu", 32, 36_182.0, 0.142),
    counted("iothread", 1, 92_239.0, 2.10),
    counted("iothread", 2, 65_232.0, 1.105),
    counted("iothread", 4, 47_556.0, 0.590),
    counted("iothread", 8, 38_327.0, 0.33),
    counted("iothread", 16, 35_389.0, 0.191),
    counted("iothread", 32, 32_945.0, 0.120),
    counted("storage-daemon", 1, 79_297.0, 2.08),
    counted("storage-daemon", 2, 58_349.0, 1.138),
    counted("storage-daemon", 4, 44_505.0, 0.620),
    counted("storage-daemon", 8, 35_273.0, 0.33),
    counted("storage-daemon", 16, 32_627.0, 0.198),
    counted("storage-daemon", 32, 30_530.0, 0.121),
    counted("elvis", 1, 39_227.0, 1.04),
    counted("elvis", 2, 28_029.0, 0.558),
    counted("elvis", 4, 21_221.0, 0.283),
    counted("elvis", 8, 17_960.0, 0.15),
    counted("elvis", 16, 16_303.0, 0.097),
    counted("elvis", 32, 15_498.0, 0.052),
];

/// Requests a second of elvis with so many devices, measured on a host (docs/elvis-model.md, The policy alone): one request
/// at a time for each, a mean pause of 100 us, 20 us of the I/O core.
pub const DEVICES: [(u32, f64); 8] = [
    (1, 8_290.0),
    (2, 16_180.0),
    (3, 22_930.0),
    (4, 28_750.0),
    (5, 32_290.0),
    (6, 41_360.0),
    (7, 43_010.0),
    (8, 41_120.0),
];

/// The same by the model, in ns: `handler` is what one device takes beyond its pause and the I/O core's work.
#[must_use]
pub fn devices(count: u32) -> f64 {
    let guest = |core| Placed {
        load: Load {
            depth: 1,
            work: 100_000,
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
