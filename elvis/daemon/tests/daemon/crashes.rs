//! A VM whose daemon is killed, whose disk loses its power, and whose syncs fail, at random moments: each write that was
//! acknowledged and flushed is there afterwards.
//!
//! `CRASH_ROUNDS` is the number of rounds, `CRASH_SEED` makes the same choices again. (When the daemon is killed within
//! a request is not a choice.)

use super::daemon::Daemon;
use super::durable::{CACHED, CHOOSING, UNCACHED, reconnect, set_writeback};
use super::random::{Random, number};
use crate::client::{LIMIT, pause, socket};
use crate::layer::{BLOCK, BLOCKS, Layer};
use crate::raw::{DATA, Features, RING_PACKED, Raw};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Rounds of `make test`; tests/steps has those of `make test-long`.
const ROUNDS: u64 = 20;
/// Requests that may be in flight.
const DEPTH: usize = 8;
const HEADERS: u64 = 0x4_0000;

const WRITE: u64 = 1;
const FLUSH: u64 = 4;
const DISCARD: u64 = 11;
const ZERO: u64 = 13;
const OK: u8 = 0;

/// All that is known of a block: its versions, oldest first, each by the word of which it is full.
struct Block {
    words: Vec<u64>,
    /// The last one that was acknowledged: a reader must see it, or a later one.
    acknowledged: usize,
    /// The last one that must be there after the power was lost.
    stable: usize,
    /// Those up to here may have been lost by a sync that failed, of which the guest knows.
    doubtful: Option<usize>,
    /// A request for it is in flight.
    busy: bool,
}

impl Block {
    fn last(&self) -> usize {
        self.words.len() - 1
    }

    fn stable_at(&mut self, version: usize) {
        if self.doubtful.is_none_or(|doubtful| version > doubtful) {
            self.stable = self.stable.max(version);
        }
    }

    /// A part of the block may be of another version than the rest: a crash may tear a write that was not acknowledged.
    fn assert_holds(&self, data: &[u8; BLOCK], oldest: usize, what: &str) {
        for word in data.chunks_exact(8) {
            let word = u64::from_ne_bytes(word.try_into().unwrap());
            let found = self.words[oldest..].contains(&word);
            assert!(
                found,
                "{what}: {word}, not from {:?}",
                &self.words[oldest..]
            );
        }
    }
}

/// A request in flight.
enum Sent {
    /// The block gets this version; which a discard does not promise.
    Change {
        block: usize,
        version: usize,
        promised: bool,
    },
    /// What was acknowledged before.
    Flush { acknowledged: Vec<usize> },
}

struct Crashes {
    random: Random,
    layer: Layer,
    path: PathBuf,
    daemon: Option<Daemon>,
    features: Features,
    raw: Raw,
    blocks: Vec<Block>,
    slots: [Option<(u16, Sent)>; DEPTH],
    /// Syncs that had failed when the daemon started.
    failed: u32,
    counted: Counted,
    _dir: tempfile::TempDir,
}

/// What has happened, so that a test in which nothing did fails.
#[derive(Debug, Default)]
struct Counted {
    requests: u64,
    flushed: u64,
    refused: u64,
    kills: u64,
    connections: u64,
    power_losses: u64,
    /// Blocks that were older than what a reader saw, after the power was lost.
    lost: u64,
}

