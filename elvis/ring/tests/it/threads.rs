//! Driver and device on two threads, each of which waits for the other's notification as soon as it finds nothing to
//! do: one that is lost, as a barrier is missing or an event is set wrong, ends the test.

use crate::common::pair_of;
use elvis_ring::driver::Driver;
use elvis_ring::{Chain, Ring};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const DATA: u64 = 0x8_0000;
/// Requests, unless a busy host needs longer than this.
const REQUESTS: u64 = 200_000;
const LENGTH: Duration = Duration::from_secs(1);
/// Only a lost notification takes as long.
const LIMIT: Duration = Duration::from_secs(60);

/// Notifications to one side.
#[derive(Default)]
struct Bell {
    rung: AtomicU64,
}

impl Bell {
    fn ring(&self) {
        self.rung.fetch_add(1, Ordering::Release);
    }

    /// Waits until it was rung again, or for `ended`. It sleeps only when the host gives the other side no CPU:
    /// waking takes longer than the races that are looked for.
    fn wait(&self, seen: &mut u64, ended: &AtomicBool, what: &str) {
        let (start, mut spins) = (Instant::now(), 0u32);
        while self.rung.load(Ordering::Acquire) == *seen && !ended.load(Ordering::Acquire) {
            spins = spins.wrapping_add(1);
            if spins % 256 == 0 {
                assert!(start.elapsed() < LIMIT, "{what} was lost");
                std::thread::yield_now();
            }
            std::hint::spin_loop();
        }
        *seen = self.rung.load(Ordering::Acquire);
    }
}

#[derive(Default)]
struct Bells {
    kick: Bell,
    call: Bell,
    ended: AtomicBool,
}

/// Serves until the driver ends. Now and then it leaves requests in the ring, and waits for more.
fn serve(ring: &mut Ring, bells: &Bells, what: &str) {
    let (mut chain, mut kicks, mut visits) = (Chain::new(), 0, 0u64);
    while !bells.ended.load(Ordering::Acquire) {
        ring.disarm();
        while ring.look().unwrap().pending > 0 && ring.take(&mut chain).unwrap() {
            visits += 1;
            if visits % 5 == 0 {
                ring.untake(chain.head());
                continue;
            }
            ring.put(chain.head(), 0);
            if visits % 3 == 0 && ring.publish() {
                bells.call.ring();
            }
        }
        if ring.publish() {
            bells.call.ring();
        }
        ring.arm();
        if ring.look().unwrap().pending == 0 {
            bells.kick.wait(&mut kicks, &bells.ended, what);
        }
    }
}

fn drive(driver: &mut Driver, bells: &Bells, what: &str) -> u64 {
    let (mut made, mut ended, mut calls) = (0, 0, 0);
    let start = Instant::now();
    while made < REQUESTS && start.elapsed() < LENGTH {
        for _ in 0..1 + made % 3 {
            made += u64::from(driver.submit(&[(DATA, 16, false)]).is_some());
        }
        if driver.kick_wanted() {
            bells.kick.ring();
        }
        loop {
            driver.want_calls(false);
            while driver.reply().is_some() {
                ended += 1;
            }
            if ended == made {
                break;
            }
            driver.want_calls(true);
            if driver.reply().is_some() {
                ended += 1;
                continue;
            }
            bells.call.wait(&mut calls, &bells.ended, what);
        }
    }
    bells.ended.store(true, Ordering::Release);
    made
}

#[test]
fn no_notification_is_lost() {
    for (event_idx, packed) in [(false, false), (true, false), (false, true), (true, true)] {
        let (mut driver, mut ring) = pair_of(8, event_idx, packed);
        let bells = Bells::default();
        let what = |which: &str| format!("{which} (event_idx {event_idx}, packed {packed})");
        std::thread::scope(|scope| {
            scope.spawn(|| serve(&mut ring, &bells, &what("a kick")));
            let made = drive(&mut driver, &bells, &what("a call"));
            assert!(made > 0);
            println!("{made} {}", what("requests"));
        });
    }
}
