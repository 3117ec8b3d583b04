//! A disk that loses its power, and one whose syncs fail: the daemon's disk behind `layer.c`, which says how.

#![allow(dead_code, clippy::unwrap_used)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

pub const BLOCK: usize = 4096;
pub const BLOCKS: usize = 64;
/// Bytes of `struct control` before `dirty`.
const COUNTERS: usize = 20;

/// The library, compiled once.
static LIBRARY: LazyLock<(tempfile::TempDir, PathBuf)> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let library = dir.path().join("layer.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/layer/layer.c");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-O2", "-shared", "-fPIC", "-o"])
        .arg(&library);
    assert!(compiler.args([source, "-ldl"]).status().unwrap().success());
    (dir, library)
});

/// What the layer has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// The sync that fails: 1 is the next one, 0 none.
    pub fail_in: u32,
    /// Syncs, of all data or of one write.
    pub syncs: u32,
    /// Syncs that failed.
    pub failed: u32,
    /// Writes, of data or zeros.
    pub writes: u32,
    /// Those that were synced before they ended.
    pub synced_writes: u32,
}

/// A disk of [`BLOCKS`] blocks of zeros.
pub struct Layer {
    dir: tempfile::TempDir,
    image: File,
    stable: File,
    control: File,
}

impl Layer {
    pub fn new() -> Self {
        // Not on a tmpfs, where elvis writes by itself, and nothing waits for a disk.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let file = |name: &str, bytes: usize| {
            let mut options = File::options();
            let options = options.read(true).write(true).create_new(true);
            let file = options.open(dir.path().join(name)).unwrap();
            file.set_len(bytes as u64).unwrap();
            file
        };
        Self {
            image: file("image", BLOCK * BLOCKS),
            stable: file("stable", BLOCK * BLOCKS),
            control: file("control", COUNTERS + BLOCKS),
            dir,
        }
    }

    /// `elvis serve` with this disk at a socket.
    pub fn serve(&self, socket: &Path, threads_only: bool) -> Command {
        self.serve_with(socket, "", threads_only)
    }

    /// The same with words for the disk, such as `,migratable`.
    pub fn serve_with(&self, socket: &Path, words: &str, threads_only: bool) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_elvis"));
        let image = self.dir.path().join("image");
        let device = format!("{}={}{words}", socket.display(), image.display());
        command.args(["serve", "--blk", &device]);
        if threads_only {
            command.arg("--threads-only");
        }
        command
            .env("LD_PRELOAD", &LIBRARY.1)
            .env("LAYER", self.dir.path());
        command
    }

    pub fn counted(&self) -> Counted {
        let mut bytes = [0; COUNTERS];
        self.control.read_exact_at(&mut bytes, 0).unwrap();
        let word = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| bytes[at + byte]));
        Counted {
            fail_in: word(0),
            syncs: word(4),
            failed: word(8),
            writes: word(12),
            synced_writes: word(16),
        }
    }

    /// Lets the sync of this number fail: 1 is the next one, 0 none. No request is in flight.
    pub fn fail_in(&self, syncs: u32) {
        self.control.write_all_at(&syncs.to_ne_bytes(), 0).unwrap();
    }

    /// What a reader sees while the power is on.
    pub fn block(&self, block: usize) -> [u8; BLOCK] {
        read(&self.image, block)
    }

    /// The power is lost, after the daemon was killed. Blocks that were not synced are lost, but for some that the kernel
    /// had written by itself: those that `by_itself` chooses.
    pub fn lose_power(&self, mut by_itself: impl FnMut() -> bool) {
        let mut dirty = [0; BLOCKS];
        let at = COUNTERS as u64;
        self.control.read_exact_at(&mut dirty, at).unwrap();
        for block in (0..BLOCKS).filter(|&block| dirty[block] != 0) {
            if by_itself() {
                let data = read(&self.image, block);
                self.stable.write_all_at(&data, place(block)).unwrap();
            }
        }
        for block in 0..BLOCKS {
            let data = read(&self.stable, block);
            self.image.write_all_at(&data, place(block)).unwrap();
        }
        self.control.write_all_at(&[0; BLOCKS], at).unwrap();
    }
}

fn place(block: usize) -> u64 {
    (block * BLOCK) as u64
}

fn read(file: &File, block: usize) -> [u8; BLOCK] {
    let mut data = [0; BLOCK];
    file.read_exact_at(&mut data, place(block)).unwrap();
    data
}
