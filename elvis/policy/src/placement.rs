//! Which I/O cores are in use, and which of them serves which device: what the paper leaves as future
//! work ("dynamically adjusting the number of I/O cores").
//!
//! Once a window its driver (the daemon, or the simulator) says how much of a core each device took,
//! [`Placement::window`], and carries out what comes back. Like the scheduler this is pure: no thread,
//! no clock. A device is moved whole, as its share and its limits hold for all its queues together.
//!
//! The load of a core is the sum of its devices' loads, so that what a move will do is known before it
//! is made and no move is judged by a measurement from before it. Polling in vain is no load.
//!
//! What keeps it from swinging: a core is opened above `high` and released only where all cores stay
//! below `fill`; the first takes `rise_windows` in a row and the second `fall_windows`; a device stays
//! where it is for `dwell_ns`; and a move between open cores must take `least_gain` off the busier.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use crate::ParamsError;

/// Every constant of the placement. Loads are fractions of one core's time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlacementParams {
    /// Whether cores are opened and released, and devices moved, at all.
    pub automatic: bool,
    /// Time over which loads are measured between two decisions, in ns. A move takes some tens of
    /// microseconds and waits for requests in flight; a window is long beside it, and short beside the
    /// time in which people notice.
    pub window_ns: u64,
    /// Weight of the newest window in a device's load, of 1; the rest is the load so far. One half
    /// forgets a burst after three or four windows.
    pub smoothing: f64,
    /// A core above this is overloaded. Requests that come at random wait for twice their service at
    /// 0.8 (M/D/1: load / 2 (1 - load)), four times and a half at 0.9.
    pub high: f64,
    /// A core is filled up to this by moves, and released only where no other comes above it. The
    /// distance to `high` is the hysteresis: a load may grow by a third before its core is opened again.
    pub fill: f64,
    /// Windows in a row that a core must be overloaded before anything is done. Two, so that one burst
    /// opens no core.
    pub rise_windows: u32,
    /// Windows in a row that a core must have been dispensable before it is released. Many: a core kept
    /// too long costs that core, one given back too early costs all its devices their latency.
    pub fall_windows: u32,
    /// Time that a device stays where it was moved to, in ns. A move empties its queues of requests in
    /// flight and gives its limits 10 ms of credit anew; at one a second that is 1 %.
    pub dwell_ns: u64,
    /// Least load that must be taken off a core to open another for it, or to exchange one busy core for
    /// one less busy.
    pub least_gain: f64,
    /// Load above which a device is worth serving from its memory's node, though that takes another
    /// core; a release makes none remote that has half of it.
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
    /// Says whether these values can be used together.
    ///
    /// # Errors
    ///
    /// The first value that can't, by name.
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

/// What is known of a device after a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceLoad {
    /// Its number.
    pub device: u64,
    /// The core that serves it, counted from 0.
    pub core: usize,
    /// The part of the window that this core spent on it.
    pub load: f64,
    /// The node of its memory, where that is known.
    pub node: Option<u32>,
}

/// What is to be done, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Use this core from now on.
    Open(usize),
    /// Have this device served by that core.
    Move {
        /// The device's number.
        device: u64,
        /// The core.
        core: usize,
    },
    /// Nothing is on this core any more.
    Release(usize),
}

/// Load that is none: 10 us of a window of 100 ms. Moving such a device would relieve nobody.
const NOTHING: f64 = 1e-4;

#[derive(Debug, Clone)]
struct Core {
    node: Option<u32>,
    open: bool,
    /// Windows in a row that it has been overloaded.
    hot: u32,
    /// Sum of its devices' loads, and how many they are.
    load: f64,
    devices: usize,
}

#[derive(Debug, Clone, Copy)]
struct Device {
    core: usize,
    load: f64,
    node: Option<u32>,
    /// It is not moved before.
    settled_ns: u64,
}

/// Which of several cores is wanted.
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

/// The cores, and what is on them.
#[derive(Debug, Clone)]
pub struct Placement {
    params: PlacementParams,
    cores: Vec<Core>,
    devices: BTreeMap<u64, Device>,
    /// Windows in a row in which cores could have been released, and the fewest of them in one.
    dispensable: (u32, usize),
    changes: Vec<Change>,
}

impl Placement {
    /// Cores on these nodes (None where that is not known), of which the first is open.
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

