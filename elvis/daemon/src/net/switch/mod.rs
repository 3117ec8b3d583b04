//! A switch between network devices of this process, and its ports. I/O threads forward frames through it themselves.
//! The switch has the tables of addresses, and the state that a port's I/O thread and others share.
//!
//! Each VLAN is a network of its own, with a table of its own. VLAN 0 is the network of frames without a tag.

mod inbox;
mod table;

pub use inbox::Inbox;
pub use table::{Learned, PORTS, Table, UPLINK_ADDRESSES};

use super::{Header, Mac, Parts, Uplink};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Instant;

/// Ports of a switch by number, at some time.
pub type Ports = Arc<[Option<Arc<Port>>]>;

/// A switch.
pub struct Switch {
    /// Addresses that the switch learned, by VLAN. A table exists as long as its VLAN has ports.
    tables: Mutex<BTreeMap<u16, Weak<Table>>>,
    ports: RwLock<Ports>,
    /// Number that changes with `ports`, so that I/O threads see that theirs are old.
    generation: AtomicU64,
    start: Instant,
}

/// The port of a device or of an uplink.
pub struct Port {
    switch: Arc<Switch>,
    number: u16,
    spec: PortSpec,
    /// Addresses in the port's VLAN.
    table: Arc<Table>,
    /// Uplink of the port, if it is not a device's.
    uplink: Option<Arc<Uplink>>,
    /// Whether the port's own I/O thread has to count all frames that the port gets, for a limit. Then no sender's
    /// visit puts a frame into its buffers.
    counted: AtomicBool,
    /// Receive queues of the port; an uplink has none.
    pub queues: Vec<PortQueue>,
}

/// Configuration of a port.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PortSpec {
    /// Whether the port exchanges frames only with ports that are not isolated.
    pub isolated: bool,
    /// Only address of the port: no other may send through it, and it gets frames for no other station.
    pub mac: Option<Mac>,
    /// VLAN of the port; 0: none.
    pub vlan: u16,
}

/// State of a receive queue that I/O threads share.
pub struct PortQueue {
    inbox: Mutex<Inbox>,
    /// Frames in the inbox.
    waiting: AtomicUsize,
    /// Frames ever put into the inbox.
    arrived: AtomicU32,
    /// Frames dropped as the inbox was full.
    full: AtomicU64,
    /// Whether to ring the bell for the next frame.
    wanted: AtomicBool,
    bell: OwnedFd,
    /// I/O thread that serves the queue, and the slot there; 0: none.
    place: AtomicU64,
}

/// Place at which a receive queue is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Number of the I/O thread, from 1.
    pub thread: u32,
    /// Slot of the queue there.
    pub slot: u32,
}

/// Whether a destination is not one station's: broadcast, or multicast.
fn is_group(to: Mac) -> bool {
    to[0] & 1 == 1
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PortQueue {
    fn new() -> io::Result<Self> {
        Ok(Self {
            inbox: Mutex::default(),
            waiting: AtomicUsize::new(0),
            arrived: AtomicU32::new(0),
            full: AtomicU64::new(0),
            wanted: AtomicBool::new(false),
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            place: AtomicU64::new(0),
        })
    }

    /// Sets the place at which the queue is served; None: nowhere, and frames for it are dropped.
    pub fn served_at(&self, place: Option<Place>) {
        let word = place.map_or(0, |place| {
            u64::from(place.thread) << 32 | u64::from(place.slot)
        });
        self.place.store(word, Ordering::SeqCst);
    }

    /// Returns the place at which the queue is served.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        let word = self.place.load(Ordering::Relaxed);
        (word != 0).then_some(Place {
            thread: (word >> 32) as u32,
            slot: word as u32,
        })
    }

    /// Returns the number of frames that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// Returns the number of frames that ever waited.
    #[must_use]
    pub fn arrived(&self) -> u32 {
        self.arrived.load(Ordering::Relaxed)
    }

    /// Returns the number of frames that found no room.
    #[must_use]
    pub fn full(&self) -> u64 {
        self.full.load(Ordering::Relaxed)
    }

    /// Returns the bell, on which the queue's I/O thread waits: readable after a ring.
    #[must_use]
    pub fn bell(&self) -> &OwnedFd {
        &self.bell
    }

    /// Asks for a ring with the next frame, or for none. Look at [`PortQueue::waiting`] afterwards.
    pub fn want_bell(&self, wanted: bool) {
        self.wanted.store(wanted, Ordering::SeqCst);
    }

    /// Adds a frame, or drops it if there is no room. Rings if that is wanted.
    pub fn push(&self, header: Header, parts: &Parts) {
        let mut inbox = lock(&self.inbox);
        if inbox.push(header, parts) {
            self.arrived.fetch_add(1, Ordering::Relaxed);
            self.waiting.store(inbox.frames(), Ordering::SeqCst);
        } else {
            self.full.fetch_add(1, Ordering::Relaxed);
        }
        drop(inbox);
        if self.wanted.load(Ordering::SeqCst) && self.wanted.swap(false, Ordering::SeqCst) {
            let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        }
    }

    /// Passes the oldest frame to `take`, and removes it if that returns true.
    pub fn take<T>(&self, take: impl FnOnce(Header, &[u8]) -> (bool, T)) -> Option<T> {
        let mut inbox = lock(&self.inbox);
        let (header, frame) = inbox.first()?;
        let (done, result) = take(header, frame);
        if done {
            inbox.pop();
            self.waiting.store(inbox.frames(), Ordering::SeqCst);
        }
        Some(result)
    }

    /// Drops all frames.
    pub fn clear(&self) {
        let mut inbox = lock(&self.inbox);
        inbox.clear();
        self.waiting.store(0, Ordering::SeqCst);
    }
}

