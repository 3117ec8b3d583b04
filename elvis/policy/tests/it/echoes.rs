//! Drivers that send again as soon as they have an answer, polled by one I/O core: whichever queues are polled in
//! which order at first, all get the same.

use elvis_policy::{Begin, Look, Params, QueueId, RateLimit, Scheduler, Step};

/// A visit's time, and that of a look in vain.
const VISIT_NS: u64 = 120;
const LOOK_NS: u64 = 20;

/// A queue, and from when on it has a request.
struct Queue {
    id: QueueId,
    avail: u16,
    since_ns: Option<u64>,
}

/// Echoes of each of four pairs of devices within 20 ms. Queue 2n sends, 2n + 1 answers, each so long after it has
/// seen the other's frame. `order`: how the queues are listed at first.
fn echoes(order: &[usize], turn_ns: u64) -> Vec<u64> {
    let mut scheduler = Scheduler::new(Params::default());
    let seen = Look {
        avail: 0,
        pending: 0,
    };
    let queues = order.iter().map(|_| {
        let device = scheduler.add_device(1, &RateLimit::default());
        Queue {
            id: scheduler.add_queue(device, seen, 0).unwrap(),
            avail: 0,
            since_ns: None,
        }
    });
    let mut queues: Vec<_> = queues.collect();
    let mut now_ns = 1_000_000;
    for &at in order {
        scheduler.keep_polled(queues[at].id, now_ns);
        if at % 2 == 0 {
            (queues[at].avail, queues[at].since_ns) = (1, Some(now_ns));
        }
    }
    let mut counts = vec![0; order.len() / 2];
    let end_ns = now_ns + 20_000_000;
    while now_ns < end_ns {
        let id = match scheduler.next(now_ns) {
            Step::Visit(id) => id,
            Step::Events => continue,
            Step::Sleep { .. } => panic!("nothing is polled"),
        };
        let at = queues.iter().position(|queue| queue.id == id).unwrap();
        let there = queues[at].since_ns.is_some_and(|since| since <= now_ns);
        let mut look = Look {
            avail: queues[at]
                .avail
                .wrapping_sub(u16::from(queues[at].since_ns.is_some() && !there)),
            pending: there.into(),
        };
        let Begin::Serve(mut visit) = scheduler.begin(id, look, now_ns) else {
            now_ns += LOOK_NS;
            continue;
        };
        scheduler.charge(&mut visit, 60);
        now_ns += VISIT_NS;
        (queues[at].since_ns, look.pending) = (None, 0);
        counts[at / 2] += (at % 2) as u64;
        let other = &mut queues[at ^ 1];
        other.avail = other.avail.wrapping_add(1);
        other.since_ns = Some(now_ns + turn_ns);
        scheduler.end(visit, look, now_ns);
    }
    counts
}

/// In an order that never changes some get half of what others get.
#[test]
fn echoes_are_shared_equally_in_any_order() {
    let orders = [
        [0, 1, 2, 3, 4, 5, 6, 7],
        [0, 2, 4, 6, 1, 3, 5, 7],
        [0, 7, 1, 6, 2, 5, 3, 4],
        [3, 0, 1, 5, 4, 2, 7, 6],
    ];
    for (order, turn_ns) in orders
        .iter()
        .flat_map(|order| [100, 300, 500, 800].map(|turn| (order, turn)))
    {
        let counts = echoes(order, turn_ns);
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert!(
            *least > 1000 && most * 100 <= least * 110,
            "{counts:?} in {order:?}, {turn_ns} ns"
        );
    }
}
