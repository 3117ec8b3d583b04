//! Makes text from guests and files safe to show.
//!
//! A guest chooses the strings in its records, and a result file may come from anybody: both may
//! contain terminal escapes, text-direction overrides or HTML. Code that prints such a string must
//! first escape it with the function for its output format.

mod escape;
mod width;

pub use escape::{console, html, markdown, spreadsheet, terminal};
pub use width::{aligned, pad_left, pad_right, width, wrapped};