impl Port {
    /// Returns the port's number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Returns the port's switch.
    #[must_use]
    pub fn switch(&self) -> &Arc<Switch> {
        &self.switch
    }

    /// Returns the port's VLAN; 0: none.
    #[must_use]
    pub fn vlan(&self) -> u16 {
        self.spec.vlan
    }

    /// Returns the addresses in the port's VLAN.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the port's uplink, if it is not a device's.
    #[must_use]
    pub fn uplink(&self) -> Option<&Uplink> {
        self.uplink.as_deref()
    }

    /// Whether the port is in all VLANs.
    fn is_trunk(&self) -> bool {
        self.uplink.is_some() && self.spec.vlan == 0
    }

    /// Whether frames of a VLAN go to this port.
    fn carries(&self, vlan: u16) -> bool {
        self.spec.vlan == vlan || self.is_trunk()
    }

    /// Whether an address may send through the port.
    #[must_use]
    pub fn may_send(&self, mac: Mac) -> bool {
        self.spec.mac.is_none_or(|its| its == mac)
    }

    /// Whether a sender's visit may put frames into the port's buffers.
    #[must_use]
    pub fn direct(&self) -> bool {
        !self.counted.load(Ordering::Relaxed)
    }

    /// Sets whether the port's own I/O thread has to count all frames that the port gets.
    pub fn count(&self, counted: bool) {
        self.counted.store(counted, Ordering::Relaxed);
    }

    /// Whether frames go from this port to another.
    #[must_use]
    pub fn reaches(&self, other: &Self) -> bool {
        self.number != other.number && !(self.spec.isolated && other.spec.isolated)
    }

    /// Whether frames for this address go to this port. A port with an address of its own takes only those for
    /// it and for groups.
    fn takes(&self, to: Mac) -> bool {
        is_group(to) || self.spec.mac.is_none_or(|its| its == to)
    }

    /// Returns whether a frame to this address is flooded, and the numbers of ports that may get it: [`Self::receiver`]
    /// finds those that do.
    #[must_use]
    pub fn receivers(table: &Table, ports: &Ports, to: Mac, now_s: u32) -> (bool, Range<usize>) {
        let known = (!is_group(to)).then(|| table.find(to, now_s)).flatten();
        let numbers = match known {
            Some(number) => usize::from(number)..usize::from(number) + 1,
            None => 0..ports.len(),
        };
        (known.is_none(), numbers)
    }

