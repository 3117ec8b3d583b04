//! Lists platforms, benchmarks, machines of the lab, and papers, as text and as JSON.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod benchmarks;
pub mod papers;
mod platforms;
mod recipe;
mod recipes;
pub mod words;

pub use benchmarks::{Benchmarks, benchmarks};
pub use platforms::{Platforms, platforms};
pub use recipe::recipe;
pub use recipes::{Listed, recipes};
