//! The experiments of `worldswitch run io`: section 4 of the ELVIS paper (ATC'13) with block requests, features
//! of elvis beyond the paper, and network devices. Without an experiment, the loads of `--devices`, `--depth` and
//! `--replies`.

use crate::client::{Replies, Writes};
use crate::load::{Group, Load, Work};
use crate::pair::Traffic;
use crate::results;
use crate::server::{Disk, Server};
use std::time::Duration;
use ws_terminal::Usage;

/// Loads, and the servers that run them.
pub struct Part {
    pub loads: Vec<Load>,
    pub servers: Vec<Server>,
}

/// The paper's configurations.
const MODES: [&str; 4] = [
    "elvis",
    "elvis@fine-grained",
    "elvis@per-device",
    "elvis@per-device-pinned",
];
/// The servers that are measured by default.
const SERVERS: [&str; 5] = [
    MODES[0],
    MODES[1],
    MODES[2],
    MODES[3],
    "qemu-storage-daemon",
];
/// Numbers of devices of the experiments `scaling` and `ablation`.
const SCALING: [u16; 6] = [1, 2, 4, 7, 10, 14];
const SCALING_QUICK: [u16; 3] = [1, 4, 14];
const ABLATION: [u16; 7] = [1, 2, 3, 4, 5, 6, 7];
const ABLATION_QUICK: [u16; 3] = [1, 3, 7];
/// Devices of Figure 7, and how many of them have many outstanding requests.
const MIXED: u16 = 7;
const BUSY: [u16; 6] = [1, 2, 3, 4, 5, 6];
const BUSY_QUICK: [u16; 2] = [1, 6];
/// Outstanding requests of a device that is driven for throughput.
const DEEP: u16 = 32;
/// Enough requests that a ring does not run empty while the host does not schedule the client: the
/// heaviest of weights 1, 2, 4 then has 143 ms of work.
const FULL: u16 = 4096;
/// Work per request that makes the I/O core the bottleneck: much longer than the rest of a request.
const WORK_NS: u64 = 20_000;
/// Numbers of pairs of network devices that echo frames. `SMALL`: bytes of such a frame, which carries netperf's
/// request or response of one byte on the wire.
const PAIRS: [u16; 2] = [1, 4];
const PAIRS_QUICK: [u16; 1] = [1];
const SMALL: u32 = 64;
/// Bytes of a stream's frames, and how many are on their way: short frames, those of an MTU of 1500, and segments of
/// Linux' usual length. A ring has buffers for few of the last.
const STREAMS: [(u32, u16); 3] = [(SMALL, 64), (1514, 64), (65_226, 4)];
/// Percentage of writes.
const WRITES: u8 = 30;

/// Loads beside peers: kinds of disks, numbers of devices, and outstanding requests on each.
const DISKS: [Disk; 3] = [Disk::Null, Disk::Tmpfs, Disk::File];
const DISKS_QUICK: [Disk; 1] = [Disk::Null];
const PEERED: [u16; 2] = [1, 4];
const DEPTHS: [u16; 3] = [1, 8, DEEP];
const DEPTHS_QUICK: [u16; 2] = [1, DEEP];

/// The servers of experiments on the stuck rule, on networks, and beside a peer.
const STUCK: [&str; 2] = ["elvis", "elvis+stuck_rule=false"];
const NETWORKS: [&str; 3] = ["elvis", "elvis@fine-grained", "testpmd"];
const WITH_PEER: [&str; 2] = ["elvis", "qemu-storage-daemon@polling"];

/// An experiment; `worldswitch run io --help` says what each measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    Scaling,
    Mixed,
    Ablation,
    Stuck,
    Shares,
    Integrity,
    Peers,
    Rr,
    Stream,
    MixedNet,
}

