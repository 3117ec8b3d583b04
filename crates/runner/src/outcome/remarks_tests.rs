//! Tests of the remarks on results.

use super::*;
use serde_json::json;

fn result(rows: serde_json::Value, boots: usize) -> ResultFile {
    let launch = json!({"nonce": "1", "vcpus": 1, "asked": [], "hello": null,
        "first_record_ms": null, "wall_ms": 1, "end": "bye", "end_detail": "",
        "bad_lines": 0, "stale_records": 0, "lost_records": 0, "console_tail": ""});
    let boots: Vec<_> = (1..=boots)
        .map(|n| json!({"boot": n, "launches": [launch]}))
        .collect();
    serde_json::from_value(
        json!({"schema": ws_results::SCHEMA, "created": "", "tool": "",
        "command": [], "platform": "p", "identity": {"subject": {}, "conditions": {}},
        "interrupted": false, "boots": boots, "rows": rows}),
    )
    .unwrap()
}

fn row(status: &str, exact: Option<bool>, unit: &str) -> serde_json::Value {
    json!({"benchmark": "in", "category": "io", "status": status, "reason": null,
        "outcomes": [], "conditions": {}, "exact": exact,
        "metrics": [{"name": "cost", "unit": unit, "boots": []}]})
}

fn remarks(result: &ResultFile) -> Vec<String> {
    on(result, Path::new("out"))
}

#[test]
fn a_run_in_which_all_went_well_has_no_remarks() {
    assert!(remarks(&result(json!([row("ok", Some(true), "insns")]), 2)).is_empty());
    assert!(remarks(&result(json!([row("ok", None, "tsc_ticks")]), 16)).is_empty());
    assert!(remarks(&result(json!([row("skip", None, "insns")]), 1)).is_empty());
}

#[test]
fn digits_that_differ_come_first() {
    let all = remarks(&result(json!([row("died", Some(false), "insns")]), 2));
    assert!(all[0].starts_with("p: NOT EXACT: boots gave different counts for in."));
    assert_eq!(
        all[1],
        "p: in failed; worldswitch show out:p shows how each launch ended"
    );
}

#[test]
fn few_boots_are_too_few_on_units_of_time() {
    let all = remarks(&result(json!([row("ok", None, "tsc_ticks")]), 1));
    assert_eq!(
        all,
        ["p: 1 boot: for compare to detect 10 % in one benchmark, use --boots 16 or more"]
    );
}

#[test]
fn damage_is_counted_except_where_we_stopped_the_machine() {
    let mut damaged = result(json!([]), 2);
    damaged.boots[0].launches[0].bad_lines = 2;
    damaged.boots[1].launches[0].lost_records = u64::MAX;
    assert!(remarks(&damaged)[0].contains("2 damaged records, 0 of another launch"));
    damaged.boots[1].launches[0].lost_records = 0;
    damaged.boots[0].launches[0].end = LaunchEnd::Interrupted;
    assert!(remarks(&damaged).is_empty());
}

#[test]
fn counts_of_a_monitor_need_no_more_boots() {
    let mut exact = row("ok", Some(true), "insns");
    exact["metrics"] = json!([{"name": "cost", "unit": "insns", "boots": []},
        {"name": "exits", "unit": "count", "boots": []}]);
    assert!(remarks(&result(json!([exact]), 2)).is_empty());
}

#[test]
fn threads_that_left_their_cpu_are_told_with_their_benchmarks() {
    let mut moved = row("ok", None, "tsc_ticks");
    moved["host"] = json!([{"boot": 1, "launch": 0},
        {"boot": 2, "launch": 0, "strayed": ["vCPU 0 was pinned to CPU 1 and ran on CPU 0"]}]);
    let all = remarks(&result(json!([moved]), 16));
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].starts_with("p: pinning did not hold for in: vCPU 0 was pinned to CPU 1"));
}

#[test]
fn samples_that_were_not_heard_are_counted() {
    let samples = |missing: serde_json::Value| {
        json!({"boot": 1, "launch": 0, "iterations": 1, "run": [1, 2], "control": [1, 1],
            "missing": missing})
    };
    let heard = |missing| {
        let mut row = row("ok", None, "tsc_ticks");
        row["metrics"][0]["name"] = json!("cost_external");
        row["metrics"][0]["boots"] = json!([samples(missing)]);
        remarks(&result(json!([row]), 16))
    };
    assert!(heard(json!([])).is_empty());
    let all = heard(json!([0, 3]));
    assert!(
        all[0].starts_with("p: 2 of 4 samples have no time from outside"),
        "{all:?}"
    );
}
