//! Makes text from guests and files safe to show; writes numbers, colours and tables as text.
//!
//! A guest chooses the strings in its records, and a result file may come from anybody: both may
//! contain terminal escapes, text-direction overrides or HTML. Code that prints such a string must
//! first escape it with the function for its output format. [`Sheet`] escapes what it draws.

mod block;
mod escape;
mod list;
pub mod number;
mod sheet;
mod style;
mod width;

pub use block::Block;
pub use escape::{console, html, markdown, spreadsheet, terminal};
pub use list::and;
pub use sheet::{Column, Set, Sheet, below_in_markdown, below_on_terminal};
pub use style::{Ink, Style};
pub use width::{pad_left, pad_right, width, wrapped};