    /// Returns the first port in `numbers` that gets a frame of a VLAN from this one to an address. Removes that port
    /// and those before it from `numbers`.
    pub fn receiver<'a>(
        &self,
        vlan: u16,
        ports: &'a Ports,
        to: Mac,
        numbers: &mut Range<usize>,
    ) -> Option<&'a Arc<Self>> {
        let gets =
            |other: &&Arc<Self>| self.reaches(other) && other.carries(vlan) && other.takes(to);
        numbers.find_map(|number| ports.get(number)?.as_ref().filter(gets))
    }

    /// Returns the receive queue for frames that a sender sends through its queue of this number, so that a flow keeps
    /// its order. None: none is served.
    #[must_use]
    pub fn queue_for(&self, hint: u16) -> Option<&PortQueue> {
        // An uplink has none.
        let count = self.queues.len();
        let mut order = (0..count).map(|more| &self.queues[(usize::from(hint) + more) % count]);
        order.find(|queue| queue.place().is_some())
    }

    /// Sends a frame of this process to all ports of its VLAN that this one reaches.
    pub fn broadcast(&self, frame: &[u8]) {
        let reached = |port: &&Arc<Self>| self.reaches(port) && port.carries(self.vlan());
        for port in self.switch.ports().iter().flatten().filter(reached) {
            port.give(
                self.vlan(),
                0,
                Header::default(),
                &Parts::private(frame),
                &mut [],
            );
        }
    }

    /// Gives the port a frame of a VLAN: to the queue for `hint`, or to the uplink. `scratch` is for the uplink.
    pub fn give(&self, vlan: u16, hint: u16, header: Header, parts: &Parts, scratch: &mut [u8]) {
        if let Some(uplink) = &self.uplink {
            uplink.send(vlan, &header, parts, scratch);
        } else if let Some(queue) = self.queue_for(hint) {
            queue.push(header, parts);
        }
    }
}

impl std::fmt::Debug for Port {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(out, "port {}", self.number)
    }
}

impl std::fmt::Debug for Switch {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        let ports = self.ports();
        write!(
            out,
            "a switch with {} ports",
            ports.iter().flatten().count()
        )
    }
}

impl Default for Switch {
    fn default() -> Self {
        Self {
            tables: Mutex::default(),
            ports: RwLock::new(Arc::new([])),
            generation: AtomicU64::new(1),
            start: Instant::now(),
        }
    }
}

impl Switch {
    /// Returns the seconds since the switch was made.
    #[must_use]
    pub fn now_s(&self) -> u32 {
        u32::try_from(self.start.elapsed().as_secs()).unwrap_or(u32::MAX - 1)
    }

