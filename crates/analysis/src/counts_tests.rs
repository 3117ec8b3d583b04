use super::*;
use crate::unit::UnitKind;
use proptest::prelude::*;
use ws_results::Samples;

fn boots(boots: &[&[u64]]) -> Vec<BootEstimate> {
    let estimate = |run: &&[u64]| {
        let samples = Samples {
            iterations: 1,
            run: run.to_vec(),
            control: vec![0; run.len()],
            ..Samples::default()
        };
        BootEstimate::of(&samples, UnitKind::Count).unwrap()
    };
    boots.iter().map(estimate).collect()
}

fn side(own: &[&[u64]], perturbed: &[&[u64]]) -> Summary {
    Summary {
        unit: "insns".into(),
        boots: boots(own),
        perturbed: boots(perturbed),
        value: 0.0,
        spread: None,
        exact: None,
    }
}

fn judged(base: &Summary, other: &Summary) -> (Verdict, String) {
    let judged = judge_counts(base, other, 1.0).unwrap();
    (judged.verdict, judged.finding)
}

#[test]
fn a_single_instruction_is_found_and_named() {
    let (base, other) = (
        side(&[&[24; 64]], &[&[24; 64]]),
        side(&[&[25; 64]], &[&[25; 64]]),
    );
    assert_eq!(
        judged(&base, &other),
        (Verdict::Worse, "1 instruction more".into())
    );
    assert_eq!(
        judged(&other, &base),
        (Verdict::Better, "1 instruction fewer".into())
    );
    let both = judge_counts(&base, &other, 1.0).unwrap();
    assert_eq!(
        (both.added, both.added_mean, both.identical),
        (1.0, 1.0, false)
    );
    assert_eq!(
        judge_counts(&base, &other, 2.0).unwrap().verdict,
        Verdict::NoChange
    );
}

#[test]
fn a_shift_is_named_whole_though_the_bands_are_nearer() {
    let (base, other) = (
        side(&[&[30; 8]], &[&[29; 8]]),
        side(&[&[20; 8]], &[&[21; 8]]),
    );
    assert_eq!(
        judged(&base, &other),
        (Verdict::Better, "10 instructions fewer".into())
    );
}

#[test]
fn the_same_digits_are_no_change_perturbed_or_not() {
    let plain = side(&[&[24, 24, 30], &[24, 24, 30]], &[]);
    assert_eq!(
        judged(&plain, &plain),
        (Verdict::NoChange, "exactly the same".into())
    );
}

#[test]
fn a_shift_inside_the_band_is_no_verdict() {
    let (base, other) = (
        side(&[&[24; 8]], &[&[26; 8]]),
        side(&[&[25; 8]], &[&[25; 8]]),
    );
    let (verdict, why) = judged(&base, &other);
    assert_eq!(verdict, Verdict::Inconclusive);
    assert!(why.contains("inside the band"), "{why}");
}

#[test]
fn a_shift_inside_the_band_is_a_verdict_if_each_perturbed_boot_shifts_alike() {
    let of = |own: u64, perturbed: &[u64]| {
        let runs: Vec<Vec<u64>> = perturbed.iter().map(|cost| vec![*cost; 64]).collect();
        let runs: Vec<&[u64]> = runs.iter().map(Vec::as_slice).collect();
        side(&[&[own; 64], &[own; 64]], &runs)
    };
    let base = of(4370, &[4366, 4370]);
    let (verdict, finding) = judged(&base, &of(4371, &[4367, 4371]));
    assert_eq!((verdict, &*finding), (Verdict::Worse, "1 instruction more"));
    assert_eq!(judged(&of(4371, &[4367, 4371]), &base).0, Verdict::Better);
    // Layout moves boots by different numbers.
    assert_eq!(
        judged(&base, &of(4371, &[4366, 4371])).0,
        Verdict::Inconclusive
    );
    assert_eq!(judged(&base, &of(4371, &[4367])).0, Verdict::Inconclusive);
    // One pair beside the unperturbed one is too few.
    let (base, other) = (of(4370, &[4366]), of(4371, &[4367]));
    assert_eq!(judged(&base, &other).0, Verdict::Inconclusive);
}

