//! Shares of an overloaded I/O core: all rings are full before the first request is served.
//!
//! The I/O thread itself records the progress of each device while it serves requests. The devices'
//! memory is one file with a counter per device. Each request of a device reads its own number from the
//! device's disk into that counter; those of the first device instead write all counters to its disk. So
//! the result does not depend on how the host schedules threads.

use crate::client::{Client, memfd, serve_by, socket, until, until_asleep};
use crate::raw::{RING_PACKED, Raw};
use elvis::config::Config;
use elvis_policy::Params;
use elvis_ring::driver::Driver;
use std::path::Path;
use std::sync::atomic::Ordering;
use vhost::VhostBackend;
use vmm_sys_util::eventfd::EventFd;

/// Requests of each device, a sector each; and the ring's size, as a request takes four descriptors.
const REQUESTS: u64 = 4096;
const RING: u16 = 4 * REQUESTS as u16;
const SECTOR: u64 = 512;
/// Feature bit of disks: `seg_max`.
const SEG_MAX: u64 = 1 << 2;
const BLOCK: u64 = 4096;

/// Layout of the memory that all share: the counters, a place for the rest of each sector, a status per
/// device, then the requests' headers and the rings.
const COUNTERS: u64 = 0;
const REST: u64 = 0x1000;
const STATUS: u64 = 0x2000;
const HEADERS: u64 = 0x3000;

/// Segments of a byte that a device's requests may have, how many such requests it makes, and bytes of their tables.
const SEGMENTS: u64 = 512;
const SEGMENTED: u64 = 1024;
const TABLE: u64 = (SEGMENTS + 2) * 16;

/// Puts requests of a device into its ring that read into segments of a byte: eight are its counter. Their tables are
/// at `tables`.
fn fill_with_segments(raw: &mut Raw, number: u64, tables: u64) {
    let memory = std::sync::Arc::clone(raw.driver.memory());
    let headers = HEADERS + number * REQUESTS * 16;
    let span = memory.span(headers, REQUESTS * 16).unwrap();
    for request in 0..SEGMENTED {
        let at = request * 16;
        span.store_u64(at as usize, 0, Ordering::Relaxed);
        span.store_u64(at as usize + 8, request, Ordering::Relaxed);
        let table = tables + request * TABLE;
        let data = (0..SEGMENTS).map(|byte| match byte {
            0..8 => COUNTERS + 8 * number + byte,
            _ => REST + byte,
        });
        let all = std::iter::once((headers + at, 16u64, 1u64))
            .chain(data.map(|at| (at, 1, 3)))
            .chain(std::iter::once((STATUS + number, 1, 2)));
        let words: Vec<[u64; 2]> = (1u64..)
            .zip(all)
            .map(|(next, (guest, bytes, flags))| [guest, bytes | flags << 32 | next << 48])
            .collect();
        let words = words.as_flattened();
        let place = memory.span(table, TABLE).unwrap();
        for (at, word) in words.iter().enumerate() {
            place.store_u64(at * 8, word.to_le(), Ordering::Relaxed);
        }
        raw.driver.submit_indirect(table, TABLE as u32).unwrap();
    }
}

/// Puts the requests of device `number` into its ring.
fn fill(raw: &mut Raw, number: u64) {
    let headers = HEADERS + number * REQUESTS * 16;
    let memory = std::sync::Arc::clone(raw.driver.memory());
    let span = memory.span(headers, REQUESTS * 16).unwrap();
    for request in 0..REQUESTS {
        let at = request * 16;
        span.store_u64(at as usize, u64::from(number == 0), Ordering::Relaxed);
        span.store_u64(at as usize + 8, request, Ordering::Relaxed);
        let header = (headers + at, 16, false);
        let status = (STATUS + number, 1, true);
        let submitted = if number == 0 {
            raw.driver
                .submit(&[header, (COUNTERS, SECTOR as u32, false), status])
        } else {
            let own = (COUNTERS + 8 * number, 8, true);
            let rest = (REST, SECTOR as u32 - 8, true);
            raw.driver.submit(&[header, own, rest, status])
        };
        submitted.unwrap();
    }
}

/// Blocks of a disk.
const BLOCKS: u64 = REQUESTS * SECTOR / BLOCK;

/// A client with memory and ring for all blocks of a disk at once.
fn whole(socket: &Path) -> Client {
    Client::connect(socket, 1, 4 * BLOCKS as u16, BLOCKS * BLOCK)
}

fn replies(client: &mut Client) {
    for _ in 0..BLOCKS {
        assert_eq!(client.reply(0).1, 0);
    }
}

/// Writes its number, from 1, to each sector of a disk.
fn number_sectors(socket: &Path) {
    let mut client = whole(socket);
    for (sector, bytes) in (1u64..).zip(client.memory.chunks_mut(SECTOR as usize)) {
        bytes[..8].copy_from_slice(&sector.to_ne_bytes());
    }
    for block in 0..BLOCKS {
        client.submit_write(0, block * BLOCK, block as usize);
    }
    replies(&mut client);
}

