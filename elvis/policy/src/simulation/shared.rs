//! I/O cores with one thread for many devices, which runs elvis' policy.
//!
//! A device is on one core, so cores are independent and simulated one after another: to the end, or
//! window by window if a placement moves devices between them ([`crate::simulation::placed`]).

use crate::simulation::clients::{Clients, Event, GONE, Mover};
use crate::simulation::outcome::{Counts, Outcome, Tally};
use crate::simulation::placed;
use crate::simulation::scenario::{Mode, Scenario};
use crate::{Begin, DeviceId, Look, Params, QueueId, Scheduler, Step, Then};

/// Simulates all cores.
pub fn play(scenario: &Scenario) -> Outcome {
    if scenario.placement.automatic {
        return placed::play(scenario);
    }
    let devices: u32 = scenario.groups.iter().map(|group| group.devices).sum();
    let (mut tallies, mut counts) = (Vec::new(), Counts::default());
    for number in 0..scenario.cores.min(devices) {
        let mine = (number..devices).step_by(scenario.cores as usize);
        let mut core = Core::new(scenario, number, mine);
        core.run(core.clients.until_ns());
        core.gather(&mut tallies, &mut counts);
    }
    // A core without devices sleeps.
    let idle = u64::from(scenario.cores.saturating_sub(devices));
    counts.cores.asleep_ns += idle * scenario.duration_ns;
    Outcome::gather(scenario, &tallies, &counts)
}

/// Purpose of a core's time, while the clock advances.
#[derive(Clone, Copy)]
enum For {
    Serving,
    Polling,
    Overhead,
    Sleep,
}

/// The state of one client on a core.
#[derive(Clone, Copy)]
struct Place {
    device: DeviceId,
    queue: QueueId,
    /// Whether the queue's notifications are on.
    armed: bool,
    /// Time spent on the client, in ns.
    spent_ns: u64,
}

/// I/O core with its clients.
pub struct Core<'a> {
    scenario: &'a Scenario,
    scheduler: Scheduler,
    clients: Clients,
    /// State of each client, by client number.
    places: Vec<Place>,
    /// The client of each queue.
    client_of: Vec<u32>,
    /// Pending kicks: the time from which the thread can see it, and the client.
    kicks: Vec<(u64, u32)>,
    /// Requests that came back from storage: the client, and the time at which the request was made.
    stored: Vec<(u32, u64)>,
    now_ns: u64,
    /// The end of the current run.
    until_ns: u64,
    counts: Counts,
}

impl<'a> Core<'a> {
    /// Returns the core with this number and these of the scenario's clients.
    pub fn new(scenario: &'a Scenario, number: u32, mine: impl Iterator<Item = u32>) -> Self {
        let seed = scenario.seed.wrapping_add(u64::from(number));
        let polling = scenario.params.polling && scenario.mode == Mode::Elvis;
        let mut core = Self {
            scenario,
            scheduler: Scheduler::new(Params {
                polling,
                ..scenario.params
            }),
            clients: Clients::new(scenario, mine, seed),
            places: Vec::new(),
            client_of: Vec::new(),
            kicks: Vec::new(),
            stored: Vec::new(),
            now_ns: 0,
            until_ns: 0,
            counts: Counts::default(),
        };
        for number in 0..core.clients.all.len() {
            core.add(number as u32);
        }
        core
    }

    /// Adds a client to the scheduler.
    fn add(&mut self, number: u32) {
        let client = &self.clients.all[number as usize];
        let group = &self.scenario.groups[client.group];
        let look = Look {
            avail: client.avail.wrapping_sub(client.waiting.len() as u16),
            pending: 0,
        };
        let device = self.scheduler.add_device(group.weight, &group.limit);
        let Some(queue) = self.scheduler.add_queue(device, look, self.now_ns) else {
            return;
        };
        let place = Place {
            device,
            queue,
            armed: false,
            spent_ns: 0,
        };
        let at = number as usize;
        match self.places.get_mut(at) {
            Some(free) => *free = place,
            None => self.places.push(place),
        }
        let id = queue.0 as usize;
        if self.client_of.len() <= id {
            self.client_of.resize(id + 1, u32::MAX);
        }
        self.client_of[id] = number;
    }