/// Options of the user: experiments or else plain loads, and values that replace their own.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub experiments: Vec<Experiment>,
    /// Servers in place of an experiment's own, if there are any.
    pub servers: Vec<Server>,
    /// Numbers of devices.
    pub devices: Option<Vec<u16>>,
    /// Outstanding requests on each device of plain loads.
    pub depths: Option<Vec<u16>>,
    pub replies: Option<Vec<Replies>>,
    /// Whether one client process drives all devices of a load.
    pub one_client: bool,
    /// Mean pause between a reply and the next request in its place.
    pub think: Duration,
    /// Percentage of requests that write.
    pub write: Option<u8>,
    pub disk: Option<Disk>,
    /// Whether clients compare what they read with what they wrote.
    pub verify: bool,
    /// Whether an experiment has fewer steps.
    pub quick: bool,
}

/// The name of a group.
fn name(experiment: &str, step: u32, role: &str) -> String {
    match role {
        "" => format!("{experiment}-{step}"),
        role => format!("{experiment}-{step}-{role}"),
    }
}

fn servers(names: &[&str]) -> Result<Vec<Server>, Usage> {
    let named = names.iter().map(|name| name.parse().map_err(Usage));
    named.collect()
}

impl Asked {
    /// The parts to measure.
    ///
    /// # Errors
    /// An experiment is named twice, or options can't be combined.
    pub fn parts(&self) -> Result<Vec<Part>, Usage> {
        let mut parts = Vec::new();
        for (number, experiment) in self.experiments.iter().enumerate() {
            if self.experiments[..number].contains(experiment) {
                return Err(Usage("an experiment is named twice".to_owned()));
            }
            parts.push(self.part(*experiment)?);
        }
        if parts.is_empty() {
            parts.push(Part {
                loads: self.plain(),
                servers: servers(&SERVERS)?,
            });
        }
        for part in &mut parts {
            if !self.servers.is_empty() {
                part.servers.clone_from(&self.servers);
            }
            let eventfd = |load: &&Load| load.replies == Replies::Eventfd;
            let thinks = |load: &Load| load.groups.iter().any(|group| !group.think.is_zero());
            if part.loads.iter().filter(eventfd).any(thinks) {
                let why = "--think needs polling clients: add --replies poll";
                return Err(Usage(why.to_owned()));
            }
        }
        Ok(parts)
    }

    /// Checks that the experiment takes the given options.
    fn check(&self, experiment: Experiment) -> Result<(), Usage> {
        let takes_devices = matches!(
            experiment,
            Experiment::Scaling
                | Experiment::Ablation
                | Experiment::Integrity
                | Experiment::Rr
                | Experiment::Peers
        );
        if self.devices.is_some() && !takes_devices {
            let why = "--devices works only with the experiments scaling, ablation, integrity, rr and peers";
            return Err(Usage(why.to_owned()));
        }
        let networks = matches!(
            experiment,
            Experiment::Rr | Experiment::Stream | Experiment::MixedNet
        );
        if self.verify && networks {
            let why = "--verify is for disks; the order of frames is always checked";
            return Err(Usage(why.to_owned()));
        }
        let ways = self.replies.as_ref().map_or(0, Vec::len);
        if ways > 1 {
            let why = "an experiment takes only one value of --replies";
            return Err(Usage(why.to_owned()));
        }
        Ok(())
    }