/// For each request of the first device: how many requests of each device were served by then. Its own
/// count is the index in the list.
fn served(weights: &[u32]) -> Vec<Vec<u64>> {
    let params = Params {
        unit_ns: 0,
        ..Params::default()
    };
    served_by(weights, params, false)
}

/// The same by this policy. The requests of the last device have many segments if it is `segmented`.
fn served_by(weights: &[u32], params: Params, segmented: bool) -> Vec<Vec<u64>> {
    let dir = tempfile::tempdir().unwrap();
    let words: Vec<String> = (0..)
        .zip(weights)
        .map(|(n, weight)| format!("d{n}=ram:{},weight={weight}", REQUESTS * SECTOR))
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let config = Config {
        // All queues are polled from their first visit on, so none changes its list during a round.
        params: Params {
            poll_on_kicks: 1,
            ..params
        },
        ..Config::default()
    };
    let server = serve_by(dir.path(), config, &words);
    let path = |number| socket(dir.path(), &format!("d{number}"));
    (1..weights.len()).for_each(|number| number_sectors(&path(number)));

    let ring = Driver::ring_bytes(RING).next_multiple_of(4096);
    let rings = (HEADERS + weights.len() as u64 * REQUESTS * 16).next_multiple_of(4096);
    let tables = rings + weights.len() as u64 * ring;
    let memory = memfd(tables + u64::from(segmented) * SEGMENTED * TABLE);
    // One write kicks all queues, so that none starts before the others.
    let kick = EventFd::new(0).unwrap();
    let mut devices: Vec<Raw> = (0..weights.len())
        .map(|n| {
            let (memory, kick) = (memory.try_clone().unwrap(), kick.try_clone().unwrap());
            let mut raw = Raw::in_memory(&path(n), memory, rings + n as u64 * ring, RING, kick);
            if segmented {
                // A driver that agreed to no greatest number of segments.
                let features = raw.frontend.get_features().unwrap();
                let features = features & !RING_PACKED & !SEG_MAX;
                raw.frontend.set_features(features).unwrap();
            }
            raw.start(0);
            raw
        })
        .collect();
    // The first look at the rings is over.
    until_asleep(&server);
    let last = weights.len() as u64 - 1;
    for (number, device) in (0..).zip(&mut devices) {
        if segmented && number == last {
            fill_with_segments(device, number, tables);
        } else {
            fill(device, number);
        }
    }
    kick.write(1).unwrap();
    for (number, device) in (0..).zip(&mut devices) {
        let wanted = match segmented && number == last {
            true => SEGMENTED,
            false => REQUESTS,
        };
        let mut replies = 0;
        until("all replies", || {
            while device.driver.reply().is_some() {
                replies += 1;
            }
            (replies == wanted).then_some(())
        });
    }
    drop(devices);

    let mut client = whole(&path(0));
    for block in 0..BLOCKS {
        client.submit_read(0, block * BLOCK, block as usize);
    }
    replies(&mut client);
    let counters = |sector: &[u8]| {
        let words = sector.chunks(8).take(weights.len());
        let number = |word: &[u8]| u64::from_ne_bytes(word.try_into().unwrap());
        words.map(number).collect()
    };
    let sectors = client.memory.chunks(SECTOR as usize);
    let mut served: Vec<Vec<u64>> = sectors.map(counters).collect();
    (0..).zip(&mut served).for_each(|(n, it)| it[0] = n);
    served
}

/// While all devices are busy, none is ever ahead of its share, or behind it, by more than its quanta of two
/// rounds (the heaviest device's quantum is `max_work`).
fn assert_shares(weights: &[u32]) {
    let served = served(weights);
    // From the third round on: before, a queue that was just kicked ends visits to others early.
    let early = 2 * u64::from(Params::default().max_work);
    let busy = |counts: &&Vec<u64>| counts[1..].iter().all(|&n| early <= n && n < REQUESTS);
    let served: Vec<&Vec<u64>> = served.iter().filter(busy).collect();
    assert!(
        served.len() as u64 > REQUESTS * 3 / 4,
        "all were busy for {} requests only",
        served.len()
    );
    let heaviest = weights.iter().max().unwrap();
    for counts in &served {
        let first = counts[0] - served[0][0];
        for (n, weight) in weights.iter().enumerate() {
            let quantum = f64::from(Params::default().max_work * weight) / f64::from(*heaviest);
            let share = first as f64 * f64::from(*weight) / f64::from(weights[0]);
            let ahead = (counts[n] - served[0][n]) as f64 - share;
            assert!(
                ahead.abs() <= 2.0 * quantum,
                "device {n} is {ahead} ahead: {counts:?}, at first {:?}",
                served[0]
            );
        }
    }
}

