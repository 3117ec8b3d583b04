//! Optional colour for a terminal.

/// Colours text that is already padded and escaped.
pub(crate) struct Style {
    colour: bool,
}

impl Style {
    pub(crate) fn new(colour: bool) -> Self {
        Style { colour }
    }

    pub(crate) fn bold(&self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub(crate) fn dim(&self, text: &str) -> String {
        self.wrap("2", text)
    }

    pub(crate) fn red(&self, text: &str) -> String {
        self.wrap("31", text)
    }

    pub(crate) fn green(&self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// Adds SGR codes (ECMA-48, section 8.3.117), except to blank text.
    fn wrap(&self, code: &str, text: &str) -> String {
        if self.colour && !text.trim().is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
