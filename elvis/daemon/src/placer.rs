//! The thread that places devices on I/O threads: every window it reads the devices' loads, passes them
//! to the placement, and moves devices.

use crate::devices::Devices;
use crate::numa::Topology;
use crate::server::{Device, IoThread, Threads};
use crate::thread;
use elvis_policy::{Change, DeviceLoad, Placement, PlacementParams};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time for which the node of a device's memory is cached; the kernel may migrate pages.
const NODE_HOLDS: Duration = Duration::from_secs(10);

/// The changes so far, for `elvis ctl stats`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PlacementView {
    /// Whether each I/O thread is in use.
    pub open: Vec<bool>,
    /// I/O threads opened.
    pub opened: u64,
    /// I/O threads released.
    pub released: u64,
    /// Devices moved.
    pub moves: u64,
}

struct State {
    placement: Placement,
    view: PlacementView,
}

/// Node of each device's memory, and the time at which it was read.
type Nodes = BTreeMap<u64, (Option<u32>, Instant)>;

/// A handle on the thread; dropping it ends the thread.
pub struct Placer {
    state: Arc<Mutex<State>>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Placer {
    /// Starts to place devices on these I/O threads, each bound to one of `cpus`.
    pub(crate) fn start(
        params: PlacementParams,
        topology: Topology,
        cpus: &[usize],
        threads: Vec<Arc<IoThread>>,
        devices: Arc<Mutex<Devices>>,
    ) -> io::Result<Self> {
        let nodes: Vec<_> = cpus.iter().map(|&cpu| topology.node_of(cpu)).collect();
        let placement = Placement::new(params, &nodes);
        let open = (0..nodes.len()).map(|core| placement.open(core)).collect();
        let view = PlacementView {
            open,
            ..PlacementView::default()
        };
        let state = Arc::new(Mutex::new(State { placement, view }));
        let (stop, stopped) = channel();
        let shared = Arc::clone(&state);
        let work = move || place(&params, &topology, &shared, &threads, &devices, &stopped);
        let thread = thread::start("elvis-placer", None, work)?;
        Ok(Self {
            state,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the I/O thread for a new device.
    #[must_use]
    pub fn thread_for_new(&self) -> usize {
        lock(&self.state).placement.core_for_new()
    }

    /// Returns the changes so far.
    #[must_use]
    pub fn view(&self) -> PlacementView {
        lock(&self.state).view.clone()
    }
}

impl Drop for Placer {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            if thread.join().is_err() {
                log::error!("the placement thread panicked");
            }
        }
    }
}

fn place(
    params: &PlacementParams,
    topology: &Topology,
    state: &Mutex<State>,
    threads: &[Arc<IoThread>],
    devices: &Mutex<Devices>,
    stopped: &Receiver<()>,
) {
    let start = Instant::now();
    let (mut before, mut before_at) = (BTreeMap::new(), start);
    let mut nodes = Nodes::new();
    while stopped.recv_timeout(Duration::from_nanos(params.window_ns))
        == Err(RecvTimeoutError::Timeout)
    {
        let now = Instant::now();
        let window_ns = now.duration_since(before_at).as_nanos().max(1) as f64;
        let mut spent: BTreeMap<u64, u64> = BTreeMap::new();
        let mut seen = Vec::new();
        for device in lock(devices).by_name.values() {
            // Devices that are spread are refused with a placement, so there is one.
            let thread = device.threads();
            let core = threads
                .iter()
                .position(|other| Arc::ptr_eq(other, thread.of(0)));
            let (number, spent_ns) = (device.number(), device.spent_ns());
            spent.insert(number, spent_ns);
            // A new device has no load before it has existed for a window.
            if let (Some(core), Some(before_ns)) = (core, before.get(&number)) {
                seen.push(DeviceLoad {
                    device: number,
                    core,
                    load: spent_ns.saturating_sub(*before_ns) as f64 / window_ns,
                    node: node(device, topology, &mut nodes, now),
                });
            }
        }
        nodes.retain(|number, _| spent.contains_key(number));
        (before, before_at) = (spent, now);
        let now_ns = u64::try_from(now.duration_since(start).as_nanos()).unwrap_or(u64::MAX);
        let changes = lock(state).placement.window(now_ns, &seen);
        for change in changes {
            let moved = carry_out(change, threads, devices);
            let view = &mut lock(state).view;
            match (change, moved) {
                (Change::Open(_), _) => view.opened += 1,
                (Change::Release(_), _) => view.released += 1,
                (Change::Move { .. }, Ok(())) => view.moves += 1,
                (Change::Move { .. }, Err(error)) => {
                    log::warn!("can't move a device: {error}");
                }
            }
        }
        // A thread is in use until its last device has left.
        let State { placement, view } = &mut *lock(state);
        for (core, open) in view.open.iter_mut().enumerate() {
            *open = placement.open(core);
        }
    }
}

/// Returns the node of a device's memory, cached for [`NODE_HOLDS`].
fn node(device: &Device, topology: &Topology, nodes: &mut Nodes, now: Instant) -> Option<u32> {
    if topology.nodes() < 2 {
        return None;
    }
    match nodes.get(&device.number()) {
        Some((node, at)) if now.duration_since(*at) < NODE_HOLDS => *node,
        _ => {
            let node = device.node(topology);
            nodes.insert(device.number(), (node, now));
            node
        }
    }
}

/// Makes a change: moves a device, if it still exists. Other changes need no action here.
fn carry_out(
    change: Change,
    threads: &[Arc<IoThread>],
    devices: &Mutex<Devices>,
) -> io::Result<()> {
    let Change::Move { device, core } = change else {
        return Ok(());
    };
    let found = {
        let devices = lock(devices);
        let mut all = devices.by_name.values();
        all.find(|other| other.number() == device).cloned()
    };
    match found {
        Some(device) => device
            .move_to(Threads::one(Arc::clone(&threads[core])))
            .map_err(|error| io::Error::other(format!("{}: {error}", device.spec().name))),
        None => Ok(()),
    }
}
