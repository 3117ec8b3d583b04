//! Output of lists: columns for people, JSON for programs.

use serde::Serialize;
use ws_text::{aligned, terminal};

/// Formats a value as indented JSON with a final newline.
///
/// # Errors
/// Only a bug in this program makes it fail.
pub fn json(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// Formats lines of aligned columns under their heads. Control characters in cells are escaped.
pub fn columns<const N: usize>(
    heads: [&str; N],
    lines: impl Iterator<Item = [String; N]>,
) -> String {
    let mut all = vec![heads.map(str::to_owned)];
    all.extend(lines.map(|line| line.map(|cell| terminal(&cell).into_owned())));
    aligned(&all, |_| true).join("\n") + "\n"
}
