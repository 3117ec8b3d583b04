//! One launch: turns a machine's console into the outcome of each benchmark.

pub mod follow;
pub mod limits;
mod line;
pub mod listen;
mod marks;
pub mod state;
