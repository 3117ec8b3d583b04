//! Writes record lines, for tests and for our programs that run inside machines.

use crate::assemble::BenchResult;
use crate::kinds::ResultPart;
use crate::line::{MAX_LINE_BYTES, Nonce, source_name};
use crc32fast::hash as crc32;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;
use std::ops::Range;

/// Why a record cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// The source name is not valid.
    #[error("a source is 1 to 8 of a-z and 0-9, not {0:?}")]
    BadSource(String),
    /// The content is not an object, so it cannot have a kind.
    #[error("a record is a JSON object")]
    NotAnObject,
    /// The record does not fit in a line.
    #[error("the record needs {bytes} bytes; a line has at most {MAX_LINE_BYTES}")]
    TooLong {
        /// Length of the record's line.
        bytes: usize,
    },
    /// More parts than a `u32` can number.
    #[error("the result has too many parts")]
    TooManyParts,
    /// The content cannot be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Numbers and frames the records of one source in one launch.
#[derive(Clone, Debug)]
pub struct Encoder {
    source: String,
    nonce: Nonce,
    seq: u64,
}

impl Encoder {
    /// An encoder at sequence number 0.
    pub fn new(source: &str, nonce: Nonce) -> Result<Self, EncodeError> {
        let source = source_name(source.as_bytes())
            .ok_or_else(|| EncodeError::BadSource(source.to_owned()))?;
        Ok(Encoder {
            source,
            nonce,
            seq: 0,
        })
    }

    /// The line, with its `\n`, of a record of `kind` with the fields of `content` (which must
    /// serialize to an object). The sequence number advances only on success.
    pub fn line(&mut self, kind: &str, content: &impl Serialize) -> Result<Vec<u8>, EncodeError> {
        let Value::Object(mut object) = serde_json::to_value(content)? else {
            return Err(EncodeError::NotAnObject);
        };
        object.insert("kind".to_owned(), Value::String(kind.to_owned()));
        let json = ascii(&serde_json::to_string(&object)?);
        let covered = format!(
            "{} {} {} {} {json}",
            self.source,
            self.nonce,
            self.seq,
            json.len()
        );
        let line = format!("@ws1 {:08x} {covered}\n", crc32(covered.as_bytes()));
        if line.len() > MAX_LINE_BYTES {
            return Err(EncodeError::TooLong { bytes: line.len() });
        }
        self.seq += 1;
        Ok(line.into_bytes())
    }

    /// The lines of a whole result, in as many parts as needed.
    pub fn result(&mut self, result: &BenchResult) -> Result<Vec<Vec<u8>>, EncodeError> {
        let slices = slices(result);
        let parts = u32::try_from(slices.len()).map_err(|_| EncodeError::TooManyParts)?;
        let mut lines = Vec::new();
        for (part, slice) in (1..=parts).zip(slices) {
            let mut record = ResultPart {
                bench: result.bench.clone(),
                part,
                parts,
                run: result.run[slice.clone()].to_vec(),
                control: result.control[slice].to_vec(),
                ..ResultPart::default()
            };
            if part == 1 {
                record.iterations = Some(result.iterations);
                record.cpus = Some(result.cpus);
                record.page_bytes = result.page_bytes;
                record.ws_bytes = result.ws_bytes;
                record.port = result.port;
                record.check = Some(result.check);
                record.note = Some(result.note.clone());
                record.lead = result.lead;
                record.unmarked = result.unmarked.clone();
            }
            lines.push(self.line("result", &record)?);
        }
        Ok(lines)
    }
}

/// Splits the samples so that each part fits in a line. The rest of the line takes less than [`HEAD_BYTES`] plus the
/// texts of part 1. A number with its comma takes at most 21 bytes.
fn slices(result: &BenchResult) -> Vec<Range<usize>> {
    let count = result.run.len().min(result.control.len());
    // Names and notes take at most six bytes per character (`\uXXXX`).
    let unmarked = result.unmarked.as_ref().map_or(0, String::len);
    let texts = 6 * (result.bench.len() + result.note.len() + unmarked);
    let room = MAX_LINE_BYTES.saturating_sub(HEAD_BYTES + texts);
    let step = (room / (2 * 21)).max(1);
    let starts = (0..count.max(1)).step_by(step);
    starts
        .map(|start| start..(start + step).min(count))
        .collect()
}

/// An upper bound for the header of a line plus the field names and numbers of a `result`.
const HEAD_BYTES: usize = 512;

/// JSON text in printable ASCII: everything else becomes `\uXXXX`. Such characters occur only
/// inside strings, so no parsing is needed.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if matches!(c, ' '..='~') {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}"); // writing to a String cannot fail
            }
        }
    }
    out
}
