use super::*;

/// Boots 1 to `n` that scatter evenly by about `scatter` about `middle`, shuffled by `order`.
fn boots(n: u32, middle: f64, scatter: f64, order: u32) -> Vec<(u32, f64)> {
    let place = |boot: u32| f64::from((boot * 7 + order * 3) % n) / f64::from(n) - 0.5;
    (1..=n)
        .map(|boot| (boot, middle * (1.0 + 3.0 * scatter * place(boot))))
        .collect()
}

fn row(n: u32, scatter: f64, ratio: f64, order: u32) -> TimeRow {
    TimeRow {
        base: boots(n, 100.0, scatter, order),
        other: boots(n, 100.0 * ratio, scatter, order + 1),
        by_itself: false,
    }
}

/// A suite of 34 rows like that of `qemu-tcg`, the first with this ratio.
fn suite(n: u32, scatter: f64, first: f64) -> Vec<TimeRow> {
    (0..34)
        .map(|order| row(n, scatter, if order == 0 { first } else { 1.0 }, order))
        .collect()
}

fn judged(rows: &[TimeRow], interleaved: bool) -> Vec<TimeVerdict> {
    let judged = judge_times(rows, interleaved, &Thresholds::default());
    judged.rows.into_iter().flatten().collect()
}

#[test]
fn three_times_as_much_is_no_question_with_five_boots() {
    let rows: Vec<TimeRow> = (0..34).map(|order| row(5, 0.01, 3.0, order)).collect();
    for verdict in judged(&rows, false) {
        assert_eq!(verdict.verdict, Verdict::Worse, "{verdict:?}");
        assert!(verdict.with_all);
    }
}

#[test]
fn ten_percent_in_one_row_of_a_suite_are_found_beside_the_others() {
    for (ratio, wanted) in [(1.1, Verdict::Worse), (1.0 / 1.1, Verdict::Better)] {
        let found = judged(&suite(16, 0.01, ratio), false);
        assert_eq!(found[0].verdict, wanted, "{:?}", found[0]);
        assert!(!found[0].with_all);
        let rest = found.iter().skip(1);
        assert!(
            rest.into_iter().all(|row| row.verdict == Verdict::NoChange),
            "{found:?}"
        );
    }
}

#[test]
fn a_host_that_moved_between_two_runs_is_no_verdict_and_in_turns_it_is() {
    let rows: Vec<TimeRow> = (0..34).map(|order| row(16, 0.005, 1.055, order)).collect();
    for verdict in judged(&rows, false) {
        assert_eq!(verdict.verdict, Verdict::Inconclusive, "{verdict:?}");
        assert!(
            matches!(verdict.why, Some(Why::Unsettled { .. })),
            "{verdict:?}"
        );
    }
    for verdict in judged(&rows, true) {
        assert_eq!(verdict.verdict, Verdict::Worse, "{verdict:?}");
    }
}

#[test]
fn a_row_that_did_nothing_is_not_blamed_for_the_others() {
    // Nearly all cost 5.5 % more, less than a host may cause between two runs. The row that did not
    // change is 5.5 % below the rest, but not better.
    let mut rows: Vec<TimeRow> = (0..34).map(|order| row(16, 0.005, 1.055, order)).collect();
    rows[0] = row(16, 0.005, 1.0, 0);
    assert_ne!(judged(&rows, false)[0].verdict, Verdict::Better);
}

#[test]
fn noisy_rows_are_too_noisy_to_tell_unless_their_values_do_not_meet() {
    let mut rows = suite(16, 0.01, 1.0);
    rows[0] = row(16, 0.08, 1.1, 0);
    let found = judged(&rows, false);
    assert_eq!(
        (found[0].verdict, found[0].why),
        (Verdict::Inconclusive, Some(Why::TooNoisy))
    );
    rows[0] = row(16, 0.08, 3.0, 0);
    assert_eq!(judged(&rows, false)[0].verdict, Verdict::Worse);
    // Never "no change", however many boots.
    rows[0] = row(400, 0.04, 1.0, 0);
    assert_eq!(judged(&rows, false)[0].why, Some(Why::TooNoisy));
}

#[test]
fn a_third_of_the_boots_far_out_is_noise_though_the_others_agree() {
    let mut rows = suite(16, 0.01, 1.0);
    for (_, value) in rows[0].other.iter_mut().take(6) {
        *value *= 5.0;
    }
    let found = judged(&rows, false);
    assert!(found[0].scatter > 1.0, "{:?}", found[0]);
    assert_eq!(found[0].why, Some(Why::TooNoisy));
}

#[test]
fn two_boots_are_too_few_and_a_few_say_how_many_more() {
    let found = judged(&suite(2, 0.01, 3.0), false);
    assert_eq!(found[0].why, Some(Why::TooFewBoots { more: 1 }));
    let found = judged(&suite(5, 0.02, 1.1), false);
    let Some(Why::Unsettled { more: Some(more) }) = found[0].why else {
        panic!("{:?}", found[0]);
    };
    assert!((3..200).contains(&more), "{more}");
}

#[test]
fn a_few_rows_stand_for_themselves() {
    let alone = |ratio, interleaved| judged(&[row(16, 0.01, ratio, 0)], interleaved)[0].verdict;
    assert_eq!(alone(1.1, false), Verdict::Worse);
    assert_eq!(alone(1.055, false), Verdict::Inconclusive);
    assert_eq!(alone(1.0, false), Verdict::NoChange);
    // If they take turns, both boots of a pair see the same host.
    let mut row = row(16, 0.002, 1.055, 0);
    for (boot, value) in row.base.iter_mut().chain(&mut row.other) {
        *value *= 1.0 + 0.004 * f64::from(*boot);
    }
    let verdict = |interleaved| judged(std::slice::from_ref(&row), interleaved)[0].verdict;
    assert_eq!(verdict(true), Verdict::Worse);
    assert_eq!(verdict(false), Verdict::Inconclusive);
    let nothing = judge_times(&[TimeRow::default()], false, &Thresholds::default());
    assert_eq!(nothing.rows, [None]);
}
