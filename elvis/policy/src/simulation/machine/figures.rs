//! Figures 4 to 9 of the ELVIS paper, as the model gives them.

use super::paper::{Configuration, Each, OF_A_SOCKET, Workload, setup, unaligned};
use super::{Counted, play};
use serde::Serialize;
use std::collections::HashMap;

/// Most guests of the paper's figures.
pub(super) const MOST: u32 = 14;

// Titles that the paper's points name.
pub(super) const STREAM: &str = "Netperf TCP stream";
pub(super) const GAINS: &str = "TCP stream, what each part gains";
pub(super) const RATE: &str = "Filebench, throughput";
pub(super) const LATENCY: &str = "Filebench, latency";

/// A figure of the paper, or a part of one, as simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The paper's number.
    pub figure: u32,
    pub title: &'static str,
    /// Meaning of the steps.
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
    /// Points of the paper, as far as its text gives them.
    pub paper: Vec<(u32, f64)>,
}

type Key = (Workload, Configuration, u32, bool);

/// Results of simulations, each made once.
#[derive(Default)]
pub struct Runs {
    alike: HashMap<Key, Each>,
    mixed: HashMap<(Configuration, u32), (Each, Each)>,
}

use Configuration::{Affinity, Baseline, Elvis, FineGrained, NoInterposition};
use Workload::{Apache, Filebench, Memcached, Stream, UdpRr};

/// Configurations of Figures 4 to 7; the last one has no disk.
const FOUR: [Configuration; 4] = [Elvis, Baseline, Affinity, NoInterposition];

impl Runs {
    /// Returns the result of guests with the same load.
    pub fn each(&mut self, workload: Workload, configuration: Configuration, guests: u32) -> Each {
        self.placed(workload, configuration, guests, false)
    }

    pub(super) fn placed(
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

    /// Returns the throughput of all guests together, in Gbps.
    pub(super) fn gbps(&mut self, configuration: Configuration, guests: u32, is_far: bool) -> f64 {
        let each = self.placed(Stream, configuration, guests, is_far);
        gbps_of(&each) * f64::from(guests)
    }

    /// Returns the results of seven guests, `streams` of which stream while the others make UDP-RR: first of a stream,
    /// then of UDP-RR.
    pub(super) fn mixed(&mut self, configuration: Configuration, streams: u32) -> (Each, Each) {
        *self
            .mixed
            .entry((configuration, streams))
            .or_insert_with(|| {
                let load = |number| if number < streams { Stream } else { UdpRr }.load();
                let loads: Vec<_> = (0..OF_A_SOCKET).map(load).collect();
                let setup = setup(configuration, &loads);
                let guests: Vec<Counted> = play(&setup).guests;
                let (stream, rr) = guests.split_at(streams as usize);
                (
                    Each::of(&setup, &Stream.load(), stream),
                    Each::of(&setup, &UdpRr.load(), rr),
                )
            })
    }

    /// Returns a figure's parts.
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
                OF_A_SOCKET,
                |runs, of, n| runs.gbps(of, n, false),
            )],
            9 => vec![self.sockets()],
            _ => Vec::new(),
        }
    }

    /// Returns the rate of all guests together, in units that their benchmark counts.
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
        let most = OF_A_SOCKET - 1;
        vec![
            self.part(
                (7, "TCP stream, each VM", steps, "Gbps"),
                &FOUR,
                most,
                |runs, of, n| gbps_of(&runs.mixed(of, n).0),
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
            points: (1..=OF_A_SOCKET)
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

/// Returns the throughput of one guest's stream, in Gbps.
fn gbps_of(stream: &Each) -> f64 {
    stream.per_s * Stream.bytes() as f64 * 8.0 / 1e9
}
