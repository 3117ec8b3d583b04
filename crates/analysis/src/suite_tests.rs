use super::*;
use crate::gap::GapKind;
use proptest::prelude::*;
use serde_json::{Value, json};
use ws_results::Status;

/// Boots of one benchmark: their samples, with batches of one operation.
type Boots<'a> = &'a [&'a [u64]];

/// A result with rows of `unit`; each row is its name, its boots, and how many of the last are perturbed.
fn result(platform: &str, unit: &str, rows: &[(&str, Boots, usize)]) -> ResultFile {
    let boots = rows.iter().map(|row| row.1.len()).max().unwrap_or(0);
    let perturbed = rows.iter().map(|row| row.2).max().unwrap_or(0);
    let launch = json!({"nonce": "1", "vcpus": 1, "asked": [], "hello": null, "first_record_ms": null,
        "wall_ms": 1, "end": "bye", "end_detail": "", "bad_lines": 0, "stale_records": 0,
        "lost_records": 0, "console_tail": ""});
    let boot = |index: usize| {
        let mut boot = json!({"boot": index + 1, "launches": [launch]});
        if index + perturbed >= boots {
            boot["perturbed"] = json!({"pad": index});
        }
        boot
    };
    let row = |(name, boots, _): &(&str, Boots, usize)| {
        let samples = (1u32..).zip(boots.iter()).map(|(boot, run)| {
            json!({"boot": boot, "launch": 0, "iterations": 1, "run": run, "control": vec![0; run.len()]})
        });
        json!({"benchmark": name, "category": "io", "status": "ok", "reason": null, "outcomes": [],
            "conditions": {"vcpus": 1, "digest": format!("d-{name}")}, "exact": null,
            "metrics": [{"name": "cost", "unit": unit, "boots": samples.collect::<Vec<_>>()}]})
    };
    let value = json!({"schema": ws_results::SCHEMA, "created": "2026-01-31T12:00:00Z", "tool": "t",
        "command": ["worldswitch"], "platform": platform,
        "identity": {"subject": {"platform": platform}, "conditions": {"unit": unit, "cpu": "max"}},
        "interrupted": false, "boots": (0..boots).map(boot).collect::<Vec<_>>(),
        "rows": rows.iter().map(row).collect::<Vec<_>>()});
    serde_json::from_value(value).unwrap()
}

fn compared(base: &ResultFile, other: &ResultFile) -> SuiteComparison {
    compare_results(base, other, &CompareOptions::default()).unwrap()
}

const SLOW: Boots = &[
    &[150],
    &[151],
    &[152],
    &[149],
    &[148],
    &[153],
    &[147],
    &[155],
];
const FAST: Boots = &[&[100], &[101], &[102], &[99], &[98], &[103], &[97], &[105]];

#[test]
fn times_are_judged_with_their_figures() {
    let (base, other) = (
        result("a", "ns", &[("in", FAST, 0)]),
        result("b", "ns", &[("in", SLOW, 0)]),
    );
    let compared = compared(&base, &other);
    let row = &compared.rows[0];
    assert_eq!(row.verdict, Some(Verdict::Worse));
    assert_eq!(
        (row.base, row.other, row.boots),
        (Some(100.5), Some(150.5), [8, 8])
    );
    let time = row.time.as_ref().unwrap();
    // The middle halves: 99 to 102 and 149 to 152.
    assert!(
        (time.ratio.unwrap() - 150.5 / 100.5).abs() < 1e-3,
        "{time:?}"
    );
    assert!((time.rank_sum_p.unwrap() - 2.0 / 12870.0).abs() < 1e-12);
    assert!(time.ratio_low.unwrap() > 1.4 && time.ratio_high.unwrap() < 1.6);
    assert!(compared.interleaved && time.scatter < 0.03);
    assert_eq!(compared.together, None, "one row is no suite");
    assert_eq!(compared.outcome(), Outcome::Regression);
    assert_eq!(compared.subject[0].field, "platform");
}

#[test]
fn noise_is_neither_better_nor_worse_however_far_apart() {
    let base = result("a", "tsc_ticks", &[("in", FAST, 0)]);
    let mut other = base.clone();
    other.created = "later".into();
    // Far above all values of the base, and scattered by more than a third.
    for (n, samples) in (1..).zip(&mut other.rows[0].metrics[0].boots) {
        samples.run = vec![1000 * n];
    }
    let row = &compared(&base, &other).rows[0];
    assert_eq!(row.verdict, Some(Verdict::Inconclusive));
    let why = row.why.as_deref().unwrap();
    assert!(
        why.starts_with("too noisy to tell: the other is noise"),
        "{why}"
    );
}

#[test]
fn batches_of_other_lengths_are_compared_only_if_allowed() {
    let base = result("a", "tsc_ticks", &[("in", FAST, 0)]);
    let mut other = base.clone();
    other.created = "later".into();
    for samples in &mut other.rows[0].metrics[0].boots {
        samples.iterations = 2;
        samples.run = vec![3 * samples.run[0]];
    }
    // One boot of another length does not change the usual number.
    other.rows[0].metrics[0].boots[0].iterations = 1;
    let row = &compared(&base, &other).rows[0];
    assert_eq!(
        (row.verdict, row.why.as_deref()),
        (None, Some("different iterations (2 here, 1 there)"))
    );
    assert_eq!(compared(&base, &base).rows[0].why, None);
    let allow = CompareOptions {
        allow: vec!["iterations".into()],
        ..CompareOptions::default()
    };
    let allowed = compare_results(&base, &other, &allow).unwrap();
    assert!(allowed.rows[0].verdict.is_some());
}

#[test]
fn rates_are_better_when_greater() {
    let (base, other) = (
        result("a", "per_s", &[("in", FAST, 0)]),
        result("b", "per_s", &[("in", SLOW, 0)]),
    );
    let compared = compared(&base, &other);
    assert_eq!(compared.rows[0].verdict, Some(Verdict::Better));
    assert!(compared.rows[0].time.as_ref().unwrap().ratio.unwrap() < 0.7);
    assert_eq!(compared.outcome(), Outcome::NoRegression);
}

#[test]
fn too_few_boots_say_how_many_more() {
    let (base, other) = (
        result("a", "ns", &[("in", &FAST[..2], 0)]),
        result("b", "ns", &[("in", &SLOW[..2], 0)]),
    );
    let compared = compared(&base, &other);
    let row = &compared.rows[0];
    assert_eq!(row.verdict, Some(Verdict::Inconclusive));
    assert_eq!(row.time.as_ref().unwrap().more_boots, Some(1));
    assert_eq!(
        row.why.as_deref(),
        Some("too few boots to know their scatter: needs 1 more per side")
    );
    assert_eq!(compared.outcome(), Outcome::Inconclusive);
}

#[test]
fn a_suite_three_times_as_slow_is_worse_with_five_boots_and_against_itself_it_is_not() {
    let names: Vec<String> = (0..34).map(|row| format!("row-{row}")).collect();
    let boots: Boots = &[&[1000], &[1012], &[1003], &[991], &[995]];
    let times_three: Vec<Vec<u64>> = boots.iter().map(|run| vec![3 * run[0]]).collect();
    let times_three: Vec<&[u64]> = times_three.iter().map(Vec::as_slice).collect();
    let suite = |boots| {
        let rows: Vec<_> = names.iter().map(|name| (&**name, boots, 0)).collect();
        let mut result = result("qemu-tcg", "ns", &rows);
        result.created = format!("{:?}", rows[0].1);
        result
    };
    let (base, slow) = (suite(boots), suite(&times_three));
    let found = compared(&base, &slow);
    let worse = |row: &RowComparison| row.verdict == Some(Verdict::Worse);
    assert!(found.rows.iter().all(worse), "{:?}", found.rows[0]);
    assert_eq!(found.rows[0].why.as_deref(), Some("like the whole suite"));
    assert!((found.together.unwrap().ratio - 3.0).abs() < 1e-9);
    assert!(!found.interleaved);
    let same = compared(&base, &base);
    assert_eq!(same.outcome(), Outcome::NoRegression, "{:?}", same.rows[0]);
}

#[test]
fn noise_is_too_noisy_to_tell() {
    let wild: Boots = &[&[90], &[111], &[95], &[105], &[88], &[113], &[104], &[100]];
    let compared = compared(
        &result("a", "ns", &[("in", wild, 0)]),
        &result("b", "ns", &[("in", wild, 0)]),
    );
    let row = &compared.rows[0];
    assert_eq!(row.verdict, Some(Verdict::Inconclusive));
    let why = row.why.as_deref().unwrap();
    assert!(
        why.starts_with("too noisy to tell: boots scatter by 1"),
        "{why}"
    );
}

#[test]
fn instructions_need_their_perturbed_boots() {
    let of = |cost: u64, perturbed| {
        let run = [cost; 4];
        let boots: [&[u64]; 3] = [&run, &run, &run];
        result("lab:kvm", "insns", &[("in", &boots, perturbed)])
    };
    let compared = |base, other| compared(&base, &other);
    let found = compared(of(3000, 1), of(3001, 1));
    let row = &found.rows[0];
    assert_eq!(
        (row.verdict, row.exact, row.boots),
        (Some(Verdict::Worse), Some(true), [2, 2])
    );
    assert_eq!(row.why.as_deref(), Some("1 instruction more"));
    assert_eq!((found.base.boots, found.base.perturbed_boots), (2, 1));
    assert_eq!(found.outcome(), Outcome::Regression);
    let found = compared(of(3000, 0), of(3001, 0));
    assert_eq!(found.rows[0].verdict, Some(Verdict::Inconclusive));
    assert_eq!(
        compared(of(3000, 0), of(3000, 0)).outcome(),
        Outcome::NoRegression
    );
}

#[test]
fn added_is_the_difference_of_the_figures_beside_it() {
    // The modes of the boots that count are 5, 7 and 7; tables show the middle one.
    let base: Boots = &[&[5, 5], &[7, 7], &[7, 7], &[5, 5]];
    let other: Boots = &[&[17, 17], &[18, 18], &[20, 20], &[17, 17]];
    let compared = compared(
        &result("a", "insns", &[("in", base, 1)]),
        &result("b", "insns", &[("in", other, 1)]),
    );
    let row = &compared.rows[0];
    assert_eq!((row.base, row.other), (Some(7.0), Some(18.0)));
    let counts = row.counts.as_ref().unwrap();
    assert_eq!((counts.added, counts.added_mean), (11.0, 11.0));
    assert_eq!(row.why.as_deref(), Some("11 instructions more"));
}

#[test]
fn unlike_conditions_are_refused_by_name_and_let_through_by_name() {
    let base = result("a", "ns", &[("in", FAST, 0)]);
    let mut other = result("b", "ns", &[("in", FAST, 0)]);
    other
        .identity
        .conditions
        .insert("cpu".into(), json!("EPYC"));
    let error = compare_results(&base, &other, &CompareOptions::default()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("cpu (\"EPYC\" here, \"max\" there)") && text.contains("--allow"),
        "{text}"
    );
    let options = CompareOptions {
        allow: vec!["cpu".into()],
        ..CompareOptions::default()
    };
    let compared = compare_results(&base, &other, &options).unwrap();
    assert_eq!(compared.allowed[0].field, "cpu");
}

#[test]
fn a_row_whose_code_changed_is_refused_by_itself() {
    let base = result("a", "ns", &[("in", FAST, 0), ("out", FAST, 0)]);
    let mut other = base.clone();
    other.rows[1]
        .conditions
        .insert("digest".into(), json!("new"));
    let found = compared(&base, &other);
    assert_eq!(found.rows[0].verdict, Some(Verdict::NoChange));
    assert_eq!((found.rows[1].verdict, found.rows[1].refused), (None, true));
    assert!(found.rows[1].why.as_ref().unwrap().contains("digest"));
    assert_eq!(found.outcome(), Outcome::Refused);
    let options = CompareOptions {
        allow: vec!["digest".into()],
        ..CompareOptions::default()
    };
    let found = compare_results(&base, &other, &options).unwrap();
    assert_eq!(found.rows[1].verdict, Some(Verdict::NoChange));
    assert_eq!(found.allowed[0].field, "digest");
}

#[test]
fn what_was_measured_and_no_longer_is_leaves_a_doubt() {
    let base = result("a", "ns", &[("in", FAST, 0), ("out", FAST, 0)]);
    let mut other = base.clone();
    other.rows[1].status = Status::Died;
    other.rows[1].metrics.clear();
    other.rows[1].reason = Some("the machine ended".into());
    let found = compared(&base, &other);
    assert_eq!(found.rows[1].verdict, Some(Verdict::Inconclusive));
    assert_eq!(
        found.rows[1].why.as_deref(),
        Some("in the other died: the machine ended")
    );
    // A row missing in the base is not a regression.
    assert_eq!(compared(&other, &base).rows[1].verdict, None);
    // The other run did not select the row.
    other.rows.pop();
    let found = compared(&base, &other);
    assert_eq!(
        (found.rows.len(), found.rows[1].verdict),
        (2, Some(Verdict::Inconclusive))
    );
    assert_eq!(
        found.rows[1].why.as_deref(),
        Some("in the other not selected")
    );
}

/// What a side has of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Has {
    /// The run did not select it.
    Absent,
    /// It has no figures.
    Skipped,
    /// Figures.
    Fast,
    /// Figures of half as much again.
    Slow,
    /// Figures in another unit.
    OtherUnit,
}

