//! One core whose drivers behave as a test says, with the checks that hold in every visit.

use elvis_policy::{Begin, DeviceId, Look, Params, QueueId, RateLimit, Scheduler, Step, Then};

/// Costs on the simulated core, in ns: of a request, unless a device's requests take another time.
pub const SERVE_NS: u64 = 1_000;
pub const POLL_NS: u64 = 5;
/// Requests with this many bytes are served in three parts of that size.
pub const IN_PARTS: u64 = 65_536;

pub struct Queue {
    pub device: DeviceId,
    pub id: QueueId,
    /// Free-running indices of driver and device.
    pub avail: u16,
    pub taken: u16,
    /// Whether notifications are on.
    pub armed: bool,
    /// Bytes of each request, or of each of its parts.
    pub bytes: u64,
    /// Parts of a request, and how many of the current one were served.
    pub parts: u32,
    pub part: u32,
    pub served: u64,
    pub units: u64,
    /// Time of a request, and of all that were served.
    pub serve_ns: u64,
    pub spent_ns: u64,
    /// It has no way to kick.
    pub kickless: bool,
}

impl Queue {
    pub fn look(&self) -> Look {
        Look {
            avail: self.avail,
            pending: self.avail.wrapping_sub(self.taken),
        }
    }
}

/// One core and its queues, one per device, with the checks that hold in every visit.
pub struct Play {
    pub core: Scheduler,
    pub queues: Vec<Queue>,
    pub now_ns: u64,
    pub stuck_exits: u64,
}

impl Play {
    pub fn new(params: Params, devices: &[(u32, RateLimit, u64)]) -> Self {
        params.check().unwrap();
        let mut core = Scheduler::new(params);
        let queues = devices.iter().map(|&(weight, limit, bytes)| {
            let device = core.add_device(weight, &limit);
            let id = core
                .add_queue(
                    device,
                    Look {
                        avail: 0,
                        pending: 0,
                    },
                    0,
                )
                .unwrap();
            Queue {
                device,
                id,
                avail: 0,
                taken: 0,
                armed: false,
                bytes,
                parts: if bytes == IN_PARTS { 3 } else { 1 },
                part: 0,
                served: 0,
                units: 0,
                serve_ns: SERVE_NS,
                spent_ns: 0,
                kickless: false,
            }
        });
        let queues = queues.collect();
        Self {
            core,
            queues,
            now_ns: 1,
            stuck_exits: 0,
        }
    }

    pub fn index(&self, id: QueueId) -> usize {
        self.queues.iter().position(|queue| queue.id == id).unwrap()
    }

    /// From now on a queue's driver can't kick.
    pub fn without_kicks(&mut self, index: usize) {
        self.queues[index].kickless = true;
        self.core.poll_always(self.queues[index].id);
    }

    /// The driver adds requests, and kicks if notifications are on and it can.
    pub fn submit(&mut self, index: usize, count: u16) {
        let queue = &mut self.queues[index];
        queue.avail = queue.avail.wrapping_add(count);
        if queue.armed && count > 0 && !queue.kickless {
            queue.armed = !self.core.kicked(queue.id, self.now_ns);
        }
    }

    pub fn arm(&mut self, index: usize) {
        self.queues[index].armed = true;
        if self.queues[index].look().pending > 0 {
            self.core.woken(self.queues[index].id, self.now_ns);
        }
    }

    /// One step; returns the queue that was served.
    pub fn step(&mut self) -> Option<usize> {
        let id = match self.core.next(self.now_ns) {
            Step::Events => return None,
            Step::Sleep { until_ns } => {
                assert!(
                    until_ns.is_some() || self.queues.iter().all(|queue| queue.look().pending == 0),
                    "sleeps although requests wait"
                );
                self.now_ns = until_ns.unwrap_or(self.now_ns).max(self.now_ns + 1);
                return None;
            }
            Step::Visit(id) => id,
        };
        self.now_ns += POLL_NS;
        let index = self.index(id);
        match self.core.begin(id, self.queues[index].look(), self.now_ns) {
            Begin::Empty | Begin::Wait => None,
            Begin::Arm => {
                self.arm(index);
                None
            }
            Begin::Serve(mut visit) => {
                self.queues[index].armed = false;
                let params = *self.core.params();
                let (mut spent, mut ended) = (0, false);
                while self.queues[index].look().pending > 0 {
                    if !self.core.go_on(&mut visit, self.now_ns) {
                        ended = true;
                        break;
                    }
                    let queue = &mut self.queues[index];
                    let first = queue.part == 0;
                    queue.part = (queue.part + 1) % queue.parts;
                    if queue.part == 0 {
                        queue.taken = queue.taken.wrapping_add(1);
                        queue.served += 1;
                    }
                    queue.units += u64::from(params.units(queue.bytes));
                    spent += params.units(queue.bytes);
                    queue.spent_ns += queue.serve_ns;
                    self.now_ns += queue.serve_ns;
                    let bytes = queue.bytes;
                    if first {
                        self.core.charge(&mut visit, bytes);
                    } else {
                        self.core.charge_part(&mut visit, bytes);
                    }
                    while let Some(other) = self.core.peek(&mut visit) {
                        let look = self.queues[self.index(other)].look();
                        self.core.peeked(&mut visit, other, look, self.now_ns);
                    }
                }
                let most = params.max_work + params.units(self.queues[index].bytes) - 1;
                assert!(spent <= most, "{spent} units in a visit of at most {most}");
                let look = self.queues[index].look();
                let before = self.core.queue_counters(id).unwrap().stuck_exits;
                let then = self.core.end(visit, look, self.now_ns);
                let exits = self.core.queue_counters(id).unwrap().stuck_exits - before;
                self.stuck_exits += exits;
                assert!(
                    exits == 0 || (ended && spent >= params.min_work),
                    "left before the minimum"
                );
                if then == Then::Arm {
                    self.arm(index);
                }
                (spent > 0).then_some(index)
            }
        }
    }
}
