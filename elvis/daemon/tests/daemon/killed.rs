//! A daemon that is killed, and its successor.

use super::daemon::Daemon;
use crate::client::{image, socket};
use crate::raw::{Raw, SIZE};
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
