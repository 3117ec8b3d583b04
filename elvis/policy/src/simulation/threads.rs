//! The per-device modes: a thread per device, under a fair operating-system scheduler.
//!
//! A rough model of Linux' fair class: the thread with the least virtual runtime goes first. A
//! thread that wakes up keeps at most half a slice of lag, and preempts one that is ahead by more
//! than that. Otherwise a thread runs for a whole slice while others wait. Two simplifications favour
//! `per-device`: its threads move to idle cores at once and at no cost, and the vCPUs, which share
//! these cores in the paper's Baseline, are not modelled.

use crate::simulation::clients::{Clients, Event};
use crate::simulation::outcome::{Counts, Outcome};
use crate::simulation::scenario::{Mode, Scenario};

/// Simulates all cores together, as threads may move between them.
pub fn play(scenario: &Scenario) -> Outcome {
    let devices: u32 = scenario.groups.iter().map(|group| group.devices).sum();
    let clients = Clients::new(scenario, 0..devices, scenario.seed);
    let mut host = Host::new(scenario, clients);
    host.run();
    let groups = host.clients.all.iter().map(|client| client.group);
    let tallies: Vec<_> = groups.zip(host.clients.tallies).collect();
    Outcome::gather(scenario, &tallies, &host.counts)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Waits for a kick.
    Blocked,
    /// Kicked, not yet awake.
    Waking,
    /// Waits for a core.
    Ready,
    /// Runs on this core.
    Running(usize),
}

struct Thread {
    state: State,
    /// Virtual runtime: time divided by weight, in ns.
    vruntime_ns: u64,
    /// Core that the thread is bound to.
    bound: Option<usize>,
    weight: u64,
    /// Requests served for which the driver was not called yet.
    done: Vec<u64>,
    /// Requests back from storage for which the driver was not called yet.
    stored: Vec<u64>,
}

#[derive(Clone, Copy, Default)]
struct CpuCore {
    thread: Option<usize>,
    since_ns: u64,
    slice_end_ns: u64,
}

/// Second value of [`Event::Other`]: the thread is awake, or the core's next step.
const WOKEN: u64 = 0;
const STEP: u64 = 1;

struct Host<'a> {
    scenario: &'a Scenario,
    clients: Clients,
    threads: Vec<Thread>,
    cores: Vec<CpuCore>,
    counts: Counts,
}

impl<'a> Host<'a> {
    fn new(scenario: &'a Scenario, clients: Clients) -> Self {
        let pinned = scenario.mode == Mode::PerDevicePinned;
        let thread = |(number, client): (usize, &crate::simulation::clients::Client)| Thread {
            state: State::Blocked,
            vruntime_ns: 0,
            bound: pinned.then_some(number % scenario.cores as usize),
            weight: scenario.groups[client.group].weight.into(),
            done: Vec::new(),
            stored: Vec::new(),
        };
        let threads = clients.all.iter().enumerate().map(thread).collect();
        let cores = vec![CpuCore::default(); scenario.cores as usize];
        Self {
            scenario,
            clients,
            threads,
            cores,
            counts: Counts::default(),
        }
    }

    fn run(&mut self) {
        let end_ns = self.scenario.warmup_ns + self.scenario.duration_ns;
        while let Some((now_ns, event)) = self.clients.take_event(end_ns) {
            match event {
                Event::Submit(client) => {
                    if self.clients.submit(client, now_ns) {
                        self.notify(client as usize, now_ns);
                    }
                }
                Event::Stored(client, made_ns) => {
                    let thread = client as usize;
                    self.threads[thread].stored.push(made_ns);
                    if self.threads[thread].state == State::Blocked {
                        self.threads[thread].state = State::Waking;
                        self.wake(thread, now_ns, self.rest_of_wake_ns());
                    }
                }
                Event::Other(thread, WOKEN) => self.ready(thread as usize, now_ns),
                Event::Other(core, _) => self.step(core as usize, now_ns),
            }
        }
        let counted = self.counts.cores.serving_ns + self.counts.cores.overhead_ns;
        let all = self.scenario.duration_ns * u64::from(self.scenario.cores);
        self.counts.cores.asleep_ns = all.saturating_sub(counted);
    }

    fn rest_of_wake_ns(&self) -> u64 {
        self.scenario
            .costs
            .wake_ns
            .saturating_sub(self.scenario.costs.kick_ns)
    }

    /// Notes that a driver made a request: it kicks if its thread sleeps.
    fn notify(&mut self, thread: usize, now_ns: u64) {
        if self.threads[thread].state == State::Blocked {
            self.threads[thread].state = State::Waking;
            self.counts.kicks += u64::from(self.clients.counted(now_ns));
            self.wake(thread, now_ns, self.scenario.costs.wake_ns);
        }
    }

    fn wake(&mut self, thread: usize, now_ns: u64, after_ns: u64) {
        self.clients
            .at(now_ns + after_ns, Event::Other(thread as u32, WOKEN));
    }

    fn may_run(&self, thread: usize, core: usize) -> bool {
        self.threads[thread].bound.is_none_or(|bound| bound == core)
    }

    /// Returns the ready thread with the least virtual runtime that may run on this core.
    fn least_run(&self, core: usize) -> Option<usize> {
        let ready =
            self.threads.iter().enumerate().filter(|(number, thread)| {
                thread.state == State::Ready && self.may_run(*number, core)
            });
        ready
            .min_by_key(|(number, thread)| (thread.vruntime_ns, *number))
            .map(|(number, _)| number)
    }

