//! Rings with drivers that keep the rules and with those that break them.

#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod hostile;
mod rules;
