use super::*;
use serde_json::json;

/// Rows of a suite on time.
const ROWS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// A host's result: 16 boots a row that scatter by about 1 %, with `factor` for each row.
fn timed(name: &str, seed: u64, factor: impl Fn(&str) -> f64) -> ResultFile {
    let mut random = crate::statistics::Rng::with_seed(seed);
    let rows = ROWS.map(|row| {
        let boots = (0..16).map(|_| {
            let noise: f64 = (0..4).map(|_| random.f64() - 0.5).sum::<f64>() * 0.01;
            (100_000.0 * factor(row) * (1.0 + noise)) as u64
        });
        (row, boots.map(|ticks| vec![ticks; 3]).collect())
    });
    result(name, "tsc_ticks", &rows)
}

fn result(name: &str, unit: &str, rows: &[(&str, Vec<Vec<u64>>)]) -> ResultFile {
    let launch = json!({"nonce": "1", "vcpus": 1, "asked": [], "hello": null, "first_record_ms": null,
        "wall_ms": 1, "end": "bye", "end_detail": "", "bad_lines": 0, "stale_records": 0,
        "lost_records": 0, "console_tail": ""});
    let count = rows.iter().map(|row| row.1.len()).max().unwrap_or(0);
    let boots: Vec<Value> = (1..=count)
        .map(|boot| json!({"boot": boot, "launches": [launch]}))
        .collect();
    let row = |(name, boots): &(&str, Vec<Vec<u64>>)| {
        let samples = (1u32..).zip(boots).map(|(boot, run)| {
            json!({"boot": boot, "launch": 0, "iterations": 1, "run": run, "control": vec![0; run.len()]})
        });
        json!({"benchmark": name, "category": "io", "status": "ok", "reason": null, "outcomes": [],
            "conditions": {"vcpus": 1}, "exact": null,
            "metrics": [{"name": "cost", "unit": unit, "boots": samples.collect::<Vec<_>>()}]})
    };
    let value = json!({"schema": ws_results::SCHEMA, "created": "2026-01-31T12:00:00Z", "tool": "t",
        "command": ["worldswitch"], "platform": "kvm",
        "identity": {"subject": {"host": name, "host_kernel": "6.1", "machine_digest": "ab"},
            "conditions": {"unit": unit, "cpu": "x"}},
        "disturbances": [], "interrupted": false, "boots": boots,
        "rows": rows.iter().map(row).collect::<Vec<_>>()});
    serde_json::from_value(value).unwrap()
}

fn judged(results: &[ResultFile]) -> Vec<HostKind> {
    judge_hosts(results, &Thresholds::default())
}

fn standings(kind: &HostKind) -> Vec<(&str, Standing)> {
    let hosts = kind.hosts.iter();
    hosts.map(|one| (one.host.as_str(), one.standing)).collect()
}

#[test]
fn a_host_with_a_bad_governor_is_named_with_what_is_otherwise_there() {
    let mut results: Vec<ResultFile> = (0..5)
        .map(|index| {
            let factor = if index == 3 { 1.4 } else { 1.0 };
            timed(&format!("n{index}"), index, |_| factor)
        })
        .collect();
    results[3].disturbances = serde_json::from_value(json!([{"id": "processor.governor",
        "severity": "warning", "title": "", "found": "powersave", "why": ""}]))
    .unwrap();
    results[1]
        .identity
        .subject
        .insert("host_kernel".into(), json!("5.10"));
    let kinds = judged(&results);
    assert_eq!(kinds.len(), 1);
    use Standing::{Alike, Differs};
    assert_eq!(
        standings(&kinds[0]),
        [
            ("n3", Differs),
            ("n0", Alike),
            ("n1", Alike),
            ("n2", Alike),
            ("n4", Alike)
        ]
    );
    let odd = &kinds[0].hosts[0];
    assert_eq!(odd.differing, ROWS);
    assert!((odd.shift.unwrap().ratio - 1.4).abs() < 0.02);
    let found = HostUnlike {
        field: "processor.governor".into(),
        here: Some(json!("powersave")),
        most: None,
    };
    assert_eq!(odd.unlike, [found]);
    assert_eq!(kinds[0].hosts[2].unlike[0].field, "host_kernel");
    assert!(kinds[0].middle.as_ref().is_some_and(|name| name != "n3"));
}

#[test]
fn a_row_that_costs_more_on_one_host_is_named() {
    let results: Vec<ResultFile> = (0..4)
        .map(|index| {
            timed(&format!("n{index}"), index, |row| {
                if index == 2 && row == "c" { 1.3 } else { 1.0 }
            })
        })
        .collect();
    let kinds = judged(&results);
    assert_eq!(kinds[0].hosts[0].host, "n2");
    assert_eq!(kinds[0].hosts[0].differing, ["c"]);
    assert_eq!(kinds[0].hosts[1].standing, Standing::Alike);
}

#[test]
fn where_nothing_differs_none_is_named() {
    for round in 0..12 {
        let of = |index: u64| timed(&format!("n{index}"), 100 * round + index, |_| 1.0);
        let results: Vec<ResultFile> = (0..5).map(of).collect();
        let kinds = judged(&results);
        assert!(
            kinds[0]
                .hosts
                .iter()
                .all(|one| one.standing == Standing::Alike),
            "{kinds:?}"
        );
    }
}

#[test]
fn a_lab_with_other_digits_is_named() {
    let exact = |name: &str, ticks: u64| {
        let rows = [
            ("in", vec![vec![7, 7, ticks]; 2]),
            ("out", vec![vec![9; 3]; 2]),
        ];
        result(name, "insns", &rows)
    };
    let kinds = judged(&[exact("n0", 7), exact("n1", 8), exact("n2", 7)]);
    use Standing::{Alike, Differs, Unsettled};
    assert_eq!(
        standings(&kinds[0]),
        [("n1", Differs), ("n0", Alike), ("n2", Alike)]
    );
    assert_eq!(kinds[0].hosts[0].differing, ["in"]);
    // Of two nobody knows which is right.
    let kinds = judged(&[exact("n0", 7), exact("n1", 8)]);
    assert_eq!(standings(&kinds[0]), [("n0", Unsettled), ("n1", Unsettled)]);
    // Another machine is of another kind.
    let mut other = exact("n1", 8);
    other
        .identity
        .subject
        .insert("machine_digest".into(), json!("cd"));
    let kinds = judged(&[exact("n0", 7), other, exact("n2", 7)]);
    assert_eq!(kinds.len(), 2);
    assert!(
        kinds
            .iter()
            .flat_map(|kind| &kind.hosts)
            .all(|one| one.standing >= Alike)
    );
}

#[test]
fn what_cannot_be_judged_is_alone() {
    let two = [timed("n0", 1, |_| 1.0), timed("n1", 2, |_| 2.0)];
    let kinds = judged(&two);
    assert!(
        kinds[0]
            .hosts
            .iter()
            .all(|one| one.standing == Standing::Alone)
    );
    let mut nameless = timed("", 3, |_| 1.0);
    assert!(judged(std::slice::from_ref(&nameless)).is_empty());
    nameless.identity.subject.clear();
    assert!(judged(&[nameless]).is_empty());
    // Of a host's results the newest counts.
    let mut newer = timed("n0", 4, |_| 1.0);
    newer.created = "2026-02-01T00:00:00Z".into();
    let kinds = judged(&[newer.clone(), two[0].clone()]);
    assert_eq!(kinds[0].hosts[0].created, newer.created);
}
