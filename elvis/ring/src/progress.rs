//! The memory in which a packed ring whose requests end in order keeps how far it got, for the process after this
//! one ([`crate::Ring::keep`]; how: `packed/progress.rs`).

pub use crate::packed::progress::{bytes, clear, says};
pub use crate::ring::LARGEST;
