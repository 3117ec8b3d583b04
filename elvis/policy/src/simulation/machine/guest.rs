//! A guest's vCPU: its own work, its exits, and the interrupts that it gets.

use super::cores::{Burst, Kind, State};
use super::world::{Item, Next, Then, World};
use serde::Serialize;
use std::collections::VecDeque;

/// Counts of a guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counted {
    pub transactions: u64,
    /// Ticks of all transactions together.
    pub latency: u64,
    /// Exits: for notifications, at HLT, of a running guest for an interrupt, at the end of one (`ends`), and for
    /// timers (`ticks`).
    pub kicks: u64,
    pub halts: u64,
    pub interrupts: u64,
    /// Exits after those for an interrupt, when the guest can take it.
    pub windows: u64,
    pub ends: u64,
    pub ticks: u64,
    /// Interrupts that the guest got.
    pub injected: u64,
}

impl Counted {
    #[must_use]
    pub fn exits(&self) -> u64 {
        self.kicks + self.halts + self.interrupts + self.windows + self.ends + self.ticks
    }
}

/// The ring that guest and server share.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    pub items: VecDeque<Item>,
    /// Free-running count of the items put in.
    pub avail: u16,
    /// Whether the guest must kick for the next request.
    pub armed: bool,
}

impl Queue {
    pub fn put(&mut self, item: Item) {
        self.items.push_back(item);
        self.avail = self.avail.wrapping_add(1);
    }
}

pub struct Guest {
    thread: usize,
    pub queue: Queue,
    /// Transactions that the guest can begin.
    ready: u32,
    /// Transactions of `ready` that the guest now puts into the queue.
    puts: u32,
    /// Replies in the guest's ring, with the time at which their transaction began.
    replies: VecDeque<Option<u64>>,
    /// Whether the guest wants to be called for replies.
    wants_call: bool,
    /// Whether an interrupt waits for the guest.
    interrupt: bool,
    /// Whether the guest was woken from its halt.
    resumes: bool,
    /// Whether the guest must kick before it goes on.
    kicks: bool,
    /// Whether an interrupt has ended, and its end is still to exit.
    ends: bool,
    /// Whether the guest's timer has interrupted it.
    ticked: bool,
    /// Whether the guest has gone idle, and can halt.
    idle: bool,
    /// Work of the guest that an interrupt broke off.
    broken_off: Option<Burst<Then>>,
    /// Time at which the NIC may interrupt the guest again.
    quiet_until: u64,
    quiet: bool,
    pub counted: Counted,
}

impl Guest {
    pub fn new(thread: usize, ready: u32) -> Self {
        Self {
            thread,
            queue: Queue::default(),
            ready,
            puts: 0,
            replies: VecDeque::new(),
            wants_call: true,
            interrupt: false,
            resumes: false,
            kicks: false,
            ends: false,
            ticked: false,
            idle: false,
            broken_off: None,
            quiet_until: 0,
            quiet: false,
            counted: Counted::default(),
        }
    }
}

fn run(kind: Kind, ticks: u64, then: Then) -> Next {
    Next::Run(Burst { ticks, kind, then })
}

