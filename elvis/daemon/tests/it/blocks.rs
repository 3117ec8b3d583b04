//! Disks whose blocks are larger than a sector, as of a device of 4 KiB blocks with O_DIRECT.

use crate::client::{Client, add_disk, image, serve, socket};
use crate::raw::{DATA, Raw};
use elvis::storage::{Blocks, Disk};
use elvis_policy::simulation::Mode;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Request types (VIRTIO 1.2, section 5.2.6).
const READ: u64 = 0;
const WRITE: u64 = 1;
const IO_ERROR: u8 = 1;

const LARGE: Blocks = Blocks {
    logical: 4096,
    physical: 8192,
    ranges: 4096,
    memory: 4096,
    length: 4096,
};

/// What is not of whole blocks fails and is counted, and nothing is written; the driver is told the size of blocks.
#[test]
fn requests_are_of_whole_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let path = image(dir.path(), 1 << 20);
    let file = File::options().read(true).write(true).open(&path).unwrap();
    let server = serve(dir.path(), Mode::Elvis, &[]);
    let disk = Disk::given(file, 1 << 20, LARGE, false).unwrap();
    add_disk(&server, &socket(dir.path(), "a"), disk);
    let client = Client::connect(&socket(dir.path(), "a"), 1, 16, 1 << 20);
    let config = client.transport.get_config().unwrap();
    assert_eq!(u32::from(config.blk_size), 4096);
    assert_eq!(
        (config.physical_block_exp, u16::from(config.min_io_size)),
        (1, 2)
    );
    assert_eq!(u32::from(config.discard_sector_alignment), 8);
    drop(client);
    let mut raw = Raw::connect(&socket(dir.path(), "a"));
    raw.start(0);
    // Of every length and place of up to two blocks.
    let mut unaligned = 0;
    for kind in [READ, WRITE] {
        for (sector, sectors) in (0..=16).flat_map(|at| (1..=16).map(move |count| (at, count))) {
            let data = (DATA, sectors * 512, kind == READ);
            let status = raw.request(kind, sector, &[data]);
            let whole = sector % 8 == 0 && sectors % 8 == 0;
            assert_eq!(
                status == 0,
                whole,
                "{sectors} sectors at {sector}: {status}"
            );
            assert!(whole || status == IO_ERROR);
            unaligned += u64::from(!whole);
        }
    }
    // In parts of any length, which the file would not take.
    let parts = [(DATA + 1, 100, false), (DATA + 512, 3996, false)];
    let written = raw.driver.memory().span(DATA, 8192).unwrap();
    (0..8192)
        .for_each(|at| written.store_u8(at, at as u8 | 1, std::sync::atomic::Ordering::Relaxed));
    assert_eq!(raw.request(WRITE, 8, &parts), 0);
    assert_eq!(raw.request(WRITE, 9, &parts), IO_ERROR);
    let mut found = [0; 8192];
    File::open(&path)
        .unwrap()
        .read_exact_at(&mut found, 4096)
        .unwrap();
    let wanted = (1..101).chain(512..4508).map(|at| at as u8 | 1);
    assert!(wanted.eq(found[..4096].iter().copied()) && found[4096..] == [0; 4096]);
    let stats = server.stats().unwrap().devices["a"][0].clone();
    assert_eq!(
        (stats.unaligned, stats.errors),
        (unaligned + 1, unaligned + 1)
    );
}

/// A real file with O_DIRECT: what its device is told is possible.
#[test]
fn a_direct_disk_takes_the_blocks_that_it_names() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = dir.path().join("image");
    std::fs::write(&path, vec![3; (1 << 20) + 100]).unwrap();
    let device = format!("a={},direct", path.display());
    let server = serve(dir.path(), Mode::Elvis, &[&device]);
    let block = server.list()[0].block_bytes.unwrap();
    assert!(block == 512 || block == 4096, "{block}");
    // The rest is no whole block.
    assert_eq!(server.list()[0].bytes, Some(1 << 20));
    let mut raw = Raw::connect(&socket(dir.path(), "a"));
    raw.start(0);
    for (at, sector) in (0..1 << 20)
        .step_by(block as usize)
        .zip((0u64..).step_by(block as usize / 512))
    {
        if at > 1 << 16 && at < (1 << 20) - (1 << 16) {
            continue;
        }
        assert_eq!(raw.request(WRITE, sector, &[(DATA, block, false)]), 0);
        // Buffers that are aligned to nothing.
        let parts = [(DATA + 5, 7, true), (DATA + 1001, block - 7, true)];
        assert_eq!(raw.request(READ, sector, &parts), 0);
    }
    let stats = server.stats().unwrap().devices["a"][0].clone();
    assert_eq!((stats.unaligned, stats.errors), (0, 0));
}
