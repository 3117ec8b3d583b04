//! Colour on a terminal.

/// Colours of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Cyan,
}

/// Colours text that is already padded and escaped, if colour is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    colour: bool,
}

impl Style {
    /// A style with colour or without.
    pub fn new(colour: bool) -> Self {
        Style { colour }
    }

    pub fn bold(&self, text: &str) -> String {
        self.ink(Ink::Bold, text)
    }

    pub fn dim(&self, text: &str) -> String {
        self.ink(Ink::Dim, text)
    }

    pub fn red(&self, text: &str) -> String {
        self.ink(Ink::Red, text)
    }

    /// Adds SGR codes (ECMA-48, section 8.3.117), except to blank text.
    pub fn ink(&self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Bold => "1",
            Ink::Dim => "2",
            Ink::Red => "31",
            Ink::Green => "32",
            Ink::Yellow => "33",
            Ink::Cyan => "36",
        };
        if self.colour && !text.trim().is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