    /// Returns the switch's ports now.
    #[must_use]
    pub fn ports(&self) -> Ports {
        Arc::clone(&self.ports.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns a number that changes with the ports.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Returns the addresses in a VLAN, if it has ports.
    #[must_use]
    pub fn table(&self, vlan: u16) -> Option<Arc<Table>> {
        lock(&self.tables).get(&vlan).and_then(Weak::upgrade)
    }

    /// Returns the addresses in a VLAN for a port that joins it; makes the table for the first one.
    fn new_table(&self, vlan: u16) -> Arc<Table> {
        let mut all = lock(&self.tables);
        all.retain(|_, table| table.strong_count() > 0);
        if let Some(table) = all.get(&vlan).and_then(Weak::upgrade) {
            return table;
        }
        let table = Arc::default();
        all.insert(vlan, Arc::downgrade(&table));
        table
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Option<Arc<Port>>>)) {
        let mut ports = self.ports.write().unwrap_or_else(PoisonError::into_inner);
        let mut new = ports.to_vec();
        change(&mut new);
        *ports = new.into();
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Adds a port with this many receive queues.
    ///
    /// # Errors
    ///
    /// The switch is full, the address is another port's, or there are no descriptors.
    pub fn join(self: &Arc<Self>, spec: PortSpec, queues: u16) -> io::Result<Joined> {
        let queues = (0..queues).map(|_| PortQueue::new());
        self.add(spec, None, queues.collect::<io::Result<Vec<_>>>()?)
    }

    /// Adds the port of an uplink: of this VLAN, or of all if it is 0.
    ///
    /// # Errors
    ///
    /// The switch is full.
    pub fn join_uplink(self: &Arc<Self>, uplink: Arc<Uplink>, vlan: u16) -> io::Result<Joined> {
        let spec = PortSpec {
            vlan,
            ..PortSpec::default()
        };
        self.add(spec, Some(uplink), Vec::new())
    }

    fn add(
        self: &Arc<Self>,
        spec: PortSpec,
        uplink: Option<Arc<Uplink>>,
        queues: Vec<PortQueue>,
    ) -> io::Result<Joined> {
        let table = self.new_table(spec.vlan);
        let mut joined = None;
        self.change(|ports| {
            let free = ports.iter().position(Option::is_none);
            let number = free.unwrap_or(ports.len());
            if number >= PORTS {
                return;
            }
            if number == ports.len() {
                ports.push(None);
            }
            let port = Port {
                switch: Arc::clone(self),
                number: number as u16,
                spec,
                table,
                uplink,
                counted: AtomicBool::new(false),
                queues,
            };
            joined = Some(Arc::clone(ports[number].insert(Arc::new(port))));
        });
        let in_use = |why: &str| io::Error::new(io::ErrorKind::AddrInUse, why);
        let joined = joined
            .map(Joined)
            .ok_or_else(|| in_use("all ports of the switch are in use"))?;
        // The pin needs the port's number. If the address is another's, dropping `joined` removes the port again.
        if let Some(mac) = joined.0.spec.mac {
            if !joined.0.table.pin(mac, joined.0.number) {
                return Err(in_use("another port of the switch has this address"));
            }
        }
        Ok(joined)
    }
}

/// Port that leaves its switch when this is dropped.
#[derive(Debug)]
pub struct Joined(pub Arc<Port>);

impl Drop for Joined {
    fn drop(&mut self) {
        let Port { switch, number, .. } = &*self.0;
        switch.change(|ports| {
            if let Some(port) = ports.get_mut(usize::from(*number)) {
                *port = None;
            }
            // The addresses are forgotten while no other port can take the number.
            let tables = lock(&switch.tables);
            let tables = tables.values().filter_map(Weak::upgrade);
            tables.for_each(|table| table.forget(*number));
        });
    }
}

/// Switches of a server, by name. A switch exists as long as it has ports.
#[derive(Debug, Default)]
pub struct Switches(Mutex<BTreeMap<String, Weak<Switch>>>);

impl Switches {
    /// Returns the switch of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Arc<Switch> {
        let mut all = lock(&self.0);
        all.retain(|_, switch| switch.strong_count() > 0);
        if let Some(switch) = all.get(name).and_then(Weak::upgrade) {
            return switch;
        }
        let switch = Arc::default();
        all.insert(name.to_owned(), Arc::downgrade(&switch));
        switch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn mac(number: u8) -> Mac {
        [2, 0, 0, 0, 0, number]
    }

    /// Event of a switch: a port joins a VLAN, with an address of its own or not; a port leaves; a port sends from an
    /// address, to a station or to a group.
    #[derive(Debug, Clone)]
    enum Event {
        Join(Option<u8>, bool, u16),
        Leave(usize),
        Send(usize, u8, Mac),
    }

    fn event() -> impl Strategy<Value = Event> {
        let to = prop_oneof![
            8 => (0u8..8).prop_map(mac),
            1 => Just([0xff; 6]),
            1 => Just([1, 0, 0x5e, 0, 0, 1]),
        ];
        prop_oneof![
            3 => (prop::option::of(0u8..8), any::<bool>(), 0u16..2)
                .prop_map(|(mac, isolated, vlan)| Event::Join(mac, isolated, vlan)),
            1 => any::<usize>().prop_map(Event::Leave),
            8 => (any::<usize>(), 0u8..8, to).prop_map(|(port, from, to)| Event::Send(port, from, to)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Checks the ports that get a frame: the one that its receiver is behind; if that is unknown, all that may be
        /// it. Never the sender's port, nor one across isolated ports or VLANs, nor, for another station, one that has
        /// an address.
        #[test]
        fn frames_go_where_their_receiver_may_be(events in prop::collection::vec(event(), 1..60)) {
            let switch: Arc<Switch> = Arc::default();
            let (mut joined, mut behind) = (Vec::<Joined>::new(), HashMap::<(u16, Mac), u16>::new());
            for event in events {
                match event {
                    Event::Join(number, isolated, vlan) => {
                        let spec = PortSpec { isolated, mac: number.map(mac), vlan };
                        let is_its = |it: &Joined| it.0.spec.vlan == vlan && it.0.spec.mac == spec.mac;
                        let taken = spec.mac.is_some() && joined.iter().any(is_its);
                        match switch.join(spec.clone(), 1) {
                            Ok(port) => {
                                prop_assert!(!taken);
                                spec.mac.map(|mac| behind.insert((vlan, mac), port.0.number));
                                joined.push(port);
                            }
                            Err(_) => prop_assert!(taken),
                        }
                    }
                    Event::Leave(port) if !joined.is_empty() => {
                        let left = joined.swap_remove(port % joined.len());
                        behind.retain(|_, port| *port != left.0.number);
                    }
                    Event::Send(port, from, to) if !joined.is_empty() => {
                        let (port, from, now_s) = (&joined[port % joined.len()].0, mac(from), 0);
                        let vlan = port.spec.vlan;
                        if !port.may_send(from) {
                            continue;
                        }
                        let has_it = |it: &Port| it.spec.vlan == vlan && it.spec.mac == Some(from);
                        let pinned = joined.iter().any(|it| it.0.number != port.number && has_it(&it.0));
                        let learned = port.table.learn(from, port.number, now_s);
                        prop_assert_eq!(learned == Learned::Foreign, pinned);
                        if pinned {
                            continue;
                        }
                        behind.insert((vlan, from), port.number);
                        let group = to[0] & 1 == 1;
                        let wanted = |other: &Arc<Port>| {
                            let is_there = match behind.get(&(vlan, to)) {
                                Some(number) => other.number == *number,
                                None => group || other.spec.mac.is_none(),
                            };
                            let apart = port.spec.isolated && other.spec.isolated;
                            is_there && !apart && other.number != port.number && other.spec.vlan == vlan
                        };
                        let ports = switch.ports();
                        let (flooded, mut left) = Port::receivers(&port.table, &ports, to, now_s);
                        let next = || port.receiver(vlan, &ports, to, &mut left);
                        let numbers: Vec<u16> = std::iter::from_fn(next).map(|port| port.number).collect();
                        let wanted: Vec<u16> = ports.iter().flatten().filter(|it| wanted(it)).map(|it| it.number).collect();
                        prop_assert_eq!(numbers, wanted);
                        prop_assert_eq!(flooded, !behind.contains_key(&(vlan, to)));
                    }
                    _ => {}
                }
            }
        }
    }

    fn join(switch: &Arc<Switch>, isolated: bool) -> Joined {
        let spec = PortSpec {
            isolated,
            ..PortSpec::default()
        };
        switch.join(spec, 2).unwrap()
    }

    #[test]
    fn ports_come_and_go() {
        let switches = Switches::default();
        let switch = switches.get("a");
        assert!(Arc::ptr_eq(&switch, &switches.get("a")));
        assert!(!Arc::ptr_eq(&switch, &switches.get("b")));
        let (one, two) = (join(&switch, false), join(&switch, false));
        let generation = switch.generation();
        two.0.table.learn([2; 6], two.0.number(), 0);
        drop(two);
        assert!(switch.generation() > generation && one.0.table.find([2; 6], 0).is_none());
        assert_eq!(switch.ports().iter().flatten().count(), 1);
        let again = join(&switch, false);
        assert_eq!((one.0.number(), again.0.number()), (0, 1));
        drop((one, again, switch));
        assert!(
            switches.0.lock().unwrap()["a"].upgrade().is_none(),
            "it is not kept"
        );
    }

    #[test]
    fn isolated_ports_reach_only_the_others() {
        let switch = Arc::default();
        let (a, b, open) = (
            join(&switch, true),
            join(&switch, true),
            join(&switch, false),
        );
        assert!(!a.0.reaches(&b.0) && !a.0.reaches(&a.0));
        assert!(a.0.reaches(&open.0) && open.0.reaches(&a.0));
    }

    #[test]
    fn an_address_has_one_port() {
        let switch: Arc<Switch> = Arc::default();
        let spec = || PortSpec {
            mac: Some([2, 0, 0, 0, 0, 1]),
            ..PortSpec::default()
        };
        let first = switch.join(spec(), 1).unwrap();
        let error = switch.join(spec(), 1).unwrap_err().to_string();
        assert!(error.contains("another port"), "{error}");
        assert!(first.0.may_send([2, 0, 0, 0, 0, 1]) && !first.0.may_send([2, 0, 0, 0, 0, 2]));
        drop(first);
        assert!(switch.join(spec(), 1).is_ok());
    }

    #[test]
    fn frames_wait_for_a_queue_that_is_served() {
        let switch = Arc::default();
        let (a, b) = (join(&switch, false), join(&switch, false));
        a.0.broadcast(&[7; 60]);
        assert_eq!(b.0.queues[0].waiting(), 0, "it is served nowhere");
        b.0.queues[1].served_at(Some(Place { thread: 1, slot: 0 }));
        b.0.queues[1].want_bell(true);
        a.0.broadcast(&[7; 60]);
        a.0.broadcast(&[8; 61]);
        let queue = b.0.queue_for(0).unwrap();
        assert_eq!((queue.waiting(), queue.arrived()), (2, 2));
        let mut rings = [0; 8];
        rustix::io::read(queue.bell(), &mut rings).unwrap();
        assert_eq!(u64::from_ne_bytes(rings), 1, "only the first frame rings");
        let seen = |_: Header, frame: &[u8]| (frame[0] == 7, frame.len());
        assert_eq!(
            [queue.take(seen), queue.take(seen), queue.take(seen)],
            [Some(60), Some(61), Some(61)]
        );
        queue.clear();
        assert_eq!((queue.waiting(), queue.take(seen)), (0, None));
        assert!(b.0.queue_for(0).is_some());
        b.0.queues[1].served_at(None);
        assert!(b.0.queue_for(0).is_none());
    }
}
