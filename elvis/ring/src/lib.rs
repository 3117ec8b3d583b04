//! Split virtqueues (VIRTIO 1.2, section 2.7), seen from the device, in memory that is shared with
//! drivers which nobody trusts.
//!
//! What a driver may change at any time is read once, checked, and then used; a ring that breaks
//! the rules is an error of that ring. `unsafe` lies in four modules, [`mapping`] (what is mapped,
//! and for how long), [`span`] (each access to it), [`piece`] (what system calls may access of it) and
//! [`sigbus`] (memory whose file was shortened), and in small blocks of [`chain`] and [`memory`], which
//! keep addresses of what is mapped. Nothing
//! here waits, allocates per request, or knows what a request means.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod chain;
pub mod dirty;
pub mod driver;
pub mod inflight;
pub mod mapping;
pub mod memory;
pub mod piece;
pub mod ring;
pub mod sigbus;
pub mod span;

pub use chain::{Chain, Segment};
pub use dirty::DirtyLog;
pub use inflight::Inflight;
pub use mapping::Mapping;
pub use memory::{Memory, Region};
pub use piece::Piece;
pub use ring::{Look, Ring, RingAddresses, RingError};
pub use span::Span;
