//! A table with its title and the notes below it.

use crate::{Sheet, below_in_markdown, below_on_terminal};

/// A table with its title, if it has one, and the notes below it.
#[derive(Clone, Debug)]
pub struct Block {
    pub title: Option<&'static str>,
    pub sheet: Sheet,
    pub below: Vec<String>,
}

impl Block {
    /// Aligned text. Ends in a newline.
    pub fn to_terminal(&self) -> String {
        let title = self.title.map(|title| format!("\n{title}\n\n"));
        let below = below_on_terminal(self.notes());
        title.unwrap_or_default() + &self.sheet.to_terminal("") + "\n" + &below
    }

    /// Markdown. Ends in a newline.
    pub fn to_markdown(&self) -> String {
        let title = self.title.map(|title| format!("\n### {title}\n\n"));
        let below = below_in_markdown(self.notes());
        title.unwrap_or_default() + &self.sheet.to_markdown() + "\n" + &below
    }

    fn notes(&self) -> impl Iterator<Item = &str> {
        self.below.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Set;

    #[test]
    fn a_title_is_a_heading_and_notes_are_a_list() {
        let mut block = Block {
            title: Some("t"),
            sheet: Sheet::new([("a", Set::Text)]),
            below: vec!["b".to_owned()],
        };
        assert_eq!(block.to_terminal(), "\nt\n\na\n\nb\n");
        assert_eq!(block.to_markdown(), "\n### t\n\n| a |\n|---|\n\n- b\n");
        block.title = None;
        assert_eq!(block.to_terminal(), "a\n\nb\n");
    }
}
