//! Joins the numbered parts of a `result` record.

use crate::kinds::{CheckVerdict, ResultPart};

/// The most samples that one benchmark may report in one launch.
pub const MAX_SAMPLES: usize = 1_000_000;

/// A benchmark's complete result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BenchResult {
    pub bench: String,
    /// Operations in a batch, never 0.
    pub iterations: u64,
    /// Virtual CPUs that took part.
    pub cpus: u32,
    /// Page size, in rows with this parameter.
    pub page_bytes: Option<u64>,
    /// Working set, in rows with this parameter.
    pub ws_bytes: Option<u64>,
    /// I/O port, in rows that use one.
    pub port: Option<u64>,
    /// The check's verdict.
    pub check: CheckVerdict,
    /// Observation of the check; text from the guest.
    pub note: String,
    /// Ticks between a batch's first mark and the batch, if marks were sent.
    pub lead: Option<u64>,
    /// Why no marks were sent although requested; text from the guest.
    pub unmarked: Option<String>,
    /// Ticks of each batch, never empty.
    pub run: Vec<u64>,
    /// Ticks of each control batch, as many as `run`.
    pub control: Vec<u64>,
}

/// Why parts do not make a result. `bench` is the benchmark; `part` and `parts` are the numbers in
/// the record, `wanted` and `wanted_parts` the expected ones, `have` the parts received so far.
/// Messages quote and escape names from the guest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// The part is not the next one.
    #[error(
        "result of {bench:?}: expected part {wanted} of {wanted_parts}, \
         got part {part} of {parts} of {came:?}"
    )]
    OutOfOrder {
        bench: String,
        wanted: u32,
        wanted_parts: u32,
        came: String,
        part: u32,
        parts: u32,
    },
    /// A later part while no result is open.
    #[error("result of {bench:?}: part {part} of {parts} without the parts before it")]
    NoFirstPart {
        bench: String,
        part: u32,
        parts: u32,
    },
    /// Part 0, or a part beyond the last.
    #[error("result of {bench:?}: part {part} of {parts} is out of range")]
    BadNumbering {
        bench: String,
        part: u32,
        parts: u32,
    },
    /// Parts are missing at the end.
    #[error("result of {bench:?} ended after {have} of {parts} parts")]
    Incomplete {
        bench: String,
        have: u32,
        parts: u32,
    },
    /// The numbers of samples and control samples differ.
    #[error("result of {bench:?}: part {part} has {run} samples but {control} control samples")]
    UnlikeLengths {
        bench: String,
        part: u32,
        run: usize,
        control: usize,
    },
    /// Part 1 lacks a required field.
    #[error("result of {bench:?}: part 1 lacks `{field}`")]
    MissingField { bench: String, field: &'static str },
    /// 0 iterations, so there is no cost per operation.
    #[error("result of {bench:?}: a batch of 0 iterations")]
    NoIterations { bench: String },
    /// All parts are there, without any sample.
    #[error("result of {bench:?} has no samples")]
    NoSamples { bench: String },
    /// More than [`MAX_SAMPLES`].
    #[error("result of {bench:?} has more than {MAX_SAMPLES} samples")]
    TooMany { bench: String },
}

/// Holds the result whose parts are being received. After an error it holds nothing, so that
/// further parts of the broken result are errors too ([`AssembleError::NoFirstPart`]).
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
    /// Makes an assembler that holds nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next part. Returns the result after the last part.
    pub fn push(&mut self, part: ResultPart) -> Result<Option<BenchResult>, AssembleError> {
        // Taken, so that every error below leaves the assembler empty.
        let open = self.open.take();
        let number = (part.part, part.parts);
        if part.part == 0 || part.part > part.parts {
            let ResultPart {
                bench, part, parts, ..
            } = part;
            return Err(AssembleError::BadNumbering { bench, part, parts });
        }
        if part.run.len() != part.control.len() {
            let (run, control) = (part.run.len(), part.control.len());
            let ResultPart { bench, part, .. } = part;
            return Err(AssembleError::UnlikeLengths {
                bench,
                part,
                run,
                control,
            });
        }
        let result = match open {
            Some(open) => join(open, part)?,
            None => first(part)?,
        };
        let (have, parts) = number;
        if result.run.len() > MAX_SAMPLES {
            Err(AssembleError::TooMany {
                bench: result.bench,
            })
        } else if have < parts {
            self.open = Some(Open {
                result,
                have,
                parts,
            });
            Ok(None)
        } else if result.run.is_empty() {
            Err(AssembleError::NoSamples {
                bench: result.bench,
            })
        } else {
            Ok(Some(result))
        }
    }

    /// Ends the assembly when no further part can come (`end`, another benchmark, end of the launch). Fails if a result
    /// is still open. The assembler is empty afterwards.
    pub fn close(&mut self) -> Result<(), AssembleError> {
        match self.open.take() {
            None => Ok(()),
            Some(Open {
                result,
                have,
                parts,
            }) => Err(AssembleError::Incomplete {
                bench: result.bench,
                have,
                parts,
            }),
        }
    }
}

