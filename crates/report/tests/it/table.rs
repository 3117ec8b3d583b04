//! Tests of the table with small synthetic results. The golden texts are in `tests/golden`.

use crate::support::*;
use serde_json::{Value, json};
use ws_report::{Cell, Options, Table, table};
use ws_results::{ResultFile, Status};

fn against(results: &[ResultFile], baseline: &str) -> Table {
    let options = Options {
        baseline: Some(baseline.into()),
        ..Options::default()
    };
    table(results, &options).unwrap()
}

fn plain(results: &[ResultFile]) -> Table {
    table(results, &Options::default()).unwrap()
}

#[track_caller]
fn cell<'a>(table: &'a Table, benchmark: &str, column: usize) -> &'a Cell {
    let row = table
        .rows
        .iter()
        .find(|row| row.benchmark == benchmark)
        .unwrap();
    row.cells[column].as_ref().unwrap()
}

#[track_caller]
fn why_not(table: &Table, benchmark: &str, column: usize) -> String {
    let cell = cell(table, benchmark, column);
    assert_eq!((cell.added, cell.slowdown), (None, None));
    table.notes[cell.not_compared.unwrap()].clone()
}

#[test]
fn the_whole_house_as_text() {
    assert_golden(
        "house.txt",
        &against(&house(), "lab:native").to_terminal(false, 200),
    );
}

#[test]
fn the_whole_house_as_markdown() {
    assert_golden("house.md", &against(&house(), "lab:native").to_markdown());
}

#[test]
fn the_whole_house_as_csv() {
    assert_golden("house.csv", &against(&house(), "lab:native").to_csv());
}

#[test]
fn the_whole_house_as_json() {
    assert_golden(
        "house.json",
        &against(&house(), "lab:native").to_json().unwrap(),
    );
}

#[test]
fn one_platform_and_one_boot_need_no_further_columns() {
    let rows = vec![measured("sgdt", "unprivileged", "insns", &[&[14, 14]])];
    let text = plain(&[result("lab:native", 1, json!({}), rows)]).to_terminal(false, 200);
    assert_eq!(
        text.lines().take(3).collect::<Vec<_>>(),
        [
            "                      lab:native",
            "                           insns",
            "unprivileged  sgdt            14",
        ]
    );
}

#[test]
fn benchmarks_stand_in_the_guests_order_whoever_has_them() {
    let rows = |names: &[&str]| {
        names
            .iter()
            .map(|name| measured(name, "c", "ns", &[&[1]]))
            .collect::<Vec<_>>()
    };
    let results = [
        result("a", 1, json!({}), rows(&["idle", "in"])),
        result(
            "b",
            1,
            json!({}),
            rows(&["idle", "sgdt", "lgdt", "in", "print"]),
        ),
    ];
    let table = plain(&results);
    let order: Vec<_> = table
        .rows
        .iter()
        .map(|row| row.benchmark.as_str())
        .collect();
    assert_eq!(order, ["idle", "sgdt", "lgdt", "in", "print"]);
    assert_eq!(table.rows[1].cells[0], None);
}

#[test]
fn counts_have_differences_and_times_have_ratios() {
    let row = |unit, ticks| vec![measured("in", "io", unit, &[&[ticks]])];
    for (unit, added, slowdown) in [("insns", Some(3120.0), None), ("ns", None, Some(3121.0))] {
        let results = [
            result("a", 1, json!({}), row(unit, 1)),
            result("b", 1, json!({}), row(unit, 3121)),
        ];
        let table = against(&results, "a");
        assert_eq!(
            (cell(&table, "in", 1).added, cell(&table, "in", 1).slowdown),
            (added, slowdown)
        );
        assert_eq!(
            (cell(&table, "in", 0).added, cell(&table, "in", 0).slowdown),
            (None, None)
        );
    }
}

#[test]
fn two_units_never_meet_in_one_ratio_whatever_is_allowed() {
    let results = [
        result(
            "a",
            1,
            json!({"unit": "insns"}),
            vec![measured("in", "io", "insns", &[&[1]])],
        ),
        result(
            "b",
            1,
            json!({"unit": "ns"}),
            vec![measured("in", "io", "ns", &[&[1]])],
        ),
    ];
    let allow = vec!["unit".to_owned()];
    let options = Options {
        baseline: Some("a".into()),
        allow,
    };
    let table = table(&results, &options).unwrap();
    assert_eq!(
        why_not(&table, "in", 1),
        "not compared with a: ns cannot be compared with insns"
    );
}

