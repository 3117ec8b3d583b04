//! The two queues of a network device's pair: what waits in one is mostly the answer to what the other one sends.

use elvis_policy::{Begin, DeviceId, Look, Params, QueueId, RateLimit, Scheduler, Step};

const NOTHING: Look = Look {
    avail: 0,
    pending: 0,
};

/// A core with polled queues: a pair of one device, and one that may be of its pair, of another pair, or of another device.
struct Core {
    scheduler: Scheduler,
    sends: QueueId,
    other: QueueId,
}

fn pair_of(scheduler: &mut Scheduler, device: DeviceId, pair: u16, sends: bool) -> QueueId {
    let queue = scheduler.add_queue(device, NOTHING, 0).unwrap();
    scheduler.carries_frames(queue, pair, sends);
    scheduler.keep_polled(queue, 0);
    queue
}

fn core(same_device: bool, pair: u16) -> Core {
    let mut scheduler = Scheduler::new(Params::default());
    let device = scheduler.add_device(1, &RateLimit::default());
    let sends = pair_of(&mut scheduler, device, 0, true);
    let of_other = match same_device {
        true => device,
        false => scheduler.add_device(1, &RateLimit::default()),
    };
    let other = pair_of(&mut scheduler, of_other, pair, false);
    Core {
        scheduler,
        sends,
        other,
    }
}

impl Core {
    /// After how many of 64 frames the sender's visit ends, if the other queue has one frame all the time. Each takes 1 us.
    fn frames_until_the_end(mut self) -> u32 {
        let mut now_ns = 1_000_000;
        let waits = Look {
            avail: 1,
            pending: 1,
        };
        let all = Look {
            avail: 64,
            pending: 64,
        };
        let begun = self.scheduler.begin(self.sends, all, now_ns);
        let Begin::Serve(mut visit) = begun else {
            panic!("{begun:?}");
        };
        let mut frames = 0;
        while frames < 64 && self.scheduler.go_on(&mut visit, now_ns) {
            self.scheduler.charge(&mut visit, 64);
            (frames, now_ns) = (frames + 1, now_ns + 1000);
            while let Some(queue) = self.scheduler.peek(&mut visit) {
                assert_eq!(queue, self.other);
                self.scheduler.peeked(&mut visit, queue, waits, now_ns);
            }
        }
        frames
    }
}

#[test]
fn a_short_visit_does_not_end_for_the_other_queue_of_its_pair() {
    let params = Params::default();
    // From the first look at it on.
    let stuck_after = params.stuck_ns as u32 / 1000;
    let short = params.min_work * Params::PAIR_WORK;
    assert_eq!(core(true, 0).frames_until_the_end(), short + stuck_after);
    for (same_device, pair) in [(true, 1), (false, 0), (false, 1)] {
        let frames = core(same_device, pair).frames_until_the_end();
        assert_eq!(frames, 1 + stuck_after, "{same_device}, {pair}");
    }
}

/// Ids of queues are used again: a queue that takes the place of a partner is none.
#[test]
fn a_queue_that_comes_later_is_no_partner() {
    let mut core = core(true, 0);
    core.scheduler.remove_queue(core.other);
    let device = core.scheduler.add_device(1, &RateLimit::default());
    let other = core.scheduler.add_queue(device, NOTHING, 0).unwrap();
    assert_eq!(other, core.other);
    core.scheduler.keep_polled(other, 0);
    assert!(core.frames_until_the_end() < 2 * Params::default().min_work);
}

/// Whether polling starts within 100 kicks so far apart, each of which brings so many requests.
fn starts(carries: bool, gap_ns: u64, batch: u16) -> bool {
    let mut scheduler = Scheduler::new(Params::default());
    let device = scheduler.add_device(1, &RateLimit::default());
    let queue = scheduler.add_queue(device, NOTHING, 0).unwrap();
    if carries {
        scheduler.carries_frames(queue, 0, true);
    }
    let mut look = NOTHING;
    (1..100).any(|kick| {
        let now_ns = kick * gap_ns;
        look.avail = look.avail.wrapping_add(batch);
        let starts = scheduler.kicked(queue, now_ns);
        loop {
            let id = match scheduler.next(now_ns) {
                Step::Visit(id) => id,
                Step::Events => continue,
                Step::Sleep { .. } => break,
            };
            look.pending = batch;
            if let Begin::Serve(mut visit) = scheduler.begin(id, look, now_ns) {
                for _ in 0..batch {
                    scheduler.charge(&mut visit, 64);
                }
                look.pending = 0;
                scheduler.end(visit, look, now_ns);
            }
            if starts {
                break;
            }
        }
        starts
    })
}

/// Each frame waits for the thread to wake up, as each request to storage does.
#[test]
fn each_frame_of_a_batch_allows_a_gap() {
    let gap_ns = Params::default().poll_on_gap_ns;
    assert!(starts(true, gap_ns, 1) && starts(false, gap_ns, 1));
    assert!(!starts(true, 2 * gap_ns, 1) && !starts(false, 2 * gap_ns, 8));
    assert!(starts(true, 2 * gap_ns, 8) && starts(true, 3 * gap_ns, 8));
    assert!(!starts(true, 5 * gap_ns, 32));
}

/// Answers that one visit may give after one sent frame, of 64 that are there.
fn answers_of_a_visit(limit: &RateLimit) -> u64 {
    let mut scheduler = Scheduler::new(Params::default());
    let device = scheduler.add_device(1, limit);
    let sends = pair_of(&mut scheduler, device, 0, true);
    let other = pair_of(&mut scheduler, device, 0, false);
    // A new queue may have requests.
    assert_eq!(scheduler.begin(other, NOTHING, 900_000), Begin::Empty);
    let one = Look {
        avail: 1,
        pending: 1,
    };
    let begun = scheduler.begin(sends, one, 1_000_000);
    let Begin::Serve(mut visit) = begun else {
        panic!("{begun:?}");
    };
    scheduler.charge(&mut visit, 64);
    let mut answers = 0;
    while answers < 64 && scheduler.go_on(&mut visit, 1_000_000) {
        scheduler.charge_other(&mut visit, other, 64);
        answers += 1;
    }
    assert_eq!(visit.requests(), 1, "the sender's are the sent ones");
    scheduler.end(visit, NOTHING, 1_100_000);
    let counted = |queue| scheduler.queue_counters(queue).unwrap().requests;
    assert_eq!((counted(sends), counted(other)), (1, answers));
    answers
}

#[test]
fn answers_are_within_the_budget_and_the_limits_of_their_device() {
    let most = u64::from(Params::default().max_work);
    assert_eq!(answers_of_a_visit(&RateLimit::default()), most - 1);
    let slow = RateLimit {
        requests_per_s: Some(100),
        ..RateLimit::default()
    };
    assert!(answers_of_a_visit(&slow) < most / 4);
}
