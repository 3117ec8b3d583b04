//! Small synthetic results for the tests of this crate.

use serde_json::{Value, json};
use ws_report::page::{Report, ReportError};
use ws_results::*;

/// Renders a page. With `WS_PAGES=DIR` it is also kept there, by the name of the test: tests/e2e/report.bats looks at all
/// of them in a browser.
pub fn render(report: &Report) -> Result<String, ReportError> {
    let page = ws_report::page::render(report)?;
    if let Some(folder) = std::env::var_os("WS_PAGES") {
        let test = std::thread::current()
            .name()
            .unwrap_or("main")
            .replace("::", "-");
        let path = |n: u32| std::path::Path::new(&folder).join(format!("{test}-{n}.html"));
        // Of a test with many pages the first ones.
        if let Some(free) = (1..5).map(path).find(|path| !path.exists()) {
            std::fs::write(free, &page).unwrap();
        }
    }
    Ok(page)
}

fn object(value: Value) -> std::collections::BTreeMap<String, Value> {
    value.as_object().unwrap().clone().into_iter().collect()
}

/// A row with samples by boot: the ticks of batches of one operation, with a control of 0.
pub fn measured(name: &str, category: &str, unit: &str, boots: &[&[u64]]) -> Row {
    let check = Check {
        verdict: Verdict::Proved,
        note: format!("{name} was seen"),
    };
    let outcome = |boot| Outcome {
        boot,
        status: Status::Ok,
        reason: None,
        check: Some(check.clone()),
        external: None,
    };
    let samples = |(boot, run): (u32, &&[u64])| Samples {
        boot,
        launch: 0,
        iterations: 1,
        run: run.to_vec(),
        control: vec![0; run.len()],
        ..Samples::default()
    };
    let mut row = Row {
        benchmark: name.into(),
        category: category.into(),
        work: None,
        facts: RowFacts::default(),
        status: Status::Ok,
        reason: None,
        outcomes: (1..).take(boots.len()).map(outcome).collect(),
        conditions: object(json!({"vcpus": 1, "digest": format!("digest-of-{name}")})),
        exact: None,
        metrics: vec![Metric {
            name: "cost".into(),
            unit: unit.into(),
            boots: (1..).zip(boots).map(samples).collect(),
        }],
        host: vec![],
    };
    row.exact = ws_analysis::summarize(&row.metrics[0]).and_then(|summary| summary.exact);
    row
}

/// A row without samples.
pub fn absent(name: &str, category: &str, status: Status, reason: &str) -> Row {
    Row {
        status,
        reason: Some(reason.into()),
        outcomes: vec![Outcome {
            boot: 1,
            status,
            reason: Some(reason.into()),
            check: None,
            external: None,
        }],
        metrics: vec![],
        ..measured(name, category, "insns", &[])
    }
}

/// The row with an unproven check.
pub fn unproven(mut row: Row) -> Row {
    for outcome in &mut row.outcomes {
        outcome.check = Some(Check {
            verdict: Verdict::Unproven,
            note: "whether the page was unmapped".into(),
        });
    }
    row
}

/// A result as it is read from a file of a version whose rows had no facts.
pub fn result(platform: &str, boots: u32, conditions: Value, mut rows: Vec<Row>) -> ResultFile {
    for row in &mut rows {
        row.facts = RowFacts::named(row);
    }
    let launch = |boot: u32| Launch {
        first_record_ms: Some(212),
        wall_ms: 1843,
        end_detail: "the guest said bye".into(),
        ..Launch::ended(
            format!("{boot:x}"),
            rows.iter().map(|row| row.benchmark.clone()).collect(),
        )
    };
    ResultFile {
        schema: SCHEMA.into(),
        created: "2026-01-31T12:00:00Z".into(),
        tool: "worldswitch 0.1.0".into(),
        command: ["worldswitch", "run"].map(Into::into).into(),
        platform: platform.into(),
        position: None,
        identity: Identity {
            subject: object(json!({"platform": platform})),
            conditions: object(conditions),
            ..Identity::default()
        },
        disturbances: None,
        interrupted: false,
        boots: (1..=boots)
            .map(|boot| Boot {
                boot,
                launches: vec![launch(boot)],
                perturbed: None,
            })
            .collect(),
        rows,
    }
}