fn side(rows: &[Has]) -> ResultFile {
    let names: Vec<String> = (0..rows.len()).map(|row| format!("row-{row}")).collect();
    let boots = |has: &Has| if *has == Has::Slow { SLOW } else { FAST };
    let all = names
        .iter()
        .zip(rows)
        .map(|(name, has)| (&**name, boots(has), 0));
    let mut result = result("a", "ns", &all.collect::<Vec<_>>());
    for (row, has) in result.rows.iter_mut().zip(rows) {
        match has {
            Has::Skipped => {
                row.status = Status::Skip;
                row.reason = Some("not here".into());
                row.metrics.clear();
            }
            Has::OtherUnit => {
                row.metrics[0].unit = "tsc_ticks".into();
                // As on time, where each run chooses its own.
                row.metrics[0]
                    .boots
                    .iter_mut()
                    .for_each(|boot| boot.iterations = 7);
            }
            Has::Absent | Has::Fast | Has::Slow => {}
        }
    }
    let mut has = rows.iter();
    result.rows.retain(|_| has.next() != Some(&Has::Absent));
    result
}

fn gap(base: Has, other: Has) -> Option<GapKind> {
    match (base, other) {
        (Has::Absent | Has::Skipped, _) => None,
        (_, Has::Absent) => Some(GapKind::Missing),
        (_, Has::Skipped) => Some(GapKind::NotMeasured),
        (Has::OtherUnit, Has::OtherUnit) => None,
        (Has::OtherUnit, _) | (_, Has::OtherUnit) => Some(GapKind::Unit),
        _ => None,
    }
}

