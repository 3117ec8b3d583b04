//! Tables and pages from outside, as one program: each more would be linked for itself.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod external;
mod nested;
mod page;
mod show;
mod stated;
mod suite;
mod support;
mod table;