    /// Makes a thread ready that is awake: it takes an idle core, or preempts a thread that is far enough ahead.
    fn ready(&mut self, thread: usize, now_ns: u64) {
        let others = self
            .threads
            .iter()
            .filter(|other| matches!(other.state, State::Ready | State::Running(_)));
        let least_ns = others.map(|other| other.vruntime_ns).min().unwrap_or(0);
        let lag_ns = self.scenario.costs.slice_ns / 2;
        let thread_ref = &mut self.threads[thread];
        thread_ref.vruntime_ns = thread_ref.vruntime_ns.max(least_ns.saturating_sub(lag_ns));
        thread_ref.state = State::Ready;
        let mine: Vec<usize> = (0..self.cores.len())
            .filter(|&core| self.may_run(thread, core))
            .collect();
        if let Some(&idle) = mine.iter().find(|&&core| self.cores[core].thread.is_none()) {
            self.dispatch(idle, thread, now_ns);
            return;
        }
        let vruntime_ns = self.threads[thread].vruntime_ns;
        let longest = mine.into_iter().max_by_key(|&core| {
            self.cores[core]
                .thread
                .map_or(0, |running| self.threads[running].vruntime_ns)
        });
        if let Some(core) = longest {
            let running = self.cores[core]
                .thread
                .map_or(0, |at| self.threads[at].vruntime_ns);
            if running > vruntime_ns + lag_ns {
                // Takes effect when the running thread's current request is done.
                self.cores[core].slice_end_ns = now_ns;
            }
        }
    }

    fn dispatch(&mut self, core: usize, thread: usize, now_ns: u64) {
        let costs = &self.scenario.costs;
        self.threads[thread].state = State::Running(core);
        self.cores[core] = CpuCore {
            thread: Some(thread),
            since_ns: now_ns,
            slice_end_ns: now_ns + costs.switch_ns + costs.slice_ns,
        };
        self.overhead(costs.switch_ns, now_ns);
        self.clients
            .at(now_ns + costs.switch_ns, Event::Other(core as u32, STEP));
    }

    fn overhead(&mut self, ns: u64, now_ns: u64) {
        self.counts.cores.overhead_ns += self.clients.counted_ns(now_ns, ns);
    }

    fn serving(&mut self, ns: u64, now_ns: u64) {
        self.counts.cores.serving_ns += self.clients.counted_ns(now_ns, ns);
    }

    /// Continues the thread on a core between two requests.
    fn step(&mut self, core: usize, now_ns: u64) {
        let Some(thread) = self.cores[core].thread else {
            return;
        };
        let ran_ns = now_ns - self.cores[core].since_ns;
        self.cores[core].since_ns = now_ns;
        self.threads[thread].vruntime_ns += ran_ns / self.threads[thread].weight.max(1);
        if now_ns >= self.cores[core].slice_end_ns {
            if let Some(next) = self.least_run(core) {
                if self.threads[next].vruntime_ns < self.threads[thread].vruntime_ns {
                    self.threads[thread].state = State::Ready;
                    self.dispatch(core, next, now_ns);
                    return;
                }
            }
            self.cores[core].slice_end_ns = now_ns + self.scenario.costs.slice_ns;
        }
        let busy_ns = self.work(thread, now_ns);
        if busy_ns > 0 {
            self.serving(busy_ns, now_ns);
            self.clients
                .at(now_ns + busy_ns, Event::Other(core as u32, STEP));
            return;
        }
        self.threads[thread].state = State::Blocked;
        self.cores[core].thread = None;
        if let Some(next) = self.least_run(core) {
            self.dispatch(core, next, now_ns);
        }
    }

    /// Does one piece of work for the thread's device, and returns its time in ns; 0: no work.
    fn work(&mut self, thread: usize, now_ns: u64) -> u64 {
        let costs = self.scenario.costs;
        if !self.threads[thread].stored.is_empty() {
            let stored = std::mem::take(&mut self.threads[thread].stored);
            let complete_ns = costs.complete_ns * stored.len() as u64;
            return complete_ns + self.tell(thread, stored, now_ns + complete_ns);
        }
        let untold = self.threads[thread].done.len();
        let room = untold < self.scenario.params.max_work as usize;
        let waiting = &mut self.clients.all[thread].waiting;
        if let Some(made_ns) = room.then(|| waiting.pop_front()).flatten() {
            let client = &self.clients.all[thread];
            let (service_ns, storage_ns) = (client.service_ns, client.storage_ns);
            if storage_ns > 0 {
                let when_ns = now_ns + service_ns + storage_ns;
                self.clients
                    .at(when_ns, Event::Stored(thread as u32, made_ns));
            } else {
                self.threads[thread].done.push(made_ns);
            }
            return service_ns;
        }
        if self.threads[thread].done.is_empty() {
            return 0;
        }
        let done = std::mem::take(&mut self.threads[thread].done);
        self.tell(thread, done, now_ns)
    }

    /// Calls a driver for replies, and returns the time that this takes in ns.
    fn tell(&mut self, thread: usize, made: Vec<u64>, now_ns: u64) -> u64 {
        let costs = self.scenario.costs;
        self.counts.calls += u64::from(self.clients.counted(now_ns));
        for made_ns in made {
            let seen_ns = now_ns + costs.call_ns + costs.interrupt_ns;
            self.clients.reply(thread as u32, made_ns, seen_ns);
        }
        costs.call_ns.max(1)
    }
}
