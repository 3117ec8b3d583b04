//! Which runs are wanted, as conditions of a statement.

use crate::database::Value;

/// Which runs are wanted; the default is all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    /// This platform and its variants.
    pub platform: Option<&'a str>,
    /// This machine.
    pub host: Option<&'a str>,
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

    /// The place of a value in the statement.
    pub fn place(&mut self, value: &str) -> String {
        self.values.push(value.into());
        format!("${}", self.values.len())
    }

    /// The conditions, with this word before them if there are any. A platform's variants begin with its name and `@`,
    /// its options with `+`: both before the next character, so an index finds them.
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
