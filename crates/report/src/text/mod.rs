//! Text from guests and from files, made safe to show.
//!
//! A guest chooses the strings in its records, and a result file may come from anybody: either
//! may hold terminal escapes, text-direction overrides, HTML. Whoever prints such a string passes
//! it through the function here that is made for the medium..

mod escape;
mod width;

pub use escape::{console, html, markdown, spreadsheet, terminal};
pub use width::{pad_left, pad_right, width};
