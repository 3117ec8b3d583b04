//! The line of one record: `@ws1 CRC SOURCE NONCE SEQ LEN JSON`.
//!
//! The decoder calls [`parse`] for every marker that it finds. Nothing here knows about chunks,
//! launches or sequences.

use crate::decoder::Record;
use crate::kinds::Kind;
use crc32fast::hash as crc32;
use serde_json::{Map, Value};
use std::fmt;
use std::str::FromStr;

/// The start of every record: the marker and the space after it.
pub(crate) const MARKER: &[u8] = b"@ws1 ";

/// The length of the longest line, with its newline.
pub const MAX_LINE_BYTES: usize = 4096;

/// Identifies the launch of a line. Written as 1 to 16 lowercase hex digits, compared by value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nonce(pub u64);

impl fmt::Display for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

/// A nonce that is not 1 to 16 lowercase hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a nonce is 1 to 16 lowercase hex digits")]
pub struct BadNonce;

impl FromStr for Nonce {
    type Err = BadNonce;

    fn from_str(text: &str) -> Result<Self, BadNonce> {
        hex(text.as_bytes(), 1, 16).map(Nonce).ok_or(BadNonce)
    }
}

/// Parses a line from its marker on, without its newline. The record's launch is not set yet. `None`
/// if the form, length or CRC is wrong; an error if the object does not fit its kind.
pub(crate) fn parse(line: &[u8]) -> Option<Result<Record, serde_json::Error>> {
    let (crc, covered) = field(line.strip_prefix(MARKER)?)?;
    let (source, rest) = field(covered)?;
    let (nonce, rest) = field(rest)?;
    let (seq, rest) = field(rest)?;
    let (len, rest) = field(rest)?;
    // Length before CRC and CRC before JSON, so that a hostile line costs little.
    let (json, end) = rest.split_at_checked(usize::try_from(decimal(len)?).ok()?)?;
    if !is_end(end) {
        return None;
    }
    let covered = &covered[..covered.len() - end.len()];
    let source = source_name(source)?;
    let nonce = Nonce(hex(nonce, 1, 16)?);
    let seq = decimal(seq)?;
    if hex(crc, 8, 8)? != u64::from(crc32(covered)) {
        return None;
    }
    if !json.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        return None;
    }
    let object: Map<String, Value> = serde_json::from_slice(json).ok()?;
    let kind = Kind::read(object.get("kind")?.as_str()?, &object);
    Some(kind.map(|kind| Record {
        launch: 0,
        source,
        nonce,
        seq,
        kind,
        object,
    }))
}

/// Whether these bytes are only additions of programs and terminals on the way: blanks, `\r`s, and control sequences
/// such as colours (ECMA-48, 5.4: ESC, `[`, parameters and a final byte).
fn is_end(mut bytes: &[u8]) -> bool {
    loop {
        bytes = match bytes {
            [] => return true,
            [b'\r' | b' ' | b'\t', rest @ ..] => rest,
            [0x1b, b'[', rest @ ..] => {
                let is_parameter = |byte: &&u8| matches!(byte, b' '..=b'?');
                let parameters = rest.iter().take_while(is_parameter).count();
                match &rest[parameters..] {
                    [b'@'..=b'~', rest @ ..] => rest,
                    _ => return false,
                }
            }
            _ => return false,
        };
    }
}

/// Returns the name of a source, `[a-z0-9]{1,8}`; `None` if the bytes are no such name.
pub(crate) fn source_name(bytes: &[u8]) -> Option<String> {
    let fits = (1..=8).contains(&bytes.len())
        && bytes
            .iter()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if !fits {
        return None;
    }
    String::from_utf8(bytes.to_vec()).ok()
}

/// Splits at the first space.
fn field(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = bytes.iter().position(|&byte| byte == b' ')?;
    Some((&bytes[..space], &bytes[space + 1..]))
}

/// Parses `min` to `max` lowercase hex digits (at most 16).
fn hex(bytes: &[u8], min: usize, max: usize) -> Option<u64> {
    let digits = bytes.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if !digits || !(min..=max).contains(&bytes.len()) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(bytes).ok()?, 16).ok()
}

/// Parses a decimal number without leading zeros. (`str::parse` alone would take `+1`.)
fn decimal(bytes: &[u8]) -> Option<u64> {
    let canonical = bytes == b"0" || bytes.first().is_some_and(|&b| b != b'0');
    if !canonical || !bytes.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(bytes).ok()?.parse().ok()
}
