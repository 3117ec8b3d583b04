//! The decoder from outside, as one program: each more would be linked for itself.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod decoder;
mod marks;
mod properties;
