//! Checks the error rates of the verdicts on time: on pairs of runs in which nothing changed, and on
//! pairs in which one row at a time did.
//!
//! Pairs are drawn, with fixed seeds, from recorded boots (the files in data/ say how they were
//! recorded). No constant of the method was chosen with these recordings. They contain what makes such
//! data hard: boots with little scatter within and much between them, rows with two modes, hosts that
//! drift over minutes or are busy with other work. `SIMULATED_PAIRS=100 cargo test -p ws-analysis
//! --test simulated -- --nocapture` prints the rates in docs/notebook/method-errors.md; the default is 4 pairs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::too_many_lines)]

use serde::Deserialize;
use std::collections::BTreeMap;
use ws_analysis::statistics::{Rng, deviation, rank_sum_p};
use ws_analysis::{
    BootEstimate, NOISY, SUITE_BOOTS, Thresholds, TimeRow, UnitKind, Verdict, judge_times,
};
use ws_results::Samples;

/// A recording of eight rows with every sample.
#[derive(Deserialize)]
struct Sampled {
    runs: Vec<Run<Vec<i64>>>,
}

/// A recording of whole suites with each boot's value.
#[derive(Deserialize)]
struct Suites {
    runs: Vec<Run<f64>>,
}

#[derive(Clone, Deserialize)]
struct Run<T> {
    name: String,
    /// By benchmark, then boot.
    rows: BTreeMap<String, Vec<T>>,
}

impl Run<Vec<i64>> {
    /// Each boot's value of each row, by the same estimate as in `compare`. The file has thousandths of
    /// a tick. Some are negative by noise.
    fn values(&self) -> Run<f64> {
        let estimate = |costs: &Vec<i64>| {
            let at_least_0 = |cost: i64| u64::try_from(cost).unwrap_or(0);
            let samples = Samples {
                iterations: 1000,
                run: costs.iter().map(|&cost| at_least_0(cost)).collect(),
                control: costs.iter().map(|&cost| at_least_0(-cost)).collect(),
                ..Samples::default()
            };
            BootEstimate::of(&samples, UnitKind::Time).unwrap().value
        };
        let rows = self.rows.iter();
        Run {
            name: self.name.clone(),
            rows: rows
                .map(|(name, boots)| (name.clone(), boots.iter().map(estimate).collect()))
                .collect(),
        }
    }
}

fn sampled() -> Vec<Run<Vec<i64>>> {
    let record: Sampled = serde_json::from_str(include_str!("data/qemu-tcg-boots.json")).unwrap();
    record.runs
}

/// All recordings.
fn recorded() -> Vec<Run<f64>> {
    let suites: Suites = serde_json::from_str(include_str!("data/qemu-tcg-suites.json")).unwrap();
    let sampled = sampled();
    let eight = sampled.iter().map(Run::values);
    eight.chain(suites.runs).collect()
}

/// How a pair of runs is taken from a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Draw {
    /// Each two adjacent boots, assigned to the sides at random: two platforms that took turns, with
    /// any drift.
    Turns,
    /// Consecutive boots, and those that follow: a run and a second one right after it.
    Apart,
    /// Each side's boots at random, with replacement: two runs on a host that does not drift.
    Random,
}

const BOOTS: usize = SUITE_BOOTS as usize;

/// The indices of the recorded boots of both sides. All rows of a boot stay together, as in a real run.
fn pair(draw: Draw, recorded: usize, rng: &mut Rng) -> (Vec<usize>, Vec<usize>) {
    if draw == Draw::Random {
        let mut side = || (0..BOOTS).map(|_| rng.usize(0..recorded)).collect();
        return (side(), side());
    }
    let start = rng.usize(0..=recorded - 2 * BOOTS);
    if draw == Draw::Apart {
        let middle = start + BOOTS;
        return (
            (start..middle).collect(),
            (middle..middle + BOOTS).collect(),
        );
    }
    (0..BOOTS)
        .map(|turn| {
            let (a, b) = (start + 2 * turn, start + 2 * turn + 1);
            if rng.bool() { (a, b) } else { (b, a) }
        })
        .unzip()
}

fn rows(values: &[&Vec<f64>], base: &[usize], other: &[usize]) -> Vec<TimeRow> {
    let side = |row: &[f64], chosen: &[usize]| (1..).zip(chosen.iter().map(|&b| row[b])).collect();
    let row = |row: &&Vec<f64>| TimeRow {
        base: side(row, base),
        other: side(row, other),
        by_itself: false,
    };
    values.iter().map(row).collect()
}

/// The scatter of a side's boots, as in `show`.
fn scatter(side: &[(u32, f64)]) -> f64 {
    let values: Vec<f64> = side.iter().map(|boot| boot.1).collect();
    deviation(&values).unwrap() / ws_analysis::median(&values).unwrap()
}

#[derive(Debug, Default)]
struct Rates {
    /// Pairs of suites.
    pairs: u32,
    /// Pairs with a "better" or "worse" although nothing changed.
    false_suites: u32,
    /// Rows that were called no change.
    no_change: u32,
    all_rows: u32,
    /// Rows whose interval contains the true ratio, 1.
    covered: u32,
    /// Rows with 10 % more whose boots scatter by less than [`NOISY`]: all, and those found worse.
    quiet: u32,
    quiet_found: u32,
    /// The same for the other rows.
    noisy: u32,
    noisy_found: u32,
    /// Rows with 10 % more that were called no change, or better.
    denied: u32,
    /// Noisy rows that were called no change, with or without 10 % more.
    noisy_settled: u32,
    /// By row: quiet ones with 10 % more, and those found.
    by_row: BTreeMap<String, (u32, u32)>,
    /// All rows with 10 % more: quiet ones, and those found worse.
    together: u32,
    together_found: u32,
}

