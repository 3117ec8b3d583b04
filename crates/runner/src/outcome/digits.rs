//! Counts of earlier runs in the lab: the same machine, launched in the same way, must give the same
//! counts, or the lab is broken.
//!
//! The counts are kept beside the lab's packages in the folder `digits`, one small file per machine and launch. The
//! file's name is a hash of all parts of the machine, its guest and its guest's command line, so that only identical
//! launches are compared.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use ws_analysis::{BootEstimate, UnitKind};
use ws_results::{Row, Samples};
use ws_terminal::time;

/// Folder of the counts of earlier runs.
#[derive(Clone, Debug)]
pub struct Digits(PathBuf);

/// Name of a launch: launches of the same name must give the same counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(String);

/// Counts of a launch, as stored.
#[derive(Debug, Serialize, Deserialize)]
struct Seen {
    /// Time at which the counts were first seen, as RFC 3339.
    first: String,
    /// Counts by benchmark.
    rows: BTreeMap<String, Digit>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Digit {
    /// SHA-256 of all samples, in hexadecimal.
    samples: String,
    /// Most frequent cost, for people: serde_json does not read every number as it wrote it.
    mode: f64,
}

impl Key {
    /// Names a launch of the machine with this digest, with this command line of its guest. `cpus`: numbers of the
    /// guest's and the machine's CPUs, in words that are always the same.
    pub fn of(machine: &str, cpus: &str, memory_mib: Option<u64>, line: &str) -> Self {
        let memory_mib = memory_mib.unwrap_or(0);
        let hash = Sha256::digest(format!("{machine}\n{cpus}\n{memory_mib}\n{line}"));
        Self(hash.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl Digits {
    /// The folder beside the lab's packages.
    pub fn beside(store: &Path) -> Self {
        Self(store.join("digits"))
    }

    /// Compares the counts of boot `boot` with those of the same launches in earlier runs, and stores new ones. `keys`
    /// are by launch. Returns the differences, in words.
    pub fn watch(&self, keys: &[Key], boot: u32, rows: &[Row]) -> io::Result<Vec<String>> {
        let mut broken = Vec::new();
        for (launch, key) in (0u32..).zip(keys) {
            let now = digits(rows, boot, launch);
            if now.is_empty() {
                continue;
            }
            let path = self.0.join(format!("{}.json", key.0));
            let mut seen = read(&path)?.unwrap_or_else(|| Seen {
                first: time::rfc3339(SystemTime::now()),
                rows: BTreeMap::new(),
            });
            let known = seen.rows.len();
            for (bench, digit) in now {
                match seen.rows.get(&bench) {
                    Some(before) if before.samples != digit.samples => broken.push(format!(
                        "{bench}: {} instructions first seen {}, {} now{}",
                        before.mode,
                        seen.first,
                        digit.mode,
                        if before.mode == digit.mode {
                            ", in other samples"
                        } else {
                            ""
                        }
                    )),
                    Some(_) => {}
                    None => {
                        seen.rows.insert(bench, digit);
                    }
                }
            }
            // Stored counts are never replaced, so that all runs are compared with the first.
            if seen.rows.len() > known {
                fs::create_dir_all(&self.0)?;
                let text = serde_json::to_string_pretty(&seen)?;
                ws_results::write_bytes(&path, text.as_bytes()).map_err(io::Error::other)?;
            }
        }
        Ok(broken)
    }
}

/// Reads stored counts, if there are any.
fn read(path: &Path) -> io::Result<Option<Seen>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    let seen = serde_json::from_str(&text)
        .map_err(|e| io::Error::other(format!("{}: {e}; remove that file", path.display())))?;
    Ok(Some(seen))
}

/// Takes the counts of the rows that this launch measured.
fn digits(rows: &[Row], boot: u32, launch: u32) -> Vec<(String, Digit)> {
    let mut all = Vec::new();
    for row in rows {
        let samples = row
            .metrics
            .iter()
            .filter(|metric| metric.unit == "insns")
            .flat_map(|metric| &metric.boots)
            .find(|samples| (samples.boot, samples.launch) == (boot, launch));
        if let Some(digit) = samples.and_then(digit) {
            all.push((row.benchmark.clone(), digit));
        }
    }
    all
}

fn digit(samples: &Samples) -> Option<Digit> {
    let mut hash = Sha256::new();
    hash.update(samples.iterations.to_le_bytes());
    for ticks in samples.run.iter().chain(&samples.control) {
        hash.update(ticks.to_le_bytes());
    }
    Some(Digit {
        samples: hash.finalize().iter().map(|b| format!("{b:02x}")).collect(),
        mode: BootEstimate::of(samples, UnitKind::Count)?.value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ws_results::{Metric, Status};

    fn row(bench: &str, run: &[u64]) -> Row {
        let samples = Samples {
            boot: 1,
            launch: 0,
            iterations: 1,
            run: run.to_vec(),
            control: vec![10; run.len()],
            ..Samples::default()
        };
        Row {
            benchmark: bench.into(),
            category: "c".into(),
            work: None,
            facts: ws_results::RowFacts::default(),
            conditions: BTreeMap::new(),
            status: Status::Ok,
            reason: None,
            outcomes: Vec::new(),
            exact: None,
            metrics: vec![Metric {
                name: "cost".into(),
                unit: "insns".into(),
                boots: vec![samples],
            }],
            host: Vec::new(),
        }
    }

    fn key(machine: &str, vcpus: u32, line: &str) -> Key {
        Key::of(machine, &vcpus.to_string(), None, line)
    }

    #[test]
    fn other_counts_of_the_same_launch_are_a_broken_lab() {
        let folder = tempfile::tempdir().unwrap();
        let digits = Digits::beside(folder.path());
        let key = [key("machine", 1, "bench=^(in)$")];
        let watch = |run: &[u64]| digits.watch(&key, 1, &[row("in", run)]).unwrap();
        assert_eq!(watch(&[20, 20, 21]), [""; 0], "never seen");
        assert_eq!(watch(&[20, 20, 21]), [""; 0], "the same again");
        let broken = watch(&[21, 21, 20]);
        assert_eq!(broken.len(), 1);
        assert!(broken[0].starts_with("in: 10 instructions first seen "));
        assert!(broken[0].ends_with(", 11 now"), "{broken:?}");
        assert!(watch(&[20, 21, 20])[0].ends_with("10 now, in other samples"));
        assert_eq!(watch(&[20, 20, 21]), [""; 0], "what was kept first stays");
    }

    #[test]
    fn a_cost_that_is_no_short_decimal_is_the_same_again() {
        let folder = tempfile::tempdir().unwrap();
        let digits = Digits::beside(folder.path());
        // Of 300 operations: parsed, 147472.27333333335 is not what was printed.
        for total in 44_241_600..44_241_700_u64 {
            let key = [key("machine", 1, &total.to_string())];
            let mut row = row("in", &[total]);
            row.metrics[0].boots[0].iterations = 300;
            for _ in 0..2 {
                let broken = digits.watch(&key, 1, std::slice::from_ref(&row)).unwrap();
                assert_eq!(broken, [""; 0]);
            }
        }
    }

    #[test]
    fn another_machine_launch_or_row_is_never_compared() {
        let folder = tempfile::tempdir().unwrap();
        let digits = Digits::beside(folder.path());
        let watch = |machine, vcpus, line, bench, run: &[u64]| {
            let key = [key(machine, vcpus, line)];
            digits.watch(&key, 1, &[row(bench, run)]).unwrap()
        };
        assert_eq!(watch("m", 1, "l", "in", &[20]), [""; 0]);
        assert_eq!(watch("n", 1, "l", "in", &[21]), [""; 0]);
        assert_eq!(watch("m", 2, "l", "in", &[22]), [""; 0]);
        assert_eq!(watch("m", 1, "k", "in", &[23]), [""; 0]);
        assert_eq!(watch("m", 1, "l", "out", &[24]), [""; 0]);
        assert_eq!(watch("m", 1, "l", "in", &[21]).len(), 1);
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let digits = Digits::beside(folder.path());
        let key = key("m", 1, "l");
        fs::create_dir_all(folder.path().join("digits")).unwrap();
        let path = folder.path().join(format!("digits/{}.json", key.0));
        fs::write(&path, "{").unwrap();
        let error = digits.watch(&[key], 1, &[row("in", &[20])]).unwrap_err();
        assert!(error.to_string().contains("remove that file"), "{error}");
    }
}
