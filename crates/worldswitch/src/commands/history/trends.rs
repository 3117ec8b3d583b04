//! What a history says of kernels: the trends of its newest runs of each.

use std::collections::{BTreeMap, BTreeSet};
use ws_analysis::{HostKind, Thresholds, TrendPoint, Trends, trends};
use ws_history::{Filter, KernelFigure, Store, by_version, line_of};

/// Of each machine and kernel, on time of each host, as many of the newest runs count: a run of a few benchmarks does not
/// hide the others, and several show how they scatter.
const NEWEST: i64 = 3;

/// The trends by kernel, for hosts of these kinds.
///
/// # Errors
/// The history can't be read.
pub(super) fn by_kernel(
    store: &mut Store,
    filter: Filter<'_>,
    kinds: &[HostKind],
) -> Result<Vec<Trends>, ws_history::Error> {
    let figures = store.by_kernel(filter, NEWEST)?;
    let points: Vec<TrendPoint> = figures.iter().map(point).collect();
    let kernels = in_order(&figures, &points);
    Ok(trends(&points, &kernels, kinds, &Thresholds::default()))
}

fn point(figure: &KernelFigure) -> TrendPoint {
    let (machine, kernel) = line_of(&figure.platform, &figure.kernel);
    TrendPoint {
        machine,
        kernel,
        host: figure.host.clone(),
        run: figure.run,
        benchmark: figure.benchmark.clone(),
        unit: figure.unit.clone(),
        value: figure.value,
    }
}

/// All kernels by version; commits of one version by when they were first measured.
fn in_order(figures: &[KernelFigure], points: &[TrendPoint]) -> Vec<String> {
    let mut first: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for (figure, point) in figures.iter().zip(points) {
        let at = first
            .entry((&figure.kernel, &point.kernel))
            .or_insert(&figure.created);
        *at = (*at).min(&figure.created);
    }
    let mut order: Vec<_> = first.into_iter().collect();
    order.sort_by(|((a, name_a), at_a), ((b, name_b), at_b)| {
        let by_date = || at_a.cmp(at_b).then_with(|| name_a.cmp(name_b));
        by_version(a, b).then_with(by_date)
    });
    let mut seen = BTreeSet::new();
    let names = order.into_iter().map(|((_, name), _)| name);
    names
        .filter(|name| seen.insert(*name))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_in_order_and_commits_of_one_by_date() {
        let figure = |platform: &str, kernel: &str, created: &str| KernelFigure {
            run: 1,
            platform: platform.into(),
            host: String::new(),
            kernel: kernel.into(),
            created: created.into(),
            benchmark: "in".into(),
            unit: "insns".into(),
            value: 1.0,
        };
        let figures = [
            figure("lab:kvm@6.12", "linux 6.12.1", "2026-01-01"),
            figure("lab:kvm@/k/aaa-1", "linux 6.9.0", "2026-03-02"),
            figure("lab:kvm@/k/bbb-1", "linux 6.9.0", "2026-03-01"),
            figure("lab:kvm@/k/aaa-1", "linux 6.9.0", "2026-02-28"),
            figure("lab:kvm", "linux 6.1.0", "2026-05-01"),
        ];
        let points: Vec<TrendPoint> = figures.iter().map(point).collect();
        assert!(points.iter().all(|point| point.machine == "lab:kvm"));
        assert_eq!(
            in_order(&figures, &points),
            [
                "linux 6.1.0",
                "linux 6.9.0 aaa-1",
                "linux 6.9.0 bbb-1",
                "linux 6.12.1"
            ]
        );
    }
}
