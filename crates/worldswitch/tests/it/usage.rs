//! Tests of wrong usage, of missing parts, and of the output of lists and `show`.

use crate::common::{Lab, expect_code, stderr, text, worldswitch};
use std::fs::File;
use std::process::Output;

fn said(arguments: &[&str]) -> Output {
    worldswitch().args(arguments).output().unwrap()
}

#[test]
fn wrong_usage_ends_with_2_and_says_what_is_wrong() {
    let cases: [(&[&str], &str); 20] = [
        (&[], "Usage"),
        (&["run", "--on", "lab:natve"], "did you mean lab:native"),
        (&["run", "--on", "LAB:NATIVE"], "may contain only a-z"),
        (&["run", "--on", "log:"], "followed by a path"),
        (&["run", "--on", "lab:native@6"], "no variants"),
        (&["run", "--on", "qemu-tcg,qemu-tcg"], "named twice"),
        (
            &["run", "io", "--peer", "x=/a", "--peer", "x=/b"],
            "named twice",
        ),
        (
            &["run", "--on", "log:x", "--base", "kvm"],
            "is not one of the platforms",
        ),
        (&["run", "--bench", "("], "regex"),
        (&["run", "--ws", "1X"], "a number of bytes"),
        (&["run", "--quick", "--boots", "3"], "cannot be used with"),
        (&["run", "in", "--bench", "in"], "cannot be used with"),
        (
            &["run", "-o", "-"],
            "- is standard output, and results need a folder",
        ),
        (&["run", "-q", "-v"], "cannot be used with"),
        (
            &["run", "--json", "--export-csv", "-"],
            "only one thing can go to standard output",
        ),
        (
            &[
                "explain",
                "in",
                "--on",
                "lab:kvm",
                "--json",
                "--flamegraph",
                "-",
            ],
            "only one thing",
        ),
        (&["show"], "PATH"),
        (&["benchmarks", "nothing"], "nothing"),
        (&["list", "platforms", "nothing"], "nothing"),
        (
            &["explain", "in", "--on", "lab:kvm", "--without", "nrps"],
            "exists: 'nrips'",
        ),
    ];
    for (arguments, part) in cases {
        let output = said(arguments);
        expect_code(&output, 2);
        assert!(
            stderr(&output).contains(part),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_benchmark_that_is_not_there_is_wrong_usage_with_those_that_are() {
    let lab = Lab::new(&["a", "b"]);
    let output = lab
        .run("lab:native", &["--bench", "nothing"])
        .output()
        .unwrap();
    expect_code(&output, 2);
    assert!(
        stderr(&output).contains("--bench nothing matches no benchmark; there are a, b"),
        "{}",
        stderr(&output)
    );
    let output = lab.run("lab:native", &["a", "bb"]).output().unwrap();
    expect_code(&output, 2);
    let told = stderr(&output);
    assert!(
        told.contains("there is no benchmark bb; did you mean b?"),
        "{told}"
    );
    assert!(!lab.path("out").exists());
    let guest = lab.path("guest.elf");
    let others: [&[&str]; 2] = [
        &["explain", "bb", "--on", "lab:kvm"],
        &[
            "lab",
            "bisect",
            "--kernel-tree",
            ".",
            "--good",
            "x",
            "--bad",
            "y",
            "--bench",
            "bb",
        ],
    ];
    for arguments in others {
        let output = worldswitch()
            .args(arguments)
            .arg("--guest")
            .arg(&guest)
            .output();
        let output = output.unwrap();
        expect_code(&output, 2);
        assert!(
            stderr(&output).contains("did you mean b?"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn what_is_missing_ends_with_1_and_the_cure() {
    let lab = Lab::new(&["a"]);
    let run = |change: &dyn Fn(&mut std::process::Command)| {
        let mut command = worldswitch();
        command.current_dir(&lab.folder).arg("run");
        change(&mut command);
        let output = command.output().unwrap();
        expect_code(&output, 1);
        assert!(output.stdout.is_empty());
        stderr(&output)
    };
    let told = run(&|c| {
        c.args(["--guest", "guest.elf"]).env("PATH", "/nonexistent");
    });
    assert!(told.contains("apt-get install qemu-system-x86"), "{told}");
    let told = run(&|c| {
        c.args(["--on", "qemu-tcg", "--guest", "no.elf"]);
    });
    assert!(
        told.contains("no guest image no.elf") || told.contains("not installed"),
        "{told}"
    );
    let told = run(&|c| {
        c.env("WORLDSWITCH_DATA", "/nonexistent");
    });
    assert!(
        told.contains("WORLDSWITCH_DATA") || told.contains("not installed"),
        "{told}"
    );
    let told = run(&|c| {
        c.args(["--on", "log:missing"]);
    });
    assert!(
        told.contains("log:missing") && told.contains("No such file"),
        "{told}"
    );
    let told = run(&|c| {
        c.args(["--on", "serial:/dev/null"]);
    });
    assert!(told.contains("not a serial line"), "{told}");
    let told = run(&|c| {
        c.args(["--on", "log:guest.elf", "-o", "guest.elf/x"]);
    });
    assert!(told.contains("folder for results"), "{told}");
}

#[test]
fn a_file_that_is_no_image_is_refused() {
    let lab = Lab::new(&["a"]);
    std::fs::write(lab.path("guest.elf"), b"\x7fELF nothing").unwrap();
    let output = lab.run("lab:native", &[]).output().unwrap();
    expect_code(&output, 1);
    assert!(
        stderr(&output).contains("is not a guest image"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn benchmarks_are_listed() {
    let lab = Lab::new(&["a", "two-b"]);
    let guest = lab.path("guest.elf");
    let guest = guest.to_str().unwrap();
    let output = said(&["benchmarks", "--guest", guest]);
    expect_code(&output, 0);
    let listed = text(&output.stdout);
    assert!(
        listed.lines().nth(2).unwrap().starts_with("two-b "),
        "{listed}"
    );
    let output = said(&["benchmarks", "--json", "--guest", guest]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["benchmarks"][1]["name"], "two-b");
    assert_eq!(value["benchmarks"][1]["vcpus"], 2);
}

#[test]
fn platforms_are_listed_with_what_is_missing() {
    let output = said(&["machines", "--qemu", "/nonexistent/qemu"]);
    expect_code(&output, 0);
    let listed = text(&output.stdout);
    assert!(
        listed.contains("lab:native: not usable here: can't start /nonexistent/qemu"),
        "{listed}"
    );
    assert!(listed.contains("log:FILE"));
    let output = said(&[
        "machines",
        "--json",
        "--qemu",
        "/nonexistent/qemu",
        "--vmm",
        "/nonexistent/vmm",
    ]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let platform = |name: &str| {
        let mut all = value["platforms"].as_array().unwrap().iter();
        all.find(|platform| platform["name"] == name).unwrap()
    };
    assert_eq!(platform("lab:native")["usable"], false);
    assert_eq!(platform("log:FILE")["usable"], serde_json::Value::Null);
    assert_eq!(platform("kvm")["usable"], false);
    assert_eq!(platform("kvm")["default"], false, "`run` leaves it out");
    assert_eq!(
        platform("kvm")["why_not"],
        "there is no KVM monitor /nonexistent/vmm"
    );
}

#[test]
fn standard_output_that_is_full_is_an_error_and_one_that_is_closed_is_not() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = worldswitch()
        .args(["machines"])
        .stdout(full)
        .output()
        .unwrap();
    expect_code(&output, 1);
    assert!(stderr(&output).contains("standard output"));
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    drop(reader);
    let output = worldswitch()
        .args(["machines"])
        .stdout(writer)
        .output()
        .unwrap();
    expect_code(&output, 0);
    assert!(output.stderr.is_empty());
}

#[test]
fn results_that_are_not_there_are_an_error() {
    let output = said(&["show", "/nonexistent/results"]);
    expect_code(&output, 1);
    assert!(stderr(&output).contains("/nonexistent/results"));
}

#[test]
fn help_teaches_with_examples() {
    for arguments in [&["--help"][..], &["run", "--help"]] {
        let output = said(arguments);
        expect_code(&output, 0);
        assert!(text(&output.stdout).contains("Examples:"));
    }
    let narrow = worldswitch()
        .args(["run", "-h"])
        .env("COLUMNS", "60")
        .output();
    let narrow = text(&narrow.unwrap().stdout);
    let options = narrow.split("Platforms (").next().unwrap();
    for heading in ["How much is measured:", "Results:", "General options:"] {
        assert!(narrow.contains(&format!("\n{heading}\n")), "{narrow}");
    }
    assert!(options.lines().all(|line| line.len() <= 60), "{options}");
    let version = text(&said(&["--version"]).stdout);
    let (number, commit) = version
        .trim_end()
        .split_once(" (")
        .unwrap_or((version.trim_end(), ""));
    assert_eq!(number, concat!("worldswitch ", env!("CARGO_PKG_VERSION")));
    let commit = commit.trim_end_matches(')');
    assert!(
        commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{version}"
    );
}
