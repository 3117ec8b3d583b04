//! The choice of the I/O cores in use, and of the core that serves each device. This is future work in the paper
//! ("dynamically adjusting the number of I/O cores").
//!
//! Once per window the caller (the daemon, or the simulator) passes each device's load to
//! [`Placement::window`], and makes the changes that it returns. Like the scheduler this is pure: no
//! thread, no clock. All queues of a device move together, as they have one share and one limit.
//!
//! The load of a core is the sum of its devices' loads. So the effect of a move is known in advance,
//! and no decision uses a core's load from before a move. Polling in vain is not load.
//!
//! Against oscillation: a core is opened above `high`, and released only if all others stay below
//! `fill`; this takes `rise_windows` and `fall_windows` in a row; a moved device stays for `dwell_ns`;
//! a device is exchanged between busy cores only for a gain of `least_gain`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::ParamsError;

/// Every constant of the placement. Loads are fractions of one core's time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlacementParams {
    /// Whether to open and release cores and move devices at all.
    pub automatic: bool,
    /// Time between two decisions, over which loads are measured, in ns. Long compared with a move
    /// (some tens of microseconds, plus the drain of requests in flight), short enough that users do
    /// not notice it.
    pub window_ns: u64,
    /// Weight of the newest window in a device's load, up to 1; the load so far has the rest. With 0.5
    /// a burst is forgotten after three or four windows.
    pub smoothing: f64,
    /// Load above which a core is overloaded. Requests with random arrivals wait for twice their service time at 0.8
    /// (M/D/1: load / 2 (1 - load)), 4.5 times at 0.9.
    pub high: f64,
    /// Load up to which moves fill a core. A core is released only if no other gets above it. The difference to `high`
    /// is the hysteresis: after a release the load may grow by a third before a core is opened again.
    pub fill: f64,
    /// Windows in a row that a core must be overloaded before anything is done. With two, a single
    /// burst opens no core.
    pub rise_windows: u32,
    /// Windows in a row in which a core must have been dispensable before it is released. Many: a core
    /// kept too long costs only that core, one released too early costs all its devices latency.
    pub fall_windows: u32,
    /// Time that a moved device stays on its core, in ns. A move drains its queues and renews 10 ms of
    /// limit credit; at one move per second that is 1 %.
    pub dwell_ns: u64,
    /// Least load to move to a newly opened core, and least gain of a move between busy cores.
    pub least_gain: f64,
    /// Load above which a device gets a core on its memory's node, even if one must be opened. A
    /// release makes no device remote that has half of it.
    pub remote_load: f64,
}

impl Default for PlacementParams {
    fn default() -> Self {
        Self {
            automatic: false,
            window_ns: 100_000_000,
            smoothing: 0.5,
            high: 0.8,
            fill: 0.6,
            rise_windows: 2,
            fall_windows: 20,
            dwell_ns: 1_000_000_000,
            least_gain: 0.1,
            remote_load: 0.05,
        }
    }
}

impl PlacementParams {
    /// Checks the values, also against each other.
    pub fn check(&self) -> Result<(), ParamsError> {
        let within = |key, value: f64, least: f64, most: f64| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(ParamsError {
                key,
                value: value.to_string(),
                must: format!("{least} to {most}"),
            })
        };
        within("window_ns", self.window_ns as f64, 1e6, 6e10)?;
        within("smoothing", self.smoothing, 0.01, 1.0)?;
        within("high", self.high, 0.1, 1.0)?;
        within("fill", self.fill, 0.05, self.high)?;
        within("rise_windows", self.rise_windows.into(), 1.0, 1e6)?;
        within("fall_windows", self.fall_windows.into(), 1.0, 1e6)?;
        within("dwell_ns", self.dwell_ns as f64, 0.0, 3.6e12)?;
        within("least_gain", self.least_gain, 0.01, 1.0)?;
        within("remote_load", self.remote_load, 0.0, 1.0)
    }
}

/// Load of a device, measured in a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceLoad {
    /// Number of the device.
    pub device: u64,
    /// The core that serves it, from 0.
    pub core: usize,
    /// Fraction of the window that this core spent on the device.
    pub load: f64,
    /// NUMA node of the device's memory, if known.
    pub node: Option<u32>,
}

