//! A launch: turns a machine's console into the outcome of each benchmark.

mod below;
pub mod follow;
pub mod limits;
mod line;
pub mod listen;
mod marks;
pub mod state;