/// Two lab platforms and one measured in time, with every kind of cell.
pub fn house() -> Vec<ResultFile> {
    let insns = json!({"unit": "insns", "emulator": "qemu 10.0.2"});
    let native = vec![
        measured("idle", "idle", "insns", &[&[0, 0, 0], &[0, 0, 0]]),
        measured("sgdt", "unprivileged", "insns", &[&[1, 1, 1], &[1, 1, 1]]),
        measured("sidt", "unprivileged", "insns", &[&[1, 1, 2], &[1, 1, 1]]),
        absent(
            "hypercall",
            "exception",
            Status::Skip,
            "hypercall=none: no hypervisor is here",
        ),
        unproven(measured(
            "cold-memory-access",
            "memory",
            "insns",
            &[&[4, 4], &[4, 4]],
        )),
        measured("in", "io", "insns", &[&[1], &[1]]),
    ];
    let mut timeout = measured("sidt", "unprivileged", "insns", &[&[2790, 2790, 2790]]);
    timeout.status = Status::Timeout;
    timeout.reason = Some("took longer than 20 s".into());
    timeout.outcomes.push(Outcome {
        boot: 2,
        status: Status::Timeout,
        reason: timeout.reason.clone(),
        check: None,
        external: None,
    });
    let mut changed = measured(
        "cold-memory-access",
        "memory",
        "insns",
        &[&[4764, 6684, 4764], &[4764, 6684, 4764]],
    );
    changed.conditions.insert("page_bytes".into(), json!(4096));
    let kvm = vec![
        measured("sgdt", "unprivileged", "insns", &[&[1, 1, 1], &[1, 1, 1]]),
        timeout,
        measured(
            "hypercall",
            "exception",
            "insns",
            &[&[3022, 3022, 4100], &[3022, 3022, 4100]],
        ),
        {
            let mut row = measured(
                "ipi-running",
                "exception",
                "insns",
                &[&[9001, 9001], &[9200, 9200]],
            );
            row.conditions.insert("vcpus".into(), json!(2));
            row
        },
        changed,
        absent("in", "io", Status::Died, "the machine ended while it ran"),
    ];
    let ticks = json!({"unit": "tsc_ticks", "emulator": "qemu 10.0.2"});
    let tcg = vec![
        measured(
            "idle",
            "idle",
            "tsc_ticks",
            &[&[0, 1, 0], &[0, 0, 0], &[0, 0, 1]],
        ),
        measured(
            "sgdt",
            "unprivileged",
            "tsc_ticks",
            &[&[41, 40, 44], &[42, 42, 42], &[43, 43, 43]],
        ),
        absent(
            "hypercall",
            "exception",
            Status::Skip,
            "hypercall=none: no hypervisor is here",
        ),
        unproven(measured(
            "cold-memory-access",
            "memory",
            "tsc_ticks",
            &[&[12_345], &[12_399], &[12_401]],
        )),
    ];
    vec![
        result("lab:native", 2, insns.clone(), native),
        result("lab:kvm", 2, insns, kvm),
        result("qemu-tcg", 3, ticks, tcg),
    ]
}

/// Compares with `tests/golden/NAME`, which `WS_BLESS=1 cargo test -p ws-report` regenerates.
#[track_caller]
pub fn assert_golden(name: &str, text: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("WS_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == text, "{name} differs; it is now:\n{text}");
}

/// `runs` runs of three platforms in instructions (2 boots each) and one in time (5 boots), each of 18
/// benchmarks with 30 samples per boot.
pub fn many_runs(runs: u32) -> Vec<ResultFile> {
    // A fixed pseudo-random sequence with a long period (Knuth's MMIX).
    let mut state = 1u64;
    let mut noise = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state >> 55
    };
    let mut rows = |unit: &str, boots: usize| -> Vec<Row> {
        (0..18u64)
            .map(|row| {
                let noisy = unit != "insns";
                let mut boot = || -> Vec<u64> {
                    (0..30)
                        .map(|_| 700 * (row + 1) + if noisy { noise() } else { 0 })
                        .collect()
                };
                let boots: Vec<Vec<u64>> = (0..boots).map(|_| boot()).collect();
                let boots: Vec<&[u64]> = boots.iter().map(Vec::as_slice).collect();
                measured(&format!("benchmark-{row}"), "memory", unit, &boots)
            })
            .collect()
    };
    let mut results = Vec::new();
    for run in 0..runs {
        for (platform, unit, boots) in [
            ("lab:native", "insns", 2),
            ("lab:kvm", "insns", 2),
            ("lab:kvm-shadow", "insns", 2),
            ("qemu-tcg", "tsc_ticks", 5),
        ] {
            let conditions = json!({"unit": unit, "emulator": "qemu 10.0.2", "cpu": "QEMU TCG", "pinning": "none"});
            let mut result = result(platform, boots as u32, conditions, rows(unit, boots));
            result.created = format!("2026-01-{:02}T{:02}:00:00Z", 1 + run / 24, run % 24);
            results.push(result);
        }
    }
    results
}
