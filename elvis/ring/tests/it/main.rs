//! Tests of rings, with drivers that follow the rules and drivers that break them.

#![allow(clippy::unwrap_used, clippy::too_many_lines)]

#[path = "../common/mod.rs"]
mod common;
mod hostile;
mod rules;
mod threads;
