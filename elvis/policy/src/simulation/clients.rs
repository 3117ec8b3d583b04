//! Simulated drivers: their requests, and the latencies that they measure.

use crate::simulation::outcome::Tally;
use crate::simulation::scenario::{Arrival, Group, Scenario};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Ring size: an open arrival that finds the ring full is counted as lost.
const RING: usize = 32_768;

/// The group number of a place whose client moved to another core.
pub const GONE: usize = usize::MAX;

/// Device with its driver.
pub struct Client {
    pub group: usize,
    pub service_ns: u64,
    pub bytes: u64,
    pub storage_ns: u64,
    arrival: Arrival,
    /// End of the burst, for [`Arrival::Bursts`].
    burst_until_ns: u64,
    /// The times at which the requests in the ring were made.
    pub waiting: VecDeque<u64>,
    /// Free-running count of requests made, as in the available ring.
    pub avail: u16,
}

/// A future event of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A client makes a request.
    Submit(u32),
    /// A client's request, made at this time, comes back from storage.
    Stored(u32, u64),
    /// An event of the thread model ([`crate::threads`]).
    Other(u32, u64),
}

impl Event {
    fn client(&self) -> u32 {
        match self {
            Self::Submit(client) | Self::Stored(client, _) | Self::Other(client, _) => *client,
        }
    }
}

/// A client on its way to another core, with its results and future events.
pub struct Mover {
    pub client: Client,
    tally: Tally,
    events: Vec<(u64, Event)>,
}

/// Clients with their results and future events.
pub struct Clients {
    pub all: Vec<Client>,
    pub tallies: Vec<Tally>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    sequence: u64,
    rng: fastrand::Rng,
    from_ns: u64,
    until_ns: u64,
}

impl Clients {
    /// Returns the clients with these numbers of the scenario.
    pub fn new(scenario: &Scenario, numbers: impl Iterator<Item = u32>, seed: u64) -> Self {
        let groups: Vec<(usize, &Group)> = scenario
            .groups
            .iter()
            .enumerate()
            .flat_map(|(index, group)| (0..group.devices).map(move |_| (index, group)))
            .collect();
        let all = numbers
            .filter_map(|number| groups.get(number as usize))
            .map(|(index, group)| Client {
                group: *index,
                service_ns: group.service_ns,
                bytes: group.bytes,
                storage_ns: group.storage_ns,
                arrival: group.arrival,
                burst_until_ns: 0,
                waiting: VecDeque::new(),
                avail: 0,
            });
        let all: Vec<Client> = all.collect();
        let mut clients = Self {
            tallies: all.iter().map(|_| Tally::default()).collect(),
            all,
            events: BinaryHeap::new(),
            sequence: 0,
            rng: fastrand::Rng::with_seed(seed),
            from_ns: scenario.warmup_ns,
            until_ns: scenario.warmup_ns + scenario.duration_ns,
        };
        for client in 0..clients.all.len() {
            clients.start(client);
        }
        clients
    }

    /// Removes a client and frees its place.
    pub fn take(&mut self, number: u32) -> Mover {
        let (mine, others): (Vec<_>, Vec<_>) = std::mem::take(&mut self.events)
            .into_sorted_vec()
            .into_iter()
            .rev()
            .partition(|Reverse((_, _, event))| event.client() == number);
        self.events = others.into();
        let gone = Client {
            group: GONE,
            service_ns: 0,
            bytes: 0,
            storage_ns: 0,
            arrival: Arrival::Open { per_s: 1.0 },
            burst_until_ns: 0,
            waiting: VecDeque::new(),
            avail: 0,
        };
        let index = number as usize;
        Mover {
            client: std::mem::replace(&mut self.all[index], gone),
            tally: std::mem::replace(&mut self.tallies[index], Tally::none()),
            events: mine
                .into_iter()
                .map(|Reverse((when_ns, _, event))| (when_ns, event))
                .collect(),
        }
    }

    /// Adds a client in a free place, and returns its number.
    pub fn put(&mut self, mover: Mover) -> u32 {
        let free = self.all.iter().position(|client| client.group == GONE);
        let index = free.unwrap_or(self.all.len());
        if free.is_some() {
            self.all[index] = mover.client;
            self.tallies[index] = mover.tally;
        } else {
            self.all.push(mover.client);
            self.tallies.push(mover.tally);
        }
        let number = index as u32;
        for (when_ns, event) in mover.events {
            self.at(
                when_ns,
                match event {
                    Event::Submit(_) => Event::Submit(number),
                    Event::Stored(_, made_ns) => Event::Stored(number, made_ns),
                    Event::Other(_, what) => Event::Other(number, what),
                },
            );
        }
        number
    }

