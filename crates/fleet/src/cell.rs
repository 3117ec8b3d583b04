//! A cell: all that the counts of a measurement depend on. Of two measurements of a cell, one is needless.

use crate::sha256;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Machine, benchmarks and boots of a measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Digest of an exact machine, which covers its guest too; of a machine that measures time, its platform and host.
    pub machine: String,
    /// The benchmarks, sorted.
    pub rows: Vec<String>,
    /// Boots that are alike.
    pub boots: u32,
    /// Perturbed boots.
    pub perturb: u32,
    /// Samples of each benchmark in a boot, if they were chosen.
    pub samples: Option<u64>,
}

/// The name of a cell, also that of its folder: 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(String);

impl Key {
    /// The key in this text, if it is one.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        (text.len() == DIGITS && text.chars().all(is_digit)).then(|| Self(text.to_owned()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The length of a key: 128 bits, so no two cells share one by chance.
const DIGITS: usize = 32;

impl Cell {
    /// Hashes the cell to its key.
    pub fn key(&self) -> Key {
        let samples = self
            .samples
            .map_or(String::new(), |samples| samples.to_string());
        let numbers = [self.boots.to_string(), self.perturb.to_string(), samples];
        let parts = [&self.machine]
            .into_iter()
            .chain(&numbers)
            .chain(&self.rows);
        let mut text = sha256(parts);
        text.truncate(DIGITS);
        Key(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cells() -> impl Strategy<Value = Cell> {
        let rows = prop::collection::btree_set("[ab]{1,2}", 0..3);
        (
            ("[ab]{0,2}", rows),
            (0..3u32, 0..3u32, prop::option::of(0..3u64)),
        )
            .prop_map(|((machine, rows), (boots, perturb, samples))| Cell {
                machine,
                rows: rows.into_iter().collect(),
                boots,
                perturb,
                samples,
            })
    }

    proptest! {
        #[test]
        fn keys_are_the_same_for_the_same_cells_only(a in cells(), b in cells()) {
            prop_assert_eq!(a == b, a.key() == b.key());
            prop_assert_eq!(Key::parse(&a.key().to_string()), Some(a.key()));
        }

        #[test]
        fn other_texts_are_no_keys(text in "[0-9a-fA-F./]{0,40}") {
            let is_key = text.len() == 32 && text.chars().all(|c| "0123456789abcdef".contains(c));
            prop_assert_eq!(Key::parse(&text).is_some(), is_key);
        }
    }
}
