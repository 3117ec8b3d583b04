//! The line protocol of `docs/records.md`: what guests, monitors and others that run inside a
//! machine say on its serial line, turned into typed records and console text.
//!
//! Everything here is total: any bytes may come in, in any chunking, and nothing panics or grows
//! beyond a fixed bound. Strings inside records are as hostile as the guest that wrote them;
//! whoever shows them escapes them (`ws_report::text`).
//!
//! `tests/decoder.rs` is the specification as tests; `tests/properties.rs` is the fuzz target: it
//! feeds made-up streams of valid, damaged and foreign lines. `cargo test` runs some hundreds of
//! cases of each property. A long run, on stable Rust:
//!
//! ```text
//! PROPTEST_CASES=1000000 cargo test --release -p ws-records --test it properties::
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

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
