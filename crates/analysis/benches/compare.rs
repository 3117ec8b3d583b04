//! Measures the comparison of two runs with 50 benchmarks by 50 boots, from files to verdicts. A comparison should take
//! less than a second: `cargo bench -p ws-analysis`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)]

use std::time::{Duration, Instant};
use ws_analysis::statistics::Rng;
use ws_analysis::{CompareOptions, compare_results};
use ws_results::{Boot, Identity, Launch, Metric, ResultFile, Row, Samples, Status};

const BENCHMARKS: u32 = 50;
const BOOTS: u32 = 50;
const SAMPLES: u32 = 30;
const ROUNDS: u32 = 5;

/// A synthetic run, identified by `created`. With `whole`, costs are whole ticks, with many ties.
fn run(created: &str, rng: &mut Rng, whole: bool) -> ResultFile {
    let launch = Launch::ended("1", Vec::new());
    let boot = |boot| Boot {
        boot,
        launches: vec![launch.clone()],
        perturbed: None,
    };
    let mut row = |number: u32| {
        let samples = |boot, rng: &mut Rng| {
            let iterations = if whole { 1 } else { 1000 };
            let base = 100 * iterations + rng.u64(0..=10 * iterations);
            Samples {
                boot,
                iterations,
                run: (0..SAMPLES)
                    .map(|_| base + rng.u64(0..=iterations))
                    .collect(),
                control: vec![0; SAMPLES as usize],
                ..Samples::default()
            }
        };
        Row {
            benchmark: format!("benchmark-{number}"),
            category: "io".into(),
            work: None,
            facts: Default::default(),
            status: Status::Ok,
            reason: None,
            outcomes: vec![],
            conditions: Default::default(),
            exact: None,
            metrics: vec![Metric {
                name: "cost".into(),
                unit: "tsc_ticks".into(),
                boots: (1..=BOOTS).map(|boot| samples(boot, rng)).collect(),
            }],
            host: vec![],
        }
    };
    ResultFile {
        schema: ws_results::SCHEMA.into(),
        created: created.into(),
        tool: String::new(),
        command: vec![],
        platform: "made-up".into(),
        position: None,
        identity: Identity::default(),
        disturbances: None,
        interrupted: false,
        rows: (0..BENCHMARKS).map(&mut row).collect(),
        boots: (1..=BOOTS).map(boot).collect(),
    }
}

fn main() {
    let dir = std::env::temp_dir().join(format!("ws-bench-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    for (what, whole) in [
        ("fractions of ticks", false),
        ("whole ticks, with many ties", true),
    ] {
        let mut rng = Rng::with_seed(1);
        let files = ["a", "b"].map(|name| {
            let path = dir.join(name);
            ws_results::write_file(&path, &run(name, &mut rng, whole)).unwrap();
            path
        });
        let mut least = Duration::MAX;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let [a, b] = files
                .each_ref()
                .map(|path| ws_results::read_file(path).unwrap());
            let compared = compare_results(&a, &b, &CompareOptions::default()).unwrap();
            least = least.min(start.elapsed());
            assert_eq!(compared.rows.len(), BENCHMARKS as usize);
        }
        println!(
            "compare {BENCHMARKS} benchmarks by {BOOTS} boots, {what}: {least:?} (best of {ROUNDS})"
        );
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