    /// The constants in use.
    #[must_use]
    pub fn params(&self) -> &PlacementParams {
        &self.params
    }

    /// Whether a core is in use.
    #[must_use]
    pub fn open(&self, core: usize) -> bool {
        self.cores.get(core).is_some_and(|core| core.open)
    }

    /// How many cores are in use.
    #[must_use]
    pub fn open_cores(&self) -> usize {
        self.cores.iter().filter(|core| core.open).count()
    }

    /// The core for a new device, of which nothing is known: the open one with least load.
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

    /// Takes in what a window has shown, all devices of all cores, and says what to change.
    pub fn window(&mut self, now_ns: u64, seen: &[DeviceLoad]) -> Vec<Change> {
        self.take_in(seen);
        let mut hot: Vec<usize> = (0..self.cores.len()).collect();
        hot.retain(|&core| self.cores[core].hot >= self.params.rise_windows);
        hot.sort_by(|&a, &b| self.cores[b].load.total_cmp(&self.cores[a].load));
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

    /// Devices that are not seen are gone; one that is elsewhere than it was put is where it was seen.
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

    /// The devices of a core that may be moved and have at least this load, the greatest first.
    fn movable(&self, core: usize, least: f64, now_ns: u64) -> Vec<u64> {
        let here = self.devices.iter().filter(|(_, device)| {
            device.core == core && device.load >= least && device.settled_ns <= now_ns
        });
        let mut here: Vec<(u64, f64)> = here.map(|(&id, device)| (id, device.load)).collect();
        here.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        here.into_iter().map(|(id, _)| id).collect()
    }

    /// The open core that a device fits on best without coming above a load: one of its own node if
    /// there is one, then the least loaded or the fullest, then that of fewest devices.
    fn fit(&self, device: &Device, below: f64, wanted: Wanted) -> Option<usize> {
        let fits = |&number: &usize| {
            let core = &self.cores[number];
            core.open && number != device.core && core.load + device.load <= below
        };
        (0..self.cores.len()).filter(fits).min_by_key(|&number| {
            let core = &self.cores[number];
            // Idle devices all weigh nothing, and are spread by their number.
            let percent = (core.load * 100.0) as i64;
            let order = match wanted {
                Wanted::Empty => percent,
                Wanted::Full => -percent,
            };
            (device.remote(core), order, core.devices)
        })
    }

    /// The first core that is not in use, of this node if it is given.
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

    /// Takes load off a core that has too much: to cores that have room, else to one that is opened for
    /// it, else to where there is less.
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
            // Rather a core of its own node than one of another, where there is one to open.
            if device.remote(&self.cores[to]) && self.closed(device.node).is_some() {
                continue;
            }
            self.move_device(id, to, now_ns);
        }
        if self.cores[core].load <= high {
            return;
        }
        let movable = self.movable(core, NOTHING, now_ns);
        let wanted = movable.first().and_then(|id| self.devices[id].node);
        let near = wanted.or(self.cores[core].node);
        if let Some(new) = self.closed(near).or_else(|| self.closed(None)) {
            // The busiest stays, unless the rest is more.
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

    /// Moves busy devices to cores of their memory's node.
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

    /// Gives back the cores that the others can do without, when that has been so for long enough: as
    /// many as there were in each window of that time.
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

    /// The same with one core less, that which is easiest to do without. None where there is none.
    fn without_one(&self, now_ns: u64) -> Option<Self> {
        let mut open: Vec<usize> = (0..self.cores.len())
            .filter(|&core| self.cores[core].open)
            .collect();
        if open.len() < 2 {
            return None;
        }
        // Of two that are alike the later one, so that those in use are the first.
        open.sort_by(|&a, &b| {
            let (a_load, b_load) = (self.cores[a].load, self.cores[b].load);
            a_load.total_cmp(&b_load).then(b.cmp(&a))
        });
        open.into_iter().find_map(|core| {
            let mut after = self.clone();
            after.empty(core, now_ns).then_some(after)
        })
    }

    /// Moves all devices off a core, and closes it. False where they don't fit elsewhere.
    fn empty(&mut self, core: usize, now_ns: u64) -> bool {
        for id in self.movable(core, 0.0, now_ns) {
            let device = self.devices[&id];
            // To the fullest that has room, so that the least loaded can be the next to go.
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
