//! A pattern of machine code, an instruction at a time. It has bytes in hexadecimal, `..` for any byte, and `<name>`
//! for the four bytes of an address.
//!
//! An address is relative to its instruction's end, as in x86's calls, jumps and `0x1234(%rip)`.

use super::image::Part;
use memchr::memmem;
use std::collections::BTreeMap;
use std::ops::Range;

/// The fewest bytes that a pattern must know: with fewer it would be found by chance.
const FEWEST: usize = 8;

/// Addresses in memory by name.
pub(super) type Addresses = BTreeMap<String, u64>;

/// A pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The pattern's bytes; none stands for any byte.
    bytes: Vec<Option<u8>>,
    names: Vec<Name>,
}

/// A named address in a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    name: String,
    /// Offsets of the address' four bytes.
    at: Range<usize>,
    /// Offset of the instruction's end.
    end: usize,
}

/// A place where a pattern was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    /// The offset in the file.
    pub at: usize,
    /// The address of that offset in memory.
    address: u64,
    /// Addresses of the pattern's names, and those that were known before.
    pub addresses: Addresses,
}

impl Pattern {
    /// Adds an instruction. The error says what is wrong with its text.
    pub fn push(&mut self, text: &str) -> Result<(), String> {
        let begin = self.bytes.len();
        let end = begin + text.split_whitespace().map(width).sum::<usize>();
        for word in text.split_whitespace() {
            let at = self.bytes.len();
            if let Some(name) = name(word) {
                self.bytes.extend([None; 4]);
                self.names.push(Name {
                    name: name.to_owned(),
                    at: at..at + 4,
                    end,
                });
            } else if word == ".." {
                self.bytes.push(None);
            } else {
                self.bytes.push(Some(byte(word).ok_or_else(|| {
                    format!(
                        "\"{}\" is not a byte: write two lower-case hexadecimal digits, .. for any byte, or <name> for an address",
                        word.escape_debug()
                    )
                })?));
            }
        }
        match end > begin {
            true => Ok(()),
            false => Err("an instruction has no bytes".into()),
        }
    }

    /// Adds unknown bytes, up to this length.
    pub fn leave(&mut self, len: usize) {
        self.bytes.resize(len, None);
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The names of the pattern's addresses.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &*name.name)
    }

    /// Checks that the pattern knows enough bytes, so that it is not found by chance.
    pub fn check(&self) -> Result<(), String> {
        match self.bytes.iter().flatten().count() {
            known if known < FEWEST => Err(format!(
                "a pattern has {known} known bytes; with fewer than {FEWEST} it may be found by chance: add the instructions before or after"
            )),
            _ => Ok(()),
        }
    }

    /// Whether no code can match both patterns.
    pub fn excludes(&self, other: &Self) -> bool {
        let pairs = self.bytes.iter().zip(&other.bytes);
        let differ = |(a, b): (&Option<u8>, &Option<u8>)| a.is_some() && b.is_some() && a != b;
        self.len() != other.len() || pairs.into_iter().any(differ)
    }

    /// Returns this pattern with the known bytes and names of another pattern of the same length. Bytes that the other
    /// pattern does not know stay.
    pub fn changed(&self, by: &Self) -> Self {
        let says = |at: usize| {
            let known = by.bytes.get(at).is_some_and(Option::is_some);
            known || by.names.iter().any(|name| name.at.contains(&at))
        };
        let byte = |(at, own): (usize, &Option<u8>)| match says(at) {
            true => by.bytes.get(at).copied().flatten(),
            false => *own,
        };
        let stays = |name: &&Name| !name.at.clone().any(says);
        let names = self.names.iter().filter(stays).chain(&by.names);
        Self {
            bytes: self.bytes.iter().enumerate().map(byte).collect(),
            names: names.cloned().collect(),
        }
    }

    /// Finds all matches in a part of a file whose named addresses agree with the known ones.
    pub fn find(&self, content: &[u8], part: &Part, known: &Addresses) -> Vec<Match> {
        let code = content.get(part.range.clone()).unwrap_or_default();
        let (before, anchor) = self.anchor();
        let finder = memmem::Finder::new(&anchor);
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(next) = code.get(from..).and_then(|rest| finder.find(rest)) {
            let place = (from + next).checked_sub(before);
            from += next + 1;
            let Some((place, code)) = place.and_then(|at| Some((at, code.get(at..)?))) else {
                continue;
            };
            let address = part.address.wrapping_add(place as u64);
            let addresses = self.read(code, address, known);
            found.extend(addresses.map(|addresses| Match {
                at: part.range.start + place,
                address,
                addresses,
            }));
        }
        found
    }

    /// The offset and the bytes of the pattern's longest run of known bytes, by which it is searched.
    fn anchor(&self) -> (usize, Vec<u8>) {
        let mut best = (0, Vec::new());
        let mut at = 0;
        for run in self.bytes.split(Option::is_none) {
            if run.len() > best.1.len() {
                best = (at, run.iter().flatten().copied().collect());
            }
            at += run.len() + 1;
        }
        best
    }

    /// Returns the known addresses and those that the pattern names, if the pattern matches at the start of `code`,
    /// which is at `address`.
    fn read(&self, code: &[u8], address: u64, known: &Addresses) -> Option<Addresses> {
        let code = code.get(..self.len())?;
        let mut pairs = self.bytes.iter().zip(code);
        if !pairs.all(|(wanted, byte)| wanted.is_none_or(|wanted| wanted == *byte)) {
            return None;
        }
        let mut addresses = known.clone();
        for name in &self.names {
            let bytes = code.get(name.at.clone())?.try_into().ok()?;
            let distance = i64::from(i32::from_le_bytes(bytes));
            let to = address
                .wrapping_add(name.end as u64)
                .wrapping_add_signed(distance);
            if *addresses.entry(name.name.clone()).or_insert(to) != to {
                return None;
            }
        }
        Some(addresses)
    }

    /// Writes the pattern's known bytes to a match of another pattern of the same length. Returns none and changes
    /// nothing if the match does not know one of its names, or if an address is too far away.
    pub fn write(&self, content: &mut [u8], to: &Match) -> Option<()> {
        let place = content.get_mut(to.at..to.at.checked_add(self.len())?)?;
        let bytes = place.iter().zip(&self.bytes);
        let mut new: Vec<u8> = bytes.map(|(old, new)| new.unwrap_or(*old)).collect();
        for name in &self.names {
            let address = to.addresses.get(&name.name)?;
            let end = to.address.wrapping_add(name.end as u64);
            let distance = i32::try_from(address.wrapping_sub(end) as i64).ok()?;
            let bytes = distance.to_le_bytes();
            new.get_mut(name.at.clone())?.copy_from_slice(&bytes);
        }
        place.copy_from_slice(&new);
        Some(())
    }
}

/// The name in `<name>`.
fn name(word: &str) -> Option<&str> {
    let name = word.strip_prefix('<')?.strip_suffix('>')?;
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(good)).then_some(name)
}

/// Number of bytes that a word stands for.
fn width(word: &str) -> usize {
    if name(word).is_some() { 4 } else { 1 }
}

/// A byte written as two lower-case hexadecimal digits.
fn byte(word: &str) -> Option<u8> {
    let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let is_byte = word.len() == 2 && word.chars().all(is_digit);
    u8::from_str_radix(word, 16).ok().filter(|_| is_byte)
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
