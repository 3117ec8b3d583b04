use super::*;
use crate::comparison_csv::COLUMNS;
use serde_json::{Value, json};
use ws_analysis::{CompareOptions, compare_results};
use ws_results::ResultFile;

/// A result of one row: its boots' costs, two samples each, the last boot perturbed on `insns`.
fn result(platform: &str, unit: &str, costs: &[u64]) -> ResultFile {
    let boots = (1..=costs.len()).map(|boot| {
        let mut value = json!({"boot": boot, "launches": [{"nonce": "1", "vcpus": 1, "asked": [],
            "hello": null, "first_record_ms": null, "wall_ms": 1, "end": "bye", "end_detail": "",
            "bad_lines": 0, "stale_records": 0, "lost_records": 0, "console_tail": ""}]});
        if unit == "insns" && boot == costs.len() {
            value["perturbed"] = json!({"pad": 3});
        }
        value
    });
    let samples = (1..).zip(costs).map(|(boot, cost): (u32, _)| {
        json!({"boot": boot, "launch": 0, "iterations": 1, "run": [cost, cost], "control": [0, 0]})
    });
    let value = json!({"schema": ws_results::SCHEMA, "created": platform, "tool": "t", "command": [],
        "platform": platform, "identity": {"subject": {"platform": platform}, "conditions": {}},
        "interrupted": false, "boots": boots.collect::<Vec<_>>(),
        "rows": [{"benchmark": "in|=\u{1b}", "category": "io", "status": "ok", "reason": null,
            "outcomes": [], "conditions": {}, "exact": null,
            "metrics": [{"name": "cost", "unit": unit, "boots": samples.collect::<Vec<_>>()}]}]});
    serde_json::from_value(value).unwrap()
}

fn compared(unit: &str, base: &[u64], other: &[u64]) -> Comparisons {
    let options = CompareOptions::default();
    let (base, other) = (result("a", unit, base), result("b", unit, other));
    Comparisons::of(vec![compare_results(&base, &other, &options).unwrap()])
}

const FAST: [u64; 8] = [100, 101, 102, 99, 98, 103, 97, 105];
const SLOW: [u64; 8] = [150, 151, 152, 149, 148, 153, 147, 155];

#[test]
fn a_terminal_shows_verdicts_and_what_limits_them() {
    let text = compared("ns", &FAST, &SLOW).to_terminal(false, false);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "b against a (base)");
    assert!(
        lines[1].contains("platform (\"b\" here, \"a\" there)"),
        "{text}"
    );
    assert!(lines[2].contains("not from one run"), "{text}");
    assert!(lines[4].starts_with("in|=\\u{1b}  "), "{text}");
    assert!(
        lines[4].contains(" 1.498x ") && lines[4].ends_with(" %  worse"),
        "{text}"
    );
    assert_eq!(lines[5], "1 worse");
    assert!(!text.contains("added:") && text.contains("ratio:"));
    let coloured = compared("ns", &FAST, &SLOW).to_terminal(true, false);
    assert!(coloured.contains("\u{1b}[31mworse"));
}

#[test]
fn instructions_are_added_and_never_a_ratio() {
    let text = compared("insns", &[3022; 3], &[3023; 3]).to_terminal(false, false);
    assert!(
        text.contains("3,022  3,023            +1  [+1]  worse "),
        "{text}"
    );
    assert!(
        text.contains("worse    1 instruction more") && !text.contains("ratio:"),
        "{text}"
    );
}

#[test]
fn markdown_and_csv_escape_what_strangers_wrote() {
    let tight = [1000, 1001, 1002, 999, 998, 1003, 997, 1005];
    let compared = compared("ns", &tight, &tight);
    let page = compared.to_markdown();
    assert!(
        page.contains("### b against a: 1 no change\n") && page.contains("| in\\|=\\\\u{1b} |"),
        "{page}"
    );
    let table = compared.to_csv();
    let mut csv = csv::Reader::from_reader(table.as_bytes());
    let record = csv.records().next().unwrap().unwrap();
    assert_eq!(
        (record.len(), &record[9], &record[10]),
        (COLUMNS.len(), "no change", "1")
    );
    assert!(!table.contains('\u{1b}'));
}

