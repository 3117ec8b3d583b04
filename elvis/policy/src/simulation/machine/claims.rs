//! Statements of the ELVIS paper's text on its Figures 4 to 9, and the model's values of them.

use super::figures::{GAINS, LATENCY, MOST, RATE, Runs, STREAM};
use super::paper::Configuration::{self, Affinity, Baseline, Elvis, NoInterposition};
use super::paper::OF_A_SOCKET;
use super::paper::Workload::{Apache, Filebench, Memcached, Stream, UdpRr};
use serde::Serialize;

/// Way in which a statement bounds its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The value itself.
    Is,
    /// The value at most.
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
    /// Whether a parameter was chosen so that the statement holds: it is then no prediction.
    pub fitted: bool,
    pub value: fn(&mut Runs) -> f64,
}

/// Makes a statement that is predicted.
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

/// Returns by how many percent `part` is less than `whole`.
fn lost(part: f64, whole: f64) -> f64 {
    100.0 * (1.0 - part / whole)
}

/// Returns the greatest value of all steps.
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
            most(1..=OF_A_SOCKET, |n| {
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
            most(2..=OF_A_SOCKET, |n| {
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

/// A statement that is a point of a figure: the figure's part and curve, the step, the statement, and the factor of its
/// value.
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

/// Returns the greatest loss of a stream beside UDP-RR, in percent of a stream alone.
fn stream_lost(runs: &mut Runs, configuration: Configuration) -> f64 {
    let alone = runs.each(Stream, configuration, 1).per_s;
    most(1..=6, |n| lost(runs.mixed(configuration, n).0.per_s, alone))
}

/// Returns the latency added to UDP-RR beside streams, in us: the greatest of all mixtures.
fn latency_added(runs: &mut Runs, configuration: Configuration) -> f64 {
    let alone = runs.each(UdpRr, configuration, 1).latency_us;
    most(1..=6, |n| runs.mixed(configuration, n).1.latency_us - alone)
}
