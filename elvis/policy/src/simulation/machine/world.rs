//! A machine: guests' cores and I/O cores, guests with their queues, their servers, and the wire.
//!
//! Guests' vCPUs are in [`super::guest`], servers in [`super::server`].

use super::cores::{Burst, Cores, Kind, Sharing, Spent};
use super::guest::Guest;
use super::prices::Prices;
use super::server::Server;
use super::setup::{Load, Serving, Setup};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Next step of a thread.
pub enum Next {
    Run(Burst<Then>),
    Block,
}

/// Event at the end of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The thread goes on.
    Nothing,
    /// The guest has done all for this many transactions but to put them into its queue.
    Prepared(u32),
    /// The guest has put this many transactions into its queue.
    Submitted(u32),
    /// The guest's kick has reached the host.
    Kicked,
    /// The guest has halted.
    Halted,
    /// The guest has handled this many replies.
    Handled(u32),
    /// The server has done a request of this guest, from the wire or to it.
    Served(usize),
    /// The pool of the server has done a request.
    Read,
    /// The server has completed a request of this guest that its pool has done.
    Completed(usize),
    /// The server has called this guest.
    Called(usize),
    /// The server, or a guest that does not halt, found nothing to do.
    InVain,
    /// The server has looked for kicks.
    Looked,
}

/// A request in a queue.
#[derive(Clone, Copy, Debug)]
pub enum Item {
    /// Request of the guest. The last one of its transaction, which began then, gets a reply.
    Out { last_of: Option<u64> },
    /// Packet from the wire, for the transaction that began then if it is the last one.
    In { last_of: Option<u64> },
}

/// Event at a fixed time, whatever the cores do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A guest's packet comes from the wire.
    Arrives(usize, Option<u64>),
    /// The NIC of a guest without a server interrupts it.
    Interrupts(usize),
    /// The timer of a guest interrupts it.
    Ticks(usize),
    /// The timers of the host interrupt its cores.
    HostTicks,
    /// A timer of QEMU's main loop.
    MainLoop,
}

/// State of a machine.
pub struct World<'a> {
    pub setup: &'a Setup,
    pub cores: Cores<Then>,
    pub guests: Vec<Guest>,
    pub servers: Vec<Server>,
    /// The server of each guest; none without interposition.
    pub server_of: Vec<Option<usize>>,
    /// The thread of a vCPU or a server: `Ok` of a guest's number, `Err` of a server's.
    owners: Vec<Result<usize, usize>>,
    timers: BinaryHeap<Reverse<(u64, u64, Timer)>>,
    sequence: u64,
    /// Time at which each wire is free again, by port of the NIC.
    wires: Vec<u64>,
    rng: fastrand::Rng,
    /// Whether the core whose turn it is gives it up.
    pub yields: bool,
    /// Time at which the core's turn is over, and length of turns.
    turn_end: u64,
    turn_ticks: u64,
    interrupted: usize,
    pub warm: bool,
}

impl<'a> World<'a> {
    pub fn new(setup: &'a Setup) -> Self {
        let prices = &setup.prices;
        let sharing = Sharing {
            switch: prices.switch,
            slice: prices.slice,
            preempt: prices.slice / 2,
        };
        let mut world = Self {
            setup,
            cores: Cores::new(setup.cores, setup.in_turns, sharing),
            guests: Vec::new(),
            servers: Vec::new(),
            server_of: Vec::new(),
            owners: Vec::new(),
            timers: BinaryHeap::new(),
            sequence: 0,
            wires: vec![0; setup.guests.len().max(1)],
            rng: fastrand::Rng::with_seed(setup.seed),
            yields: false,
            turn_end: 0,
            turn_ticks: 0,
            interrupted: 0,
            warm: false,
        };
        for (number, placed) in setup.guests.iter().enumerate() {
            let thread = world.cores.add(placed.core);
            world.owners.push(Ok(number));
            world.guests.push(Guest::new(thread, placed.load.depth));
        }
        world.add_servers();
        if prices.tick_gap > 0 {
            // The start of the timers is not known: each run has other phases.
            let others = (0..world.guests.len()).map(Timer::Ticks);
            let main_loop = setup.in_turns.then_some(Timer::MainLoop);
            for timer in others.chain(main_loop) {
                let first = world.rng.u64(0..prices.tick_gap);
                world.at(first, timer);
            }
            world.at(prices.tick_gap, Timer::HostTicks);
        }
        world
    }

