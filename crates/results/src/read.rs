//! Reads and checks a result file. It is untrusted input: damaged files are refused with the reason.

use crate::{Perturbation, ResultFile, SCHEMA};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Size above which files are refused.
pub const MAX_FILE_BYTES: u64 = 256 << 20;

/// Why a file cannot be read as a result.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The read failed.
    #[error("cannot read {}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The file is larger than [`MAX_FILE_BYTES`].
    #[error("{} is not a result file: larger than {MAX_FILE_BYTES} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is not JSON.
    #[error("{} is not a result file: {cause}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The place and the error.
        cause: serde_json::Error,
    },
    /// A field is missing, cut off, or has a wrong value.
    #[error("{} is not a result file: {field}: {cause}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The field, such as `rows[0].metrics[1].unit`; if it is missing, its parent.
        field: String,
        /// The place and the error.
        cause: serde_json::Error,
    },
    /// The file has no `schema` field.
    #[error("{} is not a result file: it has no \"schema\"", path.display())]
    NoSchema {
        /// The file.
        path: PathBuf,
    },
    /// The file is of another kind, or of another version.
    #[error("{} has schema {found:?}, and this version reads only {SCHEMA:?}", path.display())]
    UnknownSchema {
        /// The file.
        path: PathBuf,
        /// Schema of the file.
        found: String,
    },
    /// Parts of the file contradict each other.
    #[error("{} is damaged: {what}", path.display())]
    Inconsistent {
        /// The file.
        path: PathBuf,
        /// The parts, and how they contradict each other.
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

    let file = File::open(path()).map_err(io)?;
    let mut bytes = Vec::new();
    // Limit what is read instead of checking the file's size: it may be a pipe.
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ReadError::TooLarge { path: path() });
    }

    // The schema first, so that a file of another version is not reported as damaged.
    #[derive(Deserialize)]
    struct Head {
        schema: Option<String>,
    }
    match serde_json::from_slice::<Head>(&bytes) {
        Ok(Head {
            schema: Some(schema),
        }) if schema == SCHEMA => {}
        Ok(Head {
            schema: Some(found),
        }) => {
            return Err(ReadError::UnknownSchema {
                path: path(),
                found,
            });
        }
        Ok(Head { schema: None }) => return Err(ReadError::NoSchema { path: path() }),
        Err(cause) => return Err(field_error(path(), &bytes, cause)),
    }
    let result: ResultFile = match serde_json::from_slice(&bytes) {
        Ok(result) => result,
        Err(cause) => return Err(field_error(path(), &bytes, cause)),
    };
    match inconsistency(&result) {
        Some(what) => Err(ReadError::Inconsistent { path: path(), what }),
        None => Ok(result),
    }
}

/// Finds the wrong field by parsing again with its path tracked, which is slower.
fn field_error(path: PathBuf, bytes: &[u8], cause: serde_json::Error) -> ReadError {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    match serde_path_to_error::deserialize::<_, ResultFile>(&mut json) {
        Err(error) => match error.path().to_string() {
            // Not even the outermost braces are right.
            field if field == "." => ReadError::Json { path, cause },
            field => ReadError::Field {
                path,
                field: field.escape_debug().to_string(),
                cause: error.into_inner(),
            },
        },
        // The error is after the object, where there is no path.
        Ok(_) => ReadError::Json { path, cause },
    }
}