    /// Returns the loads of an experiment, and its servers (docs/elvis-results.md has the reasons).
    fn part(&self, experiment: Experiment) -> Result<Part, Usage> {
        self.check(experiment)?;
        let numbers = |full: &[u16], quick: &[u16]| {
            let default = if self.quick { quick } else { full };
            self.devices.clone().unwrap_or(default.to_vec())
        };
        let (tmpfs, null, work) = (Disk::Tmpfs, Disk::Null, Disk::Work(WORK_NS));
        let (eventfd, poll) = (Replies::Eventfd, Replies::Poll);
        let (threads, chance) = (Writes::Slots(4), Writes::Percent(WRITES));
        let (loads, names): (Vec<Load>, &[&str]) = match experiment {
            Experiment::Scaling => {
                let load = |n| self.load("scaling", n, eventfd, tmpfs, &[("", n, 8, threads)]);
                let numbers = numbers(&SCALING, &SCALING_QUICK);
                (numbers.into_iter().map(load).collect(), &SERVERS)
            }
            Experiment::Mixed => {
                let load = |&n: &u16| {
                    let groups = [
                        ("throughput", n, DEEP, chance),
                        ("latency", MIXED - n, 1, chance),
                    ];
                    self.load("mixed", n, eventfd, tmpfs, &groups)
                };
                let busy: &[u16] = if self.quick { &BUSY_QUICK } else { &BUSY };
                (busy.iter().map(load).collect(), &MODES)
            }
            Experiment::Ablation => {
                let load = |n| self.load("ablation", n, eventfd, null, &[("", n, DEEP, chance)]);
                let numbers = numbers(&ABLATION, &ABLATION_QUICK);
                (numbers.into_iter().map(load).collect(), &MODES)
            }
            Experiment::Stuck => {
                let groups = [("throughput", 1, DEEP, chance), ("latency", 6, 1, chance)];
                let mut load = self.load("stuck", 1, poll, work, &groups);
                load.one_client = true;
                (vec![load], &STUCK)
            }
            Experiment::Rr => (self.echoes(&numbers(&PAIRS, &PAIRS_QUICK)), &NETWORKS),
            Experiment::Stream => (self.streams(), &NETWORKS),
            Experiment::MixedNet => (vec![self.echo_beside_disk()], &STUCK),
            Experiment::Shares => (self.shares(), &["elvis"]),
            Experiment::Peers => (self.beside_peers(&numbers(&PEERED, &[1])), &WITH_PEER),
            Experiment::Integrity => {
                let load = |n| {
                    let groups = [("", n, 8, threads)];
                    let mut load = self.load("integrity", n, eventfd, tmpfs, &groups);
                    load.verify = true;
                    load
                };
                let numbers = numbers(&[14], &[14]);
                (numbers.into_iter().map(load).collect(), &["elvis"])
            }
        };
        Ok(Part {
            loads,
            servers: servers(names)?,
        })
    }

    /// Loads of so many pairs of network devices, each of which echoes.
    fn echoes(&self, numbers: &[u16]) -> Vec<Load> {
        let load = |&pairs: &u16| {
            let mut load = self.load("rr", pairs, Replies::Poll, Disk::Null, &[]);
            load.one_client = true;
            load.groups = vec![self.pairs(&load, "", pairs, 1, (Traffic::Echo, SMALL))];
            load
        };
        numbers.iter().map(load).collect()
    }

    /// Loads of frames that all go one way, one load for each size.
    fn streams(&self) -> Vec<Load> {
        let load = |&(bytes, depth): &(u32, u16)| {
            let mut load = self.load("stream", 1, Replies::Poll, Disk::Null, &[]);
            load.step = bytes;
            load.groups = vec![self.pairs(&load, "", 1, depth, (Traffic::Stream, bytes))];
            load
        };
        STREAMS.iter().map(load).collect()
    }

    /// Load of an echo beside a busy disk.
    fn echo_beside_disk(&self) -> Load {
        let disk = [("disk", 1, DEEP, Writes::Percent(WRITES))];
        let mut load = self.load("mixed-net", 1, Replies::Poll, Disk::Tmpfs, &disk);
        load.one_client = true;
        let rr = self.pairs(&load, "rr", 1, 1, (Traffic::Echo, SMALL));
        load.groups.push(rr);
        load
    }

    /// Group of a load's pairs of network devices.
    fn pairs(
        &self,
        load: &Load,
        role: &str,
        pairs: u16,
        depth: u16,
        (traffic, bytes): (Traffic, u32),
    ) -> Group {
        Group {
            name: name(&load.experiment, load.step, role),
            role: role.to_owned(),
            devices: pairs.into(),
            depth,
            work: Work::Pair(traffic, bytes),
            think: self.think,
            weight: 1,
        }
    }

