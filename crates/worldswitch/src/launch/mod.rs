//! One launch: a machine's console, byte by byte, becomes what happened to each benchmark.

pub mod follow;
pub mod limits;
mod line;
pub mod listen;
mod marks;
pub mod state;
