//! Tests of `--json` and of `-` as a file: standard output has that and nothing else, and it fits its schema.

use crate::common::{Lab, expect_code, stderr, text, valid, worldswitch};
use crate::compare::{FAST, Runs, SLOW};
use serde_json::json;

/// What `arguments` print, which must be JSON of this schema.
#[track_caller]
fn printed(runs: &Runs, arguments: &[&str], code: i32, schema: &str) -> serde_json::Value {
    let output = runs.said(arguments);
    expect_code(&output, code);
    valid(&text(&output.stdout), schema)
}

#[test]
fn a_run_prints_only_json_and_quietly_nothing_else() {
    let lab = Lab::new(&["a", "b"]);
    let output = lab.run("lab:native", &["a", "--json"]).output().unwrap();
    expect_code(&output, 0);
    let table = valid(&text(&output.stdout), "table");
    assert_eq!(table["rows"].as_array().unwrap().len(), 1, "only a");
    assert_eq!(table["rows"][0]["benchmark"], "a");
    assert!(stderr(&output).contains("results are in"));
    assert_eq!(
        lab.result("lab:native").tool,
        text(&worldswitch().arg("--version").output().unwrap().stdout).trim_end()
    );
    let csv = ["a", "--force", "-q", "--export-csv", "-"];
    let output = lab.run("lab:native", &csv).output().unwrap();
    expect_code(&output, 0);
    assert!(
        text(&output.stdout).starts_with("benchmark,category,"),
        "{}",
        text(&output.stdout)
    );
    assert_eq!(stderr(&output), "");
    assert!(!lab.path("-").exists());
}

#[test]
fn what_reads_results_prints_json() {
    let runs = Runs::new();
    runs.add("fast", "kvm", "ns", &[("in", FAST)])
        .add("slow", "kvm", "ns", &[("in", SLOW)])
        .add("lab", "lab:native", "insns", &[("in", &[1; 3])])
        .add("lab", "lab:kvm", "insns", &[("in", &[3000; 3])]);
    let compared = printed(
        &runs,
        &["compare", "fast", "slow", "--json"],
        3,
        "comparison",
    );
    assert_eq!(compared["comparisons"][0]["rows"][0]["verdict"], "worse");
    let explained = ["compare", "fast", "slow", "--explain", "--json"];
    let explained = printed(&runs, &explained, 3, "comparison");
    let why = explained["explained"][0]["why"].as_str().unwrap();
    assert!(why.contains("only instructions can be explained"), "{why}");
    printed(&runs, &["show", "lab", "--json"], 0, "table");
    let model = ["model", "lab", "--native", "lab:lab:native", "--json"];
    printed(&runs, &model, 0, "model");
    let history = |words: &[&str], schema| {
        let words = [&["history", "--store", "h.sqlite"], words].concat();
        printed(&runs, &words, 0, schema)
    };
    expect_code(
        &runs.said(&[
            "history",
            "--store",
            "h.sqlite",
            "add",
            "lab",
            "--pin-first",
        ]),
        0,
    );
    assert_eq!(
        history(&["list", "--json"], "history")["runs"][1]["pinned"],
        true
    );
    history(&["show", "1", "--json"], "result");
    let plot = history(&["plot", "in", "--platform", "lab:kvm", "--json"], "series");
    assert_eq!(
        plot["lines"][0]["values"],
        json!([{"at": "2026-01-31T12:00:00Z", "value": 3000.0}])
    );
    let misspelt = runs.said(&["history", "--store", "h.sqlite", "plot", "inn"]);
    expect_code(&misspelt, 2);
    assert!(stderr(&misspelt).contains("did you mean in?"));
    let misspelt = runs.said(&["compare", "fast", "slow", "--bench", "^inn$"]);
    expect_code(&misspelt, 2);
    assert!(stderr(&misspelt).contains("did you mean in?"));
    let nested = printed(
        &runs,
        &["show", "lab", "--view", "nested", "--json"],
        0,
        "nested",
    );
    assert_eq!(
        nested["benchmarks"][0]["lines"][0]["why"],
        "not measured there"
    );
}

#[test]
fn a_dash_is_standard_output_and_not_a_file() {
    let runs = Runs::new();
    runs.add("fast", "kvm", "ns", &[("in", FAST)])
        .add("slow", "kvm", "ns", &[("in", SLOW)]);
    let said = |arguments: &[&str], code| {
        let output = runs.said(arguments);
        expect_code(&output, code);
        assert!(!runs.path("-").exists());
        text(&output.stdout)
    };
    let json = said(&["compare", "fast", "slow", "--export-json", "-"], 3);
    assert_eq!(json, said(&["compare", "fast", "slow", "--json"], 3));
    let markdown = said(&["compare", "fast", "slow", "--export-markdown", "-"], 3);
    assert!(
        markdown.starts_with("### kvm against kvm: 1 worse"),
        "{markdown}"
    );
    let page = said(&["report", "slow", "--base", "fast", "-o", "-"], 0);
    assert!(page.starts_with("<!DOCTYPE html>"), "{:.80}", page);
    assert_eq!(
        page,
        said(&["report", "slow", "--baseline", "fast", "-o", "-"], 0)
    );
    said(&["report", "slow", "--base", "qemu-kvm", "-o", "-"], 1);
    said(
        &[
            "report", "slow", "--base", "kvm", "--base", "fast", "-o", "-",
        ],
        0,
    );
    said(
        &[
            "report", "slow", "--base", "fast", "--base", "fast", "-o", "-",
        ],
        2,
    );
    let one = ["history", "--store", "h.sqlite"];
    said(&[&one, &["add", "fast"][..]].concat(), 0);
    let svg = said(&[&one, &["plot", "in", "--svg", "-"][..]].concat(), 0);
    assert!(svg.starts_with("<svg"), "{svg:.80}");
}

#[test]
fn lists_are_json_too() {
    let runs = Runs::new();
    let lab = Lab::new(&["a", "two-b"]);
    let guest = lab.path("guest.elf");
    let guest = guest.to_str().unwrap();
    let list = ["benchmarks", "--json", "--guest", guest];
    printed(&runs, &list, 0, "benchmarks");
    printed(&runs, &["machines", "--json"], 0, "platforms");
    printed(&runs, &["lab", "list", "--json"], 0, "lab");
}