#[test]
fn unlike_conditions_are_refused_by_name_and_can_be_allowed() {
    let row = |digest: &str| {
        let mut row = measured("in", "io", "insns", &[&[1]]);
        row.conditions.insert("digest".into(), json!(digest));
        vec![row]
    };
    let results = [
        result("a", 1, json!({"cpu": "old"}), row("1")),
        result("b", 1, json!({"cpu": "new"}), row("2")),
    ];
    assert_eq!(
        why_not(&against(&results, "a"), "in", 1),
        "not compared with a: different cpu (\"new\" here, \"old\" there), \
         digest (\"2\" here, \"1\" there)"
    );
    let options = |allow: &[&str]| Options {
        baseline: Some("a".into()),
        allow: allow.iter().map(|&field| field.into()).collect(),
    };
    let half = table(&results, &options(&["cpu"])).unwrap();
    assert!(why_not(&half, "in", 1).contains("different digest"));
    let whole = table(&results, &options(&["cpu", "digest"])).unwrap();
    assert_eq!(cell(&whole, "in", 1).added, Some(0.0));
}

#[test]
fn a_baseline_without_a_value_is_a_reason() {
    let results = [
        result(
            "a",
            1,
            json!({}),
            vec![absent("in", "io", Status::Died, "x")],
        ),
        result(
            "b",
            1,
            json!({}),
            vec![measured("in", "io", "insns", &[&[1]])],
        ),
    ];
    let table = against(&results, "a");
    assert_eq!(
        why_not(&table, "in", 1),
        "not compared with a: it has no value there"
    );
}

#[test]
fn a_missing_baseline_is_an_error_that_lists_what_is_there() {
    let options = Options {
        baseline: Some("kvm".into()),
        ..Options::default()
    };
    let error = table(&house(), &options).unwrap_err().to_string();
    assert_eq!(
        error,
        "no result of the baseline \"kvm\"; there are results of lab:native, lab:kvm, qemu-tcg"
    );
}

#[test]
fn a_failed_check_takes_the_value_away() {
    let mut row = measured("in", "io", "insns", &[&[1]]);
    row.status = Status::Failed;
    row.reason = Some("the port's value was not read".into());
    let table = plain(&[result("a", 1, json!({}), vec![row])]);
    assert_eq!(cell(&table, "in", 0).value, None);
    assert_eq!(table.notes, ["failed: the port's value was not read"]);
}

/// Only where the poll ended some halts and not others: else the row is of one path.
#[test]
fn a_row_of_polled_and_blocked_halts_says_so() {
    let of = |counts: Value| {
        let mut row = measured("ipi-halted", "exceptions", "insns", &[&[100, 100]]);
        row.host =
            serde_json::from_value(json!([{"boot": 1, "launch": 0, "kvm": counts}])).unwrap();
        let table = plain(&[result("lab:kvm", 1, json!({}), vec![row])]);
        let notes = cell(&table, "ipi-halted", 0).notes.iter();
        notes
            .map(|note| table.notes[*note].clone())
            .collect::<Vec<_>>()
    };
    for halts in ["halt_exits", "wfi_exit_stat"] {
        let mixed = of(json!({"halt_successful_poll": 59, halts: 64}));
        assert_eq!(mixed.len(), 1);
        assert!(
            mixed[0].starts_with("59 of 64 halts ended in KVM's polling"),
            "{mixed:?}"
        );
    }
    for counts in [
        json!({"halt_successful_poll": 64, "halt_exits": 64}),
        json!({"halt_exits": 64, "halt_wakeup": 64}),
        json!({}),
    ] {
        assert_eq!(of(counts), Vec::<String>::new());
    }
}

#[test]
fn noise_is_marked_as_such() {
    let sliced: &[u64] = &[4498, 27_045_911, 27_045_911, 27_045_912];
    let rows = vec![
        measured("ipi-running", "exception", "tsc_ticks", &[sliced]),
        measured("in", "io", "tsc_ticks", &[&[75, 76, 75]]),
    ];
    let table = plain(&[result("qemu-tcg", 1, json!({}), rows)]);
    assert!(cell(&table, "ipi-running", 0).noisy && !cell(&table, "in", 0).noisy);
    let text = table.to_terminal(false, 200);
    assert!(
        text.contains("27,045,911 !\n") && text.contains("\n!: noise, "),
        "{text}"
    );
    assert!(!text.contains("75.0 !"));
}

#[test]
fn equal_reasons_share_a_note() {
    let rows = vec![
        absent("a", "c", Status::Skip, "no APIC"),
        absent("b", "c", Status::Skip, "no APIC"),
        absent("c", "c", Status::Died, "no APIC"),
    ];
    let table = plain(&[result("p", 1, json!({}), rows)]);
    assert_eq!(table.notes, ["skip: no APIC", "died: no APIC"]);
    assert_eq!(cell(&table, "b", 0).notes, [0]);
}

#[test]
fn several_units_in_one_column_stand_in_their_cells() {
    let rows = vec![
        measured("a", "c", "insns", &[&[14]]),
        measured("b", "c", "count", &[&[3]]),
    ];
    let text = plain(&[result("p", 1, json!({}), rows)]).to_terminal(false, 200);
    assert!(
        text.contains("14 insns") && text.contains("3 count"),
        "{text}"
    );
}

#[test]
fn an_interrupted_run_says_so_at_its_head() {
    let mut one = result("p", 1, json!({}), vec![measured("a", "c", "ns", &[&[1]])]);
    one.interrupted = true;
    let text = plain(&[one]).to_terminal(false, 200);
    assert!(
        text.contains("p [1]\n") && text.contains("\n[1] interrupted: "),
        "{text}"
    );
}