proptest! {
    /// A comparison is a pass only if all that the base has was judged, and something was.
    #[test]
    fn no_gate_passes_over_what_the_base_has_and_nobody_judged(
        rows in prop::collection::vec((
            prop::sample::select(vec![Has::Absent, Has::Skipped, Has::Fast, Has::OtherUnit]),
            prop::sample::select(vec![Has::Absent, Has::Skipped, Has::Fast, Has::Slow, Has::OtherUnit]),
        ), 0..4),
    ) {
        let (base, other): (Vec<Has>, Vec<Has>) = rows.iter().copied().unzip();
        let found = compared(&side(&base), &side(&other));
        let gaps: Vec<Option<GapKind>> = rows.iter().map(|&(base, other)| gap(base, other)).collect();
        let is_judged = |has: Has| !matches!(has, Has::Absent | Has::Skipped);
        let judged = |(&(base, other), gap): (&(Has, Has), &Option<GapKind>)| {
            is_judged(base) && is_judged(other) && gap.is_none()
        };
        let any = rows.iter().zip(&gaps).any(judged);
        let worse = rows.contains(&(Has::Fast, Has::Slow));
        let wanted = match (worse, any && gaps.iter().all(Option::is_none)) {
            (true, _) => Outcome::Regression,
            (false, false) => Outcome::Inconclusive,
            (false, true) => Outcome::NoRegression,
        };
        prop_assert_eq!(found.outcome(), wanted, "{:?}", found.rows);
        // Each has its reason, by name.
        let told = found.gaps();
        for (place, gap) in gaps.iter().enumerate() {
            let Some(kind) = gap else { continue };
            let name = format!("row-{place}");
            let row = found.rows.iter().find(|row| row.benchmark == name).unwrap();
            prop_assert_eq!((row.gap, row.is_judged()), (Some(*kind), false));
            let one = told.iter().find(|one| one.kind == *kind).unwrap();
            prop_assert!(one.benchmarks.contains(&name) && one.why.contains("row-"), "{:?}", one);
        }
        let nothing = told.iter().any(|gap| gap.kind == GapKind::NothingCompared);
        prop_assert_eq!(nothing, !any);
    }
}