impl Crashes {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let dir = tempfile::tempdir().unwrap();
        let layer = Layer::new();
        let path = socket(dir.path(), "a");
        let command = layer.serve(&path, random.one_in(2));
        let daemon = Some(Daemon::listening(command, &path));
        let (features, raw) = start_vm(&path, &mut random);
        let block = || Block {
            words: vec![0],
            acknowledged: 0,
            stable: 0,
            doubtful: None,
            busy: false,
        };
        Self {
            random,
            layer,
            path,
            daemon,
            features,
            raw,
            blocks: (0..BLOCKS).map(|_| block()).collect(),
            slots: [const { None }; DEPTH],
            failed: 0,
            counted: Counted::default(),
            _dir: dir,
        }
    }

    /// Submits a request in a free slot. Each has a header, data and a status of its own.
    fn submit(&mut self, slot: usize) {
        let number = self.counted.requests;
        self.counted.requests += 1;
        let kind = match self.random.below(20) {
            0..3 if self.features != UNCACHED => FLUSH,
            3 => DISCARD,
            4 | 5 => ZERO,
            _ => WRITE,
        };
        let block = self.random.below(BLOCKS as u64) as usize;
        if kind != FLUSH && self.blocks[block].busy {
            return;
        }
        let (header, data) = (HEADERS + slot as u64 * 64, DATA + (slot * BLOCK) as u64);
        let sector = (block * BLOCK / 512) as u64;
        let memory = self.raw.driver.memory();
        let span = memory.span(header, 64).unwrap();
        span.store_u64(0, kind, Ordering::Relaxed);
        span.store_u64(8, if kind == WRITE { sector } else { 0 }, Ordering::Relaxed);
        span.store_u8(32, 0xff, Ordering::Relaxed);
        let mut change = |word: u64, promised: bool| {
            let known = &mut self.blocks[block];
            known.busy = true;
            known.words.push(word);
            let version = known.last();
            Sent::Change {
                block,
                version,
                promised,
            }
        };
        let (sent, bytes) = match kind {
            FLUSH => {
                let acknowledged = self.blocks.iter().map(|block| block.acknowledged);
                (
                    Sent::Flush {
                        acknowledged: acknowledged.collect(),
                    },
                    Vec::new(),
                )
            }
            WRITE => (
                change(number + 1, true),
                [number + 1; BLOCK / 8].map(u64::to_ne_bytes).concat(),
            ),
            _ => {
                let range = [sector, (BLOCK / 512) as u64];
                (
                    change(0, kind == ZERO),
                    range.map(u64::to_ne_bytes).concat(),
                )
            }
        };
        self.raw.memory.write_all_at(&bytes, data).unwrap();
        let mut buffers = vec![(header, 16, false)];
        if !bytes.is_empty() {
            buffers.push((data, bytes.len() as u32, false));
        }
        buffers.push((header + 32, 1, true));
        let head = self.raw.driver.submit(&buffers).unwrap();
        self.slots[slot] = Some((head, sent));
        self.raw.kick();
    }

    /// Takes a reply, if there is one.
    fn reply(&mut self) -> bool {
        let Some((head, _)) = self.raw.driver.reply() else {
            return false;
        };
        let is =
            |slot: &Option<(u16, Sent)>| slot.as_ref().is_some_and(|(other, _)| *other == head);
        let slot = self.slots.iter().position(is).expect("acknowledged twice");
        let (_, sent) = self.slots[slot].take().unwrap();
        let status = self.raw.status(slot as u64);
        if status == OK {
            self.counted.flushed += u64::from(matches!(sent, Sent::Flush { .. }));
        } else {
            self.counted.refused += 1;
            // The only errors are of syncs, until the daemon opens the disk anew.
            assert!(self.layer.counted().failed > self.failed, "status {status}");
        }
        match sent {
            Sent::Change {
                block,
                version,
                promised,
            } => {
                let block = &mut self.blocks[block];
                block.busy = false;
                if status == OK && promised {
                    block.acknowledged = version;
                    if self.features != CACHED {
                        block.stable = version;
                    }
                }
            }
            Sent::Flush { acknowledged } if status == OK => {
                for (block, version) in self.blocks.iter_mut().zip(acknowledged) {
                    block.stable_at(version);
                }
            }
            Sent::Flush { .. } => {}
        }
        true
    }

    /// So many requests. Some may still be in flight afterwards.
    fn requests(&mut self, count: u64) {
        for _ in 0..count {
            let begun = Instant::now();
            let slot = loop {
                while self.reply() {}
                if let Some(slot) = self.slots.iter().position(Option::is_none) {
                    break slot;
                }
                assert!(begun.elapsed() < LIMIT, "waited {LIMIT:?} for a reply");
                pause(begun);
            };
            self.submit(slot);
        }
    }

    fn settle(&mut self) {
        let begun = Instant::now();
        while self.slots.iter().any(Option::is_some) {
            assert!(begun.elapsed() < LIMIT, "waited {LIMIT:?} for a reply");
            if !self.reply() {
                pause(begun);
            }
        }
    }

    /// kill -9. The page cache stays.
    fn kill(&mut self) {
        // Some replies are not seen before.
        for _ in 0..self.random.below(4) {
            self.reply();
        }
        self.daemon = None;
        self.counted.kills += 1;
        while self.reply() {}
        for (number, block) in self.blocks.iter_mut().enumerate() {
            let data = self.layer.block(number);
            block.assert_holds(
                &data,
                block.acknowledged,
                &format!("block {number}, killed"),
            );
        }
        // The next daemon opens the disk anew. The guest knows that what was written before a sync that failed is lost;
        // or the daemon was killed between the failure and the reply, of which no daemon can know.
        if self.layer.counted().failed > self.failed {
            for block in &mut self.blocks {
                if block.stable < block.last() {
                    block.doubtful = Some(block.last());
                }
            }
        }
    }

    fn start(&mut self) {
        self.failed = self.layer.counted().failed;
        let command = self.layer.serve(&self.path, self.random.one_in(2));
        self.daemon = Some(Daemon::listening(command, &self.path));
    }

    /// The host loses its power, and the VM with it. What is on the disk afterwards is known.
    fn lose_power(&mut self) {
        // Of its own, as the number of unsynced blocks depends on when the daemon was killed.
        let mut random = Random(self.random.next());
        self.layer.lose_power(|| random.one_in(3));
        self.counted.power_losses += 1;
        for (number, block) in self.blocks.iter_mut().enumerate() {
            let data = self.layer.block(number);
            block.assert_holds(
                &data,
                block.stable,
                &format!("block {number}, without power"),
            );
            let words = data.chunks_exact(8);
            let words = words.map(|word| u64::from_ne_bytes(word.try_into().unwrap()));
            let mut words: Vec<u64> = words.collect();
            words.dedup();
            self.counted.lost += u64::from(words != [block.words[block.acknowledged]]);
            // A torn block has several versions at once; all of them are there.
            *block = Block {
                acknowledged: 0,
                stable: 0,
                doubtful: None,
                busy: false,
                words,
            };
        }
        self.slots = [const { None }; DEPTH];
        self.start();
        (self.features, self.raw) = start_vm(&self.path, &mut self.random);
    }

    fn round(&mut self) {
        if self.random.one_in(3) {
            self.settle();
            self.layer.fail_in(1 + self.random.below(4) as u32);
        }
        let count = 5 + self.random.below(30);
        self.requests(count);
        match self.random.below(4) {
            0 => {
                reconnect(&mut self.raw, &self.path);
                self.raw.start_at(None);
                self.counted.connections += 1;
            }
            1 | 2 => {
                self.kill();
                self.start();
                self.raw.reconnect(&self.path);
                self.raw.start_at(None);
            }
            _ => {
                self.kill();
                self.lose_power();
            }
        }
    }
}

