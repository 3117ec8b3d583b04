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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(width("ab"), 2);
        assert_eq!(width("\u{65e5}\u{672c}"), 4);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(pad_right("\u{65e5}", 4), "\u{65e5}  ");
        assert_eq!(pad_left("\u{65e5}", 4), "  \u{65e5}");
        assert_eq!(pad_left("long", 2), "long");
    }
}