/// A change to make. [`Placement::window`] returns them in the order in which to make them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Use this core from now on.
    Open(usize),
    /// Move this device to this core.
    Move {
        /// The device's number.
        device: u64,
        /// The core.
        core: usize,
    },
    /// Stop using this core: it has no devices left.
    Release(usize),
}

/// Load below which a device is idle: 10 us of a window of 100 ms. Moving it would relieve no core.
const NOTHING: f64 = 1e-4;

#[derive(Debug, Clone)]
struct Core {
    node: Option<u32>,
    open: bool,
    /// Windows in a row in which the core was overloaded.
    hot: u32,
    /// Sum of the loads of the core's devices, and their number.
    load: f64,
    devices: usize,
}

#[derive(Debug, Clone, Copy)]
struct Device {
    core: usize,
    load: f64,
    node: Option<u32>,
    /// Time before which the device is not moved.
    settled_ns: u64,
}

/// Core to prefer: the least or the most loaded.
#[derive(Clone, Copy)]
enum Wanted {
    Empty,
    Full,
}

impl Device {
    fn remote(&self, core: &Core) -> bool {
        matches!((self.node, core.node), (Some(its), Some(there)) if its != there)
    }
}

/// The cores, and the devices on them.
#[derive(Debug, Clone)]
pub struct Placement {
    params: PlacementParams,
    cores: Vec<Core>,
    devices: BTreeMap<u64, Device>,
    /// Windows in a row in which cores were dispensable, and the least number of such cores in one.
    dispensable: (u32, usize),
    changes: Vec<Change>,
}

impl Placement {
    /// Returns a placement of cores on these nodes (None if unknown). The first is open.
    #[must_use]
    pub fn new(params: PlacementParams, nodes: &[Option<u32>]) -> Self {
        let core = |(number, &node)| Core {
            node,
            open: number == 0,
            hot: 0,
            load: 0.0,
            devices: 0,
        };
        Self {
            params,
            cores: nodes.iter().enumerate().map(core).collect(),
            devices: BTreeMap::new(),
            dispensable: (0, usize::MAX),
            changes: Vec::new(),
        }
    }

    /// Returns the constants in use.
    #[must_use]
    pub fn params(&self) -> &PlacementParams {
        &self.params
    }

    /// Whether a core is in use.
    #[must_use]
    pub fn open(&self, core: usize) -> bool {
        self.cores.get(core).is_some_and(|core| core.open)
    }

    /// Returns the number of cores in use.
    #[must_use]
    pub fn open_cores(&self) -> usize {
        self.cores.iter().filter(|core| core.open).count()
    }

    /// Returns the core for a new device, whose load is unknown: the least loaded open core.
    #[must_use]
    pub fn core_for_new(&self) -> usize {
        let new = Device {
            core: usize::MAX,
            load: 0.0,
            node: None,
            settled_ns: 0,
        };
        self.fit(&new, f64::INFINITY, Wanted::Empty).unwrap_or(0)
    }

    /// Takes the loads of all devices in the last window, and returns the changes to make.
    pub fn window(&mut self, now_ns: u64, seen: &[DeviceLoad]) -> Vec<Change> {
        self.take_in(seen);
        let mut hot: Vec<usize> = (0..self.cores.len()).collect();
        hot.retain(|&core| self.cores[core].hot >= self.params.rise_windows);
        hot.sort_by(|&a, &b| self.cores[b].load.total_cmp(&self.cores[a].load));
        // Relief comes first: a core is released only in a window without other changes.
        for core in hot {
            self.relieve(core, now_ns);
        }
        self.bring_home(now_ns);
        if self.changes.is_empty() {
            self.release(now_ns);
        } else {
            self.dispensable = (0, usize::MAX);
        }
        std::mem::take(&mut self.changes)
    }