/// Twenty rows that save two instructions of fifty, and one that costs a thousand times as much: no
/// summary may call that better.
#[test]
fn a_summary_is_not_better_where_a_row_is_worse() {
    let suite = |platform: &str, first: u64, rest: u64| {
        let mut result = result(platform, "insns", &[first; 3]);
        let row = result.rows[0].clone();
        for number in 0..20 {
            let mut row = row.clone();
            row.benchmark = format!("row-{number}");
            for samples in &mut row.metrics[0].boots {
                samples.run = vec![rest; 2];
            }
            result.rows.push(row);
        }
        result
    };
    let told = |first| {
        let options = CompareOptions::default();
        let (base, other) = (suite("a", 1, 50), suite("b", first, 48));
        Comparisons::of(vec![compare_results(&base, &other, &options).unwrap()])
            .to_terminal(false, false)
    };
    assert!(told(1).contains("HPT, which counts rows"), "{}", told(1));
    let text = told(3370);
    assert!(text.contains("1 worse, 20 better"), "{text}");
    assert!(
        !text.contains("HPT") && !text.contains("reliability"),
        "{text}"
    );
}

#[test]
fn only_changed_rows_are_shown_worse_ones_first_unless_all_are_asked_for() {
    let suite = |costs: [u64; 4]| {
        let mut result = result("a", "insns", &[1; 3]);
        let row = result.rows.remove(0);
        for (number, cost) in costs.into_iter().enumerate() {
            let mut row = row.clone();
            row.benchmark = format!("row-{number}");
            for samples in &mut row.metrics[0].boots {
                samples.run = vec![cost; 2];
            }
            result.rows.push(row);
        }
        result
    };
    let options = CompareOptions::default();
    let (base, other) = (suite([5, 5, 9, 5]), suite([5, 6, 5, 50]));
    let compared = Comparisons::of(vec![compare_results(&base, &other, &options).unwrap()]);
    let rows = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains("row-"));
        let name = |line: &str| line[line.find("row-").unwrap()..][..5].to_owned();
        lines.map(name).collect()
    };
    let brief = compared.to_terminal(false, false);
    assert_eq!(rows(&brief), ["row-3", "row-1", "row-2"]);
    assert!(
        brief.contains("2 worse, 1 better, 1 no change (--all shows them all)\n"),
        "{brief}"
    );
    let all = compared.to_terminal(false, true);
    assert_eq!(rows(&all), ["row-0", "row-1", "row-2", "row-3"]);
    assert!(all.contains("1 no change\n"), "{all}");
    let page = compared.to_markdown();
    let (shown, folded) = page.split_once("<details>").unwrap();
    assert!(
        shown.starts_with("### a against a: 2 worse, 1 better, 1 no change\n"),
        "{page}"
    );
    assert_eq!((rows(shown).len(), rows(folded).len()), (3, 4));
    let same = Comparisons::of(vec![compare_results(&base, &base, &options).unwrap()]);
    assert!(
        !same.to_terminal(false, false).contains("verdict"),
        "nothing to show"
    );
}

#[test]
fn a_confidence_is_never_rounded_up_to_certainty() {
    assert_eq!(
        [rounded_down(0.9999), rounded_down(1.0)],
        ["0.999", "1.000"]
    );
}

/// Three hosts, each with its own base: n2 is slower now.
fn over_three_hosts() -> Comparisons {
    let on = |host: &str, costs: &[u64]| {
        let mut result = result("kvm", "ns", costs);
        let subject = &mut result.identity.subject;
        subject.insert("host".into(), json!(host));
        result
    };
    let options = CompareOptions::default();
    let hosts = [("n1", FAST), ("n2", SLOW), ("n3", FAST)];
    let pairs = hosts.map(|(host, now)| (on(host, &FAST), on(host, &now)));
    let compared = pairs
        .iter()
        .map(|(base, other)| compare_results(base, other, &options).unwrap());
    Comparisons::of(compared.collect())
}

