//! The line protocol of `docs/records.md`: turns what guests, monitors and other programs inside a
//! machine write to its serial line into typed records and console text.
//!
//! Everything here is total: it accepts any bytes in any chunking, never panics, and its memory is
//! bounded. Strings in records are as untrusted as the guest that wrote them: escape them
//! (`ws_text`) before they are shown.
//!
//! `tests/it/decoder.rs` specifies the decoder as tests; `tests/it/properties.rs` is the fuzz
//! target: it feeds generated streams of valid, damaged and foreign lines. `cargo test` runs some
//! hundreds of cases of each property. A long run, on stable Rust:
//!
//! ```text
//! PROPTEST_CASES=1000000 cargo test -p ws-records --test it properties::
//! ```

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)
)]

mod assemble;
mod decoder;
mod encode;
mod exits;
mod kinds;
mod line;
mod mark;

pub use assemble::{AssembleError, BenchResult, MAX_SAMPLES, ResultAssembler};
pub use decoder::{Counts, Decoder, Expect, Item, Record};
pub use encode::{EncodeError, Encoder};
pub use exits::Exits;
pub use kinds::{Begin, Bye, CheckVerdict, End, Fault, Hello, Kind, ResultPart, Skip};
pub use line::{BadNonce, MAX_LINE_BYTES, Nonce};
pub use mark::Mark;
