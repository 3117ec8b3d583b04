//! Tests of `compare`, `model`, `history check` and `report`: output, exports and exit codes.

use crate::common::{self, expect_code, stderr, text, worldswitch};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Output;
use ws_results::ResultFile;

/// A row of a test's result: its name, and the cost of one operation in each boot.
type Costs<'a> = (&'a str, &'a [u64]);

/// A folder of results.
pub struct Runs(tempfile::TempDir);

impl Runs {
    pub fn new() -> Self {
        Runs(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes RUN/PLATFORM.json. On `insns` the last boot is a perturbed one.
    pub fn add(&self, run: &str, platform: &str, unit: &str, rows: &[Costs]) -> &Self {
        let boots = rows[0].1.len();
        let boots = (1..=boots).map(|boot| {
            let mut value = json!({"boot": boot, "launches": [{"nonce": "1", "vcpus": 1, "asked": [],
                "hello": null, "first_record_ms": null, "wall_ms": 1, "end": "bye", "end_detail": "",
                "bad_lines": 0, "stale_records": 0, "lost_records": 0, "console_tail": ""}]});
            if unit == "insns" && boot == boots {
                value["perturbed"] = json!({"pad": 7, "memory_mib": 384});
            }
            value
        });
        let rows = rows.iter().map(|(name, costs)| {
            let samples = (1..).zip(*costs).map(|(boot, cost): (u32, _)| {
                json!({"boot": boot, "launch": 0, "iterations": 1, "run": [cost, cost, cost],
                    "control": [0, 0, 0]})
            });
            json!({"benchmark": name, "category": "io", "status": "ok", "reason": null,
                "outcomes": [], "conditions": {"vcpus": 1, "digest": "d"}, "exact": null,
                "metrics": [{"name": "cost", "unit": unit, "boots": samples.collect::<Vec<_>>()}],
                "host": [{"boot": 1, "launch": 0, "operations": 9, "returns": {"io": 40}}]})
        });
        let value = json!({"schema": ws_results::SCHEMA, "created": "2026-01-31T12:00:00Z", "tool": "t",
            "command": [], "platform": platform, "identity": {"subject": {"platform": platform},
            "conditions": {"unit": unit}}, "interrupted": false,
            "boots": boots.collect::<Vec<_>>(), "rows": rows.collect::<Vec<_>>()});
        let result: ResultFile = serde_json::from_value(value).unwrap();
        ws_results::write_into(&self.path(run), &result).unwrap();
        self
    }

    pub fn said(&self, arguments: &[&str]) -> Output {
        worldswitch()
            .current_dir(self.0.path())
            .args(arguments)
            .output()
            .unwrap()
    }
}

pub const FAST: &[u64] = &[1000, 1005, 1010, 995, 990, 1015, 985, 1025];
pub const SLOW: &[u64] = &[1500, 1505, 1510, 1495, 1490, 1515, 1485, 1525];

#[test]
fn exit_codes_say_what_came_of_it() {
    let runs = Runs::new();
    runs.add("fast", "kvm", "ns", &[("in", FAST), ("out", FAST)]);
    runs.add("slow", "kvm", "ns", &[("in", FAST), ("out", SLOW)]);
    runs.add(
        "few",
        "kvm",
        "ns",
        &[("in", &FAST[..2]), ("out", &SLOW[..2])],
    );
    let output = runs.said(&["compare", "fast", "slow"]);
    expect_code(&output, 3);
    let shown = text(&output.stdout);
    assert!(shown.starts_with("kvm against kvm (base)\n"), "{shown}");
    assert!(shown.contains("1 worse, 1 no change"), "{shown}");
    expect_code(&runs.said(&["compare", "slow", "fast"]), 0);
    expect_code(
        &runs.said(&[
            "compare",
            "fast",
            "fast:kvm",
            "slow/kvm.json",
            "--bench",
            "in",
        ]),
        0,
    );
    let output = runs.said(&["compare", "few", "few"]);
    expect_code(&output, 4);
    assert!(text(&output.stdout).contains("too few boots"));
    // 50 % more is no regression with --min-effect 80%.
    expect_code(
        &runs.said(&["compare", "fast", "slow", "--min-effect", "80%"]),
        0,
    );
}

#[test]
fn instructions_are_compared_to_the_digit() {
    let runs = Runs::new();
    runs.add(
        "run",
        "lab:kvm",
        "insns",
        &[("in", &[3121; 3]), ("set-cr3", &[4; 3])],
    );
    runs.add(
        "run",
        "lab:kvm-shadow",
        "insns",
        &[("in", &[3121; 3]), ("set-cr3", &[6524; 3])],
    );
    runs.add(
        "nop",
        "lab:kvm",
        "insns",
        &[("in", &[3122; 3]), ("set-cr3", &[4; 3])],
    );
    let output = runs.said(&["compare", "run:lab:kvm", "run:lab:kvm-shadow"]);
    expect_code(&output, 3);
    assert!(
        text(&output.stdout).contains("worse    6520 instructions more"),
        "{}",
        text(&output.stdout)
    );
    let output = runs.said(&["compare", "run:lab:kvm", "nop"]);
    expect_code(&output, 3);
    assert!(text(&output.stdout).contains("1 instruction more"));
    expect_code(
        &runs.said(&["compare", "run:lab:kvm", "nop", "--min-effect", "2insns"]),
        0,
    );
    // A folder that also contains the base: the base is not compared with itself.
    let output = runs.said(&["compare", "run:lab:kvm", "run"]);
    assert_eq!(text(&output.stdout).matches(" against ").count(), 1);
    // A result that is shown alone says that its figures are invariant.
    let output = runs.said(&["show", "nop:lab:kvm"]);
    assert!(text(&output.stdout).contains("invariant: 1 perturbed boots give the same"));
    assert!(text(&output.stdout).contains("perturbed on purpose"));
}

#[test]
fn what_must_not_be_compared_is_refused_by_name() {
    let runs = Runs::new();
    runs.add("time", "kvm", "ns", &[("in", FAST)]);
    runs.add("count", "kvm", "insns", &[("in", FAST)]);
    let output = runs.said(&["compare", "time", "count"]);
    expect_code(&output, 4);
    assert!(stderr(&output).contains("unit (\"insns\" here, \"ns\" there)"));
    assert!(stderr(&output).contains("Units are never converted"));
    runs.add("two", "kvm", "ns", &[("in", FAST)])
        .add("two", "qemu-tcg", "ns", &[("in", FAST)]);
    runs.add("xen", "lab:xen", "ns", &[("in", FAST)]);
    expect_code(&runs.said(&["compare", "two", "two"]), 0);
    let output = runs.said(&["compare", "two", "xen"]);
    expect_code(&output, 1);
    assert!(
        stderr(&output).contains("has no lab:xen, only"),
        "{}",
        stderr(&output)
    );
    let output = runs.said(&["compare", "time", "time", "--bench", "nothing"]);
    expect_code(&output, 2);
    for wrong in [
        &["compare", "time"][..],
        &["compare", "time", "time", "--min-effect", "5"],
    ] {
        expect_code(&runs.said(wrong), 2);
    }
}

#[test]
fn exports_hold_what_is_shown_and_fit_their_schema() {
    let runs = Runs::new();
    runs.add("fast", "kvm", "ns", &[("in", FAST)])
        .add("slow", "kvm", "ns", &[("in", SLOW)]);
    let output = runs.said(&[
        "compare",
        "fast",
        "slow",
        "--export-json",
        "c.json",
        "--export-csv",
        "c.csv",
        "--export-markdown",
        "c.md",
    ]);
    expect_code(&output, 3);
    let value = valid(&runs, "c.json", "comparison");
    assert_eq!(value["comparisons"][0]["rows"][0]["verdict"], "worse");
    let csv = std::fs::read_to_string(runs.path("c.csv")).unwrap();
    assert!(
        csv.lines()
            .nth(1)
            .unwrap()
            .starts_with("kvm,kvm,in,io,ns,1002.5,1502.5,8,8,worse,")
    );
    assert!(
        std::fs::read_to_string(runs.path("c.md"))
            .unwrap()
            .contains("| worse |")
    );
    let table = runs.said(&["show", "fast", "--json"]);
    std::fs::write(runs.path("t.json"), &table.stdout).unwrap();
    valid(&runs, "t.json", "table");
    let output = runs.said(&[
        "compare",
        "fast",
        "slow",
        "--export-json",
        "/nonexistent/c.json",
    ]);
    expect_code(&output, 1);
}

/// Checks a file that a command wrote against a schema of `docs/`.
fn valid(runs: &Runs, file: &str, schema: &str) -> Value {
    common::valid(&std::fs::read_to_string(runs.path(file)).unwrap(), schema)
}

#[test]
fn a_model_is_fitted_shown_and_used() {
    let runs = Runs::new();
    runs.add(
        "run",
        "lab:kvm",
        "insns",
        &[("in", &[3122; 3]), ("out", &[3122; 3])],
    );
    runs.add(
        "run",
        "lab:native",
        "insns",
        &[("in", &[1; 3]), ("out", &[1; 3])],
    );
    // Also a platform without a native counterpart, as in the folder of make run.
    runs.add("run", "qemu-tcg", "tsc_ticks", &[("in", &[80; 3])]);
    std::fs::write(
        runs.path("web.toml"),
        "[events]\nin = 1000\n[time]\nunit = \"insns\"\ndirect = 5000\nguest = 3130000\n",
    )
    .unwrap();
    let output = runs.said(&[
        "model",
        "run",
        "--native",
        "run:lab:native",
        "--events",
        "web.toml",
        "--export-json",
        "m.json",
    ]);
    expect_code(&output, 0);
    assert!(
        text(&output.stdout).contains("T_virt      3,121,000  boots agree"),
        "{}",
        text(&output.stdout)
    );
    assert!(
        stderr(&output).contains("no model: qemu-tcg and lab:native were not measured"),
        "{}",
        stderr(&output)
    );
    let value = valid(&runs, "m.json", "model");
    let prediction = &value["models"][0]["prediction"];
    assert_eq!(prediction["total"], 3_121_000.0);
    let whole = &prediction["whole"];
    assert_eq!(
        (&whole["guest"], &whole["eta"]),
        (&json!(3_126_000.0), &json!(4000.0))
    );
    assert!(text(&output.stdout).contains("GNR 625x (T_guest / T_direct), 626x as measured"));
    // What the host counted: 40 port accesses.
    let output = runs.said(&[
        "model",
        "run",
        "--native",
        "run:lab:native",
        "--events-of",
        "run:lab:kvm",
        "in",
    ]);
    expect_code(&output, 0);
    assert!(
        text(&output.stdout).contains("T_virt      124,840  boots agree")
            && text(&output.stdout).contains("  measured"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn a_model_that_cannot_be_says_why() {
    let runs = Runs::new();
    runs.add("native", "serial:x", "ns", &[("in", FAST)]).add(
        "guest",
        "kvm",
        "ns",
        &[("in", SLOW)],
    );
    let why = |more: &[&str]| {
        let output = runs.said(&[&["model", "guest", "--native", "native"], more].concat());
        expect_code(&output, 1);
        stderr(&output)
    };
    assert!(why(&[]).contains("--paging nested"));
    std::fs::write(runs.path("bad.toml"), "[events]\nin = 1\nnothing = 2\n").unwrap();
    let nested = ["--paging", "nested", "--events", "bad.toml"];
    assert!(why(&nested).contains("no cost of nothing; it has in"));
    std::fs::write(runs.path("bad.toml"), "[events\n").unwrap();
    assert!(why(&nested).contains("not an events file"));
    assert!(
        why(&["--paging", "nested", "--events-of", "guest", "out"]).contains("no benchmark out")
    );
    let output = runs.said(&["model", "native", "--native", "native"]);
    expect_code(&output, 1);
    assert!(stderr(&output).contains("no result of a guest"));
}

#[test]
fn the_operator_of_a_platform_without_a_native_machine_is_fitted_from_it_alone() {
    let runs = Runs::new();
    runs.add("one", "qemu-tcg", "tsc_ticks", &[("in", FAST)]);
    let output = runs.said(&["model", "one", "--native", "one"]);
    expect_code(&output, 0);
    assert!(stderr(&output).contains("guest and native are one platform"));
    assert!(text(&output.stdout).contains("the operator (*) is not determined"));
}

#[test]
fn a_damaged_file_is_refused_by_its_field() {
    let runs = Runs::new();
    runs.add("run", "kvm", "ns", &[("in", FAST)]);
    let text = std::fs::read_to_string(runs.path("run/kvm.json")).unwrap();
    std::fs::write(runs.path("cut.json"), &text[..text.len() / 2]).unwrap();
    std::fs::write(
        runs.path("old.json"),
        text.replace("worldswitch-result/1", "worldswitch-result/0"),
    )
    .unwrap();
    std::fs::write(runs.path("foreign.json"), "{\"results\": []}").unwrap();
    for (file, part) in [
        ("cut.json", "boots["),
        ("old.json", "worldswitch-result/0"),
        ("foreign.json", "it has no \"schema\""),
    ] {
        for command in [
            &["compare", "run", file][..],
            &["model", file, "--native", "run"],
            &["report", file],
            &["report", "run", "--base", file],
            &["history", "--store", "h.sqlite", "add", file],
        ] {
            let output = runs.said(command);
            expect_code(&output, 1);
            assert!(stderr(&output).contains(part), "{}", stderr(&output));
        }
    }
}

#[test]
fn history_check_judges_the_newest_against_the_pinned() {
    let runs = Runs::new();
    runs.add("old", "lab:kvm", "insns", &[("in", &[3000, 3000, 3000])])
        .add("old", "lab:native", "insns", &[("in", &[1, 1, 1])])
        .add("same", "lab:kvm", "insns", &[("in", &[3000, 3000, 3001])])
        .add("worse", "lab:kvm", "insns", &[("in", &[3009, 3009, 3009])]);
    let history = |words: &[&str]| {
        let store = ["history", "--store", "h.sqlite"];
        runs.said(&[&store, words].concat())
    };
    expect_code(&history(&["add", "old"]), 0);
    // Without a pinned run it is an error, not silence.
    let none = history(&["check"]);
    expect_code(&none, 1);
    assert!(
        stderr(&none).contains("no run is pinned"),
        "{}",
        stderr(&none)
    );
    let pinned = history(&["add", "old:lab:kvm", "--pin-first"]);
    assert!(stderr(&pinned).contains("newer runs of lab:kvm are judged against run"));
    let first = history(&["check", "--allow-first"]);
    expect_code(&first, 0);
    assert!(stderr(&first).contains("lab:kvm: no run is newer"));

    expect_code(&history(&["add", "same", "--pin-first"]), 0);
    let check = history(&["check"]);
    expect_code(&check, 0);
    let compared = runs.said(&["compare", "old:lab:kvm", "same"]);
    assert_eq!(
        text(&check.stdout),
        text(&compared.stdout),
        "compare's table"
    );

    expect_code(&history(&["add", "worse"]), 0);
    let check = history(&["check", "--export-json", "c.json"]);
    expect_code(&check, 3);
    assert!(text(&check.stdout).contains("worse    9 instructions more"));
    assert!(runs.path("c.json").exists());
    expect_code(&history(&["check", "--min-effect", "10insns"]), 0);
    expect_code(&history(&["check", "--platform", "lab:xen"]), 1);
    expect_code(&history(&["check", "--bench", "nothing"]), 2);
}

#[test]
fn one_pair_that_is_refused_hides_no_regression_in_another() {
    let runs = Runs::new();
    runs.add("old", "lab:kvm", "insns", &[("in", &[3000, 3000, 3000])])
        .add("old", "lab:xen", "insns", &[("in", &[3000, 3000, 3000])])
        .add("new", "lab:kvm", "insns", &[("in", &[3009, 3009, 3009])])
        .add("new", "lab:xen", "tsc_ticks", &[("in", &[3, 3, 3])]);
    let both = runs.said(&["compare", "old", "new"]);
    expect_code(&both, 3);
    assert!(stderr(&both).contains("not measured under the same conditions: unit"));
    expect_code(&runs.said(&["compare", "old", "new:lab:xen"]), 4);
}

#[test]
fn the_page_has_verdicts_with_a_base_and_a_model_with_events() {
    let runs = Runs::new();
    runs.add("old", "lab:kvm", "insns", &[("in", &[2990, 2990, 2990])])
        .add("run", "lab:native", "insns", &[("in", &[1, 1, 1])])
        .add("run", "lab:kvm", "insns", &[("in", &[3000, 3000, 3000])])
        .add(
            "run",
            "lab:kvm-shadow",
            "insns",
            &[("in", &[2998, 2998, 2998])],
        );
    let page = |words: &[&str], code| {
        expect_code(&runs.said(&[&["report", "run"], words].concat()), code);
        std::fs::read_to_string(runs.path("report.html")).unwrap()
    };
    let plain = page(&[], 0);
    assert!(plain.contains("<h1>In lab:kvm a read of a port takes 3,000 instructions"));
    assert!(!plain.contains("id=\"verdicts\"") && !plain.contains("id=\"model\""));
    // The page has what could be compared; what could not is an error.
    let based = page(&["--base", "old"], 1);
    assert!(based.contains("<h1>1 row costs more than in the base"));
    assert!(based.contains("<h3>lab:kvm: 1 worse</h3>"));
    assert!(based.contains("lab:kvm against that of 2026-01-31T12:00:00Z"));
    assert!(based.contains("10 instructions more"));
    assert!(based.contains("Not compared: the base has no lab:native, only lab:kvm"));
    std::fs::write(runs.path("web.toml"), "[events]\nin = 1000\n").unwrap();
    let web = page(&["--events", "web.toml"], 0);
    assert!(web.contains("web.toml: what virtualization adds") && web.contains("2,999,000"));
    std::fs::write(runs.path("web.toml"), "[events]\nprint = 1\n").unwrap();
    let unknown = runs.said(&["report", "run", "--events", "web.toml"]);
    expect_code(&unknown, 1);
    assert!(stderr(&unknown).contains("has no cost of print"));
}
