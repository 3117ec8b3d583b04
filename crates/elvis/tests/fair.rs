//! Shares of one I/O core that there is too little of: disks that take a fixed time for each request,
//! and rings that are full from the start, so that it does not matter when this host lets a client run.

#![allow(clippy::unwrap_used)]

mod client;

use client::{Client, serve, socket};
use elvis_sim::Mode;
use std::path::Path;
use std::time::{Duration, Instant};

/// How many requests of each device are served while `count` are served together, of `depth` that each
/// has in its ring; each takes the core `service_ns`.
fn served(dir: &Path, weights: &[u32], depth: u16, service_ns: u64, count: u64) -> Vec<u64> {
    let words: Vec<String> = weights
        .iter()
        .enumerate()
        .map(|(n, weight)| format!("d{n}=null:1G,weight={weight},service_ns={service_ns}"))
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let server = serve(dir, Mode::Elvis, &words);
    let mut clients: Vec<Client> = (0..weights.len())
        .map(|n| Client::connect(&socket(dir, &format!("d{n}")), 1, 4 * depth, 4096))
        .collect();
    for client in &mut clients {
        let place = client.buffer(0).as_mut_ptr();
        for _ in 0..depth {
            // SAFETY: the buffer lies in the client's mapping, and a null disk leaves it alone.
            unsafe { client.queues[0].read_raw(0, place, 4096, 0) }.unwrap();
        }
    }
    for client in &mut clients {
        client.kick(0);
    }
    let end = Instant::now() + Duration::from_secs(60);
    // Waits until what was served is as wanted.
    let until = |wanted: &dyn Fn(&[u64]) -> bool| loop {
        let stats = server.stats().unwrap();
        let of = |n| stats.devices[&format!("d{n}")][0].policy.requests;
        let served: Vec<u64> = (0..weights.len()).map(of).collect();
        if wanted(&served) {
            return served;
        }
        assert!(Instant::now() < end, "{served:?}");
        std::thread::sleep(Duration::from_millis(1));
    };
    let before = until(&|served| served.iter().all(|&n| n > 0));
    let sum = |served: &[u64]| served.iter().sum::<u64>();
    let after = until(&|served| sum(served) >= sum(&before) + count);
    assert!(
        after.iter().all(|&n| n < depth.into()),
        "a ring ran empty: {after:?}"
    );
    after.iter().zip(&before).map(|(a, b)| a - b).collect()
}

#[test]
fn fourteen_devices_of_equal_weight_get_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let served = served(dir.path(), &[1; 14], 1024, 50_000, 5_000);
    let (sum, squares) = served
        .iter()
        .map(|&n| n as f64)
        .fold((0.0, 0.0), |(sum, squares), n| (sum + n, squares + n * n));
    let jain = sum * sum / (served.len() as f64 * squares);
    assert!(jain > 0.98, "Jain's index {jain:.4}: {served:?}");
}

#[test]
fn devices_get_shares_by_their_weights() {
    let dir = tempfile::tempdir().unwrap();
    let served = served(dir.path(), &[1, 2, 4], 4096, 100_000, 2_000);
    let all: u64 = served.iter().sum();
    for (got, weight) in served.iter().zip([1.0, 2.0, 4.0]) {
        let share = *got as f64 / all as f64 * 7.0 / weight;
        assert!(
            (0.9..=1.1).contains(&share),
            "weight {weight} got {share:.3} of its share: {served:?}"
        );
    }
}
