//! The server: I/O threads according to the mode, and the devices on them.

use crate::config::{self, Config, number};
use crate::devices::Devices;
use crate::net::uplink::{Running, UplinkCounts};
use crate::net::{Link, LinkSpec, Switches, UplinkSpec};
use crate::numa::Topology;
use crate::placer::{PlacementView, Placer};
use crate::resize::{Resized, resize};
use crate::server::{
    CoreStats, Device, DeviceSpec, IoThread, IoThreadSpec, Kind, KindSpec, QueueStats, Threads,
    measure_wake_ns,
};
use crate::storage::Disk;
use elvis_policy::Params;
use elvis_policy::simulation::Mode;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use ws_cpus::Cpus;

/// A running server. Dropping it ends all devices, after their requests in flight.
pub struct Server {
    mode: Mode,
    cpus: Vec<usize>,
    params: Params,
    threads_only: bool,
    /// I/O threads, one per I/O core; empty in the per-device modes.
    shared: Vec<Arc<IoThread>>,
    /// The folder in which network devices keep files.
    state: Option<PathBuf>,
    /// Devices. The lock is never held while waiting for a disk.
    devices: Arc<Mutex<Devices>>,
    /// Placer, with automatic placement.
    placer: Option<Placer>,
    topology: Topology,
    switches: Switches,
    uplinks: Mutex<Vec<Running>>,
}

/// A device in the output of `elvis ctl list`.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceView {
    /// Name of the device.
    pub name: String,
    /// Path of the socket to which front-ends connect.
    pub socket: String,
    /// Kind of the device.
    pub kind: &'static str,
    /// Size of the disk in bytes, if the device has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Size of the blocks that the driver is told, if the device has a disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_bytes: Option<u32>,
    /// Whether writes to the disk fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readonly: Option<bool>,
    /// Backing that carries the frames, if it is a network device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net: Option<String>,
    /// VLAN of the device, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Number of virtqueues.
    pub queues: u16,
    /// Weight of the device.
    pub weight: u32,
    /// Limits of the device, by their names in the configuration.
    #[serde(flatten)]
    pub limits: BTreeMap<&'static str, u64>,
    /// Whether a front-end is connected.
    pub connected: bool,
    /// I/O thread that serves the device, from 0; if the device is spread, the one of its first queue. None if the
    /// device has its own.
    pub thread: Option<usize>,
    /// Whether the device's queues are spread over all I/O threads.
    pub spread: bool,
    /// NUMA node of the driver's memory, if that is on one.
    pub node: Option<u32>,
}

/// An uplink in the output of `elvis ctl list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UplinkView {
    /// Kind of the entry, beside those of devices.
    pub kind: &'static str,
    /// Name of the uplink's switch.
    pub switch: String,
    /// Tap or interface that carries the frames.
    pub net: String,
    /// Only VLAN of the uplink, if it does not carry all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
}

/// The output of `elvis ctl stats`: all counters.
#[derive(Debug, Clone, Serialize)]
pub struct Stats {
    /// Mode by which devices are served.
    pub mode: Mode,
    /// I/O threads.
    pub cores: Vec<CoreStats>,
    /// Changes by automatic placement.
    pub placement: Option<PlacementView>,
    /// Running queues of each device.
    pub devices: BTreeMap<String, Vec<QueueStats>>,
    /// Uplinks, by switch and interface, as the configuration writes them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub uplinks: BTreeMap<String, UplinkCounts>,
}

impl Server {
    /// Starts I/O threads and devices.
    ///
    /// # Errors
    ///
    /// Something can't be started; the rest is stopped again.
    pub fn start(config: &Config) -> io::Result<Self> {
        let server = Self::without_devices(config)?;
        for spec in &config.uplinks {
            server.add_uplink(spec.clone(), Link::open_uplink)?;
        }
        for spec in &config.devices {
            server.add(spec.clone())?;
        }
        Ok(server)
    }

