//! A run without the command: from a [`RunSpec`] to results, of a saved console.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use std::path::Path;
use ws_records::{BenchResult, CheckVerdict, Encoder, Nonce};
use ws_results::Status;
use ws_runner::{Benchmarks, Measured, Output, RunSpec, Session, measure};
use ws_terminal::{Stop, Usage};

/// The console of a guest that measured `in` and `out`.
fn console() -> Vec<u8> {
    let mut encoder = Encoder::new("guest", Nonce(1)).unwrap();
    let mut bytes = Vec::new();
    let hello =
        json!({"protocol": 1, "guest": "0", "arch": "x86_64", "unit": "tsc_ticks", "cpus": 1});
    bytes.extend(encoder.line("hello", &hello).unwrap());
    for (index, bench) in ["in", "out"].into_iter().enumerate() {
        let begin: Value = json!({"bench": bench, "index": index});
        bytes.extend(encoder.line("begin", &begin).unwrap());
        let result = BenchResult {
            bench: bench.to_owned(),
            iterations: 10,
            cpus: 1,
            page_bytes: None,
            ws_bytes: None,
            port: None,
            check: CheckVerdict::Proved,
            note: String::new(),
            lead: None,
            unmarked: None,
            run: vec![150; 6],
            control: vec![100; 6],
        };
        bytes.extend(encoder.result(&result).unwrap().concat());
        bytes.extend(encoder.line("end", &json!({"bench": bench})).unwrap());
    }
    bytes.extend(encoder.line("bye", &json!({"status": "ok"})).unwrap());
    bytes
}

fn measured(folder: &Path, benchmarks: Benchmarks, output: &str) -> anyhow::Result<Measured> {
    let log = folder.join("console");
    std::fs::write(&log, console())?;
    let spec = RunSpec {
        platforms: vec![format!("log:{}", log.display()).parse()?],
        benchmarks,
        output: Output {
            folder: Some(folder.join(output)),
            force: false,
        },
        ..RunSpec::default()
    };
    let session = Session {
        tool: "a test".to_owned(),
        stop: Stop::default(),
    };
    measure(&spec, None, &session)
}

#[test]
fn a_spec_becomes_results_and_their_files() {
    let folder = tempfile::tempdir().unwrap();
    let measured = measured(folder.path(), Benchmarks::All, "out").unwrap();
    assert!(measured.is_whole());
    let [result] = &*measured.results else {
        panic!("{} results", measured.results.len());
    };
    assert_eq!((&*result.tool, result.boots.len()), ("a test", 1));
    let rows = result.rows.iter();
    let rows: Vec<_> = rows.map(|row| (&*row.benchmark, row.status)).collect();
    assert_eq!(rows, [("in", Status::Ok), ("out", Status::Ok)]);
    let path = folder.path().join("out");
    let path = path.join(ws_results::file_name(&result.platform));
    assert_eq!(ws_results::read_file(&path).unwrap(), *result);
}

#[test]
fn a_pattern_chooses_and_results_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let only = || Benchmarks::Matching(regex::Regex::new("^in$").unwrap());
    // Dropped, it no longer holds the folder's lock.
    let rows = measured(folder.path(), only(), "out").map(|first| first.results[0].rows.len());
    assert_eq!(rows.unwrap(), 1);
    let again = measured(folder.path(), only(), "out").err().unwrap();
    assert!(again.to_string().contains("has results of log:"), "{again}");
    assert!(!again.is::<Usage>());
}
