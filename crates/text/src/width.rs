//! Columns that text takes on a terminal.

use unicode_width::UnicodeWidthStr;

/// Columns of `text`, which holds no control characters.
pub fn width(text: &str) -> usize {
    text.width()
}

/// `text` at the left of `columns`; longer text stays whole.
pub fn pad_right(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// `text` at the right of `columns`; longer text stays whole.
pub fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}
