//! Servers of guests' queues: a thread for one guest, as vhost and QEMU have it, or one for all guests of an I/O core,
//! by elvis' own policy.

use super::cores::{Burst, Kind, State};
use super::pool::Pool;
use super::setup::{Serving, Setup};
use super::world::{Item, Next, Then, World};
use crate::{Begin, Calls, Look, Params, QueueId, RateLimit, Scheduler, Step, Visit};
use std::collections::VecDeque;

pub struct Server {
    thread: usize,
    guests: Vec<usize>,
    /// Kicks and arrived packets: guests, and whether by a kick.
    events: Vec<(usize, bool)>,
    /// Whether the server has slept, and has not yet begun.
    woken: bool,
    /// Replies since the last call, of the server's only guest.
    untold: u64,
    pool: Pool,
    /// Requests that the pool has done, and whether the server completes them now.
    done: VecDeque<Item>,
    completes: bool,
    shared: Option<Shared>,
}

/// The thread of an I/O core.
struct Shared {
    scheduler: Scheduler,
    /// Queue of each guest, by its place in `Server::guests`.
    queues: Vec<QueueId>,
    calls: Vec<Calls>,
    visit: Option<Visit>,
    /// Number of replies of this visit.
    replies: u64,
    /// Looks in vain since the last one that found something.
    in_vain: usize,
}

impl Server {
    pub fn new(thread: usize, guests: Vec<usize>, shared: Option<&Setup>) -> Self {
        let shared = shared.map(|setup| Shared::new(setup, &guests));
        Self {
            thread,
            guests,
            events: Vec::new(),
            woken: false,
            untold: 0,
            pool: Pool::default(),
            done: VecDeque::new(),
            completes: false,
            shared,
        }
    }
}

impl Shared {
    fn new(setup: &Setup, guests: &[usize]) -> Self {
        let polling = setup.serving == Serving::Polling;
        let mut scheduler = Scheduler::new(Params {
            polling,
            ..setup.params
        });
        let none = Look {
            avail: 0,
            pending: 0,
        };
        let add = |_: &usize| {
            let device = scheduler.add_device(1, &RateLimit::default());
            // The device was just added.
            scheduler
                .add_queue(device, none, 0)
                .unwrap_or(QueueId(u32::MAX))
        };
        Self {
            queues: guests.iter().map(add).collect(),
            scheduler,
            calls: vec![Calls::new(); guests.len()],
            visit: None,
            replies: 0,
            in_vain: 0,
        }
    }
}

fn serve(ticks: u64, then: Then) -> Next {
    Next::Run(Burst {
        ticks,
        kind: Kind::Serve,
        then,
    })
}

