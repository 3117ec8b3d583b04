//! Figures 4 to 9 of the ELVIS paper as the model gives them, and what the paper's text states of them.

use super::paper::{Configuration, Each, Workload, setup, unaligned};
use super::{Counted, play};
use serde::Serialize;
use std::collections::HashMap;

/// As many guests as the paper has.
const MOST: u32 = 14;
const OF_ONE_SOCKET: u32 = 7;

/// A figure of the paper, or a part of one, as simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The paper's number.
    pub figure: u32,
    pub title: &'static str,
    /// What the steps are.
    pub steps: &'static str,
    pub unit: &'static str,
    /// Always true: no value was measured.
    pub simulated: bool,
    pub curves: Vec<Curve>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    pub name: String,
    /// Step and value.
    pub points: Vec<(u32, f64)>,
    /// The paper's own, as far as its text gives them.
    pub paper: Vec<(u32, f64)>,
}

/// What the figures have.
pub const NUMBERS: std::ops::RangeInclusive<u32> = 4..=9;

type Key = (Workload, Configuration, u32, bool);

/// Simulations that were made, each once.
#[derive(Default)]
pub struct Runs {
    alike: HashMap<Key, Each>,
    mixed: HashMap<(Configuration, u32), (Each, Each)>,
}

use Configuration::{Affinity, Baseline, Elvis, FineGrained, NoInterposition};
use Workload::{Apache, Filebench, Memcached, Stream, UdpRr};

/// Those of Figures 4 to 7; the last one has no disk.
const FOUR: [Configuration; 4] = [Elvis, Baseline, Affinity, NoInterposition];

impl Runs {
    /// Guests with the same load.
    pub fn each(&mut self, workload: Workload, configuration: Configuration, guests: u32) -> Each {
        self.placed(workload, configuration, guests, false)
    }

    fn placed(
        &mut self,
        workload: Workload,
        configuration: Configuration,
        guests: u32,
        is_far: bool,
    ) -> Each {
        let key = (workload, configuration, guests, is_far);
        *self.alike.entry(key).or_insert_with(|| {
            let near = setup(configuration, &vec![workload.load(); guests as usize]);
            let setup = if is_far { unaligned(near) } else { near };
            Each::of(&setup, &workload.load(), &play(&setup).guests)
        })
    }

    /// Throughput of all guests together, in Gbps.
    fn gbps(&mut self, configuration: Configuration, guests: u32, is_far: bool) -> f64 {
        let each = self.placed(Stream, configuration, guests, is_far);
        each.per_s * f64::from(guests) * Stream.bytes() as f64 * 8.0 / 1e9
    }

    /// Seven guests, so many of which stream and the others make UDP-RR: what each of both does.
    fn mixed(&mut self, configuration: Configuration, streams: u32) -> (Each, Each) {
        *self
            .mixed
            .entry((configuration, streams))
            .or_insert_with(|| {
                let load = |number| if number < streams { Stream } else { UdpRr }.load();
                let loads: Vec<_> = (0..OF_ONE_SOCKET).map(load).collect();
                let setup = setup(configuration, &loads);
                let guests: Vec<Counted> = play(&setup).guests;
                let (stream, rr) = guests.split_at(streams as usize);
                (
                    Each::of(&setup, &Stream.load(), stream),
                    Each::of(&setup, &UdpRr.load(), rr),
                )
            })
    }

    /// A figure's parts.
    pub fn figure(&mut self, number: u32) -> Vec<Figure> {
        match number {
            4 => self.networks(),
            5 => vec![self.part(
                (5, "Netperf UDP-RR, latency", "VMs", "us"),
                &FOUR,
                MOST,
                |runs, of, n| runs.each(UdpRr, of, n).latency_us,
            )],
            6 => self.disks(),
            7 => self.mixtures(),
            8 => vec![self.part(
                (8, GAINS, "VMs", "Gbps, all VMs"),
                &[Elvis, FineGrained, Baseline, Affinity],
                OF_ONE_SOCKET,
                |runs, of, n| runs.gbps(of, n, false),
            )],
            9 => vec![self.sockets()],
            _ => Vec::new(),
        }
    }

    /// What all guests together do, as their benchmark counts.
    fn rate(&mut self, workload: Workload, configuration: Configuration, guests: u32) -> f64 {
        let each = self.each(workload, configuration, guests).per_s / workload.exchanges();
        each * f64::from(guests)
    }

    fn networks(&mut self) -> Vec<Figure> {
        vec![
            self.part(
                (4, STREAM, "VMs", "Gbps, all VMs"),
                &FOUR,
                MOST,
                |runs, of, n| runs.gbps(of, n, false),
            ),
            self.part(
                (4, "Apache", "VMs", "requests/s, all VMs"),
                &FOUR,
                MOST,
                |runs, of, n| runs.rate(Apache, of, n),
            ),
            self.part(
                (4, "Memcached", "VMs", "transactions/s, all VMs"),
                &FOUR,
                MOST,
                |runs, of, n| runs.rate(Memcached, of, n),
            ),
        ]
    }

