//! The memory in which a packed ring whose requests end in order keeps how far it got, for the process after this
//! one ([`crate::Ring::keep`]; how: `packed/progress.rs`).

use crate::Span;
use crate::packed::progress;

/// Bytes for a ring of this size.
#[must_use]
pub fn bytes(size: u16) -> u64 {
    progress::bytes(size)
}

/// Clears a record: its ring was stopped, and the front-end was told where it continues.
pub fn clear(region: &Span) {
    progress::clear(region);
}

/// Whether a record says where some ring continues.
#[must_use]
pub fn says(region: &Span) -> bool {
    progress::says(region)
}
