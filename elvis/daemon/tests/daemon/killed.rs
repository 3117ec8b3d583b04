//! A daemon that is killed, and its successor.

use super::daemon::Daemon;
use crate::client::{image, socket};
use crate::nic::{Nic, frame};
use crate::raw::{Raw, SIZE};
use elvis::net::Header;
use std::os::unix::fs::FileExt;

/// How often it is killed, and the number of replies before each time.
const KILLS: u64 = 8;
const REPLIES: u64 = 97;

/// kill -9 during writes, many times: each write is acknowledged exactly once, and the image has the
/// last write to each block.
#[test]
fn requests_survive_the_daemon() {
    survive(false);
}

/// The same with a packed ring: where it continues is in the in-flight area only.
#[test]
fn requests_in_a_packed_ring_survive_the_daemon() {
    survive(true);
}

fn survive(packed: bool) {
    let dir = tempfile::tempdir().unwrap();
    let image = image(dir.path(), 64 * 4096);
    let path = socket(dir.path(), "a");
    let device = format!("{}={}", path.display(), image.display());
    let words = ["--blk", &device];
    let mut daemon = Daemon::start(&words, &path);
    let mut client = Raw::of(&path, packed);
    client.track_inflight();
    client.start_at(None);
    let (mut made, mut ended) = (0u64, 0u64);
    let mut of_head = vec![None; usize::from(SIZE)];
    let mut kills = 0;
    while kills < KILLS || ended < made {
        // A block is written again only after its last write was acknowledged.
        while kills < KILLS && made - ended < 16 {
            let number = made;
            if of_head
                .iter()
                .flatten()
                .any(|other: &u64| other % 16 == number % 16)
            {
                break;
            }
            let head = client.submit_write(number % 16, number % 16, (number / 16 % 251) as u8);
            of_head[usize::from(head.unwrap())] = Some(number);
            made += 1;
        }
        client.kick();
        if ended == (kills + 1) * REPLIES && kills < KILLS {
            // There is always a write that is not acknowledged: in the ring, taken, or in flight.
            assert!(made > ended);
            drop(daemon);
            kills += 1;
            daemon = Daemon::start(&words, &path);
            client.reconnect(&path);
            client.start_at(None);
        }
        let head = client.reply();
        let number = of_head[usize::from(head)]
            .take()
            .expect("acknowledged twice");
        assert_eq!(client.status(number % 16), 0);
        ended += 1;
    }
    assert!(of_head.iter().all(Option::is_none));
    for block in 0..16u64 {
        let last = (made - 1 - block) / 16 * 16 + block;
        let last = if last >= made { last - 16 } else { last };
        let mut data = [0; 4096];
        std::fs::File::open(&image)
            .unwrap()
            .read_exact_at(&mut data, block * 4096)
            .unwrap();
        assert_eq!(data, [(last / 16 % 251) as u8; 4096], "block {block}");
    }
    drop(daemon);
}

/// Frames on their way at a time.
const ON_THEIR_WAY: u64 = 40;

/// kill -9 under traffic between two network devices, many times: each frame arrives whole, no frame comes again
/// that was known to be sent, and all go on.
fn frames_survive(packed: bool) {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = |name: &str| socket(dir.path(), name);
    let devices = ["a", "b"].map(|name| format!("{}=switch:s", path(name).display()));
    let words = ["--net", &devices[0], "--net", &devices[1]];
    let mut daemon = Daemon::start(&words, &path("b"));
    let connect = if packed { Nic::packed } else { Nic::connect };
    let (mut a, mut b) = (connect(&path("a"), 0), connect(&path("b"), 0));
    let (mut sent, mut arrived, mut oldest) = (0u64, 0u64, 0);
    let receive = |b: &mut Nic, sent: u64, oldest: &mut u64, arrived: &mut u64| {
        while let Some((_, frame)) = b.try_receive() {
            let number = u64::from_le_bytes(frame[14..22].try_into().unwrap());
            assert_eq!(frame.len(), 60 + number as usize * 37 % 5000);
            assert!(
                number >= *oldest && number < sent,
                "{oldest} {number} {sent}"
            );
            (*oldest, *arrived) = (number + 1, (*arrived).max(number + 1));
        }
    };
    for kill in 0..KILLS {
        let goal = arrived + 100 * (kill + 1) + 17;
        while arrived < goal {
            if sent < arrived + ON_THEIR_WAY {
                let mut frame = frame(0xff, 1, 60 + sent as usize * 37 % 5000);
                frame[14..22].copy_from_slice(&sent.to_le_bytes());
                let part = frame.len() / 2 + 30;
                sent += u64::from(a.try_send(&Header::default(), &frame, part));
            }
            receive(&mut b, sent, &mut oldest, &mut arrived);
        }
        drop(daemon);
        // A frame that has arrived but is not acknowledged may be sent again: first all that has arrived.
        receive(&mut b, sent, &mut oldest, &mut arrived);
        oldest = a.replied();
        daemon = Daemon::start(&words, &path("b"));
        // The front-ends tell where packed rings were new, and split ones anywhere.
        for (nic, name) in [(&mut b, "b"), (&mut a, "a")] {
            let base = nic.new_base();
            nic.reconnect(&path(name), base);
        }
        // Frames that the driver has sent meanwhile and that were lost in the receiver's inbox.
        arrived = arrived.max(oldest);
    }
    drop(daemon);
}

#[test]
fn a_network_survives_the_daemon() {
    frames_survive(false);
}

/// Where packed rings go on is in files of the daemons.
#[test]
fn a_network_with_packed_rings_survives_the_daemon() {
    frames_survive(true);
}
