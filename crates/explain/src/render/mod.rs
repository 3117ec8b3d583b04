//! An explained operation as text, as JSON, as folded stacks, as a flame graph.

mod flame;
mod json;
pub(crate) mod number;
mod reckoning;
mod text;

pub use flame::FlameError;
pub use json::JsonError;
pub use text::Shown;