#[test]
fn another_unit_is_no_other_condition() {
    let found = compared(&side(&[Has::Fast]), &side(&[Has::OtherUnit]));
    assert_eq!(found.outcome(), Outcome::Inconclusive);
    assert_eq!(
        found.rows[0].why.as_deref(),
        Some("measured in tsc_ticks, in the base in ns")
    );
    // As a condition of all rows, which --allow does not help against.
    let mut other = side(&[Has::OtherUnit]);
    let conditions = &mut other.identity.conditions;
    conditions.insert("unit".into(), json!("tsc_ticks"));
    let refused = compare_results(&side(&[Has::Fast]), &other, &CompareOptions::default());
    let gap = refused.unwrap_err().gap();
    assert_eq!(
        (gap.kind, gap.kind.outcome()),
        (GapKind::Unit, Outcome::Inconclusive)
    );
    assert!(
        gap.why
            .ends_with("Units are never converted: compare results of one unit"),
        "{}",
        gap.why
    );
}

/// A result of one row on time. Each boot: operations in a batch, and by how many ticks its batches are longer
/// than the control's, which take `control`.
fn loops(control: u64, boots: &[(u64, &[i64])]) -> ResultFile {
    let empty: Vec<&[u64]> = boots.iter().map(|_| &[][..]).collect();
    let mut result = result("a", "tsc_ticks", &[("in", &empty, 0)]);
    for (samples, (iterations, more)) in result.rows[0].metrics[0].boots.iter_mut().zip(boots) {
        samples.iterations = *iterations;
        let run = more
            .iter()
            .map(|more| control.checked_add_signed(*more).unwrap());
        samples.run = run.collect();
        samples.control = vec![control; more.len()];
    }
    result
}