    fn disks(&mut self) -> Vec<Figure> {
        vec![
            self.part(
                (6, RATE, "VMs", "operations/s, all VMs"),
                &FOUR[..3],
                MOST,
                |runs, of, n| runs.rate(Filebench, of, n),
            ),
            self.part(
                (6, LATENCY, "VMs", "us"),
                &FOUR[..3],
                MOST,
                |runs, of, n| runs.each(Filebench, of, n).latency_us,
            ),
        ]
    }

    fn mixtures(&mut self) -> Vec<Figure> {
        let steps = "VMs with TCP stream, of 7; the others with UDP-RR";
        let most = OF_ONE_SOCKET - 1;
        vec![
            self.part(
                (7, "TCP stream, each VM", steps, "Gbps"),
                &FOUR,
                most,
                |runs, of, n| runs.mixed(of, n).0.per_s * Stream.bytes() as f64 * 8.0 / 1e9,
            ),
            self.part(
                (7, "UDP-RR, each VM: latency", steps, "us"),
                &FOUR,
                most,
                |runs, of, n| runs.mixed(of, n).1.latency_us,
            ),
        ]
    }

    fn sockets(&mut self) -> Figure {
        let mut curve = |name: &str, is_far| Curve {
            name: name.to_owned(),
            points: (1..=OF_ONE_SOCKET)
                .map(|n| (n, self.gbps(Elvis, n, is_far)))
                .collect(),
            paper: Vec::new(),
        };
        Figure {
            figure: 9,
            title: "TCP stream, I/O core in the guests' socket or in the other",
            steps: "VMs",
            unit: "Gbps, all VMs",
            simulated: true,
            curves: vec![
                curve("ELVIS, aligned", false),
                curve("ELVIS, unaligned", true),
            ],
        }
    }

    fn part(
        &mut self,
        (figure, title, steps, unit): (u32, &'static str, &'static str, &'static str),
        configurations: &[Configuration],
        most: u32,
        value: impl Fn(&mut Self, Configuration, u32) -> f64,
    ) -> Figure {
        let curves = configurations.iter().map(|&configuration| Curve {
            name: configuration.name().to_owned(),
            points: (1..=most)
                .map(|step| (step, value(self, configuration, step)))
                .collect(),
            paper: Vec::new(),
        });
        Figure {
            figure,
            title,
            steps,
            unit,
            simulated: true,
            curves: curves.collect(),
        }
    }
}

/// How a statement bounds its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The value itself.
    Is,
    /// At most it.
    AtMost,
    /// The greatest of several, whose range is stated.
    Greatest,
}

/// A statement of the paper's text, by its place in `reference/elvis-2013.csv`, and the model's value.
pub struct Claim {
    pub figure: u32,
    pub table: &'static str,
    pub row: &'static str,
    pub column: &'static str,
    pub bound: Bound,
    /// A parameter was chosen so that it holds: no prediction.
    pub fitted: bool,
    pub value: fn(&mut Runs) -> f64,
}

