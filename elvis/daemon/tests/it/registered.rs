//! Drivers' memory registered with io_uring: data are correct, removed memory is unregistered, and memory
//! that can't be registered still works.

use crate::client::{Client, image, memfd, serve, socket, until, verify};
use elvis::serve::Server;
use elvis::storage::CountedBuffers;
use elvis_policy::simulation::Mode;
use memmap2::MmapMut;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use tempfile::TempDir;
use virtio_driver::VirtioFeatureFlags;

/// Pinned memory is counted for the whole process, so these tests run one at a time.
static ALONE: Mutex<()> = Mutex::new(());
const MEMORY: u64 = 1 << 20;
/// How often a region is removed.
const ROUNDS: u8 = 39;

/// A folder on a disk: requests to a tmpfs do not use io_uring.
pub fn folder() -> TempDir {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let kind = rustix::fs::statfs(dir.path()).unwrap().f_type as i64;
    assert_ne!(kind, libc::TMPFS_MAGIC, "CARGO_TARGET_DIR is a tmpfs");
    dir
}

/// A server with one disk, and whether it has io_uring.
fn served(dir: &TempDir) -> (Server, bool) {
    let disk = image(dir.path(), 4 << 20);
    let device = format!("a={},queues=2,registered_buffers", disk.display());
    let server = serve(dir.path(), Mode::Elvis, &[&device]);
    let uring = server.stats().unwrap().cores[0].engine == "io_uring";
    (server, uring)
}

fn buffers(server: &Server) -> CountedBuffers {
    server.stats().unwrap().cores[0].registered_buffers.clone()
}

/// KiB that the kernel has pinned for this process.
fn pinned() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmPin:"));
    let number = line.unwrap().split_whitespace().nth(1);
    number.unwrap().parse().unwrap()
}

#[test]
fn data_are_right_and_memory_is_given_up_at_the_end() {
    let _alone = ALONE.lock();
    let dir = folder();
    let (server, uring) = served(&dir);
    let before = pinned();
    let mut client = Client::connect(&socket(dir.path(), "a"), 2, 128, MEMORY);
    let disk = File::options().write(true).open(dir.path().join("image"));
    let disk = disk.unwrap();
    for queue in [0, 1] {
        verify(&mut client, queue, 1024, 3_000, 32, 42 + queue as u64);
        // Zeros for the next queue.
        disk.set_len(0).unwrap();
        disk.set_len(4 << 20).unwrap();
    }
    let counted = buffers(&server);
    if uring {
        assert_eq!(counted.refused, None);
        assert!(counted.requests >= 6_000, "{counted:?}");
        // The buffers and the rings, registered once for both queues.
        assert!((MEMORY..2 * MEMORY).contains(&counted.bytes), "{counted:?}");
        assert!(pinned() >= before + MEMORY / 1024);
    } else {
        assert_eq!((counted.bytes, counted.requests), (0, 0));
    }
    drop(client);
    // The next connection is served after the last one is torn down.
    let client = Client::connect(&socket(dir.path(), "a"), 1, 16, MEMORY);
    assert!(buffers(&server).bytes < 2 * MEMORY);
    drop(client);
    drop(server);
    // The kernel tears down a closed io_uring asynchronously.
    until("memory that is no longer pinned", || {
        (pinned() <= before).then_some(())
    });
}

/// Regions are added and removed while requests on them are in flight.
#[test]
fn a_region_is_removed_under_load() {
    let _alone = ALONE.lock();
    let dir = folder();
    let (server, uring) = served(&dir);
    let mut client = Client::connect(&socket(dir.path(), "a"), 1, 128, MEMORY);
    let disk = File::open(dir.path().join("image")).unwrap();
    let mut stays = 0;
    for round in 1..=ROUNDS {
        let file = memfd(MEMORY);
        // SAFETY: a memory file of this process; only the device under test writes to it too.
        let mut guest = unsafe { MmapMut::map_mut(&file) }.unwrap();
        let (address, bytes) = (guest.as_mut_ptr() as usize, guest.len());
        guest.fill(round);
        let transport = &mut client.transport;
        transport
            .map_mem_region(address, bytes, file.as_raw_fd(), 0)
            .unwrap();
        for slot in 0..32 {
            let place = (address + slot * 4096) as *const u8;
            // SAFETY: it is in the mapping, which lives until the replies have arrived.
            unsafe { client.queues[0].write_raw(slot as u64 * 4096, place, 4096, slot) }.unwrap();
            client.kick(0);
        }
        // At least one was taken. Of the others some are in flight, and some may still be in the ring.
        let (first, result) = client.reply(0);
        assert_eq!(result, 0);
        // The reply comes when none of them is in flight.
        client.transport.unmap_mem_region(address, bytes).unwrap();
        // Requests not taken before refer to removed memory: only those taken succeed.
        let counted = buffers(&server);
        if round == 1 {
            stays = counted.bytes;
        }
        assert_eq!(counted.bytes, stays, "round {round}");
        assert_eq!(counted.refused, None);
        let replies = client.queues[0].completions().filter(|it| it.ret == 0);
        let done: Vec<usize> = std::iter::once(first)
            .chain(replies.map(|it| it.context))
            .collect();
        for &slot in &done {
            let mut data = [0; 4096];
            disk.read_exact_at(&mut data, slot as u64 * 4096).unwrap();
            assert_eq!(data, [round; 4096], "round {round}, block {slot}");
        }
        if done.len() < 32 {
            // The ring referred to removed memory, which ends its service.
            drop(client);
            client = Client::connect(&socket(dir.path(), "a"), 1, 128, MEMORY);
            assert_eq!(client.write(0, round), 0);
            assert_eq!(client.read(0), (0, vec![round; 4096]));
        }
    }
    assert!(!uring || buffers(&server).requests >= ROUNDS.into());
}

/// Memory that the kernel can't pin: its file is truncated, in an unused part.
#[test]
fn what_cannot_be_registered_is_used_as_it_is() {
    let _alone = ALONE.lock();
    let dir = folder();
    let (server, uring) = served(&dir);
    let memory = memfd(2 * MEMORY);
    let features = VirtioFeatureFlags::all().bits();
    let path = socket(dir.path(), "a");
    let mut client = Client::with_memory(&path, 1, 128, memory, features);
    client.memory_file.set_len(MEMORY).unwrap();
    // Adding a region registers all of them again.
    let file = memfd(MEMORY);
    // SAFETY: a memory file of this process that is not accessed.
    let other = unsafe { MmapMut::map_mut(&file) }.unwrap();
    let transport = &mut client.transport;
    transport
        .map_mem_region(other.as_ptr() as usize, other.len(), file.as_raw_fd(), 0)
        .unwrap();
    verify(&mut client, 0, 1024, 3_000, 32, 7);
    let counted = buffers(&server);
    if uring {
        assert!(counted.refused.is_some(), "{counted:?}");
    }
    assert_eq!(counted.requests, 0);
}
