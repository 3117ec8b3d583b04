//! A gate that compares nothing is no pass: what `compare`, `history check` and `test --budget` say of benchmarks that one
//! side lacks, and `run` of a run without figures. One table for all of them.

use crate::common::{self, Lab, expect_code, fake, stderr, text, worldswitch};
use crate::compare::Runs;
use serde_json::Value;
use std::process::Output;
use ws_results::{ResultFile, Status};

/// What a run has of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Has {
    /// So many instructions.
    Cost(u64),
    Skipped,
    /// The same, in a unit of time.
    Ticks,
}
use Has::{Cost, Skipped, Ticks};

/// Benchmarks of a run.
type Rows = &'static [(&'static str, Has)];

/// A pair of runs, the exit code, and the kinds of what was not judged.
struct Case {
    what: &'static str,
    base: Rows,
    other: Rows,
    code: i32,
    gaps: &'static [&'static str],
}

const IN: (&str, Has) = ("in", Cost(3000));
const OUT: (&str, Has) = ("out", Cost(3000));

const CASES: [Case; 12] = [
    Case {
        what: "the same",
        base: &[IN, OUT],
        other: &[IN, OUT],
        code: 0,
        gaps: &[],
    },
    Case {
        what: "a row that is new",
        base: &[IN],
        other: &[IN, OUT],
        code: 0,
        gaps: &[],
    },
    Case {
        what: "a row that the base skipped",
        base: &[IN, ("out", Skipped)],
        other: &[IN, OUT],
        code: 0,
        gaps: &[],
    },
    Case {
        what: "a row that is missing",
        base: &[IN, OUT],
        other: &[IN],
        code: 4,
        gaps: &["missing"],
    },
    Case {
        what: "a row that was skipped",
        base: &[IN, OUT],
        other: &[IN, ("out", Skipped)],
        code: 4,
        gaps: &["not-measured"],
    },
    Case {
        what: "a row in another unit",
        base: &[IN, OUT],
        other: &[IN, ("out", Ticks)],
        code: 4,
        gaps: &["unit"],
    },
    Case {
        what: "all rows are missing",
        base: &[IN, OUT],
        other: &[],
        code: 4,
        gaps: &["missing", "nothing-compared"],
    },
    Case {
        what: "no rows at all",
        base: &[],
        other: &[],
        code: 4,
        gaps: &["nothing-compared"],
    },
    Case {
        what: "no row that the base has",
        base: &[],
        other: &[IN],
        code: 4,
        gaps: &["nothing-compared"],
    },
    Case {
        what: "all skipped",
        base: &[("in", Skipped)],
        other: &[("in", Skipped)],
        code: 4,
        gaps: &["nothing-compared"],
    },
    Case {
        what: "all in another unit",
        base: &[IN],
        other: &[("in", Ticks)],
        code: 4,
        gaps: &["unit", "nothing-compared"],
    },
    Case {
        what: "a regression beside a row that was skipped",
        base: &[IN, OUT],
        other: &[("in", Cost(3009)), ("out", Skipped)],
        code: 3,
        gaps: &["not-measured"],
    },
];

/// Writes a run of lab:kvm; the last of its boots is perturbed.
fn write(runs: &Runs, run: &str, created: &str, rows: Rows) {
    let of = |has: Has| match has {
        Cost(cost) => [cost; 3],
        Skipped | Ticks => [3000; 3],
    };
    let costs: Vec<(&str, [u64; 3])> = rows.iter().map(|(name, has)| (*name, of(*has))).collect();
    let costs: Vec<(&str, &[u64])> = costs
        .iter()
        .map(|(name, costs)| (*name, &costs[..]))
        .collect();
    match costs.is_empty() {
        true => runs.add(run, "lab:kvm", "insns", &[("none", &[1; 3])]),
        false => runs.add(run, "lab:kvm", "insns", &costs),
    };
    let mut result = read(runs, run);
    result.created = created.to_owned();
    result.rows.truncate(rows.len());
    for (row, (_, has)) in result.rows.iter_mut().zip(rows) {
        match has {
            Cost(_) => {}
            Skipped => {
                row.status = Status::Skip;
                row.reason = Some("not here".into());
                row.metrics.clear();
            }
            Ticks => row.metrics[0].unit = "tsc_ticks".into(),
        }
    }
    ws_results::write_into(&runs.path(run), &result).unwrap();
}

fn read(runs: &Runs, run: &str) -> ResultFile {
    ws_results::read_file(&runs.path(run).join(ws_results::file_name("lab:kvm"))).unwrap()
}