/// Of two devices of equal weight the requests of one take much longer, though they are a unit of work each: it gets
/// the same time, and so fewer requests.
#[test]
fn requests_of_many_segments_cost_their_device_the_time_that_they_take() {
    let counts = served_by(&[1, 1], Params::default(), true);
    let at = SEGMENTED as usize - 1;
    let others = counts[at][1];
    assert!(
        (1..SEGMENTED / 3).contains(&others),
        "{others} requests of {SEGMENTS} segments when {at} of one were served"
    );
}

#[test]
fn fourteen_devices_of_equal_weight_get_the_same() {
    assert_shares(&[1; 14]);
}

#[test]
fn devices_get_shares_by_their_weights() {
    assert_shares(&[4, 2, 1]);
}

/// Two disks whose rings are always full: a new weight counts at once, and so does a new limit.
#[test]
fn weights_and_limits_change_while_devices_are_served() {
    /// Requests of 20 us each.
    const FULL: u16 = 1024;
    let dir = tempfile::tempdir().unwrap();
    let devices = ["a=null:1M,service_ns=20000", "b=null:1M,service_ns=20000"];
    let server = serve_by(dir.path(), Config::default(), &devices);
    let mut disks = ["a", "b"].map(|name| {
        let kick = EventFd::new(0).unwrap();
        let mut raw = Raw::in_memory(&socket(dir.path(), name), memfd(4 << 20), 0, FULL, kick);
        raw.start(0);
        raw
    });
    // How many requests each of them gets until the first one has so many, and the part of the time.
    let mut get = |requests: u64| {
        let time = || {
            let stats = server.stats().unwrap();
            ["a", "b"].map(|name| stats.devices[name][0].serving_ns)
        };
        let (before, mut got) = (time(), [0; 2]);
        until("requests", || {
            for (raw, got) in disks.iter_mut().zip(&mut got) {
                while raw.driver.reply().is_some() {
                    *got += 1;
                }
                while raw.submit_write(0, 0, 7).is_some() {}
                raw.kick();
            }
            (got[0] >= requests).then_some(())
        });
        let spent = [0, 1].map(|at| time()[at] - before[at]);
        (
            got[1] as f64 / got[0] as f64,
            spent[1] as f64 / spent[0] as f64,
        )
    };
    let about = |(got, spent): (f64, f64), wanted: f64| {
        for ratio in [got, spent] {
            let close = (wanted * 0.75..wanted * 1.33).contains(&ratio);
            assert!(close, "{ratio}, not {wanted}");
        }
    };
    get(1000);
    about(get(3000), 1.0);
    server.set_weight("b", 4).unwrap();
    get(200);
    about(get(2000), 4.0);
    server.set_weight("b", 1).unwrap();
    let limit = serde_json::json!({ "requests_per_s": 10 });
    server.set_limit("b", &limit).unwrap();
    let list = server.list();
    assert_eq!((list[1].weight, list[1].limits["requests_per_s"]), (1, 10));
    get(200);
    let (ratio, _) = get(3000);
    assert!(ratio < 0.1, "{ratio}");
    // What it owes to a limit does not count after that.
    server
        .set_limit("b", &serde_json::json!({ "requests_per_s": null }))
        .unwrap();
    get(200);
    about(get(3000), 1.0);
    assert!(server.set_weight("b", 0).is_err() && server.set_weight("x", 1).is_err());
}

/// A visit of 256 requests of a millisecond ends soon after another queue is kicked, which is not polled.
#[test]
fn a_kick_during_a_visit_ends_it() {
    const DEEP: u64 = 256;
    let dir = tempfile::tempdir().unwrap();
    let config = Config {
        params: Params {
            polling: false,
            max_work: DEEP as u32,
            // Its time alone does not end it.
            unit_ns: 0,
            ..Params::default()
        },
        ..Config::default()
    };
    let devices = ["busy=null:1M,service_ns=1000000", "quick=null:1M"];
    let server = serve_by(dir.path(), config, &devices);
    let connect = |name: &str| {
        let kick = EventFd::new(0).unwrap();
        let mut raw = Raw::in_memory(&socket(dir.path(), name), memfd(4 << 20), 0, 1024, kick);
        raw.start(0);
        raw
    };
    let (mut busy, mut quick) = (connect("busy"), connect("quick"));
    until_asleep(&server);
    // The host may stop this thread for longer than a visit takes: then it is tried again.
    let ended_early = (0..20).any(|_| {
        let submitted = (0..DEEP).filter_map(|n| busy.submit_write(n, n, 7));
        assert_eq!(submitted.count() as u64, DEEP);
        busy.kick();
        std::thread::sleep(std::time::Duration::from_millis(20));
        quick.submit_write(0, 0, 7).unwrap();
        quick.kick();
        quick.reply();
        for _ in 0..DEEP {
            busy.reply();
        }
        server.stats().unwrap().devices["busy"][0]
            .policy
            .stuck_exits
            > 0
    });
    assert!(ended_early, "the kick was not seen");
}
