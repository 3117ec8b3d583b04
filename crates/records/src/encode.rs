//! Writes record lines: for tests and for programs of ours that run inside machines.

use crate::assemble::BenchResult;
use crate::crc::crc32;
use crate::kinds::ResultPart;
use crate::line::{MAX_LINE_BYTES, Nonce, source_name};
use serde::Serialize;
use serde_json::Value;

/// Why a record cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    #[error("a source is 1 to 8 of a-z and 0-9, not {0:?}")]
    BadSource(String),
    #[error("a record is a JSON object")]
    NotAnObject,
    #[error("the record would take {bytes} bytes, a line holds {MAX_LINE_BYTES}")]
    TooLong { bytes: usize },
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
        Ok(Encoder { source, nonce, seq: 0 })
    }

    /// The line, with its `\n`, of a record of `kind` with the fields of `content` (which must
    /// serialize to an object). The sequence number goes on only when it succeeds.
    pub fn line(&mut self, kind: &str, content: &impl Serialize) -> Result<Vec<u8>, EncodeError> {
        let Value::Object(mut object) = serde_json::to_value(content)? else {
            return Err(EncodeError::NotAnObject);
        };
        object.insert("kind".to_owned(), Value::String(kind.to_owned()));
        let json = ascii(&serde_json::to_string(&object)?);
        let covered = format!("{} {} {} {} {json}", self.source, self.nonce, self.seq, json.len());
        let line = format!("@ws1 {:08x} {covered}\n", crc32(covered.as_bytes()));
        if line.len() > MAX_LINE_BYTES {
            return Err(EncodeError::TooLong { bytes: line.len() });
        }
        self.seq += 1;
        Ok(line.into_bytes())
    }

    /// The lines of a whole result, in as many parts as it takes.
    pub fn result(&mut self, result: &BenchResult) -> Result<Vec<Vec<u8>>, EncodeError> {
        let _ = (result, ResultPart::default());
        todo!()
    }
}

/// JSON text in printable ASCII: everything else becomes `\uXXXX`. Such characters stand only
/// inside strings, so no parsing is needed.
fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if matches!(c, ' '..='~') {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}