/// A VM that has just started: what its driver has chosen, and its rings.
fn start_vm(path: &std::path::Path, random: &mut Random) -> (Features, Raw) {
    let features = [CACHED, CACHED, UNCACHED, CHOOSING][random.below(4) as usize];
    // Split rings or packed ones.
    let without = features.without & if random.one_in(3) { !RING_PACKED } else { !0 };
    let mut raw = Raw::choosing(
        path,
        Features {
            without,
            ..features
        },
    );
    raw.track_inflight();
    if features == CHOOSING {
        set_writeback(&raw, false);
    }
    raw.start_at(None);
    (features, raw)
}

#[test]
fn what_was_flushed_survives_crashes() {
    let rounds = number("CRASH_ROUNDS");
    // The same choices in each `make test`, new ones in `make test-long`.
    let drawn = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        rounds.map_or(1, |_| now.as_nanos() as u64)
    };
    let seed = number("CRASH_SEED").unwrap_or_else(drawn);
    let rounds = rounds.unwrap_or(ROUNDS);
    println!("CRASH_SEED={seed} CRASH_ROUNDS={rounds}");
    let mut crashes = Crashes::new(seed);
    for _ in 0..rounds {
        crashes.round();
    }
    crashes.settle();
    crashes.kill();
    crashes.lose_power();
    let (counted, disk) = (&crashes.counted, crashes.layer.counted());
    println!("{counted:?} {disk:?}");
    if rounds >= ROUNDS {
        let happened = [
            counted.flushed,
            counted.refused,
            counted.kills,
            counted.connections,
            counted.power_losses,
            counted.lost,
            disk.synced_writes.into(),
        ];
        assert!(happened.iter().all(|&count| count > 0), "{counted:?}");
    }
}
