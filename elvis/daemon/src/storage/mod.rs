//! Where a disk's data is: nowhere, in RAM, or in a file or block device.

mod buffers;
mod disk;
mod engine;
mod pool;
mod uring;

pub use buffers::{Counted as CountedBuffers, Registered};
pub use disk::{Disk, DiskError, Source};
pub use engine::{Engine, Job, Operation};