/// Returns the first violation of an invariant on which all users of a result rely. Names may contain anything, so they
/// are quoted.
fn inconsistency(result: &ResultFile) -> Option<String> {
    let mut numbers = BTreeSet::new();
    for boot in &result.boots {
        if !numbers.insert(boot.boot) {
            return Some(format!("two boots have the number {}", boot.boot));
        }
        if boot.perturbed == Some(Perturbation::default()) {
            return Some(format!("boot {} has an empty \"perturbed\"", boot.boot));
        }
    }
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
                if metric
                    .boots
                    .iter()
                    .filter(|s| s.boot == samples.boot)
                    .count()
                    > 1
                {
                    return Some(format!("{place}: two entries for that boot"));
                }
                let (run, control) = (samples.run.len(), samples.control.len());
                if run != control {
                    return Some(format!(
                        "{place}: {run} samples but {control} control samples"
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
    use crate::{Row, RowFacts};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// Reads the sample result after `spoil` has modified it.
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

    /// Reads the sample result with its first row changed.
    fn row_of(change: Value) -> Row {
        let read = read_spoiled(|v| {
            let row = v["rows"][0].as_object_mut().unwrap();
            row.extend(change.as_object().unwrap().clone());
        });
        read.unwrap().rows.remove(0)
    }

    #[test]
    fn rows_without_facts_have_those_of_their_names() {
        let old = row_of(json!({"benchmark": "io-elvis-d8", "category": "io", "work": "request"}));
        let io = old.facts().into_owned().io.unwrap();
        assert_eq!((&*io.device, io.depth, io.busy), ("elvis", 8, false));
        let old = row_of(
            json!({"benchmark": "place-cpu-guest-both-0to1-1", "category": "application", "work": "event"}),
        );
        assert!(old.facts().placement.is_some() && old.facts().application.is_none());
        let old =
            row_of(json!({"benchmark": "pipe-alone", "category": "application", "work": "byte"}));
        assert!(old.facts().into_owned().application.unwrap().primitive);
        assert!(row_of(json!({})).facts().is_empty());
    }

    #[test]
    fn facts_are_believed_before_a_name() {
        let fields = json!({"device": "x", "depth": 2, "busy": true});
        let new = row_of(
            json!({"benchmark": "io-elvis-d8", "category": "io", "work": "request",
            "facts": {"io": fields, "colour": "blue"}}),
        );
        assert_eq!(
            serde_json::to_value(new.facts()).unwrap(),
            json!({"io": fields})
        );
        let workload = row_of(json!({"benchmark": "pipe", "category": "application",
            "facts": {"application": {}}}));
        assert!(!workload.facts().into_owned().application.unwrap().primitive);
    }

    #[test]
    fn facts_are_written_as_they_are_read() {
        let places = [
            json!({"kind": "cpu", "side": "guest", "both": {"host": {"work": "0-1"}, "vm": {"work": "1"}}}),
            json!({"kind": "net-host", "side": "host", "alone": {"work": "0", "serve": "1"}}),
            json!({"kind": "trip-host", "side": "guest", "alone": {"work": "1", "receiver": "0"}}),
        ];
        for placement in places {
            let facts = json!({"placement": placement});
            let row = row_of(json!({"facts": facts}));
            assert_eq!(serde_json::to_value(&row).unwrap()["facts"], facts);
            assert_eq!(
                row.facts,
                named(&row.facts.placement.clone().unwrap().name())
            );
        }
        let spread = json!({"interrupts": {"of": "apache", "on": "spread"}});
        let facts = json!({"application": spread});
        let row = row_of(json!({"facts": facts}));
        assert_eq!(serde_json::to_value(&row).unwrap()["facts"], facts);
        assert_eq!(row.facts, named("apache-interrupts-spread"));
    }

    fn named(workload: &str) -> RowFacts {
        RowFacts::named(&Row::new(workload, "application"))
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
            "r.json is not a result file: it has no \"schema\""
        );
        assert!(
            read_text("")
                .unwrap_err()
                .starts_with("r.json is not a result file: EOF")
        );
        assert!(
            read_text("{\"schema\":")
                .unwrap_err()
                .starts_with("r.json is not a result file: ")
        );
        let missing = read_text("{\"schema\":\"worldswitch-result/1\"}").unwrap_err();
        assert!(missing.contains("missing field `created`"), "{missing}");
        assert_eq!(
            read_text("[1]")
                .unwrap_err()
                .find("r.json is not a result file: "),
            Some(0)
        );
    }

    #[test]
    fn a_wrong_field_is_named_with_its_place() {
        let error = read_spoiled(|v| v["rows"][0]["metrics"][0]["unit"] = json!(7)).unwrap_err();
        assert!(
            error.contains(": rows[0].metrics[0].unit: invalid type: integer `7`"),
            "{error}"
        );
        let error = read_spoiled(|v| {
            v["boots"][1]["launches"][0]
                .as_object_mut()
                .unwrap()
                .remove("vcpus");
        });
        let error = error.unwrap_err();
        assert!(
            error.contains(": boots[1].launches[0]: missing field `vcpus`"),
            "{error}"
        );
        let text = serde_json::to_string(&sample()).unwrap();
        let cut = text.find("3010,3010").unwrap();
        let error = read_text(&text[..cut]).unwrap_err();
        assert!(
            error.contains(": rows[0].metrics[0].boots[0].control: EOF"),
            "{error}"
        );
    }

    proptest! {
        /// A truncated file is refused with its name, without a panic.
        #[test]
        fn cut_files_are_refused(cut in any::<prop::sample::Index>()) {
            let text = serde_json::to_string(&sample()).unwrap();
            let error = read_text(&text[..cut.index(text.len())]).unwrap_err();
            prop_assert!(error.starts_with("r.json is not a result file"), "{}", error);
        }

        #[test]
        fn damaged_bytes_are_no_panic(
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        ) {
            let mut bytes = serde_json::to_vec(&sample()).unwrap();
            for (place, byte) in damage {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("r.json");
            std::fs::write(&path, bytes).unwrap();
            if let Err(error) = read_file(&path) {
                prop_assert!(error.to_string().contains("r.json"), "{}", error);
            }
        }

        /// Any one value replaced by one of another type.
        #[test]
        fn foreign_values_are_no_panic(place in any::<prop::sample::Index>(), kind in 0usize..7) {
            let mut value = serde_json::to_value(sample()).unwrap();
            let mut all = Vec::new();
            pointers(&value, String::new(), &mut all);
            let foreign = [json!(null), json!(-1), json!(1e300), json!("x"), json!([[]]), json!({}),
                json!(u64::MAX)];
            let place = &all[place.index(all.len())];
            *value.pointer_mut(place).unwrap() = foreign[kind].clone();
            if let Err(error) = read_text(&value.to_string()) {
                prop_assert!(error.starts_with("r.json "), "{}", error);
            }
        }
    }

    /// The JSON pointers of all values but the outermost.
    fn pointers(value: &Value, at: String, all: &mut Vec<String>) {
        let inside: Vec<(String, &Value)> = match value {
            Value::Array(values) => (0..).map(|i: usize| i.to_string()).zip(values).collect(),
            Value::Object(fields) => fields.iter().map(|(k, v)| (k.clone(), v)).collect(),
            _ => Vec::new(),
        };
        for (key, value) in inside {
            let at = format!("{at}/{key}");
            all.push(at.clone());
            pointers(value, at, all);
        }
    }

    #[test]
    fn parts_that_contradict_each_other_are_refused() {
        let cases: [(&str, Value, &str); 8] = [
            ("/boots/1/boot", json!(1), "two boots have the number 1"),
            ("/boots/1/perturbed", json!({}), "an empty \"perturbed\""),
            (
                "/rows/0/metrics/0/boots/1/boot",
                json!(1),
                "two entries for that boot",
            ),
            (
                "/rows/0/metrics/0/boots/0/control",
                json!([1]),
                "3 samples but 1 control",
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
            let error = read_spoiled(|v| {
                // Also inserts a field that the sample leaves out.
                let (object, field) = place.rsplit_once('/').unwrap();
                match v.pointer_mut(object).unwrap() {
                    Value::Object(fields) => fields.insert(field.into(), value),
                    other => panic!("{other}"),
                };
            })
            .unwrap_err();
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