/// The number of pairs drawn for each rate.
fn pairs() -> u32 {
    std::env::var("SIMULATED_PAIRS").map_or(4, |n| n.parse().expect("a number of pairs"))
}

fn simulate(run: &Run<f64>, draw: Draw, seed: u64) -> Rates {
    let (names, values): (Vec<&String>, Vec<&Vec<f64>>) = run.rows.iter().unzip();
    let mut rng = Rng::with_seed(seed);
    let mut rates = Rates::default();
    for _ in 0..pairs() {
        let (base, other) = pair(draw, values[0].len(), &mut rng);
        rates.add(&names, &rows(&values, &base, &other), draw == Draw::Turns);
    }
    println!("{}, {draw:?}: {rates:?}", run.name);
    rates
}

impl Rates {
    /// Adds a pair in which nothing changed, and the same pair with each row in turn costing 10 % more.
    fn add(&mut self, names: &[&String], rows: &[TimeRow], interleaved: bool) {
        let judge = |rows: &[TimeRow]| -> Vec<_> {
            let judged = judge_times(rows, interleaved, &Thresholds::default());
            judged.rows.into_iter().flatten().collect()
        };
        let costlier = |row: &mut TimeRow| row.other.iter_mut().for_each(|boot| boot.1 *= 1.1);
        let unchanged = judge(rows);
        let changed = |verdict| matches!(verdict, Verdict::Better | Verdict::Worse);
        self.pairs += 1;
        self.false_suites += u32::from(unchanged.iter().any(|row| changed(row.verdict)));
        let mut all = rows.to_vec();
        all.iter_mut().for_each(costlier);
        let all = judge(&all);
        for (place, row) in rows.iter().enumerate() {
            let is_quiet = scatter(&row.base).max(scatter(&row.other)) < NOISY;
            let same = unchanged[place].verdict == Verdict::NoChange;
            let interval = unchanged[place].ratio.unwrap().interval;
            self.all_rows += 1;
            self.no_change += u32::from(same);
            self.covered += u32::from(interval.low <= 1.0 && 1.0 <= interval.high);
            let mut planted = rows.to_vec();
            costlier(&mut planted[place]);
            let verdict = judge(&planted)[place].verdict;
            let found = u32::from(verdict == Verdict::Worse);
            self.denied += u32::from(matches!(verdict, Verdict::NoChange | Verdict::Better));
            if is_quiet {
                self.quiet += 1;
                self.quiet_found += found;
                let by_row = self.by_row.entry(names[place].clone()).or_default();
                *by_row = (by_row.0 + 1, by_row.1 + found);
                self.together += 1;
                self.together_found += u32::from(all[place].verdict == Verdict::Worse);
            } else {
                self.noisy += 1;
                self.noisy_found += found;
                self.noisy_settled += u32::from(same || verdict == Verdict::NoChange);
            }
        }
    }
}

#[test]
fn what_did_not_change_is_not_found_and_what_did_is() {
    let (mut suites, mut false_suites) = (0, 0);
    let mut by_row: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for (seed, run) in (11..).zip(recorded()) {
        for draw in [Draw::Turns, Draw::Apart, Draw::Random] {
            let rates = simulate(&run, draw, seed);
            suites += rates.pairs;
            for (name, (quiet, found)) in &rates.by_row {
                let row = by_row.entry(name.clone()).or_default();
                *row = (row.0 + quiet, row.1 + found);
            }
            false_suites += rates.false_suites;
            assert!(20 * rates.quiet_found >= 19 * rates.quiet, "{rates:?}");
            assert_eq!(rates.noisy_settled, 0, "{rates:?}");
        }
    }
    for (name, (quiet, found)) in by_row {
        println!("{name}: {found} of {quiet} found");
        // With few pairs, one or two misses of a row prove nothing.
        assert!(20 * found + 40 >= 19 * quiet, "{name}: {found} of {quiet}");
    }
    println!("{false_suites} of {suites} suites in which nothing changed have a better or worse");
    assert!(100 * false_suites <= suites, "{false_suites} of {suites}");
}

#[test]
fn pooling_samples_would_find_it_changed_far_too_often() {
    let run = sampled()
        .into_iter()
        .find(|run| run.name == "steady")
        .unwrap();
    let samples = &run.rows["in"];
    let mut rng = Rng::with_seed(21);
    let mut false_alarms = 0;
    for _ in 0..40 {
        let (base, other) = pair(Draw::Random, samples.len(), &mut rng);
        let pool = |chosen: &[usize]| -> Vec<f64> {
            let pooled = chosen.iter().flat_map(|&boot| &samples[boot]);
            pooled.map(|&cost| cost as f64).collect()
        };
        let p = rank_sum_p(&pool(&base), &pool(&other)).unwrap();
        false_alarms += u32::from(p <= 0.01);
    }
    println!("pooled samples of `in`: {false_alarms} of 40 falsely at 0.01");
    assert!(false_alarms >= 10, "{false_alarms} of 40");
}

#[path = "simulated/near_zero.rs"]
mod near_zero;