    /// Updates the loads. A device missing from `seen` was removed. `seen` also decides which core a device is on,
    /// wherever it was moved.
    fn take_in(&mut self, seen: &[DeviceLoad]) {
        let before = std::mem::take(&mut self.devices);
        for core in &mut self.cores {
            (core.load, core.devices) = (0.0, 0);
        }
        for &DeviceLoad {
            device,
            core,
            load,
            node,
        } in seen
        {
            let Some(on) = self.cores.get_mut(core) else {
                continue;
            };
            let load = load.clamp(0.0, 1.0);
            let known = before.get(&device);
            let load = known.map_or(load, |known| {
                known.load + self.params.smoothing * (load - known.load)
            });
            on.open = true;
            on.load += load;
            on.devices += 1;
            let settled_ns = known.map_or(0, |known| known.settled_ns);
            self.devices.insert(
                device,
                Device {
                    core,
                    load,
                    node,
                    settled_ns,
                },
            );
        }
        for core in &mut self.cores {
            let hot = core.open && core.load > self.params.high;
            core.hot = if hot { core.hot + 1 } else { 0 };
        }
    }

    /// Returns the devices of a core that may be moved and have at least this load, busiest first.
    fn movable(&self, core: usize, least: f64, now_ns: u64) -> Vec<u64> {
        let here = self.devices.iter().filter(|(_, device)| {
            device.core == core && device.load >= least && device.settled_ns <= now_ns
        });
        let mut here: Vec<(u64, f64)> = here.map(|(&id, device)| (id, device.load)).collect();
        here.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        here.into_iter().map(|(id, _)| id).collect()
    }

    /// Returns the best open core for a device that stays at or below this load with it. Prefers the device's node,
    /// then the least or most loaded core, then the one with the fewest devices.
    fn fit(&self, device: &Device, below: f64, wanted: Wanted) -> Option<usize> {
        let fits = |&number: &usize| {
            let core = &self.cores[number];
            core.open && number != device.core && core.load + device.load <= below
        };
        (0..self.cores.len()).filter(fits).min_by_key(|&number| {
            let core = &self.cores[number];
            // In whole percent: cores of idle devices compare equal, so the number of devices decides.
            let percent = (core.load * 100.0) as i64;
            let order = match wanted {
                Wanted::Empty => percent,
                Wanted::Full => -percent,
            };
            (device.remote(core), order, core.devices)
        })
    }

    /// Returns the first core that is not in use, on this node if one is given.
    fn closed(&self, node: Option<u32>) -> Option<usize> {
        let wanted = |core: &Core| !core.open && (node.is_none() || core.node == node);
        self.cores.iter().position(wanted)
    }

    fn open_core(&mut self, core: usize) {
        self.cores[core].open = true;
        self.changes.push(Change::Open(core));
    }

    fn move_device(&mut self, id: u64, to: usize, now_ns: u64) {
        let Some(device) = self.devices.get_mut(&id) else {
            return;
        };
        let (from, load) = (device.core, device.load);
        device.core = to;
        device.settled_ns = now_ns.saturating_add(self.params.dwell_ns);
        self.cores[from].load -= load;
        self.cores[from].devices -= 1;
        self.cores[to].load += load;
        self.cores[to].devices += 1;
        self.changes.push(Change::Move {
            device: id,
            core: to,
        });
    }

    /// Moves devices off an overloaded core: to open cores with room, else to a newly opened core, else
    /// to less busy cores.
    fn relieve(&mut self, core: usize, now_ns: u64) {
        let PlacementParams {
            high,
            fill,
            least_gain,
            ..
        } = self.params;
        for id in self.movable(core, NOTHING, now_ns) {
            if self.cores[core].load <= fill {
                return;
            }
            let device = self.devices[&id];
            let Some(to) = self.fit(&device, fill, Wanted::Empty) else {
                continue;
            };
            // Don't make it remote while a core of its own node can be opened.
            if device.remote(&self.cores[to]) && self.closed(device.node).is_some() {
                continue;
            }
            self.move_device(id, to, now_ns);
        }
        // Against oscillation a core is opened only for a load above `high`, while moves to open cores go on down to
        // `fill`.
        if self.cores[core].load <= high {
            return;
        }
        let movable = self.movable(core, NOTHING, now_ns);
        let wanted = movable.first().and_then(|id| self.devices[id].node);
        let near = wanted.or(self.cores[core].node);
        if let Some(new) = self.closed(near).or_else(|| self.closed(None)) {
            // Move at most half of the load, trying the busiest devices first.
            let (mut left, mut taken, mut moves) = (self.cores[core].load, 0.0, Vec::new());
            for &id in &movable {
                let load = self.devices[&id].load;
                if taken + load <= left - load {
                    (left, taken) = (left - load, taken + load);
                    moves.push(id);
                }
            }
            if taken >= least_gain {
                self.open_core(new);
                for id in moves {
                    self.move_device(id, new, now_ns);
                }
            }
            return;
        }
        for id in movable {
            let device = self.devices[&id];
            let better = self.cores[core].load - least_gain;
            if device.load >= least_gain {
                if let Some(to) = self.fit(&device, better, Wanted::Empty) {
                    self.move_device(id, to, now_ns);
                }
            }
        }
    }

