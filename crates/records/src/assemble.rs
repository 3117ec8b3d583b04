//! Joins the numbered parts of a `result`.

use crate::kinds::{CheckVerdict, ResultPart};

/// The most samples that one benchmark may report in one launch.
pub const MAX_SAMPLES: usize = 1_000_000;

/// A benchmark's whole result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchResult {
    pub bench: String,
    /// Operations in a batch, never 0.
    pub iterations: u64,
    pub cpus: u32,
    pub page_bytes: Option<u64>,
    pub ws_bytes: Option<u64>,
    pub port: Option<u64>,
    pub check: CheckVerdict,
    /// What the check saw; text from the guest.
    pub note: String,
    /// Ticks of each batch, never empty.
    pub run: Vec<u64>,
    /// Ticks of each control batch, as many as `run`.
    pub control: Vec<u64>,
}

/// Why parts do not make a result. Names from the guest are quoted and escaped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    #[error("result of {bench:?}: part {part} of {parts} came where part {wanted} of {wanted_parts} was due")]
    OutOfOrder { bench: String, part: u32, parts: u32, wanted: u32, wanted_parts: u32 },
    #[error("result of {bench:?}: part {part} of {parts} came without the parts before it")]
    NoFirstPart { bench: String, part: u32, parts: u32 },
    #[error("result of {bench:?}: part {part} of {parts} makes no sense")]
    BadNumbering { bench: String, part: u32, parts: u32 },
    #[error("result of {bench:?} ended after {have} of {parts} parts")]
    Incomplete { bench: String, have: u32, parts: u32 },
    #[error("result of {bench:?}: part {part} has {run} samples but {control} of the control loop")]
    UnlikeLengths { bench: String, part: u32, run: usize, control: usize },
    #[error("result of {bench:?}: part 1 lacks `{field}`")]
    MissingField { bench: String, field: &'static str },
    #[error("result of {bench:?}: a batch of 0 iterations")]
    NoIterations { bench: String },
    #[error("result of {bench:?} has no samples")]
    NoSamples { bench: String },
    #[error("result of {bench:?} has more than {MAX_SAMPLES} samples")]
    TooMany { bench: String },
}

/// Holds the result whose parts are coming in. After an error it holds nothing, so that further
/// parts of the broken result are errors too ([`AssembleError::NoFirstPart`]).
#[derive(Clone, Debug, Default)]
pub struct ResultAssembler {
    open: Option<Open>,
}

#[derive(Clone, Debug)]
struct Open {
    result: BenchResult,
    have: u32,
    parts: u32,
}

impl ResultAssembler {
    /// An assembler that holds nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next part; the whole result when this was the last one.
    pub fn push(&mut self, part: ResultPart) -> Result<Option<BenchResult>, AssembleError> {
        if part.part == 0 || part.part > part.parts {
            self.open = None;
            let ResultPart { bench, part, parts, .. } = part;
            return Err(AssembleError::BadNumbering { bench, part, parts });
        }
        if part.run.len() != part.control.len() {
            self.open = None;
            let (run, control) = (part.run.len(), part.control.len());
            return Err(AssembleError::UnlikeLengths { bench: part.bench, part: part.part, run, control });
        }
        let mut open = match self.open.take() {
            Some(open) => join(open, part)?,
            None => first(part)?,
        };
        if open.result.run.len() > MAX_SAMPLES {
            return Err(AssembleError::TooMany { bench: open.result.bench });
        }
        if open.have < open.parts {
            self.open = Some(open);
            return Ok(None);
        }
        if open.result.run.is_empty() {
            return Err(AssembleError::NoSamples { bench: std::mem::take(&mut open.result.bench) });
        }
        Ok(Some(open.result))
    }

    /// No further part will come (`end`, another benchmark, the launch is over): an error when a
    /// result is still open. The assembler is empty afterwards.
    pub fn close(&mut self) -> Result<(), AssembleError> {
        match self.open.take() {
            None => Ok(()),
            Some(open) => Err(AssembleError::Incomplete {
                bench: open.result.bench,
                have: open.have,
                parts: open.parts,
            }),
        }
    }
}

/// Starts a result with its part 1.
fn first(part: ResultPart) -> Result<Open, AssembleError> {
    let ResultPart { bench, part, parts, .. } = part;
    if part != 1 {
        return Err(AssembleError::NoFirstPart { bench, part, parts });
    }
    todo!()
}

fn join(_open: Open, _part: ResultPart) -> Result<Open, AssembleError> {
    todo!()
}