/// Starts a result with its part 1.
fn first(part: ResultPart) -> Result<BenchResult, AssembleError> {
    if part.part != 1 {
        let ResultPart {
            bench, part, parts, ..
        } = part;
        return Err(AssembleError::NoFirstPart { bench, part, parts });
    }
    let bench = part.bench;
    let missing = |field| AssembleError::MissingField {
        bench: bench.clone(),
        field,
    };
    let iterations = part.iterations.ok_or_else(|| missing("iterations"))?;
    let cpus = part.cpus.ok_or_else(|| missing("cpus"))?;
    let check = part.check.ok_or_else(|| missing("check"))?;
    if iterations == 0 {
        return Err(AssembleError::NoIterations { bench });
    }
    Ok(BenchResult {
        bench,
        iterations,
        cpus,
        page_bytes: part.page_bytes,
        ws_bytes: part.ws_bytes,
        port: part.port,
        check,
        note: part.note.unwrap_or_default(),
        lead: part.lead,
        unmarked: part.unmarked,
        run: part.run,
        control: part.control,
    })
}

/// Adds a later part to the open result.
fn join(open: Open, part: ResultPart) -> Result<BenchResult, AssembleError> {
    let Open {
        mut result,
        have,
        parts,
    } = open;
    if part.bench != result.bench || part.part != have + 1 || part.parts != parts {
        return Err(AssembleError::OutOfOrder {
            bench: result.bench,
            wanted: have + 1,
            wanted_parts: parts,
            came: part.bench,
            part: part.part,
            parts: part.parts,
        });
    }
    result.run.extend(part.run);
    result.control.extend(part.control);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(part: u32, parts: u32, run: &[u64]) -> ResultPart {
        let head = part == 1;
        ResultPart {
            bench: "sgdt".into(),
            part,
            parts,
            iterations: head.then_some(100),
            cpus: head.then_some(1),
            check: head.then_some(CheckVerdict::Proved),
            note: head.then(|| "seen".into()),
            run: run.into(),
            control: vec![1; run.len()],
            ..ResultPart::default()
        }
    }

    fn error(parts: impl IntoIterator<Item = ResultPart>) -> String {
        let mut assembler = ResultAssembler::new();
        for part in parts {
            match assembler.push(part) {
                Ok(None) => {}
                Ok(Some(whole)) => panic!("unexpectedly complete: {whole:?}"),
                Err(error) => {
                    assert_eq!(
                        assembler.close(),
                        Ok(()),
                        "nothing is left open after an error"
                    );
                    return error.to_string();
                }
            }
        }
        panic!("no error")
    }

    #[test]
    fn one_part_is_a_result() {
        let whole = ResultAssembler::new()
            .push(part(1, 1, &[5, 6]))
            .unwrap()
            .unwrap();
        assert_eq!((whole.run, whole.control), (vec![5, 6], vec![1, 1]));
        assert_eq!(
            (whole.iterations, whole.cpus, whole.note.as_str()),
            (100, 1, "seen")
        );
    }

    #[test]
    fn parts_in_order_are_joined_and_the_next_result_starts_afresh() {
        let mut assembler = ResultAssembler::new();
        assert_eq!(assembler.push(part(1, 3, &[1])), Ok(None));
        assert_eq!(assembler.push(part(2, 3, &[2, 3])), Ok(None));
        let whole = assembler.push(part(3, 3, &[4])).unwrap().unwrap();
        assert_eq!(whole.run, [1, 2, 3, 4]);
        assert_eq!(assembler.close(), Ok(()));
        assert_eq!(assembler.push(part(1, 1, &[9])).unwrap().unwrap().run, [9]);
    }

    #[test]
    fn a_missing_part_is_named() {
        assert_eq!(
            error([part(1, 3, &[1]), part(3, 3, &[1])]),
            "result of \"sgdt\": expected part 2 of 3, got part 3 of 3 of \"sgdt\""
        );
        assert_eq!(
            error([part(2, 3, &[1])]),
            "result of \"sgdt\": part 2 of 3 without the parts before it"
        );
        let mut assembler = ResultAssembler::new();
        assert_eq!(assembler.push(part(1, 2, &[1])), Ok(None));
        assert_eq!(
            assembler.close().unwrap_err().to_string(),
            "result of \"sgdt\" ended after 1 of 2 parts"
        );
    }

    #[test]
    fn parts_of_two_results_never_mix() {
        let other = ResultPart {
            bench: "idle".into(),
            ..part(2, 2, &[1])
        };
        assert!(error([part(1, 2, &[1]), other]).ends_with("got part 2 of 2 of \"idle\""));
        assert!(error([part(1, 2, &[1]), part(2, 5, &[1])]).contains("expected part 2 of 2"));
        assert!(error([part(1, 2, &[1]), part(1, 2, &[1])]).contains("expected part 2 of 2"));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(error([part(0, 1, &[1])]).ends_with("part 0 of 1 is out of range"));
        assert!(error([part(3, 2, &[1])]).ends_with("part 3 of 2 is out of range"));
        assert!(error([part(1, 1, &[])]).ends_with("has no samples"));
        let short = ResultPart {
            control: vec![],
            ..part(1, 1, &[1])
        };
        assert!(error([short]).ends_with("has 1 samples but 0 control samples"));
        let zero = ResultPart {
            iterations: Some(0),
            ..part(1, 1, &[1])
        };
        assert!(error([zero]).ends_with("a batch of 0 iterations"));
        for field in ["iterations", "cpus", "check"] {
            let mut lacking = part(1, 1, &[1]);
            match field {
                "iterations" => lacking.iterations = None,
                "cpus" => lacking.cpus = None,
                _ => lacking.check = None,
            }
            assert!(error([lacking]).ends_with(&format!("part 1 lacks `{field}`")));
        }
    }

    #[test]
    fn an_endless_result_is_given_up() {
        let slice = vec![7; 1000];
        let parts = (1..).map(|n| part(n, u32::MAX, &slice));
        assert_eq!(
            error(parts),
            "result of \"sgdt\" has more than 1000000 samples"
        );
    }
}
