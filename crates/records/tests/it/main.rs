//! Tests of the decoder's public interface, in one program to link only once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)]

mod decoder;
mod marks;
mod properties;
