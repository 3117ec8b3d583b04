//! The view of each benchmark boot by boot: the variation between boots and within each.

use super::plot::{Lane, Place, Plot};
use super::series::{Series, units};
use super::words::{folded, per_operation, plain, plural};
use crate::number;
use crate::table::{Table, TableRow};
use maud::{Markup, PreEscaped, html};
use ws_analysis::{Band, BootEstimate, Summary};

/// The number of colours and shapes; further platforms reuse them from the start.
pub(crate) const HUES: usize = 6;
/// Base height of a lane, and the height that each boot adds, in pixels.
const LANE: usize = 22;
const BOOT: usize = 2;

/// The view: a plot for each benchmark and unit, and its table.
pub(crate) fn boots(series: &[Series], platforms: &[&str], table: &Table) -> Markup {
    let mut cards = Vec::new();
    let banded = series.iter().any(Series::has_band);
    for row in &table.rows {
        for unit in units(series, &row.benchmark) {
            cards.push(card(series, platforms, row, &unit));
        }
    }
    let body = html! {
        p {
            "A mark is one boot: the mode of its samples if they are instruction counts, else their "
            "median. The thin bar behind it spans the middle half of its samples. Boots are ordered "
            "downward, in the order of the runs."
            @if banded {
                " The shaded band spans the values of all boots, including those perturbed on purpose, "
                "which have no mark: layout alone moves the figure this far."
            }
        }
        div.cards { @for card in &cards { (card) } }
    };
    match cards.is_empty() {
        true => html! {},
        false => folded("boots", "Boot by boot", &plural(cards.len(), "plot"), &body),
    }
}

fn card(series: &[Series], platforms: &[&str], row: &TableRow, unit: &str) -> Markup {
    let here: Vec<(&Series, &Summary)> = series
        .iter()
        .filter_map(|series| Some((series, series.cost(&row.benchmark)?)))
        .filter(|(_, cost)| cost.unit == unit)
        .collect();
    let name = format!("{}, {}", row.benchmark, per_operation(unit));
    html! {
        div.card data-b=(plain(&row.benchmark)) data-c=(plain(&row.category)) {
            h3 { (plain(&row.benchmark)) span.unit { (plain(unit)) } }
            (plot(&name, unit, &here, platforms))
            (values(&name, unit, &here))
        }
    }
}

fn plot(name: &str, unit: &str, here: &[(&Series, &Summary)], platforms: &[&str]) -> Markup {
    let lanes = lanes(here);
    let height = |count: usize| u32::try_from(LANE + BOOT * count).unwrap_or(u32::MAX);
    let plot = Plot {
        name: &format!("{name}, by boot; the table below has the values"),
        axis: &per_operation(unit),
        lanes: lanes
            .iter()
            .map(|&(platform, count)| Lane {
                name: platforms[platform],
                platform: Some(platform),
                height: height(count),
            })
            .collect(),
        values: here.iter().flat_map(|(_, cost)| visible(cost)).collect(),
        from_zero: false,
        mark: None,
    };
    plot.draw(|place, tops| {
        // Runs of one platform share a lane: boots of a later run are drawn below those of the runs before.
        let mut drawn = vec![0usize; lanes.len()];
        let groups = here
            .iter()
            .enumerate()
            .filter_map(|(index, (series, cost))| {
                let lane = lanes
                    .iter()
                    .position(|&(platform, _)| platform == series.platform)?;
                let count = lanes[lane].1;
                let step = f64::from(height(count)) / (count + 1) as f64;
                let first = drawn[lane];
                drawn[lane] += cost.boots.len();
                let y = move |boot: usize| f64::from(tops[lane]) + step * (first + boot + 1) as f64;
                let hue = series.platform % HUES;
                Some(html! {
                    g class={ "h" (hue) } data-p=(series.platform) data-r=(index) {
                        @if let Some(band) = cost.band() {
                            @let (from, to) = (place(band.low), place(band.high));
                            rect.band x=(from - 2) width=(to - from + 4) y=(tops[lane] + 2) height=(height(count) - 4) {}
                        }
                        path.within d=(within(cost, place, &y)) {}
                        @for (boot, estimate) in cost.boots.iter().enumerate() {
                            (mark(hue, place(estimate.value), y(boot)))
                        }
                    }
                })
            });
        html! { @for group in groups { (group) } }
    })
}