#[test]
fn a_shift_of_unknown_band_is_no_verdict_and_says_whose_it_is() {
    let sides = |perturbed: [bool; 2]| {
        let side = |cost: u64, perturbed| {
            let run: &[u64] = &[cost; 8];
            let others: &[&[u64]] = if perturbed { &[run] } else { &[] };
            side(&[run], others)
        };
        (side(3, perturbed[0]), side(5830, perturbed[1]))
    };
    for (perturbed, whose) in [
        ([false, false], "neither run tested"),
        ([false, true], "the base did not test"),
        ([true, false], "this run did not test"),
    ] {
        let (base, other) = sides(perturbed);
        let (verdict, why) = judged(&base, &other);
        assert_eq!(verdict, Verdict::Inconclusive);
        assert!(
            why.starts_with(whose) && why.ends_with("with --perturb 1"),
            "{why}"
        );
    }
    let (base, other) = sides([true, true]);
    assert_eq!(judged(&base, &other).0, Verdict::Worse);
}

#[test]
fn a_slow_path_taken_every_second_time_is_seen() {
    let fast = [24u64; 64];
    let mut slow = fast;
    slow.iter_mut().step_by(2).for_each(|cost| *cost = 36);
    // The mode stays 24: it is as frequent, and lower.
    let (base, other) = (side(&[&fast], &[&fast]), side(&[&slow], &[&slow]));
    let (verdict, what) = judged(&base, &other);
    assert_eq!(verdict, Verdict::Worse);
    assert!(
        what.starts_with("a path that about 45 % of the operations take: up to 12 instr"),
        "{what}"
    );
}

#[test]
fn a_rare_slow_path_shows_in_the_mean() {
    let mut rare = [24u64; 64];
    rare[7] = 24 + 640;
    let fast = [24u64; 64];
    let (base, other) = (side(&[&fast], &[&fast]), side(&[&rare], &[&rare]));
    let (verdict, what) = judged(&base, &other);
    assert_eq!(
        (verdict, what.as_str()),
        (
            Verdict::Worse,
            "rare operations: 10 instructions more in the mean, usual cost unchanged"
        )
    );
    // If perturbed boots show the same, as with a timer tick, it is not due to the other side.
    let base = side(&[&fast], &[&rare]);
    assert_eq!(judged(&base, &other).0, Verdict::NoChange);
}

#[test]
fn some_costlier_and_others_cheaper_go_by_the_mean() {
    let base = side(
        &[&[10, 10, 10, 50, 50, 50, 50]],
        &[&[10, 10, 10, 50, 50, 50, 50]],
    );
    let other = side(
        &[&[20, 20, 20, 45, 45, 45, 45]],
        &[&[20, 20, 20, 45, 45, 45, 45]],
    );
    assert_eq!(judged(&base, &other).0, Verdict::Worse);
}

#[test]
fn without_a_minimum_equal_figures_are_still_equal() {
    let (base, other) = (
        side(&[&[24, 24, 25]], &[&[24; 3]]),
        side(&[&[24; 3]], &[&[24; 3]]),
    );
    let judged = judge_counts(&base, &other, 0.0).unwrap();
    assert_eq!(judged.verdict, Verdict::Inconclusive, "{}", judged.finding);
}

#[test]
fn nothing_is_no_verdict_at_all() {
    assert_eq!(
        judge_counts(&side(&[], &[]), &side(&[&[1]], &[]), 1.0),
        None
    );
}

proptest! {
    /// A side compared with itself is no change, and swapping the sides swaps the verdict.
    #[test]
    fn turning_the_sides_turns_the_verdict(
        base in prop::collection::vec(20u64..30, 1..40), other in prop::collection::vec(20u64..30, 1..40),
    ) {
        let (base, other) = (side(&[&base], &[&base]), side(&[&other], &[&other]));
        prop_assert_eq!(judged(&base, &base).0, Verdict::NoChange);
        let turned = match judged(&base, &other).0 {
            Verdict::Better => Verdict::Worse,
            Verdict::Worse => Verdict::Better,
            same => same,
        };
        prop_assert_eq!(judged(&other, &base).0, turned);
    }

    /// A shift of every operation is always found.
    #[test]
    fn a_whole_shift_is_always_found(costs in prop::collection::vec(20u64..9000, 1..64), by in 1u64..9) {
        let more: Vec<u64> = costs.iter().map(|cost| cost + by).collect();
        let (base, other) = (side(&[&costs], &[&costs]), side(&[&more], &[&more]));
        prop_assert_eq!(judged(&base, &other).0, Verdict::Worse);
    }
}
