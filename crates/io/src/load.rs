//! A load: groups of devices that are driven at the same time.

use crate::client::{Replies, Writes};
use crate::server::Disk;
use std::time::Duration;

/// Devices that are driven alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name in results.
    pub name: String,
    /// Its role in the load; empty if it is the only group.
    pub role: String,
    /// The number of devices.
    pub devices: usize,
    /// Requests outstanding on each.
    pub depth: u16,
    /// Which of them write.
    pub writes: Writes,
    /// Mean pause between a reply and the next request in its slot, exponentially distributed.
    pub think: Duration,
    /// Each device's share of the I/O core, relative to the other devices'.
    pub weight: u32,
}

/// Groups that run at the same time, and the settings common to all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The experiment of which it is a step.
    pub experiment: String,
    /// The step: the number of devices of the kind that the experiment varies.
    pub step: u32,
    /// The groups.
    pub groups: Vec<Group>,
    /// How clients learn of completed requests.
    pub replies: Replies,
    /// Whether one client drives all devices, instead of one client per device.
    pub one_client: bool,
    /// The kind of the disks.
    pub disk: Disk,
    /// Whether clients compare what they read with what they wrote.
    pub verify: bool,
}

impl Load {
    /// The weight of each device, in the order of the groups.
    pub fn weights(&self) -> Vec<u32> {
        let each = |group: &Group| std::iter::repeat_n(group.weight, group.devices);
        self.groups.iter().flat_map(each).collect()
    }
}