    fn start(&mut self, client: usize) {
        let first_ns = self.rng.u64(0..10_000);
        match self.all[client].arrival {
            Arrival::Closed { depth, .. } => {
                for _ in 0..depth {
                    self.at(first_ns, Event::Submit(client as u32));
                }
            }
            Arrival::Open { .. } | Arrival::Bursts { .. } | Arrival::Tide { .. } => {
                self.plan_next(client, first_ns);
            }
        }
    }

    /// Whether this time is counted.
    pub fn counted(&self, now_ns: u64) -> bool {
        (self.from_ns..self.until_ns).contains(&now_ns)
    }

    /// Returns how much of an interval is counted, in ns.
    pub fn counted_ns(&self, start_ns: u64, ns: u64) -> u64 {
        let (start_ns, end_ns) = (
            start_ns.max(self.from_ns),
            (start_ns + ns).min(self.until_ns),
        );
        end_ns.saturating_sub(start_ns)
    }

    pub fn over(&self, now_ns: u64) -> bool {
        now_ns >= self.until_ns
    }

    /// Returns the end of the simulation, in ns.
    pub fn until_ns(&self) -> u64 {
        self.until_ns
    }

    pub fn at(&mut self, when_ns: u64, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((when_ns, self.sequence, event)));
    }

    pub fn next_event_ns(&self) -> Option<u64> {
        self.events.peek().map(|Reverse((when_ns, _, _))| *when_ns)
    }

    /// Takes the next event, if it is not after this time.
    pub fn take_event(&mut self, now_ns: u64) -> Option<(u64, Event)> {
        if self.next_event_ns()? > now_ns {
            return None;
        }
        self.events
            .pop()
            .map(|Reverse((when_ns, _, event))| (when_ns, event))
    }

    fn exponential(&mut self, mean_ns: f64) -> u64 {
        (-mean_ns * (1.0 - self.rng.f64()).ln()) as u64
    }

    /// Plans the next request of a client whose requests do not depend on replies.
    fn plan_next(&mut self, client: usize, now_ns: u64) {
        let (per_s, on_ns, off_ns) = match self.all[client].arrival {
            Arrival::Closed { .. } => return,
            Arrival::Open { per_s } => (per_s, u64::MAX, 0),
            Arrival::Bursts {
                per_s,
                on_ns,
                off_ns,
            } => (per_s, on_ns, off_ns),
            Arrival::Tide {
                least_per_s,
                most_per_s,
                period_ns,
            } => {
                // Draws arrivals at the greatest rate, and drops each with the probability that gives
                // the current rate (Lewis and Shedler's thinning).
                let mut when_ns = now_ns;
                let greatest = most_per_s.max(least_per_s);
                loop {
                    when_ns += self.exponential(1e9 / greatest).max(1);
                    let turn = when_ns as f64 / period_ns as f64 * std::f64::consts::TAU;
                    let rate = least_per_s + (most_per_s - least_per_s) * (0.5 - 0.5 * turn.cos());
                    if self.rng.f64() * greatest < rate || when_ns > self.until_ns {
                        break;
                    }
                }
                self.at(when_ns, Event::Submit(client as u32));
                return;
            }
        };
        let mut when_ns = now_ns + self.exponential(1e9 / per_s).max(1);
        if off_ns > 0 && when_ns > self.all[client].burst_until_ns {
            let pause_ns = self.exponential(off_ns as f64);
            when_ns = when_ns.saturating_add(pause_ns);
            self.all[client].burst_until_ns = when_ns + self.exponential(on_ns as f64);
        }
        self.at(when_ns, Event::Submit(client as u32));
    }

    /// Makes a request of a client now. False if its ring is full.
    pub fn submit(&mut self, client: u32, now_ns: u64) -> bool {
        let index = client as usize;
        self.plan_next(index, now_ns);
        if self.all[index].waiting.len() >= RING {
            self.tallies[index].lost += 1;
            return false;
        }
        self.all[index].waiting.push_back(now_ns);
        self.all[index].avail = self.all[index].avail.wrapping_add(1);
        true
    }

    /// Makes a client see at `now_ns` the reply to a request made at `made_ns`.
    pub fn reply(&mut self, client: u32, made_ns: u64, now_ns: u64) {
        let index = client as usize;
        if self.counted(now_ns) {
            self.tallies[index].reply(now_ns - made_ns);
        }
        if let Arrival::Closed { think_ns, .. } = self.all[index].arrival {
            let pause_ns = if think_ns == 0 {
                0
            } else {
                self.exponential(think_ns as f64)
            };
            self.at(now_ns + pause_ns, Event::Submit(client));
        }
    }
}
