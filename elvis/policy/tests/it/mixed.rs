//! Drivers that send again as soon as they have an answer, on one core that polls some of their queues and not the others:
//! all get the same.

use elvis_policy::{Begin, Look, Params, QueueId, RateLimit, Scheduler, Step, Then};

/// A look at a queue, and the driver's next request after an answer.
const LOOK_NS: u64 = 50;
const TURN_NS: [u64; 2] = [1_000, 20_000];
const DEVICES: usize = 14;
const END_NS: u64 = 100_000_000;

/// A driver with a fixed number of requests.
struct Driver {
    id: QueueId,
    avail: u16,
    taken: u16,
    armed: bool,
    /// When it makes its next requests.
    next_ns: Vec<u64>,
    served: u64,
}

impl Driver {
    fn look(&self) -> Look {
        Look {
            avail: self.avail,
            pending: self.avail.wrapping_sub(self.taken),
        }
    }

    /// Makes the requests that are due. True: it kicks.
    fn go_on(&mut self, now_ns: u64) -> bool {
        let before = self.next_ns.len();
        self.next_ns.retain(|&at_ns| at_ns > now_ns);
        let due = before - self.next_ns.len();
        self.avail = self.avail.wrapping_add(due as u16);
        due > 0 && std::mem::take(&mut self.armed)
    }
}

struct Core {
    scheduler: Scheduler,
    drivers: Vec<Driver>,
    now_ns: u64,
}

impl Core {
    /// The first ones are polled, whatever they do; polling starts for no other one.
    fn new(polled: usize, depth: u16) -> Self {
        let mut scheduler = Scheduler::new(Params {
            poll_on_kicks: u32::MAX,
            ..Params::default()
        });
        let drivers = (0..DEVICES).map(|number| {
            let device = scheduler.add_device(1, &RateLimit::default());
            let seen = Look {
                avail: 0,
                pending: 0,
            };
            let id = scheduler.add_queue(device, seen, 0).unwrap();
            if number < polled {
                scheduler.poll_always(id);
            }
            Driver {
                id,
                avail: depth,
                taken: 0,
                armed: false,
                next_ns: Vec::new(),
                served: 0,
            }
        });
        let drivers = drivers.collect();
        Self {
            scheduler,
            drivers,
            now_ns: 1,
        }
    }

    fn at(&self, id: QueueId) -> usize {
        let found = self.drivers.iter().position(|driver| driver.id == id);
        found.unwrap()
    }

    fn arm(&mut self, at: usize) {
        self.drivers[at].armed = true;
        if self.drivers[at].look().pending > 0 {
            self.scheduler.woken(self.drivers[at].id, self.now_ns);
        }
    }

    fn visit(&mut self, id: QueueId, serve_ns: u64, turn_ns: u64) {
        let at = self.at(id);
        self.now_ns += LOOK_NS;
        let begun = self
            .scheduler
            .begin(id, self.drivers[at].look(), self.now_ns);
        let mut visit = match begun {
            Begin::Empty | Begin::Wait => return,
            Begin::Arm => return self.arm(at),
            Begin::Serve(visit) => visit,
        };
        self.drivers[at].armed = false;
        while self.drivers[at].look().pending > 0 && self.scheduler.go_on(&mut visit, self.now_ns) {
            self.now_ns += serve_ns;
            let driver = &mut self.drivers[at];
            driver.taken = driver.taken.wrapping_add(1);
            driver.served += 1;
            driver.next_ns.push(self.now_ns + turn_ns);
            self.scheduler.charge(&mut visit, 4096);
            while let Some(other) = self.scheduler.peek(&mut visit) {
                let look = self.drivers[self.at(other)].look();
                self.scheduler.peeked(&mut visit, other, look, self.now_ns);
            }
        }
        let look = self.drivers[at].look();
        if self.scheduler.end(visit, look, self.now_ns) == Then::Arm {
            self.arm(at);
        }
    }

    /// Requests of each driver that were served.
    fn run(mut self, serve_ns: u64, turn_ns: u64) -> Vec<u64> {
        while self.now_ns < END_NS {
            for driver in &mut self.drivers {
                if driver.go_on(self.now_ns) {
                    self.scheduler.kicked(driver.id, self.now_ns);
                }
            }
            match self.scheduler.next(self.now_ns) {
                Step::Events => {}
                Step::Sleep { .. } => self.now_ns += LOOK_NS,
                Step::Visit(id) => self.visit(id, serve_ns, turn_ns),
            }
        }
        self.drivers.iter().map(|driver| driver.served).collect()
    }
}

/// Where a visit to one list follows one to the other, one polled driver gets 13 times what another one gets.
#[test]
fn polled_and_kicked_queues_get_the_same() {
    let loads = [1, 4, 32].into_iter().flat_map(|depth| {
        let serve = [2_000, 20_000].into_iter();
        serve.flat_map(move |serve_ns| TURN_NS.map(|turn_ns| (depth, serve_ns, turn_ns)))
    });
    for (depth, serve_ns, turn_ns) in loads {
        for polled in [1, 4, 7, 13] {
            let served = Core::new(polled, depth).run(serve_ns, turn_ns);
            let (least, most) = (served.iter().min().unwrap(), served.iter().max().unwrap());
            // What a queue has after a visit, and new requests of others end it, differ a little with many requests.
            assert!(
                *least > 100 && *most <= 2 * least,
                "{polled} polled, {depth} requests of {serve_ns} ns each, {turn_ns} ns apart: {served:?}"
            );
        }
    }
}
