//! Trends over kernels, from the newest runs of each kernel in a history.

use crate::order::Kernels;
use crate::{Filter, KernelFigure, Store, line_of};
use ws_analysis::{HostKind, Thresholds, TrendPoint, Trends, trends};

/// Number of newest runs that count, of each platform and kernel; on time, also of each host. A run of a few benchmarks
/// then hides no others, and several runs show their scatter.
const NEWEST: i64 = 3;

/// Computes the trends by kernel, for hosts of these kinds.
pub fn by_kernel(
    store: &mut Store,
    filter: Filter<'_>,
    kinds: &[HostKind],
) -> Result<Vec<Trends>, crate::Error> {
    let (points, kernels) = points(store.by_kernel(filter, NEWEST)?);
    Ok(trends(&points, &kernels, kinds, &Thresholds::default()))
}

/// Turns figures, with those of a run together, into points of their machines. Returns also all kernels in their order.
fn points(figures: Vec<KernelFigure>) -> (Vec<TrendPoint>, Vec<String>) {
    let mut kernels = Kernels::default();
    // Machine and kernel of the last figure's run.
    let mut line = (None, String::new(), String::new());
    let points = figures.into_iter().map(|figure| {
        if line.0 != Some(figure.run) {
            let (machine, kernel) = line_of(&figure.platform, &figure.kernel);
            kernels.add(&figure.kernel, &kernel, &figure.first);
            line = (Some(figure.run), machine, kernel);
        }
        let (_, machine, kernel) = &line;
        TrendPoint {
            machine: machine.clone(),
            kernel: kernel.clone(),
            host: figure.host,
            run: figure.run,
            benchmark: figure.benchmark,
            unit: figure.unit,
            value: figure.value,
        }
    });
    let points = points.collect();
    (points, kernels.in_order())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_a_machine_are_in_the_order_in_which_they_were_first_measured() {
        let figure = |run, platform: &str, kernel: &str, first: &str| KernelFigure {
            run,
            platform: platform.into(),
            host: String::new(),
            kernel: kernel.into(),
            first: first.into(),
            benchmark: "in".into(),
            unit: "insns".into(),
            value: 1.0,
        };
        let (points, kernels) = points(vec![
            figure(5, "lab:kvm@6.12", "linux 6.12.1", "2026-01-01"),
            figure(5, "lab:kvm@6.12", "linux 6.12.1", "2026-01-01"),
            figure(3, "lab:kvm@/k/bbb-1", "linux 6.9.0", "2026-03-01"),
            figure(2, "lab:kvm@/k/aaa-1", "linux 6.9.0", "2026-02-28"),
            figure(1, "lab:kvm", "linux 6.1.0", "2026-05-01"),
        ]);
        assert!(points.iter().all(|point| point.machine == "lab:kvm"));
        let seen: Vec<_> = points.iter().map(|p| (p.run, &*p.kernel)).collect();
        assert_eq!(
            seen,
            [
                (5, "linux 6.12.1"),
                (5, "linux 6.12.1"),
                (3, "linux 6.9.0 bbb-1"),
                (2, "linux 6.9.0 aaa-1"),
                (1, "linux 6.1.0")
            ]
        );
        assert_eq!(
            kernels,
            [
                "linux 6.1.0",
                "linux 6.9.0 aaa-1",
                "linux 6.9.0 bbb-1",
                "linux 6.12.1"
            ]
        );
    }
}
