//! Outcome of launches: rows, the identity of a result, and the folder of results.

pub mod digits;
pub mod exits;
pub mod folder;
pub mod gather;
pub mod identity;
pub mod remarks;
pub mod row;
