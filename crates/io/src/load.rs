//! What servers are put under: groups of devices that are driven together.

use crate::client::{Replies, Writes};
use crate::server::Disk;
use std::time::Duration;

/// Devices that are driven alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What it is called in results.
    pub name: String,
    /// What it is within its load; empty where it is all of it.
    pub role: String,
    /// How many.
    pub devices: usize,
    /// Requests outstanding on each.
    pub depth: u16,
    /// Which of them write.
    pub writes: Writes,
    /// Mean pause between a reply and the next request in its place, exponentially distributed.
    pub think: Duration,
    /// Each device's share of the I/O core, in proportion to the others'.
    pub weight: u32,
}

/// Groups that run at the same time, and what all of them share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// The experiment that it is a step of.
    pub experiment: String,
    /// Which step: how many devices there are of what the experiment varies.
    pub step: u32,
    /// The groups.
    pub groups: Vec<Group>,
    /// How clients learn of replies.
    pub replies: Replies,
    /// Whether one client drives all devices, instead of each its own.
    pub one_client: bool,
    /// What disks are made of.
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