impl World<'_> {
    pub fn sleeps(&self, server: usize) -> bool {
        self.cores.threads[self.servers[server].thread].state == State::Blocked
    }

    /// Takes a guest's kick.
    pub fn kicked(&mut self, server: usize, guest: usize) {
        self.event(server, guest, true);
    }

    /// Takes a packet for a guest.
    pub fn arrives_at_server(&mut self, server: usize, guest: usize, last_of: Option<u64>) {
        self.guests[guest].queue.put(Item::In { last_of });
        self.event(server, guest, false);
    }

    fn event(&mut self, server: usize, guest: usize, is_kick: bool) {
        let it = &mut self.servers[server];
        if it.shared.is_some() {
            it.events.push((guest, is_kick));
        }
        // Each kick is a round of QEMU's loop, asleep or not.
        it.woken |= is_kick && self.setup.takes_first;
        if self.cores.wake(it.thread) {
            it.woken = true;
        }
    }

    pub fn server_next(&mut self, server: usize) -> Next {
        let it = &mut self.servers[server];
        let completes = it.completes && !(it.done.is_empty() && it.untold == 0);
        let comes_later = it.pool.runs_alone() || completes;
        if !comes_later && std::mem::take(&mut it.woken) {
            let ticks = self.prices().server_wake;
            self.servers[server].pool.owner_ran(ticks);
            return serve(ticks, Then::Looked);
        }
        match self.servers[server].shared.is_some() {
            true => self.shared_next(server),
            false => self.own_next(server),
        }
    }

    /// Returns the next step of a thread of one guest: it serves all requests, calls the guest, and sleeps.
    fn own_next(&mut self, server: usize) -> Next {
        if self.setup.takes_first {
            return self.pool_next(server);
        }
        let (prices, it) = (self.prices(), &mut self.servers[server]);
        let guest = it.guests[0];
        let is_full = it.untold >= prices.call_after;
        let queue = &mut self.guests[guest].queue;
        if let Some(item) = queue.items.front().filter(|_| !is_full) {
            queue.armed = false;
            let item = *item;
            return self.serve_one(guest, item);
        }
        if std::mem::take(&mut it.untold) > 0 && self.wants_call(guest) {
            return serve(prices.call, Then::Called(guest));
        }
        let queue = &mut self.guests[guest].queue;
        if !queue.items.is_empty() {
            return serve(0, Then::Nothing);
        }
        queue.armed = true;
        Next::Block
    }

    /// Returns the next step of QEMU's thread with its pool. It submits all requests, and wants kicks again. It
    /// completes those that the pool has done meanwhile, though that may not be all. It sleeps until the rest is done,
    /// and completes that.
    fn pool_next(&mut self, server: usize) -> Next {
        let (prices, it) = (self.prices(), &mut self.servers[server]);
        let guest = it.guests[0];
        let tells = it.untold > 0 && (self.setup.tells_first || it.done.is_empty());
        if tells {
            it.untold = 0;
            if self.wants_call(guest) {
                self.servers[server].pool.owner_ran(prices.call);
                return serve(prices.call, Then::Called(guest));
            }
        }
        let it = &mut self.servers[server];
        it.completes &= !it.done.is_empty();
        if it.pool.runs && !it.completes {
            return serve(prices.read, Then::Read);
        }
        let queue = &mut self.guests[guest].queue;
        if let Some(item) = queue.items.front().filter(|_| !it.completes) {
            queue.armed = true;
            let item = *item;
            return self.serve_one(guest, item);
        }
        if !it.done.is_empty() {
            it.completes = true;
            it.pool.owner_ran(prices.complete);
            return serve(prices.complete, Then::Completed(guest));
        }
        let sleeps = it.pool.left_alone();
        queue.armed = true;
        if sleeps {
            return Next::Block;
        }
        // The main loop sleeps at most until its next timer. If no other timer comes before, setting that one ends the
        // turn: QEMU computes the turn anew.
        self.yields |= self.setup.main_loop && self.next_is_main_loop();
        serve(0, Then::Nothing)
    }

    pub fn server_done(&mut self, server: usize, then: Then) {
        match then {
            Then::Served(guest) => self.served(server, guest),
            Then::Read => {
                let it = &mut self.servers[server];
                let was_alone = it.pool.runs_alone();
                it.done.extend(it.pool.did(self.setup.prices.read));
                // The completions that wake the thread up come before new requests (QEMU's `aio_bh_poll`).
                it.completes |= was_alone && !it.pool.runs;
            }
            Then::Completed(guest) => self.completed(server, guest),
            Then::Called(guest) => self.call(guest),
            Then::Looked => self.handle_events(server),
            Then::InVain => self.yields = true,
            _ => {}
        }
    }

    fn served(&mut self, server: usize, guest: usize) {
        let Some(item) = self.guests[guest].queue.items.pop_front() else {
            return;
        };
        if self.setup.takes_first && self.servers[server].shared.is_none() {
            let ticks = self.load(guest).out_each;
            self.servers[server].pool.given(item, ticks);
            return;
        }
        self.answer(server, guest, item);
    }

    fn completed(&mut self, server: usize, guest: usize) {
        if let Some(item) = self.servers[server].done.pop_front() {
            self.answer(server, guest, item);
        }
    }

    fn answer(&mut self, server: usize, guest: usize, item: Item) {
        let load = self.load(guest);
        match item {
            Item::Out { last_of } if load.ins == 0 => self.replied(server, guest, last_of),
            Item::Out { last_of } => self.over_the_wire(guest, last_of),
            Item::In { last_of } => self.replied(server, guest, last_of),
        }
        self.charge(server, load.bytes);
    }

    /// Charges a request to the visit, and looks at other guests' queues as the policy wants.
    fn charge(&mut self, server: usize, bytes: u64) {
        let now_ns = self.now_ns();
        let Some(mut shared) = self.servers[server].shared.take() else {
            return;
        };
        if let Some(mut visit) = shared.visit.take() {
            shared.scheduler.charge(&mut visit, bytes);
            while let Some(other) = shared.scheduler.peek(&mut visit) {
                if let Some(guest) = self.guest_of(server, &shared, other) {
                    let seen = look(&self.guests[guest].queue);
                    shared.scheduler.peeked(&mut visit, other, seen, now_ns);
                }
            }
            shared.visit = Some(visit);
        }
        self.servers[server].shared = Some(shared);
    }

    /// Returns the work for one request or packet of a guest.
    fn serve_one(&self, guest: usize, item: Item) -> Next {
        let load = self.load(guest);
        let ticks = match item {
            Item::Out { .. } => load.out_each,
            Item::In { .. } => load.in_each,
        };
        serve(self.far(guest, ticks), Then::Served(guest))
    }

    fn place_of(&self, server: usize, guest: usize) -> Option<usize> {
        let mut guests = self.servers[server].guests.iter();
        guests.position(|it| *it == guest)
    }

    fn guest_of(&self, server: usize, shared: &Shared, queue: QueueId) -> Option<usize> {
        let place = shared.queues.iter().position(|other| *other == queue)?;
        self.servers[server].guests.get(place).copied()
    }

    /// Returns the next step of an I/O core's thread, as the policy decides.
    fn shared_next(&mut self, server: usize) -> Next {
        let Some(mut shared) = self.servers[server].shared.take() else {
            return Next::Block;
        };
        let next = loop {
            if let Some(next) = self.shared_step(server, &mut shared) {
                break next;
            }
        };
        self.servers[server].shared = Some(shared);
        next
    }

    /// Makes a step of an I/O core's thread. None: the step took no time.
    fn shared_step(&mut self, server: usize, shared: &mut Shared) -> Option<Next> {
        if let Some(visit) = shared.visit.take() {
            return self.visit_step(server, shared, visit);
        }
        if let Some(guest) = self.due(server, shared) {
            return Some(serve(self.prices().call, Then::Called(guest)));
        }
        let (prices, now_ns) = (self.prices(), self.now_ns());
        match shared.scheduler.next(now_ns) {
            Step::Visit(queue) => {
                let guest = self.guest_of(server, shared, queue)?;
                let seen = look(&self.guests[guest].queue);
                match shared.scheduler.begin(queue, seen, now_ns) {
                    Begin::Serve(visit) => {
                        self.guests[guest].queue.armed = false;
                        shared.visit = Some(visit);
                        shared.in_vain = 0;
                        return Some(serve(prices.visit, Then::Nothing));
                    }
                    Begin::Arm => self.arm(guest, shared, queue),
                    Begin::Empty | Begin::Wait => {}
                }
                Some(Self::in_vain(shared, prices.poll))
            }
            Step::Events => Some(serve(prices.look, Then::Looked)),
            Step::Sleep { .. } if !self.servers[server].events.is_empty() => {
                Some(serve(prices.look, Then::Looked))
            }
            Step::Sleep { .. } if shared.calls.iter().any(Calls::owed) => {
                Some(Self::in_vain(shared, prices.poll))
            }
            Step::Sleep { .. } => Some(Next::Block),
        }
    }

    /// Returns a look in vain; at the end of a round of them the thread pauses.
    fn in_vain(shared: &mut Shared, ticks: u64) -> Next {
        shared.in_vain += 1;
        let is_round = shared.in_vain >= shared.queues.len();
        if is_round {
            shared.in_vain = 0;
        }
        Next::Run(Burst {
            ticks,
            kind: Kind::Poll,
            then: if is_round {
                Then::InVain
            } else {
                Then::Nothing
            },
        })
    }

    /// Serves one more request of a visit, or ends it.
    fn visit_step(&mut self, server: usize, shared: &mut Shared, mut visit: Visit) -> Option<Next> {
        let now_ns = self.now_ns();
        let guest = self.guest_of(server, shared, visit.queue())?;
        let item = self.guests[guest].queue.items.front().copied();
        if let Some(item) = item.filter(|_| shared.scheduler.go_on(&mut visit, now_ns)) {
            shared.visit = Some(visit);
            return Some(self.serve_one(guest, item));
        }
        let queue = visit.queue();
        let seen = look(&self.guests[guest].queue);
        if shared.scheduler.end(visit, seen, now_ns) == crate::Then::Arm {
            self.arm(guest, shared, queue);
        }
        let replies = std::mem::take(&mut shared.replies);
        let place = self.place_of(server, guest)?;
        let wanted = self.wants_call(guest);
        let params = &self.setup.params;
        let now = replies > 0 && shared.calls[place].published(params, replies, wanted, now_ns);
        now.then(|| serve(self.prices().call, Then::Called(guest)))
    }

    /// Returns a guest whose owed call is due.
    fn due(&self, server: usize, shared: &mut Shared) -> Option<usize> {
        let (params, now_ns) = (&self.setup.params, self.now_ns());
        for (place, &guest) in self.servers[server].guests.iter().enumerate() {
            if shared.calls[place].due(params, now_ns) && self.wants_call(guest) {
                return Some(guest);
            }
        }
        None
    }

    /// Turns a guest's kicks on, and looks once more.
    fn arm(&mut self, guest: usize, shared: &mut Shared, queue: QueueId) {
        self.guests[guest].queue.armed = true;
        if !self.guests[guest].queue.items.is_empty() {
            let now_ns = self.now_ns();
            shared.scheduler.woken(queue, now_ns);
        }
    }

    fn handle_events(&mut self, server: usize) {
        let now_ns = self.now_ns();
        let events = std::mem::take(&mut self.servers[server].events);
        let Some(mut shared) = self.servers[server].shared.take() else {
            return;
        };
        for (guest, is_kick) in events {
            let Some(queue) = self.place_of(server, guest).map(|at| shared.queues[at]) else {
                continue;
            };
            if is_kick {
                shared.scheduler.kicked(queue, now_ns);
            } else {
                shared.scheduler.woken(queue, now_ns);
            }
        }
        self.servers[server].shared = Some(shared);
    }

    fn replied(&mut self, server: usize, guest: usize, last_of: Option<u64>) {
        self.reply(guest, last_of);
        let it = &mut self.servers[server];
        it.untold += 1;
        if let Some(shared) = &mut it.shared {
            shared.replies += 1;
        }
    }
}

fn look(queue: &super::guest::Queue) -> Look {
    Look {
        avail: queue.avail,
        pending: u16::try_from(queue.items.len()).unwrap_or(u16::MAX),
    }
}
