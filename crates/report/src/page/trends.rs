//! The section of trends: how benchmarks moved over kernels, by machine, on time by host or kind of hosts.

use super::axis::Axis;
use super::plot::framed;
use super::words::{plain, plural};
use crate::hosts::names;
use crate::number;
use maud::{Markup, html};
use ws_analysis::{Level, Trend, Trends};

/// Size of a picture, and the room around its line.
const WIDTH: u32 = 200;
const HEIGHT: u32 = 36;
const MARGIN: u32 = 4;

const HEADS: [&str; 6] = [
    "benchmark",
    "over kernels",
    "first",
    "last",
    "last against first",
    "greatest step",
];

/// The section; empty if no machine was measured on two kernels.
pub(crate) fn trends(all: &[Trends]) -> Markup {
    let (moved, still): (Vec<&Trends>, Vec<&Trends>) =
        all.iter().partition(|one| !one.moved.is_empty());
    html! {
        @if !all.is_empty() {
            section #trends {
                h2 { "Trends by kernel" }
                p.legend {
                    "The largest moves come first. A figure may have moved for another reason than the kernel, such as another guest: "
                    code { "worldswitch compare" } " of the two runs tells."
                    @if moved.iter().any(|one| is_timed(one)) {
                        " In time, a row is shown if its range is above 5 % and above the scatter of runs of one kernel. The grey "
                        "band is from the least to the greatest run. This is not a verdict."
                    }
                }
                @for one in &moved { (table(one)) }
                @for one in &still { p { (plain(&heading(one))) "." } }
            }
        }
    }
}

fn is_timed(trends: &Trends) -> bool {
    !number::is_count(&trends.unit)
}

/// `lab:kvm, insns, 3 kernels from linux 6.1 to linux 6.12: 2 moved, 5 did not`.
fn heading(trends: &Trends) -> String {
    let hosts = match &*trends.hosts {
        [] => String::new(),
        hosts => format!(" on {}", names(hosts)),
    };
    let ends = trends.kernels.first().zip(trends.kernels.last());
    let ends = ends.map_or(String::new(), |(first, last)| {
        format!(" from {first} to {last}")
    });
    let mut counted = vec![
        format!("{} moved", trends.moved.len()),
        format!("{} did not", trends.still),
    ];
    if trends.near_zero > 0 {
        counted.push(format!("{} too near zero to tell", trends.near_zero));
    }
    format!(
        "{}{hosts}, {}, {}{ends}: {}",
        trends.machine,
        trends.unit,
        plural(trends.kernels.len(), "kernel"),
        counted.join(", ")
    )
}

fn table(trends: &Trends) -> Markup {
    let heading = heading(trends);
    html! {
        div.scroll tabindex="0" role="region" aria-label=(plain(&heading)) {
            table {
                caption { (plain(&heading)) }
                thead { tr {
                    @for head in HEADS { th scope="col" { (head) } }
                } }
                tbody { @for trend in &trends.moved { (row(trends, trend)) } }
            }
        }
    }
}

fn row(trends: &Trends, trend: &Trend) -> Markup {
    let value = |level: &Level| number::value(level.value, &trends.unit);
    let [first, last] = [trend.levels.first(), trend.levels.last()];
    html! {
        tr {
            th scope="row" { (plain(&trend.benchmark)) }
            td { (picture(trends, trend)) }
            td.value { (first.map_or(String::new(), value)) }
            td.value { (last.map_or(String::new(), value)) }
            td.value { (first.zip(last).map_or(String::new(), |(first, last)| change(trends, first, last))) }
            td { (plain(&step(trends, trend))) }
        }
    }
}

/// `+31` instructions, or `+4.1 %` of a time.
fn change(trends: &Trends, from: &Level, to: &Level) -> String {
    match is_timed(trends) {
        true => number::difference(to.value / from.value - 1.0),
        false => number::added(to.value - from.value),
    }
}

/// `+31 from 6.9 to 6.12 (runs 12 and 40)`.
fn step(trends: &Trends, trend: &Trend) -> String {
    let before = trend.step.checked_sub(1);
    let pair =
        before.and_then(|before| Some((trend.levels.get(before)?, trend.levels.get(trend.step)?)));
    let Some((from, to)) = pair else {
        return String::new();
    };
    let kernel = |level: &Level| trends.kernels.get(level.kernel).map_or("", |name| &**name);
    format!(
        "{} from {} to {} (runs {} and {})",
        change(trends, from, to),
        kernel(from),
        kernel(to),
        from.run,
        to.run
    )
}