/// Checks a gate's exit code, and that its JSON and what it says name each reason.
fn expect(case: &Case, gate: &str, json: &Output, told: &Output) {
    let what = format!("{gate}: {}: {}", case.what, stderr(told));
    expect_code(json, case.code);
    assert_eq!(told.status.code(), Some(case.code), "{what}");
    let value = common::valid(&text(&json.stdout), "comparison");
    let gaps = value["gaps"].as_array().unwrap();
    let kinds: Vec<&str> = gaps
        .iter()
        .map(|gap| gap["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, case.gaps, "{what}");
    let outcome = match case.code {
        0 => "no-regression",
        3 => "regression",
        _ => "inconclusive",
    };
    assert_eq!(value["outcome"], outcome, "{what}");
    for gap in gaps {
        let why = gap["why"].as_str().unwrap();
        assert!(
            stderr(told).contains(&format!("not judged: {why}")),
            "{what}"
        );
    }
}

#[test]
fn compare_and_history_check_name_all_that_they_do_not_judge() {
    for case in &CASES {
        let runs = Runs::new();
        write(&runs, "base", "2026-01-01T00:00:00Z", case.base);
        write(&runs, "other", "2026-01-02T00:00:00Z", case.other);
        let json = runs.said(&["compare", "base", "other", "--json"]);
        expect(
            case,
            "compare",
            &json,
            &runs.said(&["compare", "base", "other"]),
        );
        let history = |words: &[&str]| {
            let store = ["history", "--store", "h.sqlite"];
            runs.said(&[&store, words].concat())
        };
        expect_code(&history(&["add", "base", "--pin-first"]), 0);
        expect_code(&history(&["add", "other"]), 0);
        expect(
            case,
            "history check",
            &history(&["check", "--json"]),
            &history(&["check"]),
        );
        let page = runs.said(&["compare", "base", "other", "--export-markdown", "-"]);
        let lines = text(&page.stdout);
        let lines = lines
            .lines()
            .filter(|line| line.starts_with("- Not judged: "));
        assert_eq!(lines.count(), case.gaps.len(), "{}", case.what);
    }
}

#[test]
fn a_pinned_run_that_is_the_newest_is_no_pass_unless_that_is_said() {
    let runs = Runs::new();
    write(&runs, "base", "2026-01-01T00:00:00Z", &[IN]);
    let check = |more: &[&str]| {
        let check = ["history", "--store", "h.sqlite", "check"];
        runs.said(&[&check, more].concat())
    };
    expect_code(
        &runs.said(&[
            "history",
            "--store",
            "h.sqlite",
            "add",
            "base",
            "--pin-first",
        ]),
        0,
    );
    let first = check(&[]);
    expect_code(&first, 4);
    assert!(
        stderr(&first).contains("not judged: lab:kvm: no run is newer than the pinned run 1"),
        "{}",
        stderr(&first)
    );
    let json = check(&["--json"]);
    let value: Value = common::valid(&text(&json.stdout), "comparison");
    assert_eq!(value["gaps"][0]["kind"], "no-counterpart");
    expect_code(&check(&["--allow-first"]), 0);
}

#[test]
fn a_platform_of_the_base_that_the_other_run_lacks_is_no_pass() {
    let runs = Runs::new();
    runs.add("base", "lab:kvm", "insns", &[("in", &[3000; 3])])
        .add("base", "lab:xen", "insns", &[("in", &[900; 3])])
        .add("other", "lab:kvm", "insns", &[("in", &[3000; 3])]);
    let both = runs.said(&["compare", "base", "other"]);
    expect_code(&both, 4);
    assert!(
        stderr(&both).contains("not judged: lab:xen is in the base only"),
        "{}",
        stderr(&both)
    );
    // Who names platforms means these.
    expect_code(&runs.said(&["compare", "base", "other:lab:kvm"]), 0);
    expect_code(&runs.said(&["compare", "base:lab:kvm", "other"]), 0);
    // A platform that is new is no regression.
    expect_code(&runs.said(&["compare", "other", "base:lab:kvm"]), 0);
}

/// `test` of a budget on a fake machine.
fn check(lab: &Lab, rows: &[&str], more: &[&str]) -> Output {
    let budget = format!("[budget.\"lab:native\"]\n{}\n", rows.join("\n"));
    std::fs::write(lab.path("budget.toml"), budget).unwrap();
    let mut command = worldswitch();
    command
        .env("FAKE_STATE", lab.path("state"))
        .env("XDG_CACHE_HOME", lab.path("cache"))
        .args(["test", "--qemu"])
        .arg(fake("fake-qemu"))
        .arg("--guest")
        .arg(lab.path("guest.elf"))
        .arg("--budget")
        .arg(lab.path("budget.toml"))
        .arg("-o")
        .arg(lab.path("out"))
        .arg("--force");
    command.args(more).output().unwrap()
}

#[test]
fn a_budget_s_test_names_all_that_it_does_not_judge() {
    let lab = Lab::new(&["a", "skips", "extra"]);
    for (rows, code, outcome) in [
        (&["a = 100000"][..], 0, "no-regression"),
        (&["a = 100000", "skips = 100000"], 4, "inconclusive"),
        (&["skips = 100000"], 4, "inconclusive"),
        (&["a = 0", "skips = 100000"], 3, "regression"),
    ] {
        let json = check(&lab, rows, &["--json"]);
        expect_code(&json, code);
        let value = common::valid(&text(&json.stdout), "check");
        assert_eq!(value["outcome"], outcome, "{rows:?}");
        let told = check(&lab, rows, &[]);
        expect_code(&told, code);
        let says = stderr(&told).contains("not judged: skips on lab:native: skip: ");
        assert_eq!(says, rows.concat().contains("skips"), "{}", stderr(&told));
    }
    // What the image does not have, and a budget of nothing, are mistakes in the budget.
    for rows in [&["gone = 1"][..], &[]] {
        expect_code(&check(&lab, rows, &[]), 2);
    }
}

#[test]
fn a_run_without_figures_is_an_error() {
    let lab = Lab::new(&["a", "skips", "dies"]);
    for (names, says) in [
        (&["skips"][..], "error: nothing was measured: skips: skip: "),
        (
            &["skips", "dies"],
            "error: nothing was measured: 2 benchmarks have no figures",
        ),
    ] {
        let output = lab
            .run("lab:native", &["--force"])
            .args(names)
            .output()
            .unwrap();
        expect_code(&output, 1);
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
        assert!(!output.stdout.is_empty(), "the table has the reasons");
    }
    let output = lab
        .run("lab:native", &["--force"])
        .args(["skips", "a"])
        .output()
        .unwrap();
    expect_code(&output, 0);
}
