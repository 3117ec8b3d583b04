//! Reads a result file, which anybody may have written: damaged ones are refused with the reason.

use crate::{ResultFile, SCHEMA};
use serde::Deserialize;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Larger files are refused.
pub const MAX_FILE_BYTES: u64 = 256 << 20;

/// Why a file is no result that this version can read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system could not read it.
    #[error("cannot read {}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// It is larger than [`MAX_FILE_BYTES`].
    #[error("{} is larger than {MAX_FILE_BYTES} bytes, so it is no result file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// It is no JSON, or lacks fields.
    #[error("{} is no result file: {cause}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where and what.
        cause: serde_json::Error,
    },
    /// It does not say what it is.
    #[error("{} is no result file: it has no \"schema\"", path.display())]
    NoSchema {
        /// The file.
        path: PathBuf,
    },
    /// It is something else, or of another version.
    #[error("{} has schema {found:?}, and this version reads only {SCHEMA:?}", path.display())]
    UnknownSchema {
        /// The file.
        path: PathBuf,
        /// What it says it is.
        found: String,
    },
    /// Its parts contradict each other.
    #[error("{} is damaged: {what}", path.display())]
    Inconsistent {
        /// The file.
        path: PathBuf,
        /// Which parts, and how.
        what: String,
    },
}

/// Reads and checks one file.
pub fn read_file(path: &Path) -> Result<ResultFile, ReadError> {
    let path = || path.to_owned();
    let io = |cause| ReadError::Io {
        path: path(),
        cause,
    };
    let json = |cause| ReadError::Json {
        path: path(),
        cause,
    };

    let file = File::open(path()).map_err(io)?;
    let mut bytes = Vec::new();
    // The limit holds for what is read, not for what the file system says: it may be a pipe.
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ReadError::TooLarge { path: path() });
    }

    // The schema first: another version's file is another version's, not damaged.
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    match serde_json::from_slice::<Head>(&bytes).map_err(json)?.schema {
        Some(schema) if schema == SCHEMA => {}
        Some(found) => {
            return Err(ReadError::UnknownSchema {
                path: path(),
                found,
            });
        }
        None => return Err(ReadError::NoSchema { path: path() }),
    }
    let result: ResultFile = serde_json::from_slice(&bytes).map_err(json)?;
    match inconsistency(&result) {
        Some(what) => Err(ReadError::Inconsistent { path: path(), what }),
        None => Ok(result),
    }
}

/// What every reader downstream relies on. Names are quoted, for they may hold anything.
fn inconsistency(result: &ResultFile) -> Option<String> {
    for (index, row) in result.rows.iter().enumerate() {
        let name = &row.benchmark;
        if result.rows[..index]
            .iter()
            .any(|other| other.benchmark == *name)
        {
            return Some(format!("benchmark {name:?} has two rows"));
        }
        for metric in &row.metrics {
            for samples in &metric.boots {
                let place = format!("{name:?}, {:?}, boot {}", metric.name, samples.boot);
                let (run, control) = (samples.run.len(), samples.control.len());
                if run != control {
                    return Some(format!(
                        "{place}: {run} samples but {control} of the control loop"
                    ));
                }
                if run == 0 {
                    return Some(format!("{place}: no samples"));
                }
                if samples.iterations == 0 {
                    return Some(format!("{place}: batches of 0 iterations"));
                }
                let boot = result.boots.iter().find(|boot| boot.boot == samples.boot);
                let launches = boot.map_or(0, |boot| boot.launches.len());
                if usize::try_from(samples.launch).map_or(true, |launch| launch >= launches) {
                    return Some(format!(
                        "{place}: no launch {} in that boot",
                        samples.launch
                    ));
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;
    use serde_json::{Value, json};

    /// Reads the sample after `spoil` had its way with it.
    fn read_spoiled(spoil: impl FnOnce(&mut Value)) -> Result<ResultFile, String> {
        let mut value = serde_json::to_value(sample()).unwrap();
        spoil(&mut value);
        read_text(&value.to_string())
    }

    fn read_text(text: &str) -> Result<ResultFile, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.json");
        std::fs::write(&path, text).unwrap();
        read_file(&path).map_err(|e| e.to_string().replace(&path.display().to_string(), "r.json"))
    }

    #[test]
    fn an_unspoiled_file_is_read() {
        assert_eq!(read_spoiled(|_| {}).unwrap(), sample());
    }

    #[test]
    fn fields_of_a_later_minor_writer_are_ignored() {
        assert_eq!(
            read_spoiled(|v| v["colour"] = json!("blue")).unwrap(),
            sample()
        );
    }

    #[test]
    fn another_schema_is_refused_by_name() {
        let error = read_spoiled(|v| v["schema"] = json!("worldswitch-result/2")).unwrap_err();
        assert_eq!(
            error,
            "r.json has schema \"worldswitch-result/2\", and this version reads only \
             \"worldswitch-result/1\""
        );
    }

    #[test]
    fn what_is_no_result_file_is_refused() {
        assert_eq!(
            read_text("{}").unwrap_err(),
            "r.json is no result file: it has no \"schema\""
        );
        assert!(
            read_text("")
                .unwrap_err()
                .starts_with("r.json is no result file: EOF")
        );
        assert!(
            read_text("{\"schema\":")
                .unwrap_err()
                .starts_with("r.json is no result file: ")
        );
        let missing = read_text("{\"schema\":\"worldswitch-result/1\"}").unwrap_err();
        assert!(missing.contains("missing field `created`"), "{missing}");
    }

    #[test]
    fn parts_that_contradict_each_other_are_refused() {
        let cases: [(&str, Value, &str); 5] = [
            (
                "/rows/0/metrics/0/boots/0/control",
                json!([1]),
                "3 samples but 1 of the control",
            ),
            (
                "/rows/0/metrics/0/boots/0/iterations",
                json!(0),
                "batches of 0 iterations",
            ),
            (
                "/rows/0/metrics/0/boots/0/launch",
                json!(7),
                "no launch 7 in that boot",
            ),
            (
                "/rows/0/metrics/0/boots/0/boot",
                json!(9),
                "no launch 0 in that boot",
            ),
            (
                "/rows/1/benchmark",
                json!("sgdt"),
                "benchmark \"sgdt\" has two rows",
            ),
        ];
        for (place, value, wanted) in cases {
            let error = read_spoiled(|v| *v.pointer_mut(place).unwrap() = value).unwrap_err();
            assert!(error.starts_with("r.json is damaged: "), "{error}");
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn a_file_without_end_is_refused_and_not_read_to_its_end() {
        let error = read_file(Path::new("/dev/zero")).unwrap_err();
        assert!(matches!(error, ReadError::TooLarge { .. }), "{error}");
    }
}
