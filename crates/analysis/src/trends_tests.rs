use super::*;
use crate::{Host, Standing};

const KERNELS: [&str; 4] = ["6.1", "6.6", "6.9", "6.12"];

fn kernels() -> Vec<String> {
    KERNELS.map(str::to_owned).to_vec()
}

fn point(host: &str, kernel: &str, benchmark: &str, unit: &str, value: f64) -> TrendPoint {
    TrendPoint {
        machine: "m".into(),
        host: host.into(),
        kernel: kernel.into(),
        run: kernel.len() as i64,
        benchmark: benchmark.into(),
        unit: unit.into(),
        value,
    }
}

fn kind(hosts: &[&str]) -> HostKind {
    let host = |name: &&str| Host {
        host: (*name).to_owned(),
        created: String::new(),
        standing: Standing::Alike,
        differing: vec![],
        shift: None,
        unlike: vec![],
    };
    HostKind {
        platform: "m".into(),
        unit: "ns".into(),
        middle: None,
        hosts: hosts.iter().map(host).collect(),
    }
}

fn found(points: &[TrendPoint], kinds: &[HostKind]) -> Vec<Trends> {
    trends(points, &kernels(), kinds, &Thresholds::default())
}

fn values(trend: &Trend) -> Vec<f64> {
    let values = trend.levels.iter().map(|level| level.value);
    values
        .map(|value| (value * 1000.0).round() / 1000.0)
        .collect()
}

#[test]
fn any_other_count_is_a_move_and_the_greatest_comes_first() {
    let mut points = Vec::new();
    // The newest come first: 6.12 was measured again, with another guest before.
    for (kernel, one, other, still) in [
        ("6.12", 130.0, 7.0, 0.0),
        ("6.12", 999.0, 9.0, 0.0),
        ("6.1", 100.0, 7.0, 0.0),
        ("6.9", 131.0, 8.0, 0.0),
    ] {
        points.push(point("", kernel, "one", "insns", one));
        points.push(point("", kernel, "other", "insns", other));
        points.push(point("", kernel, "still", "insns", still));
    }
    let all = found(&points, &[]);
    assert_eq!(all.len(), 1);
    let found = &all[0];
    assert_eq!(found.kernels, ["6.1", "6.9", "6.12"]);
    assert_eq!((found.still, found.near_zero, found.hosts.len()), (1, 0, 0));
    let names: Vec<&str> = found.moved.iter().map(|one| &*one.benchmark).collect();
    assert_eq!(names, ["one", "other"]);
    let one = &found.moved[0];
    assert_eq!(values(one), [100.0, 131.0, 130.0]);
    assert_eq!((one.range, one.step), (31.0, 1));
    assert_eq!((found.moved[1].range, found.moved[1].step), (1.0, 1));
}

#[test]
fn on_counts_older_runs_of_a_kernel_change_nothing() {
    // Both kernels were measured with another guest before, twice.
    let points: Vec<TrendPoint> = [("6.6", 110.0), ("6.1", 100.0)]
        .into_iter()
        .flat_map(|(kernel, newest)| {
            [newest, newest - 10.0, newest - 10.0]
                .map(|value| point("", kernel, "x", "insns", value))
        })
        .collect();
    let all = found(&points, &[]);
    let levels = &all[0].moved[0].levels;
    assert_eq!(values(&all[0].moved[0]), [100.0, 110.0]);
    assert!(
        levels
            .iter()
            .all(|level| level.low == level.value && level.high == level.value),
        "{levels:?}"
    );
}

#[test]
fn a_level_names_its_newest_run_whatever_the_numbers() {
    // Older runs may have been added later, so that they have greater numbers.
    for unit in ["insns", "ns"] {
        let run = |number, kernel, value| TrendPoint {
            run: number,
            ..point("a", kernel, "x", unit, value)
        };
        let points = [
            run(5, "6.6", 200.0),
            run(9, "6.6", 200.0),
            run(4, "6.1", 100.0),
            run(12, "6.1", 100.0),
        ];
        let all = found(&points, &[]);
        let levels = all[0].moved[0].levels.iter();
        assert_eq!(levels.map(|level| level.run).collect::<Vec<_>>(), [4, 5]);
    }
}

