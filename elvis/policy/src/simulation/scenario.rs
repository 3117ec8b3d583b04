//! The input of a simulation: devices, their load, costs on the core, mode.

use crate::{Params, ParamsError, PlacementParams, RateLimit};
use serde::{Deserialize, Serialize};

/// Mode by which devices are served. The daemon has the same modes (sections 4.2 and 4.7 of the paper).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Thread per core for all devices, which polls.
    Elvis,
    /// Thread per core for all devices, with notifications.
    FineGrained,
    /// Thread per device, on any of the cores: the paper's Baseline.
    PerDevice,
    /// Thread per device, bound to one of the cores: Baseline with Affinity.
    PerDevicePinned,
}

impl Mode {
    /// All modes, the paper's proposal first.
    pub const ALL: [Self; 4] = [
        Self::Elvis,
        Self::FineGrained,
        Self::PerDevice,
        Self::PerDevicePinned,
    ];

    /// The mode's name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Elvis => "elvis",
            Self::FineGrained => "fine-grained",
            Self::PerDevice => "per-device",
            Self::PerDevicePinned => "per-device-pinned",
        }
    }
}

/// Arrival process of a device's requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrival {
    /// `depth` requests outstanding; each reply is followed by a pause and the next request.
    Closed {
        /// Requests outstanding.
        depth: u16,
        /// Mean pause between a reply and the next request, exponentially distributed, in ns; 0:
        /// none.
        think_ns: u64,
    },
    /// A Poisson process, independent of replies.
    Open {
        /// Mean rate.
        per_s: f64,
    },
    /// A Poisson process that alternates between on and off, for exponentially distributed times.
    Bursts {
        /// Mean rate while it is on.
        per_s: f64,
        /// Mean length of a burst, in ns.
        on_ns: u64,
        /// Mean pause between bursts, in ns.
        off_ns: u64,
    },
    /// A Poisson process whose rate rises and falls as a cosine, starting at the least rate.
    Tide {
        /// Least rate.
        least_per_s: f64,
        /// Greatest rate.
        most_per_s: f64,
        /// Period of the cosine, in ns.
        period_ns: u64,
    },
}

/// Equal devices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name of the group in results.
    pub name: String,
    /// The number of devices.
    pub devices: u32,
    /// Arrival process of each device's requests.
    pub arrival: Arrival,
    /// Core time of one request, in ns.
    pub service_ns: u64,
    /// Data of one request, for units of work and rate limits.
    pub bytes: u64,
    /// Time that a request then spends in storage, off the core, in ns; 0 if the core does all of
    /// the work, as for a RAM disk.
    pub storage_ns: u64,
    /// Weight of each device.
    pub weight: u32,
    /// Limits of each device.
    pub limit: RateLimit,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            name: "all".to_owned(),
            devices: 1,
            arrival: Arrival::Closed {
                depth: 1,
                think_ns: 0,
            },
            service_ns: 1_000,
            bytes: 4096,
            storage_ns: 0,
            weight: 1,
            limit: RateLimit::default(),
        }
    }
}

/// Costs of operations, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Costs {
    /// A look at an empty queue.
    pub poll_ns: u64,
    /// A visit to a queue with requests, without the requests.
    pub visit_ns: u64,
    /// A check for kicks and completions (epoll without waiting).
    pub look_ns: u64,
    /// Time from a kick until a sleeping thread runs: the guest's exit, the eventfd and the wake-up.
    pub wake_ns: u64,
    /// Time from a kick until a running thread can see it: the exit alone.
    pub kick_ns: u64,
    /// A call (a write to an eventfd).
    pub call_ns: u64,
    /// Time from the call until the driver sees the replies (the interrupt).
    pub interrupt_ns: u64,
    /// Handling of one completion from storage.
    pub complete_ns: u64,
    /// Time that moving a device takes on each of the two cores.
    pub move_ns: u64,
    /// Switch from one thread to another (per-device modes).
    pub switch_ns: u64,
    /// Time slice of a thread while others wait (per-device modes).
    pub slice_ns: u64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            poll_ns: 5,
            visit_ns: 50,
            look_ns: 400,
            wake_ns: 8_000,
            kick_ns: 2_000,
            call_ns: 400,
            interrupt_ns: 2_000,
            complete_ns: 200,
            move_ns: 20_000,
            switch_ns: 1_500,
            slice_ns: 3_000_000,
        }
    }
}

