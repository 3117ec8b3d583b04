//! The numbered notes below a table; equal texts share a number.

use std::collections::HashMap;

/// Collects notes in order of first use.
#[derive(Default)]
pub(crate) struct Notes {
    texts: Vec<String>,
    index: HashMap<String, usize>,
}

impl From<Vec<String>> for Notes {
    fn from(texts: Vec<String>) -> Self {
        let index = texts.iter().cloned().zip(0..).collect();
        Self { texts, index }
    }
}

impl Notes {
    /// The index of `text`, which is added if it is new.
    pub(crate) fn add(&mut self, text: String) -> usize {
        *self.index.entry(text).or_insert_with_key(|text| {
            self.texts.push(text.clone());
            self.texts.len() - 1
        })
    }

    /// All texts, by index.
    pub(crate) fn into_texts(self) -> Vec<String> {
        self.texts
    }
}