#[test]
fn colour_changes_nothing_but_colour() {
    let table = against(&house(), "lab:native");
    let coloured = table.to_terminal(true, 200);
    assert!(coloured.contains("\u{1b}[31m"), "a timeout is red");
    let mut bare = coloured;
    for code in ["0", "1", "2", "31"] {
        bare = bare.replace(&format!("\u{1b}[{code}m"), "");
    }
    let trimmed = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| line.trim_end().to_owned())
            .collect()
    };
    assert_eq!(trimmed(&bare), trimmed(&table.to_terminal(false, 200)));
}

#[test]
fn wide_characters_keep_columns_straight() {
    let rows = vec![
        measured("\u{65e5}\u{672c}", "c", "ns", &[&[1]]),
        measured("abcd", "c", "ns", &[&[2]]),
    ];
    let text = plain(&[result("p", 1, json!({}), rows)]).to_terminal(false, 200);
    assert!(
        text.contains("c  \u{65e5}\u{672c}    1.00\n   abcd    2.00\n"),
        "{text}"
    );
}

#[test]
fn no_results_are_an_empty_table() {
    let table = plain(&[]);
    assert_eq!(table.to_csv().lines().count(), 1);
    assert_eq!(table.to_terminal(false, 200).trim(), "");
    assert!(serde_json::from_str::<Value>(&table.to_json().unwrap()).is_ok());
}

/// Hostile values in every string that a guest or a file can choose.
fn hostile() -> Vec<ResultFile> {
    let evil = "\u{1b}[2J<script>|`x`\n\u{202e}=1";
    let mut bad = absent(evil, evil, Status::Fault, evil);
    bad.conditions.insert(evil.into(), json!(evil));
    let mut row = measured("=cmd()", evil, evil, &[&[1], &[2]]);
    row.outcomes[0].check.as_mut().unwrap().note = evil.into();
    let mut one = result(evil, 2, json!({evil: evil}), vec![bad, row]);
    one.created = evil.into();
    one.tool = evil.into();
    one.command = vec![evil.into()];
    one.boots[0].launches[0].end = ws_results::LaunchEnd::Died;
    one.boots[0].launches[0].end_detail = evil.into();
    one.boots[0].launches[0].console_tail = format!("{evil}\u{9b}");
    let other = result(
        "b",
        1,
        json!({}),
        vec![measured("=cmd()", "c", evil, &[&[1]])],
    );
    vec![one, other]
}

#[test]
fn hostile_strings_reach_no_medium() {
    let results = hostile();
    let table = against(&results, "b");
    let escapes = |text: &str| text.contains(['\u{1b}', '\u{202e}', '\u{9b}', '\r']);
    for text in [
        table.to_terminal(false, 200),
        ws_report::show(&results[0], false),
    ] {
        assert!(!escapes(&text), "{text:?}");
        assert!(
            text.contains("\\u{1b}[2J<script>|`x`\\n\\u{202e}=1"),
            "{text}"
        );
    }
    let markdown = table.to_markdown();
    assert!(!escapes(&markdown) && !markdown.contains('<'), "{markdown}");
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    let lines: Vec<_> = markdown
        .lines()
        .take_while(|line| !line.is_empty())
        .collect();
    assert!(
        lines.iter().all(|line| columns(line) == columns(lines[0])),
        "{markdown}"
    );
    let csv = table.to_csv();
    assert!(!escapes(&csv), "{csv}");
    assert!(csv.contains("\n'=cmd(),"), "{csv}");
    assert_eq!(
        csv.lines().count(),
        4,
        "a header, two rows of one and one of the other: {csv}"
    );
    assert!(!table.to_json().unwrap().contains('\u{1b}'));
}

const SCHEMA_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/table-schema.json");

/// `WS_BLESS=1 cargo test -p ws-report` regenerates the file after the types have changed.
#[test]
fn the_committed_schema_is_that_of_the_types_and_what_we_write_is_valid() {
    if std::env::var_os("WS_BLESS").is_some() {
        std::fs::write(SCHEMA_FILE, ws_report::table_schema()).unwrap();
    }
    assert!(
        std::fs::read_to_string(SCHEMA_FILE).unwrap() == ws_report::table_schema(),
        "docs/table-schema.json is out of date: run this test with WS_BLESS=1"
    );
    let schema: Value = serde_json::from_str(&ws_report::table_schema()).unwrap();
    let validator = ws_results::schema_check::Schema::of(&schema);
    let rows = vec![measured("in", "io", "insns", &[&[7, 7], &[7, 7]])];
    let one = result("lab:native", 2, json!({"unit": "insns"}), rows);
    let text = against(&[one.clone(), one], "lab:native")
        .to_json()
        .unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    assert!(validator.is_valid(&value));
    value["rows"][0]["cells"][0]["status"] = json!("fine");
    assert!(!validator.is_valid(&value));
}
