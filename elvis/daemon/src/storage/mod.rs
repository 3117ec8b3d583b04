//! Disks (null, RAM, file or block device), and the engines that access files.

mod blocks;
mod buffers;
mod disk;
mod engine;
mod pool;
mod syncs;
mod uring;

pub use blocks::Blocks;
pub use buffers::{Counted as CountedBuffers, Registered};
pub use disk::{Disk, DiskError, Source, Storage};
pub use engine::{Engine, Job, Operation};
pub use syncs::Syncs;