    /// Starts I/O threads.
    ///
    /// # Errors
    ///
    /// An I/O core can't be used, or something can't be started; the rest is stopped again.
    pub fn without_devices(config: &Config) -> io::Result<Self> {
        raise_descriptor_limit();
        let host = Cpus::here();
        config.check_cores(&host).map_err(io::Error::other)?;
        let polling = config.mode == Mode::Elvis && config.params.polling;
        let mut params = Params {
            polling,
            ..config.params
        };
        if config.derive_window && polling {
            let first = config.io_cores.first().map(|&cpu| number(cpu));
            params = params.with_wake_cost(measure_wake_ns(&host, first)?);
        }
        params.check().map_err(io::Error::other)?;
        config.check_placement().map_err(io::Error::other)?;
        let topology = Topology::read(Path::new(Topology::SYSFS))?;
        let mut server = Self {
            mode: config.mode,
            cpus: config.io_cores.clone(),
            params,
            threads_only: config.threads_only,
            shared: Vec::new(),
            state: config.state.clone(),
            devices: Arc::default(),
            placer: None,
            topology,
            switches: Switches::default(),
            uplinks: Mutex::default(),
        };
        if matches!(config.mode, Mode::Elvis | Mode::FineGrained) {
            let cpus = config.io_cores.iter().map(|&cpu| vec![cpu]);
            let cpus: Vec<_> = if config.io_cores.is_empty() {
                vec![vec![]]
            } else {
                cpus.collect()
            };
            for cpus in cpus {
                let thread = server.thread(cpus)?;
                server.shared.push(Arc::new(thread));
            }
        }
        if config.placement.automatic {
            server.placer = Some(Placer::start(
                config.placement,
                server.topology.clone(),
                &config.io_cores,
                server.shared.clone(),
                Arc::clone(&server.devices),
            )?);
        }
        Ok(server)
    }

    fn thread(&self, cpus: Vec<usize>) -> io::Result<IoThread> {
        IoThread::start(&IoThreadSpec {
            params: self.params,
            cpus,
            threads_only: self.threads_only,
        })
    }

    fn devices(&self) -> MutexGuard<'_, Devices> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the constants of the policy in use.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the number of NUMA nodes of this machine; None without automatic placement.
    #[must_use]
    pub fn placed_on_nodes(&self) -> Option<usize> {
        self.placer.as_ref().map(|_| self.topology.nodes())
    }

