//! Output of lists: columns for people, JSON for programs.

use ws_report::text::{pad_right, terminal};

/// Indented JSON with a final newline.
pub fn pretty(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

/// Lines of aligned columns under their heads. Control characters in cells are escaped.
pub fn columns<const N: usize>(
    heads: [&str; N],
    lines: impl Iterator<Item = [String; N]>,
) -> String {
    let mut all = vec![heads.map(str::to_owned)];
    all.extend(lines.map(|line| line.map(|cell| terminal(&cell).into_owned())));
    let mut widths = [0; N];
    for line in &all {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = ws_report::text::width(cell).max(*width);
        }
    }
    let mut text = String::new();
    for line in &all {
        let cells: Vec<String> = line
            .iter()
            .zip(widths)
            .map(|(cell, width)| pad_right(cell, width))
            .collect();
        text += cells.join("  ").trim_end();
        text.push('\n');
    }
    text
}