/// A statement that is predicted.
const fn claim(
    figure: u32,
    (table, row, column): (&'static str, &'static str, &'static str),
    bound: Bound,
    value: fn(&mut Runs) -> f64,
) -> Claim {
    Claim {
        figure,
        table,
        row,
        column,
        bound,
        fitted: false,
        value,
    }
}

const fn fitted(mut of: Claim) -> Claim {
    of.fitted = true;
    of
}

/// In percent, how much less than `whole` a part is.
fn lost(part: f64, whole: f64) -> f64 {
    100.0 * (1.0 - part / whole)
}

/// Of all steps the greatest value.
fn most(steps: std::ops::RangeInclusive<u32>, mut value: impl FnMut(u32) -> f64) -> f64 {
    steps.map(&mut value).fold(f64::MIN, f64::max)
}

const S3: &str = "text 4.3";
const S4: &str = "text 4.4";
const S5: &str = "text 4.5";
const S6: &str = "text 4.6";
const S7: &str = "text 4.7";
const S8: &str = "text 4.8";
const NETPERF: &str = "exits, Netperf TCP stream, 1 VM";

/// The statements of sections 4.3 to 4.8 that the model has a value for.
pub const CLAIMS: [Claim; 31] = [
    claim(4, (S3, NETPERF, "Baseline"), Bound::Is, |r| {
        r.each(Stream, Baseline, 1).exits_per_s
    }),
    claim(
        4,
        (
            S3,
            "exits of each VM, Netperf TCP stream, 7 VMs",
            "Baseline",
        ),
        Bound::Is,
        |r| r.each(Stream, Baseline, 7).exits_per_s,
    ),
    fitted(claim(
        4,
        (S3, "exits, Apache, 1 VM", "Baseline"),
        Bound::Is,
        |r| r.each(Apache, Baseline, 1).exits_per_s,
    )),
    claim(
        4,
        (S3, "exits of each VM, Apache, 7 VMs", "Baseline"),
        Bound::Is,
        |r| r.each(Apache, Baseline, 7).exits_per_s,
    ),
    fitted(claim(
        4,
        (S3, "exits, Memcached, 1 VM", "Baseline"),
        Bound::Is,
        |r| r.each(Memcached, Baseline, 1).exits_per_s,
    )),
    claim(
        4,
        (S3, "exits of each VM, Memcached, 7 VMs", "Baseline"),
        Bound::Is,
        |r| r.each(Memcached, Baseline, 7).exits_per_s,
    ),
    claim(
        4,
        (S3, "exits, any of the three, 1 VM", "ELVIS"),
        Bound::AtMost,
        |r| {
            let of =
                [Stream, Apache, Memcached].map(|workload| r.each(workload, Elvis, 1).exits_per_s);
            of.into_iter().fold(0.0, f64::max)
        },
    ),
    claim(
        4,
        (S3, "loss to No Interposition, Netperf TCP stream", "ELVIS"),
        Bound::AtMost,
        |r| {
            most(1..=MOST, |n| {
                lost(r.gbps(Elvis, n, false), r.gbps(NoInterposition, n, false))
            })
        },
    ),
    claim(
        4,
        (S3, "loss to No Interposition, Apache", "ELVIS"),
        Bound::AtMost,
        |r| {
            most(1..=OF_ONE_SOCKET, |n| {
                lost(
                    r.each(Apache, Elvis, n).per_s,
                    r.each(Apache, NoInterposition, n).per_s,
                )
            })
        },
    ),
    claim(
        4,
        (S3, "loss to No Interposition, Memcached", "ELVIS"),
        Bound::AtMost,
        |r| {
            most(1..=3, |n| {
                lost(
                    r.each(Memcached, Elvis, n).per_s,
                    r.each(Memcached, NoInterposition, n).per_s,
                )
            })
        },
    ),
    fitted(claim(
        4,
        (
            S3,
            "interrupts of each guest, Netperf TCP stream",
            "No Interposition",
        ),
        Bound::Is,
        |r| r.each(Stream, NoInterposition, 1).interrupts_per_s,
    )),
    claim(
        4,
        (S3, "interrupts of each guest, Netperf TCP stream", "ELVIS"),
        Bound::Is,
        |r| r.each(Stream, Elvis, 1).interrupts_per_s,
    ),
    claim(
        5,
        (S4, "latency gained on Baseline, UDP-RR, 1 VM", "ELVIS"),
        Bound::Is,
        |r| r.each(UdpRr, Baseline, 1).latency_us - r.each(UdpRr, Elvis, 1).latency_us,
    ),
    claim(
        5,
        (
            S4,
            "latency gained on Baseline, UDP-RR, several VMs",
            "ELVIS",
        ),
        Bound::Is,
        |r| {
            most(2..=MOST, |n| {
                r.each(UdpRr, Baseline, n).latency_us - r.each(UdpRr, Elvis, n).latency_us
            })
        },
    ),
    claim(
        5,
        (S4, "latency, UDP-RR", "Baseline with Affinity"),
        Bound::Is,
        |r| most(1..=MOST, |n| r.each(UdpRr, Affinity, n).latency_us),
    ),
    fitted(claim(
        6,
        (S5, "filebench, each VM", "ELVIS"),
        Bound::Is,
        |r| r.each(Filebench, Elvis, 14).per_s,
    )),
    claim(6, (S5, "filebench, 1 VM", "Baseline"), Bound::Is, |r| {
        r.each(Filebench, Baseline, 1).per_s
    }),
    claim(
        6,
        (S5, "filebench, each of 14 VMs", "Baseline"),
        Bound::Is,
        |r| r.each(Filebench, Baseline, 14).per_s,
    ),
    claim(6, (S5, "filebench latency", "ELVIS"), Bound::Is, |r| {
        r.each(Filebench, Elvis, 14).latency_us / 1e3
    }),
    claim(
        6,
        (S5, "filebench latency, 1 VM", "Baseline"),
        Bound::Is,
        |r| r.each(Filebench, Baseline, 1).latency_us / 1e3,
    ),
    claim(
        6,
        (S5, "filebench latency, 14 VMs", "Baseline"),
        Bound::Is,
        |r| r.each(Filebench, Baseline, 14).latency_us / 1e3,
    ),
    fitted(claim(
        7,
        (S6, "TCP stream, 1 VM", "ELVIS"),
        Bound::Is,
        |r| r.gbps(Elvis, 1, false),
    )),
    fitted(claim(
        7,
        (S6, "TCP stream, 1 VM", "Baseline"),
        Bound::Is,
        |r| r.gbps(Baseline, 1, false),
    )),
    claim(
        7,
        (S6, "TCP stream lost beside UDP-RR", "ELVIS"),
        Bound::Greatest,
        |r| stream_lost(r, Elvis),
    ),
    claim(
        7,
        (S6, "TCP stream lost beside UDP-RR", "Baseline"),
        Bound::Greatest,
        |r| stream_lost(r, Baseline),
    ),
    claim(
        7,
        (S6, "UDP-RR latency added", "ELVIS"),
        Bound::Greatest,
        |r| latency_added(r, Elvis),
    ),
    claim(
        7,
        (S6, "UDP-RR latency added", "Baseline"),
        Bound::Greatest,
        |r| latency_added(r, Baseline),
    ),
    claim(
        8,
        (S7, "TCP stream over Baseline, several VMs", "ELVIS"),
        Bound::Is,
        |r| {
            most(2..=OF_ONE_SOCKET, |n| {
                r.gbps(Elvis, n, false) / r.gbps(Baseline, n, false)
            })
        },
    ),
    claim(
        8,
        (S7, "TCP stream over Baseline with Affinity, 1 VM", "ELVIS"),
        Bound::Is,
        |r| 100.0 * (r.gbps(Elvis, 1, false) / r.gbps(Affinity, 1, false) - 1.0),
    ),
    claim(
        9,
        (S8, "TCP stream, NUMA aligned over unaligned, 1 VM", "ELVIS"),
        Bound::Is,
        |r| 100.0 * (r.gbps(Elvis, 1, false) / r.gbps(Elvis, 1, true) - 1.0),
    ),
    fitted(claim(
        9,
        (S8, "TCP stream, NUMA unaligned of aligned, 7 VMs", "ELVIS"),
        Bound::Is,
        |r| 100.0 * r.gbps(Elvis, 7, true) / r.gbps(Elvis, 7, false),
    )),
];

/// A statement that is a point of a figure: its part and curve, its step, the statement, and what to multiply
/// its value with.
pub struct Point {
    pub title: &'static str,
    pub curve: Configuration,
    pub step: u32,
    pub table: &'static str,
    pub row: &'static str,
    pub factor: f64,
}

const fn point(
    (title, curve, step): (&'static str, Configuration, u32),
    (table, row): (&'static str, &'static str),
    factor: f64,
) -> Point {
    Point {
        title,
        curve,
        step,
        table,
        row,
        factor,
    }
}

const STREAM: &str = "Netperf TCP stream";
const GAINS: &str = "TCP stream, what each part gains";
const RATE: &str = "Filebench, throughput";
const LATENCY: &str = "Filebench, latency";

/// The paper's points that its text gives; its figures have more, without numbers.
pub const POINTS: [Point; 10] = [
    point((STREAM, Elvis, 1), (S6, "TCP stream, 1 VM"), 1.0),
    point((STREAM, Baseline, 1), (S6, "TCP stream, 1 VM"), 1.0),
    point((GAINS, Elvis, 1), (S6, "TCP stream, 1 VM"), 1.0),
    point((GAINS, Baseline, 1), (S6, "TCP stream, 1 VM"), 1.0),
    point((RATE, Elvis, 14), (S5, "filebench, each VM"), 14.0),
    point((RATE, Baseline, 1), (S5, "filebench, 1 VM"), 1.0),
    point(
        (RATE, Baseline, 14),
        (S5, "filebench, each of 14 VMs"),
        14.0,
    ),
    point((LATENCY, Elvis, 14), (S5, "filebench latency"), 1e3),
    point((LATENCY, Baseline, 1), (S5, "filebench latency, 1 VM"), 1e3),
    point(
        (LATENCY, Baseline, 14),
        (S5, "filebench latency, 14 VMs"),
        1e3,
    ),
];

/// What a stream loses at most beside UDP-RR, in percent of one alone.
fn stream_lost(runs: &mut Runs, configuration: Configuration) -> f64 {
    let alone = runs.each(Stream, configuration, 1).per_s;
    most(1..=6, |n| lost(runs.mixed(configuration, n).0.per_s, alone))
}

/// What is added to the latency of UDP-RR at most beside streams, in us.
fn latency_added(runs: &mut Runs, configuration: Configuration) -> f64 {
    let alone = runs.each(UdpRr, configuration, 1).latency_us;
    most(1..=6, |n| runs.mixed(configuration, n).1.latency_us - alone)
}
