//! Tests of what tables and pages say of platforms beside their baseline, or a base: for every combination of rows that
//! cost less, more, the same, or can't be compared.

use crate::support::{absent, measured, render, result};
use proptest::prelude::*;
use serde_json::json;
use ws_analysis::{RowComparison, SuiteComparison, Verdict, compare_results};
use ws_report::page::Report;
use ws_report::{Options, finding, table};
use ws_results::{ResultFile, Row, Status};

/// A platform whose rows `b0`, `b1`, ... have these costs; 0 is one that could not run.
fn platform(name: &str, unit: &str, costs: &[u64]) -> ResultFile {
    let row = |(index, &cost): (usize, &u64)| -> Row {
        let name = format!("b{index}");
        match cost {
            0 => absent(&name, "exception", Status::Skip, "not here"),
            cost => measured(&name, "exception", unit, &[&[cost; 3], &[cost; 3]]),
        }
    };
    let rows = costs.iter().enumerate().map(row).collect();
    result(name, 2, json!({"unit": unit, "arch": "x86_64"}), rows)
}

fn page(results: &[ResultFile], baseline: Option<&str>) -> String {
    let report = Report {
        results,
        baseline: baseline.map(Into::into),
        ..Report::default()
    };
    render(&report).unwrap()
}

fn heading(page: &str) -> &str {
    let from = page.find("<h1>").unwrap() + 4;
    &page[from..page.find("</h1>").unwrap()]
}

/// What the page of two platforms opens with, the second being the baseline; the table says the same.
fn said(unit: &str, costs: &[u64], base: &[u64]) -> String {
    let results = [platform("new", unit, costs), platform("old", unit, base)];
    let options = Options {
        baseline: Some("old".into()),
        ..Options::default()
    };
    let page = page(&results, Some("old"));
    let found = finding(&table(&results, &options).unwrap()).unwrap();
    assert_eq!(heading(&page), found);
    found
}

#[test]
fn beside_another_platform_the_sentence_says_in_how_many_rows_it_costs_less_or_more() {
    let base = [3000, 2000, 1000, 500];
    let cases: [(&str, [u64; 4], &str); 12] = [
        (
            "insns",
            [2900, 1900, 900, 400],
            "new takes fewer instructions than old in all 4 benchmarks; most of all b3, 500 to 400 (-100).",
        ),
        (
            "insns",
            [3100, 2100, 1100, 600],
            "new takes more instructions than old in all 4 benchmarks; most of all b3, 500 to 600 (+100).",
        ),
        (
            "insns",
            [2900, 2000, 1001, 0],
            "new takes more instructions than old in 1 of 3 benchmarks and fewer in 1; most of all b2, 1,000 to 1,001 (+1).",
        ),
        (
            "insns",
            [2900, 1900, 1001, 500],
            "new takes fewer instructions than old in 2 of 4 benchmarks and more in 1; most of all b1, 2,000 to 1,900 (-100).",
        ),
        (
            "insns",
            base,
            "new takes as many instructions as old in all 4 benchmarks.",
        ),
        (
            "insns",
            [0, 0, 0, 501],
            "new takes more instructions than old in the one benchmark that both measured; most of all b3, 500 to 501 (+1).",
        ),
        (
            "insns",
            [0, 0, 0, 0],
            "No figure of new can be compared with old: it has none.",
        ),
        (
            "tsc_ticks",
            [1500, 1000, 500, 250],
            "new is more than 5 % faster than old in all 4 benchmarks; most of all b3, 500 to 250 (0.500x).",
        ),
        (
            "tsc_ticks",
            [3000, 2000, 1000, 750],
            "new is more than 5 % slower than old in 1 of 4 benchmarks; most of all b3, 500 to 750 (1.50x).",
        ),
        (
            "tsc_ticks",
            [1500, 2000, 2000, 1000],
            "new is more than 5 % slower than old in 2 of 4 benchmarks and faster in 1; most of all b3, 500 to 1,000 (2.00x).",
        ),
        (
            "tsc_ticks",
            [3010, 1990, 1000, 500],
            "new is as fast within 5 % as old in all 4 benchmarks.",
        ),
        (
            "count",
            [2999, 2000, 1000, 500],
            "new costs less than old in 1 of 4 benchmarks; most of all b0, 3,000 to 2,999 (-1).",
        ),
    ];
    for (unit, costs, sentence) in cases {
        assert_eq!(said(unit, &costs, &base), sentence);
    }
}

