//! Escaping of untrusted text, one function per output format.

use std::borrow::Cow;
use std::fmt::Write;

/// Escapes text for one line on a terminal. Control characters (C0, C1, DEL), line separators, invisible characters,
/// and those that change the text direction become visible escapes in Rust's form (`\n`, `\u{1b}`). Backslashes stay,
/// so that escaping twice changes nothing.
pub fn terminal(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        push_safe(&mut out, c);
    }
    Cow::Owned(out)
}

/// Escapes raw console bytes, which are shown as lines. Escapes are those of [`terminal`], but `\n` is kept, a `\r`
/// before it is dropped, and bytes that are not UTF-8 become `\xNN`.
pub fn console(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        let mut chars = chunk.valid().chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\n' => out.push('\n'),
                '\r' if chars.peek() == Some(&'\n') => {}
                c => push_safe(&mut out, c),
            }
        }
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// Escapes text inside HTML, including attributes. Escapes are those of [`terminal`], and the five markup characters
/// become entities.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in terminal(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Escapes one cell or line of Markdown. Escapes are those of [`terminal`]. `&`, `<` and `>` become entities, and
/// characters that start emphasis, code, links, images, tables or headings get a backslash.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in terminal(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    // Renderers turn a bare URL into a link.
    out.replace("://", ":&#47;/")
}

/// Escapes a text cell of a table that a spreadsheet may open. Escapes are those of [`terminal`], and a cell that would
/// be read as a formula gets a leading apostrophe.
pub fn spreadsheet(text: &str) -> String {
    let safe = terminal(text);
    if safe.starts_with(['=', '+', '-', '@']) {
        format!("'{safe}")
    } else {
        safe.into_owned()
    }
}

fn push_safe(out: &mut String, c: char) {
    if is_unsafe(c) {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
        }
    } else {
        out.push(c);
    }
}

/// Characters that move the cursor, reorder the text around them, or are invisible.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}'   // zero width, direction marks
            | '\u{2028}'..='\u{202e}'   // line separators, direction embeddings and overrides
            | '\u{2060}'..='\u{206f}'   // invisible operators, direction isolates
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}' // tags
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_text_stays_as_it_is() {
        for text in [
            "",
            "sgdt",
            "AMD EPYC 7B13 (no SMT)",
            "caf\u{e9} \u{65e5}\u{672c}",
        ] {
            assert_eq!(terminal(text), text);
            assert!(matches!(terminal(text), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn terminal_escapes_become_visible() {
        assert_eq!(terminal("\u{1b}[31mred\u{7}"), "\\u{1b}[31mred\\u{7}");
        assert_eq!(
            terminal("\u{9b}31m\u{7f}"),
            "\\u{9b}31m\\u{7f}",
            "C1 and DEL too"
        );
        assert_eq!(terminal("two\r\n\tlines"), "two\\r\\n\\tlines");
    }

    #[test]
    fn text_cannot_change_its_direction_or_hide() {
        assert_eq!(terminal("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(
            terminal("\u{2066}\u{200b}\u{feff}\u{e0041}"),
            "\\u{2066}\\u{200b}\\u{feff}\\u{e0041}"
        );
    }

    #[test]
    fn console_text_keeps_its_lines_and_shows_bytes_that_are_no_text() {
        assert_eq!(
            console(b"a\r\nb\rc\n\x1b[2J\xff\xc3\xa9"),
            "a\nb\\rc\n\\u{1b}[2J\\xff\u{e9}"
        );
    }

    #[test]
    fn html_is_text_and_no_markup() {
        assert_eq!(
            html("<script a=\"1\" b='2'>&\u{1b}"),
            "&lt;script a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;\\u{1b}"
        );
    }

    #[test]
    fn markdown_stays_within_its_cell() {
        assert_eq!(markdown("set-page-table-4k"), "set-page-table-4k");
        assert_eq!(
            markdown("a|b\n`c` *d* [e](f) <g>"),
            "a\\|b\\\\n\\`c\\` \\*d\\* \\[e\\](f) &lt;g&gt;"
        );
        assert_eq!(markdown("http://x"), "http:&#47;/x");
    }

    #[test]
    fn a_spreadsheet_sees_no_formula() {
        assert_eq!(spreadsheet("=HYPERLINK(1)"), "'=HYPERLINK(1)");
        assert_eq!(spreadsheet("@x"), "'@x");
        assert_eq!(spreadsheet("\t=1"), "\\t=1");
        assert_eq!(spreadsheet("set-cr3"), "set-cr3");
    }

    proptest! {
        #[test]
        fn nothing_unsafe_comes_through_and_twice_is_once(text in any::<String>()) {
            let safe = terminal(&text).into_owned();
            prop_assert!(!safe.chars().any(is_unsafe));
            prop_assert_eq!(terminal(&safe), safe.as_str());
            prop_assert!(!html(&text).contains(['<', '>', '"', '\'']));
            prop_assert!(!html(&text).chars().any(is_unsafe));
            prop_assert!(!markdown(&text).contains(['<', '\n']));
        }

        #[test]
        fn any_bytes_are_a_safe_console(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(!console(&bytes).chars().any(|c| c != '\n' && is_unsafe(c)));
        }
    }
}
