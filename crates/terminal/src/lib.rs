//! Output to the user, and the user's signals. Knows nothing of machines or results.

pub mod columns;
pub mod output;
mod progress;
mod stop;
pub mod time;

pub use output::Colours;
pub use progress::Progress;
pub use stop::{Stop, Why};
