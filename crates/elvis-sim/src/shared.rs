//! I/O cores whose one thread serves many devices, by elvis' own policy.
//!
//! A device lives on one core, so cores don't meet and are played one after another.

use crate::clients::{Clients, Event};
use crate::outcome::{Counts, Outcome};
use crate::scenario::{Mode, Scenario};
use elvis_policy::{Begin, Look, Params, QueueId, Scheduler, Step, Then};

/// Plays all cores.
pub fn play(scenario: &Scenario) -> Outcome {
    let devices: u32 = scenario.groups.iter().map(|group| group.devices).sum();
    let (mut tallies, mut counts) = (Vec::new(), Counts::default());
    for number in 0..scenario.cores.min(devices) {
        let mine = (number..devices).step_by(scenario.cores as usize);
        let seed = scenario.seed.wrapping_add(u64::from(number));
        let mut core = Core::new(scenario, Clients::new(scenario, mine, seed));
        core.run();
        counts.add(&core.counts);
        let groups = core.clients.all.iter().map(|client| client.group);
        tallies.extend(groups.zip(core.clients.tallies));
    }
    // A core without devices sleeps.
    let idle = u64::from(scenario.cores.saturating_sub(devices));
    counts.cores.asleep_ns += idle * scenario.duration_ns;
    Outcome::gather(scenario, &tallies, &counts)
}

/// Where an advance of the clock belongs.
#[derive(Clone, Copy)]
enum For {
    Serving,
    Polling,
    Overhead,
    Sleep,
}

struct Core<'a> {
    scenario: &'a Scenario,
    scheduler: Scheduler,
    clients: Clients,
    /// Of each client: its queue, and whether its next request is notified of.
    queues: Vec<(QueueId, bool)>,
    /// Which client a queue is of.
    client_of: Vec<u32>,
    /// Kicks that a look for events would find, with the time from which it would.
    kicks: Vec<(u64, u32)>,
    /// Requests that came back from storage: client, and when it was made.
    stored: Vec<(u32, u64)>,
    now_ns: u64,
    counts: Counts,
}

impl<'a> Core<'a> {
    fn new(scenario: &'a Scenario, clients: Clients) -> Self {
        let polling = scenario.params.polling && scenario.mode == Mode::Elvis;
        let mut scheduler = Scheduler::new(Params {
            polling,
            ..scenario.params
        });
        let mut queues = Vec::new();
        let mut client_of = Vec::new();
        for (number, client) in clients.all.iter().enumerate() {
            let group = &scenario.groups[client.group];
            let device = scheduler.add_device(group.weight, &group.limit);
            let look = Look {
                avail: 0,
                pending: 0,
            };
            if let Some(queue) = scheduler.add_queue(device, look, 0) {
                queues.push((queue, false));
                client_of.push(number as u32);
            }
        }
        Self {
            scenario,
            scheduler,
            clients,
            queues,
            client_of,
            kicks: Vec::new(),
            stored: Vec::new(),
            now_ns: 0,
            counts: Counts::default(),
        }
    }

    fn run(&mut self) {
        while !self.clients.over(self.now_ns) {
            match self.scheduler.next(self.now_ns) {
                Step::Visit(queue) => self.visit(queue),
                Step::Events => {
                    self.advance(self.scenario.costs.look_ns, For::Overhead);
                    self.events();
                }
                Step::Sleep { until_ns } => self.sleep(until_ns),
            }
        }
        for &(queue, _) in &self.queues {
            let counters = self
                .scheduler
                .queue_counters(queue)
                .copied()
                .unwrap_or_default();
            self.counts.stuck_exits += counters.stuck_exits;
        }
    }

    /// Lets time pass, and clients do what they do in it.
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
        let armed = &mut self.queues[client as usize].1;
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

    /// Takes in what a look for events shows.
    fn events(&mut self) {
        let now_ns = self.now_ns;
        for (when_ns, client) in std::mem::take(&mut self.kicks) {
            if when_ns > now_ns {
                self.kicks.push((when_ns, client));
            } else {
                // Its driver (EVENT_IDX) kicks once and then waits to be asked again.
                self.scheduler
                    .kicked(self.queues[client as usize].0, now_ns);
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
            self.clients.reply(
                client,
                made_ns,
                self.now_ns + self.scenario.costs.interrupt_ns,
            );
        }
        for client in told {
            self.scheduler.completed(self.queues[client as usize].0);
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
            if next_ns == u64::MAX {
                // Nothing will ever come.
                let rest_ns = self.scenario.warmup_ns + self.scenario.duration_ns;
                self.advance(rest_ns.saturating_sub(self.now_ns).max(1), For::Sleep);
                return;
            }
            self.advance(next_ns.saturating_sub(self.now_ns), For::Sleep);
            if woken_ns <= self.now_ns || self.now_ns >= limit_ns || self.clients.over(self.now_ns)
            {
                break;
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
        self.queues[client as usize].1 = true;
        if self.look(client).pending > 0 {
            self.scheduler
                .woken(self.queues[client as usize].0, self.now_ns);
        }
    }

    fn visit(&mut self, queue: QueueId) {
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
                return;
            }
        };
        self.queues[client as usize].1 = false;
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
    }
}