/// Rows that cost nothing on one side, by what they are on the other.
#[test]
fn what_was_nothing_and_becomes_something_is_worse_and_the_reverse_better() {
    // 0.0005 ticks, in 320,000 operations: once told from zero and once not.
    let zero: &[i64] = &[160, 158, 163, 161, 159];
    let noise: &[i64] = &[160, -400, 700, 20, -90];
    // 1,500 ticks, in the 3,200 operations that are enough then.
    let something: &[i64] = &[4_800_000, 4_801_000, 4_799_000, 4_800_500, 4_799_500];
    let boots = |iterations, samples, count| loops(120_000, &vec![(iterations, samples); count]);
    let verdict = |base: &ResultFile, other: &ResultFile| {
        let row = compared(base, other).rows.remove(0);
        (row.verdict, row.why.unwrap_or_default())
    };
    for nothing in [zero, noise] {
        let (base, other) = (boots(320_000, nothing, 5), boots(3200, something, 5));
        let worse = (Some(Verdict::Worse), "cost nothing in the base".to_owned());
        assert_eq!(verdict(&base, &other), worse);
        assert_eq!(compared(&base, &other).outcome(), Outcome::Regression);
        let better = (Some(Verdict::Better), "costs nothing any more".to_owned());
        assert_eq!(verdict(&other, &base), better);
        // In batches of the same length too.
        let same = boots(320_000, &[480_000_000, 480_001_000, 479_999_000], 5);
        assert_eq!(verdict(&base, &same).0, Some(Verdict::Worse));
    }
    // Fewer operations that cost nothing say nothing of more of them.
    let (few, many) = (boots(3200, noise, 5), boots(320_000, something, 5));
    let row = &compared(&few, &many).rows[0];
    assert_eq!((row.verdict, row.gap), (None, Some(GapKind::Conditions)));
    // Four boots are too few, and a few ticks are too little.
    let (base, other) = (boots(320_000, noise, 4), boots(3200, something, 5));
    let (doubt, why) = verdict(&base, &other);
    assert_eq!(doubt, Some(Verdict::Inconclusive));
    assert_eq!(
        why,
        "the base costs nothing; too few boots: needs 1 more per side"
    );
    let little = boots(320_000, &[2000, 2010, 1990], 5);
    let (doubt, why) = verdict(&boots(320_000, noise, 5), &little);
    assert_eq!(doubt, Some(Verdict::Inconclusive));
    assert_eq!(why, "the base's cost cannot be told from zero");
    // A busy host makes any cost out of nothing.
    let busy: &[i64] = &[20_000_000, 100, 20_000_000, 200, 20_000_000];
    let (doubt, why) = verdict(&boots(320_000, noise, 5), &boots(320_000, busy, 5));
    assert_eq!(doubt, Some(Verdict::Inconclusive));
    assert!(why.contains("told from zero"), "{why}");
    assert_eq!(
        verdict(&boots(320_000, noise, 5), &boots(320_000, noise, 5)).0,
        None
    );
}