    /// Removes a client, to move it to another core. Returns it with its waiting requests, the times of those back from
    /// storage, and whether it was polled.
    pub fn take(&mut self, number: u32) -> (Mover, Vec<u64>, bool) {
        self.advance(self.scenario.costs.move_ns, For::Overhead);
        let place = self.places[number as usize];
        let polled = self.scheduler.polled(place.queue);
        if let Some(counters) = self.scheduler.remove_queue(place.queue) {
            self.counts.stuck_exits += counters.stuck_exits;
        }
        self.scheduler.remove_device(place.device);
        self.kicks.retain(|&(_, client)| client != number);
        let (mine, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.stored)
            .into_iter()
            .partition(|&(client, _)| client == number);
        self.stored = others;
        let stored = mine.into_iter().map(|(_, made_ns)| made_ns).collect();
        (self.clients.take(number), stored, polled)
    }

    /// Adds a client from another core, and returns its number here.
    pub fn put(&mut self, (mover, stored, polled): (Mover, Vec<u64>, bool)) -> u32 {
        self.advance(self.scenario.costs.move_ns, For::Overhead);
        let number = self.clients.put(mover);
        self.add(number);
        if polled {
            let queue = self.places[number as usize].queue;
            self.scheduler.keep_polled(queue, self.now_ns);
        }
        let mine = stored.into_iter().map(|made_ns| (number, made_ns));
        self.stored.extend(mine);
        number
    }

    /// Returns the time spent on a client since the last call, in ns.
    pub fn take_spent_ns(&mut self, number: u32) -> u64 {
        std::mem::take(&mut self.places[number as usize].spent_ns)
    }

    /// Adds the results of the core's clients and the core's counters to the totals.
    pub fn gather(self, tallies: &mut Vec<(usize, Tally)>, counts: &mut Counts) {
        counts.add(&self.counts);
        let groups = self.clients.all.iter().map(|client| client.group);
        let all = groups.zip(self.clients.tallies);
        tallies.extend(all.filter(|(group, _)| *group != GONE));
    }

    /// Returns the core's time, in ns.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Simulates up to this time.
    pub fn run(&mut self, until_ns: u64) {
        self.until_ns = until_ns;
        while self.now_ns < until_ns {
            match self.scheduler.next(self.now_ns) {
                Step::Visit(queue) => {
                    let from_ns = self.now_ns;
                    if self.visit(queue) {
                        let client = self.client_of[queue.0 as usize];
                        self.places[client as usize].spent_ns += self.now_ns - from_ns;
                    }
                }
                Step::Events => {
                    self.advance(self.scenario.costs.look_ns, For::Overhead);
                    self.events();
                }
                Step::Sleep { until_ns } => self.sleep(until_ns),
            }
        }
        if self.clients.over(self.now_ns) {
            for (place, client) in self.places.iter().zip(&self.clients.all) {
                let counters = self.scheduler.queue_counters(place.queue);
                if let Some(counters) = counters.filter(|_| client.group != GONE) {
                    self.counts.stuck_exits += counters.stuck_exits;
                }
            }
        }
    }

    /// Advances the clock, and handles the clients' events up to the new time.
    fn advance(&mut self, ns: u64, what: For) {
        let cores = &mut self.counts.cores;
        *match what {
            For::Serving => &mut cores.serving_ns,
            For::Polling => &mut cores.polling_ns,
            For::Overhead => &mut cores.overhead_ns,
            For::Sleep => &mut cores.asleep_ns,
        } += self.clients.counted_ns(self.now_ns, ns);
        self.now_ns += ns;
        while let Some((when_ns, event)) = self.clients.take_event(self.now_ns) {
            match event {
                Event::Submit(client) => self.submit(client, when_ns),
                Event::Stored(client, made_ns) => self.stored.push((client, made_ns)),
                Event::Other(..) => {}
            }
        }
    }

    fn submit(&mut self, client: u32, when_ns: u64) {
        let armed = &mut self.places[client as usize].armed;
        if self.clients.submit(client, when_ns) && std::mem::take(armed) {
            self.counts.kicks += u64::from(self.clients.counted(when_ns));
            self.kicks
                .push((when_ns + self.scenario.costs.kick_ns, client));
        }
    }

    fn look(&self, client: u32) -> Look {
        let client = &self.clients.all[client as usize];
        Look {
            avail: client.avail,
            pending: client.waiting.len() as u16,
        }
    }

