//! Where a disk's data is: nowhere, in RAM, or in a file or block device.

mod disk;
mod engine;
mod pool;
mod uring;

pub use disk::{Disk, DiskError, Source};
pub use engine::{Engine, Job, Operation};