#[test]
fn what_cannot_be_told_from_zero_has_no_ratio() {
    let zero: Boots = &[&[0], &[1], &[0], &[2], &[1]];
    let (nothing, something) = (
        result("a", "ns", &[("idle", zero, 0)]),
        result("b", "ns", &[("idle", &FAST[..5], 0)]),
    );
    assert_eq!(compared(&nothing, &nothing).rows[0].verdict, None);
    let row = compared(&nothing, &something).rows.remove(0);
    assert_eq!((row.verdict, row.time), (Some(Verdict::Worse), None));
}

#[test]
fn a_whole_suite_has_its_reliability() {
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let rows = |boots| names.map(|name| (name, boots, 0));
    let (base, other) = (
        result("a", "ns", &rows(FAST)),
        result("b", "ns", &rows(SLOW)),
    );
    let found = compared(&base, &other).reliability.unwrap();
    assert_eq!((found.benchmarks, found.differing), (7, 7));
    assert_eq!((found.worse, found.better), (1.0 - 1.0 / 128.0, 0.0));
    assert_eq!(compared(&result("a", "ns", &[]), &base).reliability, None);
}

/// Westmere and Ivy Bridge under KVM: HyperBench (SIGMETRICS 2019), Table 4, cycles and the printed
/// improvement in percent.
const TABLE_4: [(&str, u64, u64, f64); 14] = [
    ("sgdt", 14, 9, 36.0),
    ("sidt", 18, 9, 51.0),
    ("smsw", 16, 7, 56.0),
    ("pushf-popf", 38, 24, 37.0),
    ("lgdt", 207, 127, 39.0),
    ("set-cr3", 587, 297, 49.0),
    ("hypercall", 2120, 1470, 31.0),
    ("ipi", 8606, 5741, 33.0),
    ("hot-access", 59, 89, -51.0),
    ("cold-access", 1558, 1150, 26.0),
    ("set-pt", 319_521_774, 141_628_640, 56.0),
    ("in-serial", 12_300, 8370, 32.0),
    ("out-serial", 8361, 6239, 25.0),
    ("print", 722_002, 513_149, 29.0),
];

