//! What the user sees, and how the user stops it. Knows nothing of machines or results.

pub mod columns;
pub mod output;
pub mod progress;
pub mod stop;
pub mod time;