#[test]
fn what_cannot_be_compared_is_said_with_the_reason_and_both_are_drawn() {
    let results = [
        platform("new", "insns", &[10, 20]),
        platform("old", "tsc_ticks", &[10, 20]),
    ];
    let page = page(&results, Some("old"));
    assert_eq!(
        heading(&page),
        "No figure of new can be compared with old: insns cannot be compared with tsc_ticks."
    );
    let options = Options {
        baseline: Some("old".into()),
        ..Options::default()
    };
    let why = |results: &[ResultFile]| table(results, &options).unwrap().not_comparable("old");
    let said = why(&results).unwrap();
    assert!(
        said.starts_with("no figure of new can be compared with old: insns"),
        "{said}"
    );
    assert_eq!(
        why(&results[1..]).unwrap(),
        "there is no other platform to compare with old"
    );
    let alike = [results[1].clone(), platform("new", "tsc_ticks", &[10, 20])];
    assert_eq!(why(&alike), None);
}

#[test]
fn several_platforms_stand_in_one_sentence_each_once() {
    let base = platform("old", "insns", &[10, 20]);
    let mut results = vec![base];
    for (name, costs) in [("a", [9, 20]), ("b", [10, 30]), ("c", [10, 20])] {
        let mut result = platform(name, "insns", &costs);
        results.push(result.clone());
        // An older run of it, with fewer rows.
        result.rows.truncate(1);
        result.created = "2026-01-30T12:00:00Z".into();
        results.push(result);
    }
    let three = "Compared with old: a takes fewer instructions in 1 of 2 benchmarks; b takes more instructions in \
        1 of 2 benchmarks; c takes as many instructions in both benchmarks";
    assert_eq!(heading(&page(&results, Some("old"))), format!("{three}."));
    results.push(platform("d", "insns", &[1, 1]));
    let four = format!("{three}; 1 more platform is below.");
    assert_eq!(heading(&page(&results, Some("old"))), four);
}

#[test]
fn a_hypervisor_that_adds_nothing_is_said_to_and_what_it_adds_is_a_cost() {
    let of = |costs| {
        let native = platform("lab:native", "insns", &[1, 5]);
        page(&[native, platform("lab:kvm", "insns", costs)], None)
    };
    assert_eq!(
        heading(&of(&[1, 5])),
        "lab:kvm takes as many instructions as lab:native in both benchmarks."
    );
    let adds = of(&[1, 3005]);
    assert_eq!(heading(&adds), "In lab:kvm the longest exit is b1, 3,005.");
    let skipped = [platform("lab:kvm", "insns", &[0, 0])];
    assert_eq!(
        heading(&page(&skipped, None)),
        "No benchmark here was measured: 2 skip."
    );
}

/// A comparison whose rows have these verdicts.
fn judged(verdicts: &[Option<Verdict>]) -> (Vec<ResultFile>, SuiteComparison) {
    let costs = vec![3000; verdicts.len()];
    let base = platform("old", "insns", &costs);
    let results = vec![platform("new", "insns", &costs)];
    let mut compared = compare_results(&base, &results[0], &Default::default()).unwrap();
    for (row, verdict) in compared.rows.iter_mut().zip(verdicts) {
        row.verdict = *verdict;
        let other = match verdict {
            Some(Verdict::Worse) => Some(3100.0),
            Some(Verdict::Better) => Some(2900.0),
            Some(_) => Some(3000.0),
            None => None,
        };
        *row = RowComparison {
            other,
            why: Some("a reason".into()),
            ..row.clone()
        };
        if let (Some(counts), Some(other)) = (&mut row.counts, other) {
            counts.added = other - 3000.0;
        }
    }
    (results, compared)
}