    /// Loads of devices: with equal weights, then with different weights.
    fn shares(&self) -> Vec<Load> {
        let chance = Writes::Percent(WRITES);
        let load = |devices, groups: &[_]| {
            let work = Disk::Work(WORK_NS);
            let mut load = self.load("shares", devices, Replies::Poll, work, groups);
            load.one_client = true;
            load
        };
        let names = ["weight-1", "weight-2", "weight-4"];
        let mut weighted = load(3, &names.map(|name| (name, 1, FULL, chance)));
        for (group, weight) in weighted.groups.iter_mut().zip([1, 2, 4]) {
            group.weight = weight;
        }
        vec![load(14, &[("equal", 14, FULL, chance)]), weighted]
    }

    /// Loads of identical devices, for each kind of disk. One client drives all: several that poll would share CPUs.
    fn beside_peers(&self, numbers: &[u16]) -> Vec<Load> {
        let (disks, depths): (&[Disk], &[u16]) = match self.quick {
            true => (&DISKS_QUICK, &DEPTHS_QUICK),
            false => (&DISKS, &DEPTHS),
        };
        let named = |load: &Load, depth, how: &str| {
            let disk = load.disk.name();
            let name = format!("{disk}-{}-depth-{depth}-{how}", load.step);
            (name, format!("{disk}, depth {depth}, {how}"))
        };
        let mut loads = self.identical("peers", disks, numbers, depths, named);
        for load in &mut loads {
            load.one_client = true;
        }
        loads
    }

    /// Load of an experiment; the user's options override the experiment's own. A group has a role, devices,
    /// outstanding requests on each, and requests that write.
    fn load(
        &self,
        experiment: &str,
        step: u16,
        replies: Replies,
        disk: Disk,
        groups: &[(&str, u16, u16, Writes)],
    ) -> Load {
        let group = |&(role, devices, depth, writes): &(&str, u16, u16, Writes)| Group {
            name: name(experiment, step.into(), role),
            role: role.to_owned(),
            devices: devices.into(),
            depth,
            work: Work::Disk(self.write.map_or(writes, Writes::Percent)),
            think: self.think,
            weight: 1,
        };
        let asked = self.replies.as_ref().and_then(|replies| replies.first());
        Load {
            experiment: experiment.to_owned(),
            step: step.into(),
            groups: groups.iter().map(group).collect(),
            replies: asked.copied().unwrap_or(replies),
            one_client: self.one_client,
            disk: self.disk.unwrap_or(disk),
            verify: self.verify,
        }
    }

    /// Loads of identical devices: the user's numbers, or the defaults.
    fn plain(&self) -> Vec<Load> {
        let devices = self.devices.as_deref().unwrap_or(&[1, 4, 14]);
        let depths = self.depths.as_deref().unwrap_or(&[1, 32]);
        let named = |load: &Load, depth, how: &str| {
            let name = format!("{}-devices-depth-{depth}-{how}", load.step);
            (name, format!("depth {depth}, {how}"))
        };
        self.identical("devices", &[Disk::Null], devices, depths, named)
    }

    /// Loads of identical devices: each kind of disk, number of devices, depth and way to detect replies. `named`
    /// returns the name and the role of a load's devices.
    fn identical(
        &self,
        experiment: &str,
        disks: &[Disk],
        devices: &[u16],
        depths: &[u16],
        named: impl Fn(&Load, u16, &str) -> (String, String),
    ) -> Vec<Load> {
        let both = [Replies::Eventfd, Replies::Poll];
        let ways = self.replies.as_deref().unwrap_or(&both);
        let mut loads: Vec<Load> = Vec::new();
        let of_each = |disk, devices, depth, replies: Replies| {
            let groups = [("", devices, depth, Writes::Percent(WRITES))];
            let mut load = self.load(experiment, devices, replies, disk, &groups);
            load.replies = replies;
            let (name, role) = named(&load, depth, results::word(replies));
            for group in &mut load.groups {
                (group.name, group.role) = (name.clone(), role.clone());
            }
            load
        };
        for &disk in disks {
            for &devices in devices {
                for &depth in depths {
                    for &way in ways {
                        let load = of_each(disk, devices, depth, way);
                        // A number that is given twice makes one row, and so do kinds of disks that --disk replaces.
                        if !loads.contains(&load) {
                            loads.push(load);
                        }
                    }
                }
            }
        }
        loads
    }
}