    /// Adds the host's I/O threads: none, one a guest, or one a core for all guests that are served there.
    fn add_servers(&mut self) {
        let setup = self.setup;
        self.server_of = vec![None; setup.guests.len()];
        let mut add = |core: Option<usize>, guests: Vec<usize>, shared: bool| {
            let thread = self.cores.add(core);
            let number = self.servers.len();
            self.owners.push(Err(number));
            for &guest in &guests {
                self.server_of[guest] = Some(number);
            }
            self.servers
                .push(Server::new(thread, guests, shared.then_some(setup)));
        };
        match setup.serving {
            Serving::None => {}
            Serving::Own => {
                for (number, placed) in setup.guests.iter().enumerate() {
                    add(placed.io_core, vec![number], false);
                }
            }
            Serving::Shared | Serving::Polling => {
                let mut cores: Vec<_> = setup.guests.iter().map(|it| it.io_core).collect();
                cores.sort_unstable();
                cores.dedup();
                for core in cores {
                    let served = setup.guests.iter().enumerate();
                    let served = served.filter(|(_, placed)| placed.io_core == core);
                    add(core, served.map(|(number, _)| number).collect(), true);
                }
            }
        }
    }

    pub fn prices(&self) -> &'a Prices {
        &self.setup.prices
    }

    pub fn load(&self, guest: usize) -> &'a Load {
        &self.setup.guests[guest].load
    }

    pub fn now_ns(&self) -> u64 {
        self.cores.now * 1000 / self.setup.ticks_per_us
    }

    /// Whether events are counted now.
    pub fn counts(&self) -> bool {
        self.warm
    }

    /// Returns a guest's work, which varies as its load says.
    pub fn varied(&mut self, guest: usize, ticks: u64) -> u64 {
        match self.load(guest).spread_percent {
            0 => ticks,
            percent => {
                let most = ticks * percent / 100;
                ticks - most + self.rng.u64(0..=2 * most)
            }
        }
    }

    /// Returns the cost of work whose queue and data are in the memory of another socket, if the guest's server is far.
    pub fn far(&self, guest: usize, ticks: u64) -> u64 {
        match self.setup.guests[guest].is_far {
            true => ticks * self.prices().far_percent / 100,
            false => ticks,
        }
    }

    pub fn at(&mut self, when: u64, timer: Timer) {
        self.sequence += 1;
        self.timers.push(Reverse((when, self.sequence, timer)));
    }

    /// Runs the warm-up and the time that is counted; returns how each core spent the latter.
    pub fn run(&mut self) -> Vec<Spent> {
        self.run_until(self.setup.warmup);
        self.warm = true;
        let before: Vec<Spent> = self.cores.all.iter().map(|core| core.spent).collect();
        self.run_until(self.setup.warmup + self.setup.length);
        let after = self.cores.all.iter();
        after
            .zip(&before)
            .map(|(core, before)| core.spent.since(before))
            .collect()
    }

    fn run_until(&mut self, end: u64) {
        while self.cores.now < end {
            self.fill();
            let timer = self.timers.peek().map(|Reverse((when, ..))| *when);
            let left = end - self.cores.now;
            let until_timer = timer.map(|when| when.saturating_sub(self.cores.now));
            let until_end = self.cores.until_end();
            let turn_left = self.turn_end.saturating_sub(self.cores.now);
            let in_turn = until_end.filter(|_| self.cores.turn.is_some());
            let steps = [
                until_end,
                until_timer,
                in_turn.map(|_| turn_left),
                Some(left),
            ];
            let step = steps.into_iter().flatten().min().unwrap_or(left);
            self.cores.advance(step);
            while let Some(Reverse((when, _, timer))) = self.timers.peek().copied() {
                if when > self.cores.now {
                    break;
                }
                self.timers.pop();
                self.fire(timer);
            }
            while let Some((core, then)) = self.cores.ended() {
                self.done(core, then);
            }
        }
    }

    /// Gives every core that may run now something to do.
    fn fill(&mut self) {
        let count = self.cores.all.len();
        let Some(turn) = self.cores.turn else {
            (0..count).for_each(|core| self.fill_core(core));
            return;
        };
        let is_over = std::mem::take(&mut self.yields) || self.cores.now >= self.turn_end;
        let first = usize::from(is_over);
        for step in first..first + count {
            let core = (turn + step) % count;
            self.fill_core(core);
            if self.cores.all[core].burst.is_some() {
                if step > 0 {
                    self.begin_turn(core, turn + step >= count);
                }
                return;
            }
        }
    }

    /// Whether the next timer is the main loop's.
    pub fn next_is_main_loop(&self) -> bool {
        let next = self.timers.peek();
        next.is_some_and(|Reverse((_, _, timer))| *timer == Timer::MainLoop)
    }

    /// Begins a core's turn. In each round all cores get the same part of the time until the next timer (QEMU's
    /// `icount_percpu_budget`).
    fn begin_turn(&mut self, core: usize, is_new_round: bool) {
        if is_new_round {
            let until = self.timers.peek().map_or(u64::MAX, |Reverse((when, ..))| {
                when.saturating_sub(self.cores.now)
            });
            let part = until / self.cores.all.len() as u64;
            self.turn_ticks = if part > 0 { part } else { until.max(1) };
        }
        self.cores.turn = Some(core);
        self.turn_end = self.cores.now.saturating_add(self.turn_ticks);
    }

    fn fill_core(&mut self, core: usize) {
        while self.cores.all[core].burst.is_none() {
            if self.cores.schedule(core) {
                let ticks = self.cores.switch_ticks();
                self.set(core, ticks, Kind::Switch, Then::Nothing);
                return;
            }
            let Some(thread) = self.cores.all[core].thread else {
                return;
            };
            let next = match self.owners[thread] {
                Ok(guest) => self.guest_next(guest),
                Err(server) => self.server_next(server),
            };
            match next {
                Next::Run(burst) => self.cores.all[core].burst = Some(burst),
                Next::Block => self.cores.block(core),
            }
        }
    }

    pub fn set(&mut self, core: usize, ticks: u64, kind: Kind, then: Then) {
        self.cores.all[core].burst = Some(Burst { ticks, kind, then });
    }

    fn done(&mut self, core: usize, then: Then) {
        let Some(thread) = self.cores.all[core].thread else {
            return;
        };
        match self.owners[thread] {
            Ok(guest) => self.guest_done(guest, then),
            Err(server) => self.server_done(server, then),
        }
    }

    fn fire(&mut self, timer: Timer) {
        if let Timer::Ticks(_) | Timer::HostTicks | Timer::MainLoop = timer {
            self.at(self.cores.now + self.prices().tick_gap, timer);
        }
        match timer {
            Timer::Interrupts(guest) => self.nic_interrupts(guest),
            Timer::Ticks(guest) => self.tick(guest),
            Timer::HostTicks => {
                for guest in 0..self.guests.len() {
                    self.host_interrupt(guest);
                }
            }
            Timer::MainLoop => {}
            Timer::Arrives(guest, last_of) => match self.server_of[guest] {
                None => self.arrives_at_guest(guest, last_of),
                Some(server) => {
                    self.interrupt_somebody();
                    self.arrives_at_server(server, guest, last_of);
                }
            },
        }
    }

    /// Sends an interrupt of the NIC to the next core: they go to all cores in turn, and one that runs a guest exits.
    fn interrupt_somebody(&mut self) {
        if !self.setup.nic_anywhere {
            return;
        }
        self.interrupted = (self.interrupted + 1) % self.cores.all.len();
        let running = self.cores.all[self.interrupted].thread;
        if let Some(Ok(guest)) = running.map(|thread| self.owners[thread]) {
            self.host_interrupt(guest);
        }
    }

    /// Sends a guest's packets over the wire, and plans their reply.
    pub fn over_the_wire(&mut self, guest: usize, last_of: Option<u64>) {
        let load = self.load(guest);
        let wire = &mut self.wires[self.setup.guests[guest].port];
        *wire = (*wire).max(self.cores.now) + load.wire_each;
        let free = *wire;
        let Some(made) = last_of else { return };
        for number in 1..=load.ins {
            let last_of = (number == load.ins).then_some(made);
            self.at(free + load.away, Timer::Arrives(guest, last_of));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::machine::lab::DISKS;

    /// Requests that QEMU's pool did while its owner slept are completed before new requests are taken.
    #[test]
    fn what_the_pool_has_done_comes_before_new_requests() {
        let setup = DISKS[1].setup(2);
        let mut world = World::new(&setup);
        let item = Item::Out { last_of: Some(0) };
        world.guests[0].queue.put(item);
        world.server_done(0, Then::Served(0));
        while !matches!(world.server_next(0), Next::Run(burst) if burst.then == Then::Nothing) {}
        // A kick meanwhile waits.
        world.guests[0].queue.put(item);
        world.kicked(0, 0);
        for then in [
            Then::Read,
            Then::Completed(0),
            Then::Called(0),
            Then::Looked,
            Then::Served(0),
        ] {
            let Next::Run(burst) = world.server_next(0) else {
                panic!("it has something to do");
            };
            assert_eq!(burst.then, then);
            world.server_done(0, then);
        }
    }

    /// QEMU's main loop ends its own turn when it sleeps until its pool is done, and no other's when all is done.
    #[test]
    fn the_main_loop_ends_only_its_own_turn() {
        let setup = DISKS[0].setup(1);
        let mut world = World::new(&setup);
        while !world.next_is_main_loop() {
            world.timers.pop();
        }
        assert!(matches!(world.server_next(0), Next::Block) && !world.yields);
        world.guests[0].queue.put(Item::Out { last_of: None });
        let Next::Run(burst) = world.server_next(0) else {
            panic!("it has a request");
        };
        world.server_done(0, burst.then);
        assert!(matches!(world.server_next(0), Next::Run(_)) && world.yields);
    }
}