impl World<'_> {
    fn count(&mut self, guest: usize, of: impl FnOnce(&mut Counted)) {
        if self.counts() {
            of(&mut self.guests[guest].counted);
        }
    }

    /// Returns a vCPU's next step.
    pub fn guest_next(&mut self, guest: usize) -> Next {
        let (prices, load) = (self.prices(), self.load(guest));
        let it = &mut self.guests[guest];
        let exit = |ticks, then| run(Kind::Exit, ticks, then);
        let own = |ticks, then| run(Kind::Guest, ticks, then);
        // Pending exits and interrupts come before the guest's own work. The guest halts only if there is nothing else.
        if std::mem::take(&mut it.resumes) {
            return exit(prices.resume, Then::Nothing);
        }
        if std::mem::take(&mut it.ticked) {
            self.count(guest, |counted| counted.ticks += prices.tick_exits);
            return exit(prices.interrupt * prices.tick_exits, Then::Nothing);
        }
        if std::mem::take(&mut it.ends) && prices.end > 0 && !self.setup.exitless {
            self.count(guest, |counted| counted.ends += 1);
            return exit(prices.end, Then::Nothing);
        }
        if std::mem::take(&mut it.interrupt) {
            it.idle = false;
            let replies = it.replies.len() as u32;
            self.count(guest, |counted| counted.injected += 1);
            let ticks = prices.handler + load.reply * u64::from(replies);
            return own(ticks, Then::Handled(replies));
        }
        if std::mem::take(&mut it.kicks) {
            let wakes = self.server_of[guest].is_some_and(|server| self.sleeps(server));
            let wake = if wakes { prices.wake } else { 0 };
            return exit(prices.kick + wake, Then::Kicked);
        }
        if let Some(burst) = it.broken_off.take() {
            return Next::Run(burst);
        }
        if it.puts > 0 {
            return own(load.put, Then::Submitted(1));
        }
        if it.ready > 0 {
            let count = if load.together { it.ready } else { 1 };
            it.idle = false;
            let ticks = self.varied(guest, load.work - load.put) * u64::from(count);
            return own(self.far_guest(guest, ticks), Then::Prepared(count));
        }
        if self.setup.spins {
            return run(Kind::Spin, prices.spin, Then::InVain);
        }
        if !std::mem::replace(&mut it.idle, true) {
            return own(prices.idle, Then::Nothing);
        }
        exit(prices.halt, Then::Halted)
    }

    /// Returns the time of a guest's own work, part of which is on memory that another socket's core uses too.
    fn far_guest(&self, guest: usize, ticks: u64) -> u64 {
        match self.setup.guests[guest].is_far {
            true => ticks * self.prices().far_guest_percent / 100,
            false => ticks,
        }
    }

    pub fn guest_done(&mut self, guest: usize, then: Then) {
        match then {
            Then::Prepared(count) if self.load(guest).put > 0 => self.guests[guest].puts = count,
            Then::Prepared(count) | Then::Submitted(count) => self.submit(guest, count),
            Then::Kicked => {
                self.count(guest, |counted| counted.kicks += 1);
                if let Some(server) = self.server_of[guest] {
                    self.kicked(server, guest);
                }
            }
            Then::Halted => self.halt(guest),
            Then::Handled(count) => self.handled(guest, count),
            Then::InVain => self.yields = true,
            _ => {}
        }
    }

    fn submit(&mut self, guest: usize, count: u32) {
        let (load, made) = (self.load(guest), self.cores.now);
        self.guests[guest].ready -= count;
        for _ in 0..count {
            for number in 1..=load.outs {
                let last_of = (number == load.outs).then_some(made);
                match self.server_of[guest] {
                    Some(_) => self.guests[guest].queue.put(Item::Out { last_of }),
                    None => self.over_the_wire(guest, last_of),
                }
            }
        }
        let it = &mut self.guests[guest];
        it.puts = it.puts.saturating_sub(count);
        if it.puts == 0 {
            it.kicks = std::mem::take(&mut it.queue.armed);
        }
    }

    fn halt(&mut self, guest: usize) {
        self.count(guest, |counted| counted.halts += 1);
        let it = &mut self.guests[guest];
        it.idle = false;
        if it.interrupt {
            it.resumes = true;
        } else if let State::On(core) = self.cores.threads[it.thread].state {
            self.cores.block(core);
        }
    }

    fn handled(&mut self, guest: usize, count: u32) {
        let (now, load) = (self.cores.now, self.load(guest));
        for _ in 0..count {
            let Some(Some(made)) = self.guests[guest].replies.pop_front() else {
                continue;
            };
            self.guests[guest].ready += 1;
            self.count(guest, |counted| {
                counted.transactions += 1;
                counted.latency += now - made;
            });
        }
        let it = &mut self.guests[guest];
        let more = it.replies.len() as u32;
        let State::On(core) = self.cores.threads[it.thread].state else {
            return;
        };
        if more > 0 {
            // The guest looks once more before it wants to be called again.
            let ticks = load.reply * u64::from(more);
            self.set(core, ticks, Kind::Guest, Then::Handled(more));
        } else {
            it.wants_call = true;
            it.ends = true;
        }
    }

    /// Puts a reply into a guest's ring.
    pub fn reply(&mut self, guest: usize, last_of: Option<u64>) {
        self.guests[guest].replies.push_back(last_of);
    }

    /// Whether there are replies for which a guest wants to be called.
    pub fn wants_call(&self, guest: usize) -> bool {
        let it = &self.guests[guest];
        it.wants_call && !it.replies.is_empty()
    }

    /// Interrupts a guest for its replies.
    pub fn call(&mut self, guest: usize) {
        let it = &mut self.guests[guest];
        it.interrupt = true;
        it.wants_call = false;
        let thread = it.thread;
        if self.cores.wake(thread) {
            self.guests[guest].resumes = true;
            return;
        }
        if self.setup.exitless {
            self.break_off(guest);
        } else {
            self.interrupted(guest, |_| true);
        }
    }

    /// Breaks off a guest's burst. Returns its core, and the burst's `then`. None if the guest does not run now: then
    /// the interrupt waits for its entry.
    fn break_off(&mut self, guest: usize) -> Option<(usize, Then)> {
        let State::On(core) = self.cores.threads[self.guests[guest].thread].state else {
            return None;
        };
        let runs = |burst: &mut Burst<Then>| matches!(burst.kind, Kind::Guest | Kind::Spin);
        let burst = self.cores.all[core].burst.take_if(runs)?;
        if burst.kind == Kind::Guest && burst.then != Then::Nothing {
            self.guests[guest].broken_off = Some(burst);
        }
        Some((core, burst.then))
    }

    /// Makes a guest's vCPU exit for an interrupt, if it runs. It exits once more if its burst (`waits`) keeps the
    /// guest from taking the interrupt at once.
    fn interrupted(&mut self, guest: usize, waits: fn(Then) -> bool) {
        let Some((core, then)) = self.break_off(guest) else {
            return;
        };
        let prices = self.prices();
        let window = if waits(then) { prices.window } else { 0 };
        self.count(guest, |counted| {
            counted.interrupts += 1;
            counted.windows += u64::from(window > 0);
        });
        self.set(core, prices.interrupt + window, Kind::Exit, Then::Nothing);
    }

    /// Fires the guest's timer: a vCPU that is halted wakes up, one that runs exits.
    pub fn tick(&mut self, guest: usize) {
        let it = &mut self.guests[guest];
        it.ticked = true;
        let thread = it.thread;
        if self.cores.wake(thread) {
            self.guests[guest].resumes = true;
        } else {
            // Interrupts are off in the guest's handler, at the queue, and while it goes idle.
            self.interrupted(guest, |then| !matches!(then, Then::Prepared(_)));
        }
    }

    /// Fires an interrupt that is not the guest's: if its vCPU runs, it exits.
    pub fn host_interrupt(&mut self, guest: usize) {
        self.interrupted(guest, |_| false);
    }

    /// Puts a packet into the ring of a guest without a server. The NIC interrupts the guest, but not too often.
    pub fn arrives_at_guest(&mut self, guest: usize, last_of: Option<u64>) {
        self.reply(guest, last_of);
        let (now, it) = (self.cores.now, &mut self.guests[guest]);
        if it.quiet_until <= now {
            self.nic_interrupts(guest);
        } else if !std::mem::replace(&mut it.quiet, true) {
            let when = it.quiet_until;
            self.at(when, super::world::Timer::Interrupts(guest));
        }
    }

    pub fn nic_interrupts(&mut self, guest: usize) {
        let gap = self.prices().nic_gap;
        self.guests[guest].quiet = false;
        if self.wants_call(guest) {
            self.guests[guest].quiet_until = self.cores.now + gap;
            self.call(guest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::machine::lab::DISKS;
    use crate::simulation::machine::setup::Setup;

    /// Returns the lab's machine with elvis, its vCPU on its core, in a burst with this `then`.
    fn world(setup: &Setup, then: Then) -> World<'_> {
        let mut world = World::new(setup);
        world.warm = true;
        world.cores.schedule(1);
        world.set(1, 1_000, Kind::Guest, then);
        world
    }

    fn exits(world: &World<'_>) -> (u64, u64) {
        let counted = world.guests[0].counted;
        (counted.interrupts, counted.windows)
    }

    #[test]
    fn an_interrupt_of_the_host_is_an_exit_whatever_the_guest_does() {
        let setup = DISKS[3].setup(1);
        for then in [
            Then::Prepared(1),
            Then::Submitted(1),
            Then::Handled(1),
            Then::Nothing,
        ] {
            let mut world = world(&setup, then);
            world.host_interrupt(0);
            assert_eq!(exits(&world), (1, 0), "{then:?}");
            // It exits already.
            world.host_interrupt(0);
            assert_eq!(exits(&world), (1, 0), "{then:?}");
        }
    }

    #[test]
    fn a_guest_with_interrupts_off_takes_its_tick_at_a_window() {
        let setup = DISKS[3].setup(1);
        for (then, windows) in [
            (Then::Prepared(1), 0),
            (Then::Submitted(1), 1),
            (Then::Handled(1), 1),
            (Then::Nothing, 1),
        ] {
            let mut world = world(&setup, then);
            world.tick(0);
            assert_eq!(exits(&world), (1, windows), "{then:?}");
        }
    }

    #[test]
    fn a_tick_wakes_a_guest_that_halted() {
        let setup = DISKS[3].setup(1);
        let mut world = world(&setup, Then::Nothing);
        world.cores.all[1].burst = None;
        world.cores.block(1);
        world.tick(0);
        assert_eq!(
            world.cores.threads[world.guests[0].thread].state,
            State::Ready
        );
        assert!(
            matches!(world.guest_next(0), Next::Run(burst) if burst.ticks == setup.prices.resume)
        );
        assert_eq!(exits(&world), (0, 0));
    }

    #[test]
    fn requests_come_into_the_queue_one_by_one_and_the_last_one_kicks() {
        let setup = DISKS[0].setup(3);
        let mut world = world(&setup, Then::Nothing);
        world.guests[0].queue.armed = true;
        world.guest_done(0, Then::Prepared(3));
        for seen in 1..=3 {
            assert!(
                matches!(world.guest_next(0), Next::Run(burst) if burst.then == Then::Submitted(1))
            );
            world.guest_done(0, Then::Submitted(1));
            assert_eq!(world.guests[0].queue.items.len(), seen);
            assert_eq!(world.guests[0].kicks, seen == 3);
        }
    }
}
