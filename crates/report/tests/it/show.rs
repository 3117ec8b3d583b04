//! The output of `show` for one result file.

use crate::support::*;
use serde_json::json;
use ws_report::show;
use ws_results::LaunchEnd;

#[test]
fn a_result_with_every_kind_of_row() {
    let mut result = house().remove(1);
    let launch = &mut result.boots[1].launches[0];
    launch.end = LaunchEnd::Timeout;
    launch.end_detail = "sidt took longer than 20 s".into();
    launch.bad_lines = 1;
    launch.stale_records = 2;
    launch.console_tail = "booting\nhalf a rec".into();
    assert_golden("show.txt", &show(&result, false));
}

#[test]
fn a_histogram_draws_the_most_frequent_costs_and_counts_the_rest() {
    let mut ticks: Vec<u64> = (1..=20).collect();
    ticks.extend([5; 59]);
    let rows = vec![measured("a", "c", "insns", &[&ticks])];
    let page = show(&result("p", 1, json!({}), rows), false);
    assert!(
        page.contains(&format!("\n         5 x 60 {}\n", "#".repeat(30))),
        "{page}"
    );
    assert!(page.contains("\n        12 x  1 #\n"), "{page}");
    assert!(page.contains("and 8 samples of 8 other costs\n"), "{page}");
}

#[test]
fn times_have_no_histogram() {
    let rows = vec![measured("a", "c", "ns", &[&[1, 2, 2]])];
    let page = show(&result("p", 1, json!({}), rows), false);
    assert!(
        page.contains("boot 1: 3 samples of 1 operation: min 1.00, median 2.00"),
        "{page}"
    );
    assert!(!page.contains('#'), "{page}");
}

#[test]
fn notes_that_differ_between_boots_take_one_line() {
    let mut row = measured("a", "c", "ns", &[&[1], &[2], &[3]]);
    for (ticks, outcome) in (1..).zip(&mut row.outcomes) {
        outcome.check.as_mut().unwrap().note = format!("{ticks} ticks apart");
    }
    let page = show(&result("p", 3, json!({}), vec![row]), false);
    assert!(
        page.contains("check proved: 1 ticks apart (worded differently in other boots)\n"),
        "{page}"
    );
    assert!(!page.contains("2 ticks apart"), "{page}");
}

#[test]
fn large_counts_are_readable() {
    let mut row = measured("a", "c", "ns", &[&[1]]);
    row.metrics[0].boots[0].iterations = 320_000;
    let page = show(&result("p", 1, json!({}), vec![row]), false);
    assert!(page.contains("1 sample of 320,000 operations"), "{page}");
}