/// Draws a line over the kernels, each at the same distance from the next, with its greatest step marked. For a screen
/// reader, the cells beside it have the values.
fn picture(trends: &Trends, trend: &Trend) -> Markup {
    let values: Vec<f64> = trend
        .levels
        .iter()
        .flat_map(|level| [level.low, level.value, level.high])
        .collect();
    let across = Axis::linear(0.0, trends.kernels.len().saturating_sub(1).max(1) as f64);
    let up = Axis::over(&values, false);
    let x = |level: &Level| across.place(level.kernel as f64, MARGIN, WIDTH - MARGIN);
    let y = |value: f64| up.place(value, HEIGHT - MARGIN, MARGIN);
    let path = |points: Vec<(i32, i32)>| -> String {
        let points = points.iter().map(|(x, y)| format!("{x},{y}"));
        format!("M{}", points.collect::<Vec<_>>().join("L"))
    };
    let levels = || trend.levels.iter();
    let line = path(levels().map(|level| (x(level), y(level.value))).collect());
    let above = levels().map(|level| (x(level), y(level.high)));
    let below = levels().rev().map(|level| (x(level), y(level.low)));
    let band = path(above.chain(below).collect());
    let has_band = levels().any(|level| level.low < level.high);
    let name = format!(
        "{} over {}",
        trend.benchmark,
        plural(trend.levels.len(), "kernel")
    );
    framed(
        &name,
        (WIDTH, HEIGHT),
        &html! {
            @if has_band { path.band d={ (band) "Z" } {} }
            @if let Some(level) = trend.levels.get(trend.step) {
                path.mark d={ "M" (x(level)) "," (MARGIN) "V" (HEIGHT - MARGIN) } {}
            }
            path.curve d=(line) {}
            @if trend.levels.len() <= 16 {
                @for level in levels() { circle cx=(x(level)) cy=(y(level.value)) r="2" {} }
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(kernel: usize, value: f64) -> Level {
        Level {
            kernel,
            value,
            low: value - 10.0,
            high: value + 10.0,
            run: kernel as i64 + 7,
        }
    }

    fn made(unit: &str, hosts: &[&str]) -> Trends {
        Trends {
            machine: "<m>".into(),
            unit: unit.into(),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            kernels: vec!["6.1".into(), "6.9".into(), "6.12".into()],
            moved: vec![Trend {
                benchmark: "in<".into(),
                levels: vec![level(0, 1000.0), level(1, 1500.0), level(2, 1400.0)],
                range: 500.0,
                step: 1,
            }],
            still: 4,
            near_zero: 0,
        }
    }

    #[test]
    fn a_line_has_its_picture_its_ends_and_its_greatest_step() {
        let page = trends(&[made("insns", &[])]).into_string();
        assert!(
            page.contains("&lt;m&gt;, insns, 3 kernels from 6.1 to 6.12: 1 moved, 4 did not"),
            "{page}"
        );
        assert!(page.contains("in&lt;") && !page.contains("in<"));
        assert!(page.contains(">+400<") && page.contains("+500 from 6.1 to 6.9 (runs 7 and 8)"));
        // From the bottom up to the step, which is at the middle.
        let line = page.split("class=\"curve\" d=\"").nth(1).unwrap();
        let line = line.split('"').next().unwrap();
        let places: Vec<Vec<i32>> = line[1..]
            .split('L')
            .map(|place| place.split(',').map(|part| part.parse().unwrap()).collect())
            .collect();
        assert_eq!([places[0][0], places[1][0], places[2][0]], [4, 100, 196]);
        assert!(
            places[1][1] < places[2][1] && places[2][1] < places[0][1],
            "{line}"
        );
        assert!(page.contains("class=\"mark\" d=\"M100,4V32\""), "{page}");
        assert!(!page.contains("not a verdict"));
    }

    #[test]
    fn times_are_ratios_and_name_their_hosts() {
        let page = trends(&[made("ns", &["n1", "n2", "n3", "n4", "n5"])]).into_string();
        assert!(
            page.contains("on n1, n2, n3 and 2 more, ns, 3 kernels"),
            "{page}"
        );
        assert!(page.contains(">+40 %<") && page.contains("+50 % from 6.1 to 6.9"));
        assert!(page.contains("not a verdict") && page.contains("class=\"band\""));
    }

    #[test]
    fn where_nothing_moved_a_line_says_so_and_without_kernels_nothing() {
        let mut still = made("insns", &[]);
        still.moved.clear();
        let page = trends(&[still]).into_string();
        assert!(page.contains("0 moved, 4 did not.") && !page.contains("<table"));
        assert_eq!(trends(&[]).into_string(), "");
    }
}