    /// Handles pending kicks and completions.
    fn events(&mut self) {
        let now_ns = self.now_ns;
        for (when_ns, client) in std::mem::take(&mut self.kicks) {
            if when_ns > now_ns {
                self.kicks.push((when_ns, client));
            } else {
                // A driver with EVENT_IDX kicks once, and not again until notifications are turned on.
                self.scheduler
                    .kicked(self.places[client as usize].queue, now_ns);
            }
        }
        let stored = std::mem::take(&mut self.stored);
        let mut told: Vec<u32> = stored.iter().map(|(client, _)| *client).collect();
        told.sort_unstable();
        told.dedup();
        let complete_ns = self.scenario.costs.complete_ns * stored.len() as u64;
        self.advance(complete_ns, For::Serving);
        self.call(told.len() as u64);
        for (client, made_ns) in stored {
            let costs = &self.scenario.costs;
            self.places[client as usize].spent_ns += costs.complete_ns + costs.call_ns;
            self.clients.reply(
                client,
                made_ns,
                self.now_ns + self.scenario.costs.interrupt_ns,
            );
        }
        for client in told {
            self.scheduler.completed(self.places[client as usize].queue);
        }
    }

    fn call(&mut self, times: u64) {
        self.advance(self.scenario.costs.call_ns * times, For::Serving);
        if self.clients.counted(self.now_ns) {
            self.counts.calls += times;
        }
    }

    fn sleep(&mut self, until_ns: Option<u64>) {
        let limit_ns = until_ns.unwrap_or(u64::MAX).max(self.now_ns + 1);
        loop {
            let kick_ns = self
                .kicks
                .iter()
                .map(|kick| kick.0)
                .min()
                .unwrap_or(u64::MAX);
            let woken_ns = if self.stored.is_empty() {
                kick_ns
            } else {
                self.now_ns
            };
            let event_ns = self.clients.next_event_ns().unwrap_or(u64::MAX);
            let next_ns = woken_ns.min(event_ns).min(limit_ns);
            if next_ns > self.until_ns {
                // No event in this run.
                self.advance(self.until_ns.saturating_sub(self.now_ns), For::Sleep);
                return;
            }
            self.advance(next_ns.saturating_sub(self.now_ns), For::Sleep);
            if woken_ns <= self.now_ns || self.now_ns >= limit_ns {
                break;
            }
            if self.now_ns >= self.until_ns {
                return;
            }
        }
        let rest_ns = self
            .scenario
            .costs
            .wake_ns
            .saturating_sub(self.scenario.costs.kick_ns);
        self.advance(rest_ns, For::Overhead);
        self.events();
    }

    fn arm(&mut self, client: u32) {
        self.places[client as usize].armed = true;
        if self.look(client).pending > 0 {
            self.scheduler
                .woken(self.places[client as usize].queue, self.now_ns);
        }
    }

    /// Visits a queue. True if it was served.
    fn visit(&mut self, queue: QueueId) -> bool {
        let client = self.client_of[queue.0 as usize];
        let costs = self.scenario.costs;
        let mut visit = match self.scheduler.begin(queue, self.look(client), self.now_ns) {
            Begin::Serve(visit) => visit,
            nothing => {
                if self.clients.counted(self.now_ns) {
                    self.counts.empty_polls += 1;
                }
                self.advance(costs.poll_ns, For::Polling);
                if nothing == Begin::Arm {
                    self.arm(client);
                }
                return false;
            }
        };
        self.places[client as usize].armed = false;
        self.advance(costs.visit_ns, For::Overhead);
        let mut done = Vec::new();
        while self.scheduler.go_on(&mut visit, self.now_ns) {
            let Some(made_ns) = self.clients.all[client as usize].waiting.pop_front() else {
                break;
            };
            let (service_ns, bytes, storage_ns) = {
                let client = &self.clients.all[client as usize];
                (client.service_ns, client.bytes, client.storage_ns)
            };
            self.advance(service_ns, For::Serving);
            self.scheduler.charge(&mut visit, bytes);
            if storage_ns == 0 {
                done.push(made_ns);
            } else {
                self.clients
                    .at(self.now_ns + storage_ns, Event::Stored(client, made_ns));
            }
            while let Some(other) = self.scheduler.peek(&mut visit) {
                let look = self.look(self.client_of[other.0 as usize]);
                self.scheduler.peeked(&mut visit, other, look, self.now_ns);
                self.advance(costs.poll_ns, For::Overhead);
            }
        }
        if !done.is_empty() {
            self.call(1);
        }
        for made_ns in done {
            self.clients
                .reply(client, made_ns, self.now_ns + costs.interrupt_ns);
        }
        if self.scheduler.end(visit, self.look(client), self.now_ns) == Then::Arm {
            self.arm(client);
        }
        true
    }
}