/// The input of one simulation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Mode by which devices are served.
    pub mode: Mode,
    /// The devices. They are assigned to cores round-robin, or by `placement`.
    pub groups: Vec<Group>,
    /// I/O cores.
    pub cores: u32,
    /// Costs of operations.
    pub costs: Costs,
    /// The policy's constants. The per-device modes use only `max_work`: a driver is called after
    /// that many replies.
    pub params: Params,
    /// Constants of the placement: whether and how cores are opened and released with load, and devices moved between
    /// them. With placement all devices start on the first core. Not for the per-device modes.
    #[serde(default)]
    pub placement: PlacementParams,
    /// Simulated time before counting starts, in ns.
    pub warmup_ns: u64,
    /// Simulated time that is counted, in ns.
    pub duration_ns: u64,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// An invalid value in a scenario.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioError {
    /// A constant of the policy.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// Another value.
    #[error("{key} is {value}, and must be {must}")]
    Value {
        /// Name of the value.
        key: &'static str,
        /// The value.
        value: String,
        /// The allowed values.
        must: &'static str,
    },
}

const HOUR_NS: u64 = 3_600_000_000_000;

fn within(
    key: &'static str,
    value: u64,
    least: u64,
    most: u64,
    must: &'static str,
) -> Result<(), ScenarioError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(ScenarioError::Value {
        key,
        value: value.to_string(),
        must,
    })
}

fn rate(per_s: f64) -> Result<(), ScenarioError> {
    // Above this the simulation would do little but arrivals.
    if per_s > 0.0 && per_s <= 1e8 {
        return Ok(());
    }
    Err(ScenarioError::Value {
        key: "per_s",
        value: per_s.to_string(),
        must: "above 0, at most 1e8",
    })
}

impl Scenario {
    /// Checks the values.
    pub fn check(&self) -> Result<(), ScenarioError> {
        self.params.check()?;
        self.placement.check()?;
        let own_threads = matches!(self.mode, Mode::PerDevice | Mode::PerDevicePinned);
        if self.placement.automatic && own_threads {
            return Err(ScenarioError::Value {
                key: "automatic",
                value: "true".to_owned(),
                must: "false in the per-device modes",
            });
        }
        let (cores, length, warmup) = (self.cores.into(), self.duration_ns, self.warmup_ns);
        within("cores", cores, 1, 1024, "1 to 1024")?;
        within("duration_ns", length, 1, HOUR_NS, "1 ns to an hour")?;
        within("warmup_ns", warmup, 0, HOUR_NS, "at most an hour")?;
        let (poll, slice) = (self.costs.poll_ns, self.costs.slice_ns);
        within("poll_ns", poll, 1, 1_000_000, "1 ns to 1 ms")?;
        within("slice_ns", slice, 1_000, HOUR_NS, "1 us to an hour")?;
        let each = self.groups.iter().map(|group| u64::from(group.devices));
        within("devices", each.sum(), 1, 65_536, "1 to 65536 in all")?;
        self.groups.iter().try_for_each(Group::check)
    }
}

impl Group {
    fn check(&self) -> Result<(), ScenarioError> {
        let (service, weight) = (self.service_ns, self.weight.into());
        within("service_ns", service, 1, 1_000_000_000, "1 ns to 1 s")?;
        within("weight", weight, 1, crate::MAX_WEIGHT.into(), "1 to 10000")?;
        match self.arrival {
            Arrival::Closed { depth, think_ns } => {
                within("depth", depth.into(), 1, 32_768, "1 to 32768")?;
                within("think_ns", think_ns, 0, HOUR_NS, "at most an hour")
            }
            Arrival::Open { per_s } => rate(per_s),
            Arrival::Bursts {
                per_s,
                on_ns,
                off_ns,
            } => {
                rate(per_s)?;
                within("on_ns", on_ns, 1, HOUR_NS, "1 ns to an hour")?;
                within("off_ns", off_ns, 0, HOUR_NS, "at most an hour")
            }
            Arrival::Tide {
                least_per_s,
                most_per_s,
                period_ns,
            } => {
                rate(least_per_s)?;
                rate(most_per_s)?;
                within("period_ns", period_ns, 1, HOUR_NS, "1 ns to an hour")
            }
        }
    }
}
