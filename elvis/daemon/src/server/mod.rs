//! The running back-end: I/O threads, devices and their sockets.

mod accept;
mod channel;
mod core;
mod device;
mod frontend;
mod iothread;
mod kind;
mod notify;
mod pending;
mod queue;
mod ringfile;
mod stats;
mod threads;
mod wake;

pub use accept::Accepting;
pub use channel::Notice;
pub use device::{Device, DeviceSpec, listen};
pub use iothread::{IoThread, IoThreadSpec};
pub use kind::{BackingSpec, Blk, BlkSpec, Kind, KindSpec, NetSpec};
pub use stats::{CoreStats, FrameCounts, QueueStats};
pub use threads::Threads;
pub use wake::measure_wake_ns;
