//! Tests of `report`: what a page is compared with, what it says when it can't be, and its exit codes.

use crate::common::{expect_code, stderr, text};
use crate::compare::{FAST, Runs, SLOW};

const OLD: &[u64] = &[3032, 3032, 3032];
const NEW: &[u64] = &[2881, 2881, 2881];

/// One run of two kernels, and one of another unit.
fn runs() -> Runs {
    let runs = Runs::new();
    runs.add(
        "K",
        "lab:kvm@6.1",
        "insns",
        &[("hypercall", OLD), ("in", OLD)],
    );
    runs.add(
        "K",
        "lab:kvm@6.12",
        "insns",
        &[("hypercall", NEW), ("in", OLD)],
    );
    runs.add("T", "kvm", "ns", &[("hypercall", FAST), ("in", SLOW)]);
    runs
}

#[test]
fn a_page_is_compared_with_what_its_base_names_or_the_refusal_is_an_error() {
    let runs = runs();
    let beside = "lab:kvm@6.12 takes fewer instructions than lab:kvm@6.1 in 1 of 2 benchmarks; ";
    let judged = "1 row costs less than in lab:kvm@6.1, most of all hypercall in lab:kvm@6.12, ";
    let itself = "error: not compared: these results are the base itself";
    let cases: [(&[&str], &str, i32, &str); 12] = [
        (&["K", "--base", "lab:kvm@6.1"], beside, 0, ""),
        (
            &["K", "--base", "lab:kvm@6.12"],
            "lab:kvm@6.1 takes more instructions than lab:kvm@6.12 in 1 of 2 ",
            0,
            "",
        ),
        (
            &["K:lab:kvm@6.12", "--base", "K:lab:kvm@6.1"],
            judged,
            0,
            "",
        ),
        (
            &["K:lab:kvm@6.12", "--base", "K/lab-kvm@6.1.json"],
            judged,
            0,
            "",
        ),
        (&["K", "--base", "K:lab:kvm@6.1"], judged, 0, ""),
        (
            &["K", "--base", "K"],
            "Nothing here could be compared with the base. In ",
            1,
            itself,
        ),
        (
            &["K:lab:kvm@6.1", "--base", "K:lab:kvm@6.1"],
            "Nothing here could",
            1,
            itself,
        ),
        (
            &["K:lab:kvm@6.1", "--base", "lab:kvm@6.1"],
            "In lab:kvm@6.1 a hypercall takes ",
            1,
            "error: there is no other platform to compare with lab:kvm@6.1",
        ),
        (
            &["K", "--base", "T"],
            "Nothing here could",
            1,
            "error: not compared: the base has no lab:kvm@6.1, only kvm: ",
        ),
        (
            &["K", "--base", "T:kvm"],
            "Nothing here could",
            1,
            "error: not compared: ",
        ),
        (
            &["K", "T", "--base", "kvm"],
            "Compared with kvm: no figure of lab:kvm@6.1 can be compared: ",
            1,
            "error: no figure of lab:kvm@6.12 can be compared with kvm: insns cannot be compared with ns",
        ),
        // Some can.
        (
            &["K", "T", "--base", "lab:kvm@6.1"],
            "Compared with lab:kvm@6.1: lab:kvm@6.12 takes fewer ",
            0,
            "",
        ),
    ];
    for (arguments, heading, code, error) in cases {
        let output = runs.said(&[&["report", "-o", "-"], arguments].concat());
        expect_code(&output, code);
        let page = text(&output.stdout);
        let said = page.split("<h1>").nth(1).unwrap();
        assert!(said.starts_with(heading), "{arguments:?}: {}", &said[..200]);
        assert!(
            stderr(&output).contains(error),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert_eq!(
            stderr(&output).contains("error"),
            code != 0,
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn rows_whose_conditions_differ_and_a_model_that_is_not_there_are_errors() {
    let runs = runs();
    let file = runs.path("K").join("lab-kvm@6.12.json");
    let changed = std::fs::read_to_string(&file).unwrap();
    let changed = changed.replacen("\"digest\":\"d\"", "\"digest\":\"e\"", 1);
    let changed = changed.replacen("\"digest\": \"d\"", "\"digest\": \"e\"", 1);
    std::fs::write(&file, changed).unwrap();
    let base = [
        "report",
        "K:lab:kvm@6.12",
        "--base",
        "K:lab:kvm@6.1",
        "-o",
        "-",
    ];
    let output = runs.said(&base);
    expect_code(&output, 1);
    let why = "1 benchmark whose own conditions differ was not compared: --allow FIELD";
    assert!(stderr(&output).contains(why), "{}", stderr(&output));
    expect_code(&runs.said(&[&base[..], &["--allow", "digest"]].concat()), 0);

    std::fs::write(runs.path("web.toml"), "[events]\nin = 5\n").unwrap();
    let output = runs.said(&["report", "K", "--events", "web.toml", "-o", "-"]);
    expect_code(&output, 1);
    assert!(
        stderr(&output).contains("error: --events: no model"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn an_ending_of_another_form_is_refused_and_nothing_is_written() {
    let runs = runs();
    for name in ["x.png", "x.PDF", "x.md", "x.csv", "x.html.gz"] {
        let output = runs.said(&["report", "K", "-o", name]);
        expect_code(&output, 2);
        assert!(stderr(&output).contains("(.html)") && stderr(&output).contains("(.svg)"));
        assert!(!runs.path(name).exists(), "{name}");
    }
    for (name, start) in [
        ("x.html", "<!DOCTYPE"),
        ("x", "<!DOCTYPE"),
        ("x.SVG", "<svg"),
    ] {
        expect_code(&runs.said(&["report", "K", "-o", name]), 0);
        let written = std::fs::read_to_string(runs.path(name)).unwrap();
        assert!(written.starts_with(start), "{name}");
    }
}