/// The printed improvements follow from the printed cycles to the percent, except for sidt, where the
/// printed 18 and 9 give 50 instead of 51: the cycles were rounded. From them the paper derives that
/// Ivy Bridge is better "with the reliability 0.99".
#[test]
fn table_4_is_reproduced() {
    for (name, westmere, ivy_bridge, printed) in TABLE_4 {
        let improvement = 100.0 * (1.0 - ivy_bridge as f64 / westmere as f64);
        let off = (improvement - printed).abs();
        assert!(
            off <= if name == "sidt" { 1.0 } else { 0.5 },
            "{name}: {improvement}"
        );
    }
    let logs: Vec<f64> = TABLE_4
        .iter()
        .map(|row| (row.1 as f64 / row.2 as f64).ln())
        .collect();
    let found = crate::statistics::reliability(&logs).unwrap();
    assert!((0.99..1.0).contains(&found.positive), "{}", found.positive);
    // Differences of cycles, which the method uses, give the same.
    let cycles: Vec<f64> = TABLE_4
        .iter()
        .map(|row| row.1 as f64 - row.2 as f64)
        .collect();
    let found = crate::statistics::reliability(&cycles).unwrap();
    assert!((0.99..1.0).contains(&found.positive), "{}", found.positive);
}

#[test]
fn it_all_is_json() {
    let base = result("a", "ns", &[("in", FAST, 0)]);
    let value: Value = serde_json::to_value(compared(&base, &base)).unwrap();
    assert_eq!(value["rows"][0]["verdict"], "no-change");
}

#[test]
fn counts_beside_other_benchmarks_come_with_a_warning() {
    let few: Boots = &[&[100], &[100]];
    let (one, two) = (
        result("a", "insns", &[("in", few, 0)]),
        result("a", "insns", &[("in", few, 0), ("out", few, 0)]),
    );
    assert_eq!(compared(&two, &two).caveats, Vec::<String>::new());
    let [said] = &compared(&one, &two).caveats[..] else {
        panic!("one caveat");
    };
    assert!(said.contains("(out only in the other)"), "{said}");
    assert!(
        compared(&two, &one).caveats[0].contains("(out only in the base)"),
        "{said}"
    );
    // A difference then gives no verdict, but equal counts are still no change.
    let costlier: Boots = &[&[101], &[101]];
    let one_more = result("a", "insns", &[("in", costlier, 1), ("out", few, 1)]);
    let base = result("a", "insns", &[("in", few, 1), ("out", few, 1)]);
    assert_eq!(
        compared(&base, &one_more).rows[0].verdict,
        Some(Verdict::Worse)
    );
    let alone = result("a", "insns", &[("in", few, 1)]);
    let found = compared(&alone, &one_more);
    assert_eq!(found.rows[0].verdict, Some(Verdict::Inconclusive));
    let why = found.rows[0].why.as_deref().unwrap();
    assert!(
        why.starts_with("1 instruction more, or due to other benchmarks"),
        "{why}"
    );
    assert_eq!(
        compared(&alone, &base).rows[0].verdict,
        Some(Verdict::NoChange)
    );
    // `only` does not hide what ran; a row that one side skips was selected too.
    let options = CompareOptions {
        only: Some(["in".to_owned()].into()),
        ..CompareOptions::default()
    };
    let found = compare_results(&alone, &one_more, &options).unwrap();
    assert_eq!(found.rows.len(), 1);
    assert_eq!(found.rows[0].verdict, Some(Verdict::Inconclusive));
    let mut skipped = one_more.clone();
    skipped.rows[1].status = Status::Skip;
    skipped.rows[1].metrics.clear();
    let found = compared(&base, &skipped);
    assert_eq!(found.rows[0].verdict, Some(Verdict::Worse));
    // On time the rows of a boot do not influence each other.
    let (one, two) = (
        result("a", "ns", &[("in", FAST, 0)]),
        result("a", "ns", &[("in", FAST, 0), ("out", FAST, 0)]),
    );
    assert_eq!(compared(&one, &two).caveats, Vec::<String>::new());
}