#[test]
fn a_platform_on_several_hosts_is_one_table_over_hosts() {
    let compared = over_three_hosts();
    let text = compared.to_terminal(false, false);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "kvm, ns: 3 hosts, each against its own base");
    let cells: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(cells[1..5], ["1.000x", "1.000x", "1.498x", "n2"], "{text}");
    assert!(!text.contains("against kvm (base)"), "{text}");
    let all = compared.to_terminal(false, true);
    for host in ["n1", "n2", "n3"] {
        let head = format!("kvm on {host} against kvm (base)\n");
        assert!(all.contains(&head), "{all}");
    }
    let page = compared.to_markdown();
    assert!(
        page.starts_with("### kvm, ns: 3 hosts, each against its own base\n"),
        "{page}"
    );
    assert!(
        page.contains("<details><summary>kvm on n2: 1 worse</summary>\n\n- the subject is the same on both sides\n"),
        "{page}"
    );
    assert!(
        page.contains("median host, least, greatest: ")
            && page.contains("\n- ratio: the other time"),
        "{page}"
    );
    let csv = compared.to_csv();
    assert_eq!(
        csv.lines().filter(|line| line.ends_with(",n2,n2")).count(),
        1
    );
}

#[test]
fn a_row_that_a_host_did_not_compare_is_shown_or_counted() {
    let mut pairs = over_three_hosts().comparisons;
    let set = |pairs: &mut Vec<SuiteComparison>, verdict, refused| {
        for one in pairs {
            one.rows[0].verdict = verdict;
            one.rows[0].refused = refused;
        }
    };
    set(&mut pairs, Some(Verdict::NoChange), false);
    let told =
        |pairs: &[SuiteComparison]| Comparisons::of(pairs.to_vec()).to_terminal(false, false);
    let text = told(&pairs);
    assert!(
        text.contains("no change in any of 1 benchmarks on any host\n"),
        "{text}"
    );
    // Not measured on either side, as `compare` of one host does not show.
    set(&mut pairs, None, false);
    let text = told(&pairs);
    assert!(
        text.contains("no benchmark was compared on all hosts\n"),
        "{text}"
    );
    set(&mut pairs, None, true);
    let text = told(&pairs);
    assert!(!text.contains("no change in any"), "{text}");
    let row = text.lines().nth(2).unwrap();
    assert!(row.ends_with("  n1, n2, n3"), "{text}");
    let over = &Comparisons::of(pairs).over_hosts[0].rows[0];
    assert_eq!(over.refused, ["n1", "n2", "n3"]);
}

#[test]
fn two_results_of_one_host_or_of_other_hosts_are_not_over_hosts() {
    let mut compared = over_three_hosts().comparisons;
    compared.truncate(1);
    assert!(Comparisons::of(compared.clone()).over_hosts.is_empty());
    compared.push(compared[0].clone());
    assert!(Comparisons::of(compared.clone()).over_hosts.is_empty());
    compared[1].base.host = Some("elsewhere".into());
    assert!(Comparisons::of(compared).over_hosts.is_empty());
}

const COMMITTED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/comparison-schema.json"
);

/// `WS_BLESS=1 cargo test -p ws-report` regenerates the file after the types have changed.
#[test]
fn the_committed_schema_is_that_of_the_types_and_what_we_write_is_valid() {
    if std::env::var_os("WS_BLESS").is_some() {
        std::fs::write(COMMITTED, comparison_schema()).unwrap();
    }
    assert!(
        std::fs::read_to_string(COMMITTED).unwrap() == comparison_schema(),
        "docs/comparison-schema.json is out of date: run this test with WS_BLESS=1"
    );
    let schema: Value = serde_json::from_str(&comparison_schema()).unwrap();
    let validator = ws_results::schema_check::Schema::of(&schema);
    for one in [
        compared("ns", &FAST, &SLOW),
        compared("insns", &[5; 3], &[6; 3]),
        Comparisons::of(vec![]),
        Comparisons {
            hosts: Some(HostsOfSides::default()),
            ..over_three_hosts()
        },
    ] {
        let mut value: Value = serde_json::from_str(&one.to_json().unwrap()).unwrap();
        assert!(validator.is_valid(&value));
        value["schema"] = json!("worldswitch-comparison/3");
        assert!(!validator.is_valid(&value));
    }
}
