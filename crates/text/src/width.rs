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

/// Aligns the lines of a table. Columns are two spaces apart and as wide as their widest cell. `is_left` selects the
/// columns that are padded on the right, as text, rather than on the left, as numbers. Cells are not escaped. All lines
/// must have the same number of cells.
pub fn aligned<L: AsRef<[String]>>(lines: &[L], is_left: impl Fn(usize) -> bool) -> Vec<String> {
    let columns = lines.first().map_or(0, |line| line.as_ref().len());
    let cell = |line: &L, column: usize| line.as_ref().get(column).map_or(0, |text| width(text));
    let widest = |column| lines.iter().map(|line| cell(line, column)).max();
    let widths: Vec<usize> = (0..columns).filter_map(widest).collect();
    let aligned = |line: &L| {
        let cells = line.as_ref().iter().zip(&widths).enumerate();
        let padded = cells.map(|(column, (text, width))| match is_left(column) {
            true => pad_right(text, *width),
            false => pad_left(text, *width),
        });
        let text = padded.collect::<Vec<_>>().join("  ");
        text.trim_end().to_owned()
    };
    lines.iter().map(aligned).collect()
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
