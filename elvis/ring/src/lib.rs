//! The device side of virtqueues, split and packed (VIRTIO 1.2, sections 2.7 and 2.8), in memory shared
//! with untrusted drivers.
//!
//! Values that a driver may change at any time are read once, checked, and then used. A ring that breaks the rules
//! returns an error, which affects no other ring. `unsafe` is in four modules: [`mapping`] (mapped memory, and its
//! lifetime), [`span`] (every access to it), [`piece`] (memory for system calls) and [`sigbus`] (memory whose file was
//! truncated); and in small blocks of [`chain`] and [`memory`], which store mapped addresses. Nothing here blocks,
//! allocates per request, or interprets requests.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

pub mod chain;
pub mod dirty;
pub mod driver;
pub mod inflight;
#[cfg(test)]
mod killed;
pub mod mapping;
pub mod memory;
mod packed;
pub mod piece;
pub mod progress;
pub mod ring;
pub mod sigbus;
pub mod span;
mod split;

pub use chain::{Chain, Segment};
pub use dirty::DirtyLog;
pub use inflight::Inflight;
pub use mapping::Mapping;
pub use memory::{Memory, Region};
pub use piece::Piece;
pub use ring::{Look, Part, RecordError, Ring, RingAddresses, RingError, Visited};
pub use span::Span;