    fn uplinks(&self) -> MutexGuard<'_, Vec<Running>> {
        self.uplinks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects a switch with the interface that `open` opens.
    pub fn add_uplink(
        &self,
        spec: UplinkSpec,
        open: impl FnOnce(&LinkSpec) -> io::Result<Link>,
    ) -> io::Result<()> {
        let name = spec.name();
        let switch = self.switches.get(&spec.switch);
        let started = open(&spec.link).and_then(|link| Running::start(spec, link, &switch));
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("the uplink {name}: {error}"));
        let started = started.map_err(named)?;
        self.uplinks().push(started);
        Ok(())
    }

    /// Returns all uplinks.
    #[must_use]
    pub fn list_uplinks(&self) -> Vec<UplinkView> {
        let view = |uplink: &Running| UplinkView {
            kind: "uplink",
            switch: uplink.spec().switch.clone(),
            net: uplink.spec().link.text(),
            vlan: (uplink.spec().vlan != 0).then_some(uplink.spec().vlan),
        };
        self.uplinks().iter().map(view).collect()
    }

    /// Adds a device. Its I/O thread is the one with the fewest devices, or is chosen by the placement; in the
    /// per-device modes the device gets its own.
    ///
    /// # Errors
    ///
    /// The name is in use, or the socket, the disk or the network can't be opened.
    pub fn add(&self, spec: DeviceSpec) -> io::Result<()> {
        self.add_with(spec, |spec| spec.kind.open(&self.switches, &spec.limit))
    }

    /// Adds a device whose disk or network is opened by `open`.
    ///
    /// # Errors
    ///
    /// The name is in use, or the socket, the disk or the network can't be opened.
    pub fn add_with(
        &self,
        spec: DeviceSpec,
        open: impl FnOnce(&DeviceSpec) -> io::Result<Kind>,
    ) -> io::Result<()> {
        let name = spec.name.clone();
        if spec.spread {
            let checked = spreads(self.mode, self.placer.is_some());
            let invalid =
                |why| io::Error::new(io::ErrorKind::InvalidInput, format!("{name}: {why}"));
            checked.map_err(invalid)?;
        }
        // The name is reserved while the disk is opened, which may take long: the devices are not locked meanwhile.
        let thread = self.thread_for(&name)?;
        let threads = self.threads(thread, spec.spread);
        let started =
            open(&spec).and_then(|kind| Device::start(spec, kind, threads, self.state.as_deref()));
        let mut devices = self.devices();
        devices.starting.remove(&name);
        let device =
            started.map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
        if devices.closed {
            drop(devices);
            device.end();
            return Err(ends());
        }
        log::debug!("{name}: serves {}", device.spec().socket.display());
        devices.by_name.insert(name, Arc::new(device));
        Ok(())
    }

    /// Returns the I/O threads of a device from this one on.
    fn threads(&self, first: Arc<IoThread>, spread: bool) -> Threads {
        let place = self
            .shared
            .iter()
            .position(|thread| Arc::ptr_eq(thread, &first));
        let all = place.filter(|_| spread);
        all.and_then(|place| Threads::all(&self.shared, place))
            .unwrap_or_else(|| Threads::one(first))
    }

    /// Reserves this name for a new device, and returns the I/O thread for it.
    fn thread_for(&self, name: &str) -> io::Result<Arc<IoThread>> {
        let placed = self.placer.as_ref().map(Placer::thread_for_new);
        let placed = placed.and_then(|thread| self.shared.get(thread));
        let mut devices = self.devices();
        if devices.closed {
            return Err(ends());
        }
        if devices.by_name.contains_key(name) || devices.starting.contains(name) {
            let why = format!("there is already a device {name:?}");
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        let load = |thread: &&Arc<IoThread>| Arc::strong_count(thread);
        let thread = match placed.or_else(|| self.shared.iter().min_by_key(load)) {
            Some(least) => Arc::clone(least),
            None if self.mode == Mode::PerDevicePinned && !self.cpus.is_empty() => {
                let cpu = self.cpus[devices.started % self.cpus.len()];
                Arc::new(self.thread(vec![cpu])?)
            }
            None => Arc::new(self.thread(self.cpus.clone())?),
        };
        devices.started += 1;
        devices.starting.insert(name.to_owned());
        Ok(thread)
    }

    fn device(&self, name: &str) -> io::Result<Arc<Device>> {
        let device = self.devices().by_name.get(name).cloned();
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("no device {name:?}"));
        device.ok_or_else(missing)
    }

    /// Ends a device, then removes it from the list.
    fn end(&self, device: &Arc<Device>) {
        device.end();
        self.devices()
            .by_name
            .retain(|_, other| !Arc::ptr_eq(device, other));
        log::debug!("{}: removed", device.spec().name);
    }

    /// Removes a device, after its requests in flight.
    ///
    /// # Errors
    ///
    /// There is no such device.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        self.end(&self.device(name)?);
        Ok(())
    }

    /// Moves a device to another I/O thread (from 0), after its requests in flight. The first queue of a spread device
    /// goes there, and the others go round from it.
    ///
    /// # Errors
    ///
    /// There is no such device or thread.
    pub fn move_device(&self, name: &str, thread: usize) -> io::Result<()> {
        let not_found = |why: String| io::Error::new(io::ErrorKind::NotFound, why);
        let target = self.shared.get(thread).ok_or_else(|| {
            not_found(match self.shared.len() {
                0 => format!(
                    "in mode {} each device has its own thread",
                    self.mode.name()
                ),
                threads => format!("there are {threads} I/O threads, numbered from 0"),
            })
        })?;
        let device = self.device(name)?;
        device.move_to(self.threads(Arc::clone(target), device.spec().spread))?;
        log::debug!("{name}: moved to I/O thread {thread}");
        Ok(())
    }

    /// Serves a disk's file or block device as large as it is now, and notifies the front-end. Does so for all disks on
    /// the same storage too. Waits for nothing but the file's size.
    ///
    /// # Errors
    ///
    /// There is no such disk, or its storage has become smaller: then nothing changes.
    pub fn resize(&self, name: &str) -> io::Result<Vec<Resized>> {
        resize(&self.device(name)?, &self.all())
    }

    /// Changes a device's weight at once.
    ///
    /// # Errors
    ///
    /// There is no such device, or no such weight.
    pub fn set_weight(&self, name: &str, weight: u64) -> io::Result<()> {
        let device = self.device(name)?;
        let new = config::weight(weight).map_err(invalid)?;
        device.change_terms(&self.may_serve(&device), |weight, _| {
            *weight = new;
            Ok(())
        })
    }

    /// Changes those limits of a device at once that have a name in `limits`, as in the configuration; null: no limit.
    ///
    /// # Errors
    ///
    /// There is no such device, or it has no such limit.
    pub fn set_limit(&self, name: &str, limits: &Value) -> io::Result<()> {
        let device = self.device(name)?;
        let counts = device.spec().kind.counts();
        device.change_terms(&self.may_serve(&device), |_, limit| {
            config::change_limit(limit, limits, counts).map_err(invalid)
        })
    }

    /// Returns the I/O threads that serve a device, or to which it may be moved.
    fn may_serve(&self, device: &Device) -> Vec<Arc<IoThread>> {
        match self.shared[..] {
            [] => device.threads().iter().map(Arc::clone).collect(),
            _ => self.shared.clone(),
        }
    }

    fn all(&self) -> Vec<Arc<Device>> {
        self.devices().by_name.values().cloned().collect()
    }

    /// Removes all devices.
    pub fn drain(&self) {
        for device in &self.all() {
            self.end(device);
        }
    }

    /// Removes all devices, and takes no more.
    pub fn close(&self) {
        self.devices().closed = true;
        self.drain();
    }

    /// Returns all devices.
    #[must_use]
    pub fn list(&self) -> Vec<DeviceView> {
        let view = |device: &Arc<Device>| DeviceView {
            name: device.spec().name.clone(),
            socket: device.spec().socket.display().to_string(),
            kind: device.spec().kind.name(),
            bytes: device.kind().disk().map(Disk::bytes),
            block_bytes: device.kind().disk().map(|disk| disk.blocks().logical),
            readonly: match &device.spec().kind {
                KindSpec::Blk(blk) => Some(blk.readonly),
                KindSpec::Net(_) => None,
            },
            net: match &device.spec().kind {
                KindSpec::Blk(_) => None,
                KindSpec::Net(net) => Some(net.backing.text()),
            },
            vlan: match &device.spec().kind {
                KindSpec::Net(net) if net.vlan != 0 => Some(net.vlan),
                _ => None,
            },
            queues: device.kind().queues(),
            weight: device.terms().0,
            limits: limits(device),
            connected: device.connected(),
            thread: self
                .shared
                .iter()
                .position(|thread| Arc::ptr_eq(thread, device.threads().of(0))),
            spread: device.spec().spread,
            node: device.node(&self.topology),
        };
        self.devices().by_name.values().map(view).collect()
    }

    /// Returns all counters.
    ///
    /// # Errors
    ///
    /// An I/O thread has ended.
    pub fn stats(&self) -> io::Result<Stats> {
        let devices = self.devices();
        let mut threads: Vec<Arc<IoThread>> = self.shared.clone();
        for device in devices.by_name.values() {
            for thread in device.threads().iter() {
                if !threads.iter().any(|other| Arc::ptr_eq(other, thread)) {
                    threads.push(Arc::clone(thread));
                }
            }
        }
        let mut stats = Stats {
            mode: self.mode,
            cores: Vec::new(),
            placement: self.placer.as_ref().map(Placer::view),
            devices: BTreeMap::new(),
            uplinks: BTreeMap::new(),
        };
        for uplink in self.uplinks().iter() {
            let name = uplink.spec().name();
            stats.uplinks.insert(name, uplink.counts());
        }
        let names: BTreeMap<u64, &String> = devices
            .by_name
            .iter()
            .map(|(name, device)| (device.number(), name))
            .collect();
        for name in names.values() {
            stats.devices.insert((*name).clone(), Vec::new());
        }
        for thread in threads {
            let mut core = thread.stats()?;
            for queue in core.queues.drain(..) {
                if let Some(name) = names.get(&queue.device) {
                    stats
                        .devices
                        .entry((*name).clone())
                        .or_default()
                        .push(queue);
                }
            }
            stats.cores.push(core);
        }
        for queues in stats.devices.values_mut() {
            queues.sort_by_key(|queue| queue.queue);
        }
        Ok(stats)
    }
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Returns a device's limits, by their names in the configuration.
fn limits(device: &Device) -> BTreeMap<&'static str, u64> {
    let (_, limit) = device.terms();
    let counted = (device.spec().kind.counts(), limit.requests_per_s);
    let all = [counted, ("bytes_per_s", limit.bytes_per_s)];
    let named = |(name, limit): (_, Option<u64>)| Some((name, limit?));
    all.into_iter().filter_map(named).collect()
}

/// Returns the reason for which a device is not added any more.
fn ends() -> io::Error {
    io::Error::other("the server ends")
}

/// Checks that a device may be spread over I/O threads.
fn spreads(mode: Mode, placed: bool) -> Result<(), String> {
    if placed {
        return Err("spread: not with automatic placement, which moves whole devices".to_owned());
    }
    if !matches!(mode, Mode::Elvis | Mode::FineGrained) {
        let mode = mode.name();
        return Err(format!(
            "spread: in mode {mode} each device has its own thread; use mode elvis or fine-grained"
        ));
    }
    Ok(())
}

/// Raises the limit on descriptors. A device takes about ten, so the usual soft limit of 1024 is enough for only a
/// hundred devices.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Failure is harmless: adding a device reports it when descriptors run out.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    );
}