    /// Moves busy devices to cores on their memory's node.
    fn bring_home(&mut self, now_ns: u64) {
        let away: Vec<u64> = self
            .devices
            .iter()
            .filter(|(_, device)| {
                device.remote(&self.cores[device.core])
                    && device.load >= self.params.remote_load
                    && device.settled_ns <= now_ns
            })
            .map(|(&id, _)| id)
            .collect();
        for id in away {
            let device = self.devices[&id];
            let at_home = |&to: &usize| !device.remote(&self.cores[to]);
            let open = self.fit(&device, self.params.fill, Wanted::Empty);
            let to = open.filter(at_home).or_else(|| {
                let closed = self.closed(device.node)?;
                self.open_core(closed);
                Some(closed)
            });
            if let Some(to) = to {
                self.move_device(id, to, now_ns);
            }
        }
    }

    /// Releases cores that were dispensable for `fall_windows` windows in a row: as many as the least
    /// number in any of these windows.
    fn release(&mut self, now_ns: u64) {
        let mut after = self.clone();
        let mut spare = Vec::new();
        while let Some(without) = after.without_one(now_ns) {
            spare.push(without.clone());
            after = without;
        }
        if spare.is_empty() {
            self.dispensable = (0, usize::MAX);
            return;
        }
        let (windows, fewest) = self.dispensable;
        let (windows, fewest) = (windows + 1, fewest.min(spare.len()));
        self.dispensable = (windows, fewest);
        if windows < self.params.fall_windows {
            return;
        }
        if let Some(without) = spare.get(fewest - 1) {
            self.clone_from(without);
            self.dispensable = (0, usize::MAX);
        }
    }

    /// Returns the placement with one core released, the least loaded one possible. None if no core can be.
    fn without_one(&self, now_ns: u64) -> Option<Self> {
        let mut open: Vec<usize> = (0..self.cores.len())
            .filter(|&core| self.cores[core].open)
            .collect();
        if open.len() < 2 {
            return None;
        }
        // Prefers the last of equally loaded cores, so that the first ones stay in use.
        open.sort_by(|&a, &b| {
            let (a_load, b_load) = (self.cores[a].load, self.cores[b].load);
            a_load.total_cmp(&b_load).then(b.cmp(&a))
        });
        open.into_iter().find_map(|core| {
            let mut after = self.clone();
            after.empty(core, now_ns).then_some(after)
        })
    }

    /// Moves all devices off a core, and closes it. False if they don't fit on other cores.
    fn empty(&mut self, core: usize, now_ns: u64) -> bool {
        for id in self.movable(core, 0.0, now_ns) {
            let device = self.devices[&id];
            // To the fullest core with room, so that the least loaded can be released next.
            let Some(to) = self.fit(&device, self.params.fill, Wanted::Full) else {
                return false;
            };
            let drives_away = device.remote(&self.cores[to]) && !device.remote(&self.cores[core]);
            if drives_away && device.load >= self.params.remote_load / 2.0 {
                return false;
            }
            self.move_device(id, to, now_ns);
        }
        self.cores[core].open = false;
        self.changes.push(Change::Release(core));
        self.cores[core].devices == 0
    }
}
