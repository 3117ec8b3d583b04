//! Columns of a table.

/// Gap before a column, in blanks.
const GAP: usize = 2;

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Text, on the left.
    Text,
    /// Numbers, on the right.
    Number,
}

/// A column: its head, alignment and layout on a terminal.
#[derive(Clone, Debug)]
pub struct Column {
    pub(super) head: String,
    pub(super) set: Set,
    /// Blanks before the column, except before the first one.
    pub(super) gap: usize,
    /// Least width.
    pub(super) wide: usize,
    pub(super) joined: bool,
    pub(super) once: bool,
}

impl Column {
    /// A column of texts.
    pub fn text(head: impl Into<String>) -> Self {
        Self::new(head, Set::Text)
    }

    /// A column of numbers.
    pub fn number(head: impl Into<String>) -> Self {
        Self::new(head, Set::Number)
    }

    fn new(head: impl Into<String>, set: Set) -> Self {
        Self {
            head: head.into(),
            set,
            gap: GAP,
            wide: 0,
            joined: false,
            once: false,
        }
    }

    /// Sets the least width.
    pub fn wide(mut self, columns: usize) -> Self {
        self.wide = columns;
        self
    }

    /// Sets the number of blanks between the column before and this one.
    pub fn after(mut self, blanks: usize) -> Self {
        self.gap = blanks;
        self
    }

    /// Marks texts that belong to the cell before, such as a mark at a number. Only a terminal has a column for them;
    /// in other forms they stand in the cell before, after a blank.
    pub fn joined(mut self) -> Self {
        self.joined = true;
        self
    }

    /// Leaves out, on a terminal, each text that the line before has too.
    pub fn once(mut self) -> Self {
        self.once = true;
        self
    }
}

impl<H: Into<String>> From<(H, Set)> for Column {
    fn from((head, set): (H, Set)) -> Self {
        Self::new(head, set)
    }
}