fn verdict() -> impl Strategy<Value = Option<Verdict>> {
    prop::sample::select(vec![
        None,
        Some(Verdict::Better),
        Some(Verdict::Worse),
        Some(Verdict::NoChange),
        Some(Verdict::Inconclusive),
    ])
}

/// Costs and those of the baseline; 0 is none.
fn costs() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let cost = || prop_oneof![Just(0u64), 1u64..4, 2990u64..3010];
    prop::collection::vec((cost(), cost()), 1..7)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_heading_of_verdicts_has_their_numbers(verdicts in prop::collection::vec(verdict(), 0..8)) {
        let (results, compared) = judged(&verdicts);
        let report = Report { results: &results, comparisons: vec![compared], ..Report::default() };
        let page = render(&report).unwrap();
        let said = heading(&page);
        let count = |verdict| verdicts.iter().filter(|one| **one == Some(verdict)).count();
        let [better, worse] = [Verdict::Better, Verdict::Worse].map(count);
        let [same, open] = [Verdict::NoChange, Verdict::Inconclusive].map(count);
        let rows = |count: usize| match count {
            1 => "1 row costs".to_owned(),
            _ => format!("{count} rows cost"),
        };
        let expected = match (worse, better, open, same) {
            (0, 0, 0, 0) if verdicts.is_empty() => "No row could be compared with old.".to_owned(),
            (0, 0, 0, 0) => "No row could be compared with old: a reason.".to_owned(),
            (0, 0, 0, _) => "Nothing changed against old: ".to_owned(),
            (0, 0, ..) => format!("No verdict against old: {open} inconclusive, {same} the same."),
            (0, ..) => format!("{} less than in old, most of all b", rows(better)),
            _ => format!("{} more than in old, most of all b", rows(worse)),
        };
        // Without a row there is no chart, whose sentence this is.
        if !verdicts.is_empty() {
            prop_assert!(said.starts_with(&expected), "{} is not {}", said, expected);
        }
        let has = |text: &str| said.contains(text);
        prop_assert_eq!(has("; none costs more"), worse == 0 && better > 0, "{}", said);
        prop_assert_eq!(has("; none costs less"), worse > 0 && better == 0, "{}", said);
        let less = format!("; {better} less");
        prop_assert_eq!(has(&less), worse > 0 && better > 0, "{}", said);
        if worse + better > 0 {
            prop_assert_eq!(has(&format!("; {same} the same")), same > 0, "{}", said);
            prop_assert_eq!(has(&format!("; {open} inconclusive")), open > 0, "{}", said);
        }
    }

    #[test]
    fn the_heading_beside_a_platform_has_the_numbers_of_the_table(rows in costs()) {
        let (new, old): (Vec<u64>, Vec<u64>) = rows.iter().copied().unzip();
        let both = || rows.iter().filter(|(new, old)| *new > 0 && *old > 0);
        let less = both().filter(|(new, old)| new < old).count();
        let more = both().filter(|(new, old)| new > old).count();
        let total = both().count();
        let said = said("insns", &new, &old);
        let of = |count: usize| match (count == total, total) {
            (true, 1) => "the one benchmark that both measured".into(),
            (true, 2) => "both benchmarks".into(),
            (true, _) => format!("all {total} benchmarks"),
            _ => format!("{count} of {total} benchmarks"),
        };
        let expected = match (less, more) {
            _ if total == 0 => "No figure of new can be compared with old: ".to_owned(),
            (0, 0) => format!("new takes as many instructions as old in {}.", of(total)),
            (_, 0) => format!("new takes fewer instructions than old in {}; most of all b", of(less)),
            (0, _) => format!("new takes more instructions than old in {}; most of all b", of(more)),
            _ if less > more => format!("new takes fewer instructions than old in {} and more in {more}; most", of(less)),
            _ => format!("new takes more instructions than old in {} and fewer in {less}; most", of(more)),
        };
        prop_assert!(said.starts_with(&expected), "{} is not {}", said, expected);
    }
}
