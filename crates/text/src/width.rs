//! Width and padding of text in terminal columns.

use unicode_width::UnicodeWidthStr;

/// Number of columns of `text`, which must not contain control characters.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Pads `text` on the right to `columns`; longer text is not cut.
pub fn pad_right(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Pads `text` on the left to `columns`; longer text is not cut.
pub fn pad_left(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Wraps a text of words into lines of at most `columns`, except for a word that is longer. Later lines begin with
/// `indent`. Width is that of [`width`].
pub fn wrapped(text: &str, columns: usize, indent: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("{indent}{word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines
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

    #[test]
    fn words_are_wrapped_and_none_is_lost() {
        assert_eq!(wrapped("a bc def", 4, "  "), ["a bc", "  def"]);
        assert_eq!(wrapped("abcdef g", 3, ""), ["abcdef", "g"]);
        assert_eq!(wrapped("", 3, ""), [""]);
    }
}
