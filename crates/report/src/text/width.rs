//! Width and padding of text in terminal columns.

use unicode_width::UnicodeWidthStr;

/// The columns of `text`, which must not contain control characters.
pub fn width(text: &str) -> usize {
    text.width()
}

/// `text` left-aligned in `columns`; longer text is not cut.
pub fn pad_right(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// `text` right-aligned in `columns`; longer text is not cut.
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
