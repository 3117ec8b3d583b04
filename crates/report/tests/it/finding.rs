//! Tests of the sentence that says what was found, and of the rows that matter.

use crate::support::*;
use serde_json::{Value, json};
use ws_report::{MAIN, Options, Table, finding, table};
use ws_results::{ResultFile, Status};

const SUITE: [(&str, u64); 9] = [
    ("idle", 0),
    ("cpuid", 1),
    ("in", 1),
    ("out", 1),
    ("irq-completion", 7),
    ("ipi-running", 46),
    ("remap-page", 3),
    ("set-cr3", 1),
    ("print", 33),
];

/// A platform with the rows of a suite, whose costs are these.
fn platform(
    name: &str,
    unit: &str,
    costs: impl Fn(&str, u64) -> u64,
    hypercall: Option<u64>,
) -> ResultFile {
    let cost = |name: &str, cost| {
        let cost = costs(name, cost);
        measured(name, "c", unit, &[&[cost, cost], &[cost, cost]])
    };
    let mut rows: Vec<_> = SUITE
        .iter()
        .map(|(name, native)| cost(name, *native))
        .collect();
    rows.push(match hypercall {
        Some(insns) => measured("hypercall", "c", unit, &[&[insns, insns], &[insns, insns]]),
        None => absent("hypercall", "c", Status::Skip, "none answers"),
    });
    rows.push(absent("event-send", "c", Status::Skip, "not Xen"));
    rows.push(absent("event-channel", "c", Status::Skip, "not Xen"));
    rows.push(absent("in-unpaged", "c", Status::Skip, "not Xen"));
    result(name, 2, json!({ "unit": unit }), rows)
}

fn native() -> ResultFile {
    platform("lab:native", "insns", |_, native| native, None)
}

fn kvm(name: &str, cr3: u64) -> ResultFile {
    let costs = move |row: &str, native: u64| match row {
        "idle" | "remap-page" => native,
        "set-cr3" => cr3,
        "print" => 215_357,
        _ => native + 3_000,
    };
    platform(name, "insns", costs, Some(3_032))
}

fn drawn(results: &[ResultFile]) -> Table {
    table(results, &Options::default()).unwrap()
}

#[test]
fn the_sentence_names_the_hypercall_the_longest_exit_and_what_another_adds() {
    let table = drawn(&[native(), kvm("lab:kvm", 1), kvm("lab:kvm-shadow", 3_371)]);
    assert_eq!(
        finding(&table).unwrap(),
        "In lab:kvm a hypercall takes 3,032 instructions; the longest exit is print, 215,357; \
         lab:kvm-shadow adds 3,370 to a CR3 write."
    );
}

#[test]
fn hypervisors_that_differ_stand_in_one_sentence() {
    let other = platform("lab:arm-xen", "insns", |_, native| native, Some(526));
    let table = drawn(&[kvm("lab:kvm", 1), other]);
    let text = finding(&table).unwrap();
    assert!(
        text.starts_with("In lab:kvm a hypercall takes 3,032 instructions, in lab:arm-xen 526; the longest exit of lab:kvm is print, "),
        "{text}"
    );
}

#[test]
fn time_is_said_in_its_own_unit_and_not_beside_instructions() {
    let tcg = platform("qemu-tcg", "tsc_ticks", |_, native| native + 60, None);
    let alone = finding(&drawn(std::slice::from_ref(&tcg))).unwrap();
    assert_eq!(
        alone,
        "In qemu-tcg a CPUID takes 61.0 ticks; the longest exit is ipi-running, 106."
    );
    let native = finding(&drawn(&[native(), tcg.clone()])).unwrap();
    assert_eq!(native, alone);
    let both = finding(&drawn(&[tcg, kvm("lab:kvm", 1)])).unwrap();
    assert!(both.starts_with("In lab:kvm a hypercall"), "{both}");
    assert!(!both.contains("qemu-tcg"), "{both}");
}

#[test]
fn a_baseline_alone_is_told_too() {
    assert_eq!(
        finding(&drawn(&[native()])).unwrap(),
        "In lab:native a CPUID takes 1 instruction; the longest exit is ipi-running, 46."
    );
}

#[test]
fn nothing_measured_is_no_finding_and_hostile_names_stay_text() {
    let nothing = vec![absent("in", "io", Status::Skip, "no port")];
    assert_eq!(
        finding(&drawn(&[result(
            "p",
            1,
            Value::Object(Default::default()),
            nothing
        )])),
        None
    );
    assert_eq!(finding(&drawn(&[])), None);
    let table = drawn(&[kvm("lab:\u{1b}[31m", 1)]);
    assert!(
        table
            .to_terminal(false, 100)
            .contains("Exact: every boot of lab:")
    );
    assert!(!table.to_terminal(false, 100).contains('\u{1b}'));
    let hostile = finding(&drawn(&[kvm("lab:\u{1b}[31m", 1)])).unwrap();
    assert!(!hostile.contains('\u{1b}'), "{hostile}");
}

#[test]
fn the_main_rows_are_sorted_by_what_they_add_and_fit_a_hundred_columns() {
    let results = [
        native(),
        kvm("lab:kvm", 1),
        kvm("lab:kvm-shadow", 3_371),
        platform("qemu-tcg", "tsc_ticks", |_, native| native + 60, None),
    ];
    let table = drawn(&results);
    let main = table.main_rows().unwrap();
    let names: Vec<&str> = main.rows.iter().map(|row| &*row.benchmark).collect();
    assert_eq!(
        names,
        [
            "set-cr3",
            "hypercall",
            "cpuid",
            "in",
            "out",
            "irq-completion",
            "ipi-running",
            "remap-page"
        ]
    );
    assert!(
        names
            .iter()
            .all(|name| MAIN.iter().any(|main| main.benchmark == *name))
    );
    let text = main.to_terminal_in_brief(false, 100);
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    let head = text.lines().next().unwrap();
    for result in &results {
        assert!(head.contains(&result.platform), "{head}");
    }
}

#[test]
fn platforms_that_do_not_fit_stand_below_and_rows_that_none_can_have_are_one_line() {
    let results = [native(), kvm("lab:kvm", 1), kvm("lab:kvm-shadow", 3_371)];
    let text = drawn(&results).to_terminal(false, 60);
    assert!(
        text.lines().all(|line| line.chars().count() <= 60),
        "{text}"
    );
    let rows = text.lines().filter(|line| line.contains("set-cr3 "));
    assert_eq!(rows.count(), 2, "{text}");
    assert!(
        text.contains("Not on these platforms: event-send, event-channel,\n  in-unpaged (why:"),
        "{text}"
    );
    assert!(!text.contains("not Xen"), "{text}");
}

#[test]
fn a_choice_of_rows_is_shown_whole() {
    let rows = vec![
        measured("in", "io", "insns", &[&[1, 1]]),
        measured("sgdt", "c", "insns", &[&[1, 1]]),
    ];
    assert_eq!(
        drawn(&[result("lab:native", 1, json!({}), rows)]).main_rows(),
        None
    );
}
