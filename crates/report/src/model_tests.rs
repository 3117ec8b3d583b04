use super::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use ws_analysis::model::{ModelOptions, fit, predict};
use ws_results::ResultFile;

/// A lab result of three rows, with `io` instructions for a port access.
fn result(platform: &str, io: u64, iterations: u64) -> ResultFile {
    let row = |name: &str, category: &str, cost: u64| {
        json!({"benchmark": name, "category": category, "status": "ok", "reason": null, "outcomes": [],
            "conditions": {}, "exact": null, "metrics": [{"name": "cost", "unit": "insns",
            "boots": [{"boot": 1, "launch": 0, "iterations": iterations,
                "run": [cost * iterations], "control": [0]}]}]})
    };
    let value = json!({"schema": ws_results::SCHEMA, "created": "", "tool": "", "command": [],
        "platform": platform, "identity": {"subject": {}, "conditions": {}}, "interrupted": false,
        "boots": [{"boot": 1, "launches": [{"nonce": "1", "vcpus": 1, "asked": [], "hello": null,
            "first_record_ms": null, "wall_ms": 1, "end": "bye", "end_detail": "", "bad_lines": 0,
            "stale_records": 0, "lost_records": 0, "console_tail": ""}]}],
        "rows": [row("in", "io", io), row("hot-memory-access", "memory", 1),
            row("cold-memory-access", "memory", io)]});
    serde_json::from_value(value).unwrap()
}

fn models(guests: &[ResultFile]) -> Models {
    let model = fit(
        guests,
        &[result("lab:native", 1, 1)],
        &ModelOptions::default(),
    )
    .unwrap();
    let counts = BTreeMap::from([
        ("in".to_owned(), 100.0),
        ("cold-memory-access".to_owned(), 10.0),
    ]);
    let prediction = predict(&model, &counts, vec!["a \u{1b} counter".into()]).unwrap();
    Models::of(vec![Modelled {
        model,
        prediction: Some(prediction),
    }])
}

#[test]
fn a_model_is_shown_with_its_terms_and_its_workload() {
    let text = models(&[result("lab:kvm", 3122, 1)]).to_terminal(false);
    for part in [
        "lab:kvm against lab:native, in insns, nested paging\n",
        "in the lab nested page walks cost nothing",
        "  in                  T_in    3,122       1  3,121\n",
        "  T_cpu = C_sen (*) T_sen + C_ext (*) T_ext\n    T_sen     not measured",
        "    T_switch  0: with nested paging the guest",
        "    T_two     0 (hot-memory-access)\n",
        "the operator (*) is not determined, and is assumed to be linear: needs results with 3 iteration counts",
        "  in                  T_in      100  3,121  312,100  boots agree\n",
        "  T_io       312,100  boots agree      91 %  #####",
        "  T_virt     343,310  boots agree\n",
        "not included: a \\u{1b} counter",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn several_counts_are_drawn_as_figure_5() {
    let guests = [
        result("lab:kvm", 3000, 1),
        result("lab:kvm", 3000, 10),
        result("lab:kvm", 3000, 100),
    ];
    let text = models(&guests).to_terminal(false);
    assert!(text.contains("\n  in: linear\n"), "{text}");
    assert!(
        text.contains("          100  1.000                  ######"),
        "{text}"
    );
}

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/model-schema.json");

/// `WS_BLESS=1 cargo test -p ws-report` regenerates the file after the types have changed.
#[test]
fn the_committed_schema_is_that_of_the_types_and_what_we_write_is_valid() {
    if std::env::var_os("WS_BLESS").is_some() {
        std::fs::write(COMMITTED, model_schema()).unwrap();
    }
    assert!(
        std::fs::read_to_string(COMMITTED).unwrap() == model_schema(),
        "docs/model-schema.json is out of date: run this test with WS_BLESS=1"
    );
    let schema: Value = serde_json::from_str(&model_schema()).unwrap();
    let validator = ws_results::schema_check::Schema::of(&schema);
    let text = models(&[result("lab:kvm", 3122, 1)]).to_json().unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    assert!(validator.is_valid(&value));
    value["models"][0]["model"]["terms"][0]["term"] = json!("none");
    assert!(!validator.is_valid(&value));
}
