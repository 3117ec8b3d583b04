//! The table of a platform that the host timed too, and its page.

use crate::support::*;
use serde_json::json;
use ws_report::{Options, Outside, Table, show, table};
use ws_results::{Metric, ResultFile, Row, Samples};

/// The row with external samples too, in batches of 1,000 operations.
fn timed(mut row: Row, boots: &[&[u64]], missing: &[u32]) -> Row {
    let samples = |(boot, run): (u32, &&[u64])| Samples {
        boot,
        iterations: 1000,
        run: run.to_vec(),
        control: vec![0; run.len()],
        lead_ticks: 2000,
        missing: missing.to_vec(),
        ..Samples::default()
    };
    for samples in &mut row.metrics[0].boots {
        samples.iterations = 1000;
    }
    let unit = row.metrics[0].unit.clone();
    row.metrics.push(Metric {
        name: "cost_external".into(),
        unit,
        boots: (1..).zip(boots).map(samples).collect(),
    });
    row
}

fn untimed(mut row: Row, why: &str) -> Row {
    for outcome in &mut row.outcomes {
        outcome.external = Some(why.into());
    }
    row
}

fn outside() -> ResultFile {
    let rows = vec![
        timed(
            measured("idle", "idle", "tsc_ticks", &[&[0, 20, 0], &[0, 0, 10]]),
            &[&[0, 9000, 500], &[100, 0, 12_000]],
            &[],
        ),
        timed(
            measured(
                "sgdt",
                "unprivileged",
                "tsc_ticks",
                &[&[42_000, 41_000], &[42_000, 44_000]],
            ),
            &[&[43_000], &[42_500]],
            &[0],
        ),
        untimed(
            measured("ipi-halted", "exception", "tsc_ticks", &[&[9000], &[9100]]),
            "the guest sent no marks: <b>",
        ),
        absent(
            "hypercall",
            "exception",
            ws_results::Status::Skip,
            "hypercall=none",
        ),
    ];
    result("qemu-tcg", 2, json!({"unit": "tsc_ticks"}), rows)
}

fn drawn(results: &[ResultFile]) -> Table {
    table(results, &Options::default()).unwrap()
}

fn cell(table: &Table, row: usize) -> Outside {
    table.rows[row].cells[0]
        .as_ref()
        .unwrap()
        .external
        .clone()
        .unwrap()
}

#[test]
fn both_costs_and_their_difference_as_text() {
    assert_golden("external.txt", &drawn(&[outside()]).to_terminal(false, 200));
}

#[test]
fn both_costs_and_their_difference_as_markdown() {
    assert_golden("external.md", &drawn(&[outside()]).to_markdown());
}

#[test]
fn the_difference_is_of_the_samples_that_both_timed_and_the_noise_is_idles() {
    let table = drawn(&[outside()]);
    let sgdt = cell(&table, 1);
    // The host timed 42.75; the guest 42.5 in the second samples alone, and 42.25 in all.
    assert_eq!(
        (sgdt.value, sgdt.samples, sgdt.missing),
        (Some(42.75), 2, 2)
    );
    assert!((sgdt.difference.unwrap() - 0.25 / 42.5).abs() < 1e-12);
    // Idle's spans are 9,000 and 12,000 ticks, and a batch of sgdt costs 42,750.
    assert!((sgdt.noise.unwrap() - 10_500.0 / 42_750.0).abs() < 1e-12);
    let idle = cell(&table, 0);
    assert_eq!(
        (idle.near_zero, idle.difference, idle.noise),
        (true, None, None)
    );
    let ipi = cell(&table, 2);
    assert_eq!((ipi.value, ipi.difference, ipi.samples), (None, None, 0));
    assert_eq!(table.rows[3].cells[0].as_ref().unwrap().external, None);
}

#[test]
fn without_idle_nobody_knows_the_noise() {
    let mut result = outside();
    result.rows.remove(0);
    let sgdt = cell(&drawn(&[result]), 0);
    assert_eq!((sgdt.noise, sgdt.value), (None, Some(42.75)));
}

#[test]
fn a_platform_that_was_not_timed_from_outside_has_no_such_columns() {
    let mut other = outside();
    other.platform = "kvm".into();
    for row in &mut other.rows {
        row.metrics.truncate(1);
        row.outcomes.iter_mut().for_each(|o| o.external = None);
    }
    let text = drawn(&[outside(), other]).to_terminal(false, 200);
    assert_eq!(text.lines().nth(1).unwrap().matches("differs").count(), 1);
    let csv = drawn(&[outside()]).to_csv();
    assert!(
        csv.lines()
            .next()
            .unwrap()
            .contains(",external,difference,noise,")
    );
}

#[test]
fn the_page_says_what_was_not_timed() {
    let page = show(&outside(), false);
    assert!(page.contains("boot 1, from outside: the guest sent no marks: <b>"));
    assert!(page.contains("cost_external 42.8 tsc_ticks"), "{page}");
}