/// Returns a lane for each platform with boots: the platform, and the number of boots of all its runs.
fn lanes(here: &[(&Series, &Summary)]) -> Vec<(usize, usize)> {
    let mut lanes: Vec<(usize, usize)> = Vec::new();
    for (series, cost) in here {
        let boots = cost.boots.len();
        match lanes
            .iter_mut()
            .find(|(platform, _)| *platform == series.platform)
        {
            Some((_, count)) => *count += boots,
            None => lanes.push((series.platform, boots)),
        }
    }
    lanes
}

/// All values of a row that the plot must show.
fn visible(cost: &Summary) -> impl Iterator<Item = f64> {
    let of_boot = |boot: &BootEstimate| [boot.value, boot.quartiles.0, boot.quartiles.1];
    let band = cost.band().map(|band| [band.low, band.high]);
    let boots = cost.boots.iter().flat_map(of_boot);
    boots.chain(band.into_iter().flatten())
}

/// A mark, in as few bytes as possible, since a page has many.
fn mark(hue: usize, x: i32, y: f64) -> PreEscaped<String> {
    PreEscaped(format!("<use href=\"#k{hue}\" x=\"{x}\" y=\"{y:.0}\"/>"))
}

/// The bars of the middle halves, as one path.
fn within(cost: &Summary, place: Place, y: &dyn Fn(usize) -> f64) -> String {
    let bars = cost.boots.iter().enumerate().map(|(boot, estimate)| {
        let (from, to) = (place(estimate.quartiles.0), place(estimate.quartiles.1));
        match from == to {
            true => String::new(),
            false => format!("M{from},{:.0}H{to}", y(boot)),
        }
    });
    bars.collect()
}

/// Renders the plot's values as a table: a row for each result, a cell for each boot.
fn values(name: &str, unit: &str, here: &[(&Series, &Summary)]) -> Markup {
    let most = here
        .iter()
        .map(|(_, cost)| cost.boots.len())
        .max()
        .unwrap_or(0);
    let banded = here.iter().any(|(_, cost)| !cost.perturbed.is_empty());
    html! {
        details {
            summary { "Table of these " (plural(most.max(1) * here.len(), "value")) }
            div.scroll tabindex="0" role="region" aria-label=(plain(name)) {
                table.grid.values {
                    caption { (plain(name)) }
                    thead { tr {
                        th scope="col" { "result" }
                        @for boot in 1..=most { th scope="col" { "boot " (boot) } }
                        th scope="col" { "spread" }
                        @if banded { th scope="col" { "band" } }
                    } }
                    tbody {
                        @for (series, cost) in here {
                            tr data-p=(series.platform) {
                                th scope="row" { (plain(&series.label)) }
                                @for estimate in &cost.boots {
                                    td data-q=(behind(estimate, unit)) { (number::value(estimate.value, unit)) }
                                }
                                @for _ in cost.boots.len()..most { td {} }
                                td {
                                    @match (cost.exact, cost.spread) {
                                        (Some(true), _) => "exact",
                                        (_, Some(spread)) if !cost.is_near_zero() => (number::percent(spread)),
                                        _ => {},
                                    }
                                }
                                @if banded { td { @if let Some(band) = cost.band() { (band_text(band, cost.perturbed.len(), unit)) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The band over perturbed boots, as text.
fn band_text(band: Band, perturbed: usize, unit: &str) -> String {
    let with = format!("with {}", plural(perturbed, "perturbed boot"));
    match band.low == band.high {
        true => format!("invariant {with}"),
        false => format!(
            "{} to {} {with}",
            number::value(band.low, unit),
            number::value(band.high, unit)
        ),
    }
}

/// The data of a boot's tooltip, which the page's script turns into text: samples, operations in each,
/// and, if the samples differ, minimum, quartiles and maximum.
fn behind(estimate: &BootEstimate, unit: &str) -> String {
    let counts = format!("{}|{}", estimate.samples, estimate.iterations);
    if estimate.min == estimate.max {
        return counts;
    }
    let (from, to) = estimate.quartiles;
    let costs = [estimate.min, from, to, estimate.max];
    let costs = costs.map(|cost| number::value(cost, unit)).join("|");
    format!("{counts}|{costs}")
}
