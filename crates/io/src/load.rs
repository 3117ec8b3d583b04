//! A load: groups of devices that are driven at the same time.

use crate::client::{Replies, Writes};
use crate::pair::Traffic;
use crate::server::{Disk, Kind, Served};
use crate::station::PLAIN;
use std::time::Duration;

/// Kind of a group's devices, and their requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Disk(Writes),
    /// Pairs of network devices: their traffic, and the bytes of a frame.
    Pair(Traffic, u32),
}

/// Devices that are driven alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name of the group in results.
    pub name: String,
    /// Role of the group in the load; empty if it is the only one.
    pub role: String,
    /// Number of devices, or of pairs.
    pub devices: usize,
    /// Outstanding requests on each device.
    pub depth: u16,
    pub work: Work,
    /// Mean pause between a reply and the next request in its slot, exponentially distributed.
    pub think: Duration,
    /// Each device's share of the I/O core, relative to the other devices'.
    pub weight: u32,
}

/// Groups that run at the same time, and the settings common to all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Experiment of which the load is a step.
    pub experiment: String,
    /// Number of devices of the kind that the experiment varies.
    pub step: u32,
    pub groups: Vec<Group>,
    pub replies: Replies,
    /// Whether one client drives all devices, instead of one client per device.
    pub one_client: bool,
    /// The kind of the disks.
    pub disk: Disk,
    /// Whether clients compare what they read with what they wrote.
    pub verify: bool,
}

impl Load {
    /// The devices that a server needs, in the order of the groups.
    pub fn served(&self) -> Vec<Served> {
        let mut served = Vec::new();
        for group in &self.groups {
            for _ in 0..group.devices {
                // The network of a pair is named after its first device.
                let (kind, ends) = match group.work {
                    Work::Disk(_) => (Kind::Disk, 1),
                    Work::Pair(..) => (Kind::Port(served.len()), 2),
                };
                let weight = group.weight;
                served.extend(std::iter::repeat_n(Served { kind, weight }, ends));
            }
        }
        served
    }

    /// Whether a frame of the load is a segment to be split.
    pub fn splits(&self) -> bool {
        let splits = |group: &Group| matches!(group.work, Work::Pair(_, bytes) if bytes > PLAIN);
        self.groups.iter().any(splits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_a_network_of_its_own() {
        let group = |devices, work| Group {
            name: String::new(),
            role: String::new(),
            devices,
            depth: 1,
            work,
            think: Duration::ZERO,
            weight: 3,
        };
        let load = Load {
            experiment: String::new(),
            step: 1,
            groups: vec![
                group(1, Work::Disk(Writes::Percent(0))),
                group(2, Work::Pair(Traffic::Echo, 64)),
            ],
            replies: Replies::Poll,
            one_client: true,
            disk: Disk::Null,
            verify: false,
        };
        let served = load.served();
        let kinds: Vec<Kind> = served.iter().map(|served| served.kind).collect();
        let (first, second) = (Kind::Port(1), Kind::Port(3));
        assert_eq!(kinds, [Kind::Disk, first, first, second, second]);
        assert!(served.iter().all(|served| served.weight == 3));
        assert!(!load.splits());
    }
}
