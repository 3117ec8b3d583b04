//! An explained operation as text, as JSON, as folded stacks, as a flame graph.

mod flame;
mod json;
mod left_out;
mod lines;
mod reckoning;
mod table;
mod text;

pub use flame::FlameError;
pub use json::JsonError;
pub use table::{RegisterRow, RegisterTable};
pub use text::Shown;
