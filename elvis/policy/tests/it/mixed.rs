//! Drivers that send again as soon as they have an answer, on one core that polls some of their queues and not the others:
//! all get the same.

use crate::play::Play;
use elvis_policy::{Params, RateLimit};

/// From an answer to the driver's next request.
const TURN_NS: [u64; 2] = [1_000, 20_000];
const DEVICES: usize = 14;
const END_NS: u64 = 100_000_000;

/// Requests of each driver that were served. The first queues are polled, whatever their drivers do, and no other one is.
/// Each driver has so many requests.
fn served(polled: usize, depth: u16, serve_ns: u64, turn_ns: u64) -> Vec<u64> {
    let params = Params {
        polling: false,
        ..Params::default()
    };
    let mut play = Play::new(params, &[(1, RateLimit::default(), 4096); DEVICES]);
    for index in 0..DEVICES {
        play.queues[index].serve_ns = serve_ns;
        if index < polled {
            play.without_kicks(index);
        }
        play.submit(index, depth);
    }
    // When drivers make their next requests.
    let mut due: Vec<Vec<u64>> = vec![Vec::new(); DEVICES];
    while play.now_ns < END_NS {
        for (index, due) in due.iter_mut().enumerate() {
            let before = due.len();
            due.retain(|&at_ns| at_ns > play.now_ns);
            play.submit(index, (before - due.len()) as u16);
        }
        let before: Vec<u64> = play.queues.iter().map(|queue| queue.served).collect();
        if let Some(index) = play.step() {
            let answers = play.queues[index].served - before[index];
            due[index].extend((0..answers).map(|_| play.now_ns + turn_ns));
        }
    }
    play.queues.iter().map(|queue| queue.served).collect()
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
            let served = served(polled, depth, serve_ns, turn_ns);
            let (least, most) = (served.iter().min().unwrap(), served.iter().max().unwrap());
            // What a queue has after a visit, and new requests of others end it, differ a little with many requests.
            assert!(
                *least > 100 && *most <= 2 * least,
                "{polled} polled, {depth} requests of {serve_ns} ns each, {turn_ns} ns apart: {served:?}"
            );
        }
    }
}
