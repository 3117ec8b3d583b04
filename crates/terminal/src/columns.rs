//! Output of lists: columns for people, JSON for programs.

use serde::Serialize;
use ws_text::{Set, Sheet};

/// Formats a value as indented JSON with a final newline.
///
/// # Errors
/// Only a bug in this program makes it fail.
pub fn json(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// Formats lines of aligned columns of text under their heads.
pub fn columns<const N: usize>(
    heads: [&str; N],
    lines: impl Iterator<Item = [String; N]>,
) -> String {
    let mut sheet = Sheet::new(heads.map(|head| (head, Set::Text)));
    sheet.extend(lines);
    sheet.to_terminal("")
}