#[test]
fn a_kernel_that_only_a_faster_host_measured_makes_no_step() {
    // b takes half of a's time. 6.9 is 20 % slower; 6.12 is as 6.9, and only b has it.
    let points = [
        point("a", "6.1", "x", "ns", 100.0),
        point("b", "6.1", "x", "ns", 50.0),
        point("a", "6.9", "x", "ns", 120.0),
        point("b", "6.9", "x", "ns", 60.0),
        point("b", "6.12", "x", "ns", 60.0),
        point("a", "6.6", "x", "ns", 100.0),
    ];
    let all = found(&points, &[kind(&["a", "b"])]);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].hosts, ["a", "b"]);
    let trend = &all[0].moved[0];
    let levels: Vec<f64> = values(trend)
        .iter()
        .map(|value| value / values(trend)[0])
        .collect();
    let near = |index: usize, ratio: f64| (levels[index] - ratio).abs() < 0.001;
    assert!(near(1, 1.0) && near(2, 1.2) && near(3, 1.2), "{levels:?}");
    assert!((trend.range - 1.2f64.ln()).abs() < 1e-9);
    assert_eq!(trend.step, 2);
    // Of no common kind each host is a line of its own.
    assert_eq!(found(&points, &[]).len(), 2);
}

#[test]
fn hosts_without_a_common_kernel_are_lines_of_their_own() {
    let points = [
        point("a", "6.1", "x", "ns", 100.0),
        point("a", "6.6", "x", "ns", 150.0),
        point("b", "6.9", "x", "ns", 10.0),
        point("b", "6.12", "x", "ns", 10.0),
    ];
    let all = found(&points, &[kind(&["a", "b"])]);
    assert_eq!((all[0].moved.len(), all[0].still), (1, 1));
    assert_eq!(values(&all[0].moved[0]), [100.0, 150.0]);
}

#[test]
fn scatter_is_no_move() {
    let mut random = crate::statistics::Rng::with_seed(1);
    for count in [4, 50] {
        let names: Vec<String> = (0..count).map(|kernel| format!("6.{kernel}")).collect();
        let mut moves = 0;
        for _ in 0..200 {
            let mut points = Vec::new();
            for kernel in &names {
                for _ in 0..3 {
                    // A standard deviation of about 12 %.
                    let noise: f64 = (0..4).map(|_| random.f64() - 0.5).sum::<f64>() * 0.2;
                    points.push(point("a", kernel, "x", "ns", 100.0 * (1.0 + noise)));
                }
            }
            moves += trends(&points, &names, &[], &Thresholds::default())[0]
                .moved
                .len();
        }
        assert!(moves <= 10, "{moves} of 200 lines over {count} kernels");
    }
    // The same scatter, and the last kernel takes twice the time.
    let noise = [0.95, 1.0, 1.05];
    let points: Vec<TrendPoint> = KERNELS
        .iter()
        .flat_map(|kernel| {
            let level = if *kernel == "6.12" { 200.0 } else { 100.0 };
            noise.map(|factor| point("a", kernel, "x", "ns", level * factor))
        })
        .collect();
    let all = found(&points, &[]);
    assert_eq!(all[0].moved[0].step, 3);
    let last = all[0].moved[0].levels[3];
    assert!(last.low < 195.0 && last.high > 205.0, "{last:?}");
}

#[test]
fn one_kernel_has_no_trend_and_a_time_of_zero_none_that_can_be_told() {
    assert!(found(&[point("a", "6.1", "x", "ns", 1.0)], &[]).is_empty());
    let points = [
        point("a", "6.1", "x", "ns", 0.0),
        point("a", "6.6", "x", "ns", 5.0),
    ];
    let all = found(&points, &[]);
    assert_eq!((all[0].moved.len(), all[0].near_zero), (0, 1));
    assert!(found(&[], &[]).is_empty());
}
