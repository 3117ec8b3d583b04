//! Filters of runs, as conditions of a statement.

use crate::database::Value;
use std::fmt;
use ws_text::terminal;

/// A filter of runs; the default selects all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    /// Platform of the runs; its variants are selected too.
    pub platform: Option<&'a str>,
    /// Host that measured.
    pub host: Option<&'a str>,
}

/// Names the platform and the host: ` of "lab:kvm" on "node1"`.
impl fmt::Display for Filter<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (word, name) in [("of", self.platform), ("on", self.host)] {
            if let Some(name) = name {
                write!(out, " {word} {:?}", terminal(name))?;
            }
        }
        Ok(())
    }
}

/// A filter as conditions of a statement.
pub(crate) struct Wanted<'a> {
    filter: Filter<'a>,
    pub values: Vec<Value>,
}

impl<'a> Wanted<'a> {
    pub fn of(filter: Filter<'a>) -> Self {
        Self {
            filter,
            values: Vec::new(),
        }
    }

    /// Adds a value; returns its placeholder in the statement.
    pub fn place(&mut self, value: &str) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    /// Returns the conditions, after the word `before` if there are any. The names of a platform's variants begin with
    /// its own name and `@`, those with options with its name and `+`. Each group is a range of names, which an index
    /// finds.
    pub fn conditions(&mut self, before: &str) -> String {
        let mut all = Vec::new();
        if let Some(platform) = self.filter.platform {
            let itself = self.place(platform);
            let mut variants = |from: char, to: char| {
                let (from, to) = (format!("{platform}{from}"), format!("{platform}{to}"));
                let (from, to) = (self.place(&from), self.place(&to));
                format!("(runs.platform >= {from} AND runs.platform < {to})")
            };
            let (versions, options) = (variants('@', 'A'), variants('+', ','));
            all.push(format!(
                "(runs.platform = {itself} OR {versions} OR {options})"
            ));
        }
        if let Some(host) = self.filter.host {
            let host = self.place(host);
            all.push(format!("runs.host = {host}"));
        }
        match all.is_empty() {
            true => String::new(),
            false => format!("{before}{}", all.join(" AND ")),
        }
    }
}
