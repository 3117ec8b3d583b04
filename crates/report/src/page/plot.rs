//! The plot that most views use: a lane for each item, its values along the x axis.
//!
//! Names are at the left, so that eight platforms or sixteen benchmarks stay readable. plotters chooses
//! the ticks and draws axis and grid in `currentColor`, so that the page's style applies; the caller
//! draws the marks with a map from values to positions. For a screen reader a plot is an image, so the
//! caller adds a table of the same values.

use maud::{Markup, PreEscaped, html};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use super::words::plain;
use crate::number;

const WIDTH: u32 = 720;
const LEFT: u32 = 200;
const TOP: u32 = 6;
const AXIS: u32 = 38;
const RIGHT: u32 = 22;
/// The most labels on the x axis; more would overlap.
const TICKS: usize = 6;

/// Greater than any 64-bit tick count. Greater values do not extend the axis, since plotters never
/// finishes an infinite one. A logarithmic axis does not begin below the inverse either: there plotters'
/// decades become zero, or too many to count.
const REACH: f64 = 1e20;

/// A plot could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw the plot {name:?}: {cause}")]
pub struct PlotError {
    /// The plot.
    pub name: String,
    /// The error of plotters.
    pub cause: String,
}

/// One row of a plot.
pub(crate) struct Lane<'a> {
    /// The label at its left.
    pub name: &'a str,
    /// The platform whose filter hides it, if any.
    pub platform: Option<usize>,
    /// In pixels.
    pub height: u32,
}

/// What to draw.
pub(crate) struct Plot<'a> {
    /// What it shows, for screen readers.
    pub name: &'a str,
    /// The x axis's label, with its unit.
    pub axis: &'a str,
    pub lanes: Vec<Lane<'a>>,
    /// All values that must be visible.
    pub values: Vec<f64>,
    /// Whether the axis begins at zero, as for bars.
    pub from_zero: bool,
    /// A value to mark with a line across all lanes.
    pub mark: Option<f64>,
}

/// Maps a value to its x, in pixels.
pub(crate) type Place<'a> = &'a dyn Fn(f64) -> i32;

impl Plot<'_> {
    /// Draws the plot. `marks` gets the map to x, and the top of each lane.
    pub(crate) fn draw(
        &self,
        marks: impl Fn(Place, &[u32]) -> Markup,
    ) -> Result<Markup, PlotError> {
        let mut tops = Vec::new();
        let mut bottom = TOP;
        for lane in &self.lanes {
            tops.push(bottom);
            bottom += lane.height;
        }
        let size = (WIDTH, bottom + AXIS);
        let mut frame = String::new();
        let (from, to, log) = range(&self.values, self.from_zero);
        let drawn = {
            let area = SVGBackend::with_string(&mut frame, size).into_drawing_area();
            // plotters cannot place values far outside of the axis.
            let marks = |place: Place| {
                let inside = |value: f64| {
                    place(if value.is_nan() {
                        from
                    } else {
                        value.clamp(from, to)
                    })
                };
                self.over(&inside, &tops, bottom, &marks)
            };
            match log {
                true => self.axes(&area, (from..to).log_scale(), marks),
                false => self.axes(&area, from..to, marks),
            }
        };
        let marks = drawn.map_err(|cause| PlotError {
            name: self.name.to_owned(),
            cause,
        })?;
        Ok(framed(self.name, size, &frame, &marks))
    }

    fn axes<X>(
        &self,
        area: &DrawingArea<SVGBackend, Shift>,
        x: X,
        marks: impl Fn(Place) -> Markup,
    ) -> Result<Markup, String>
    where
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
    {
        let failed = |error: DrawingAreaErrorKind<_>| error.to_string();
        let mut chart = ChartBuilder::on(area)
            .margin_top(TOP)
            .margin_right(RIGHT)
            .x_label_area_size(AXIS)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(x, 0.0..1.0)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .x_labels(TICKS)
            .x_max_light_lines(0)
            .axis_style(BLACK.mix(0.6))
            .bold_line_style(BLACK.mix(0.15))
            .label_style(("sans-serif", 14))
            .x_label_formatter(&|value| tick(*value))
            .x_desc(plain(self.axis).into_owned())
            .draw()
            .map_err(failed)?;
        let marks = marks(&|value| chart.backend_coord(&(value, 0.0)).0);
        area.present().map_err(failed)?;
        Ok(marks)
    }

    /// The names, the marked value, and the caller's marks.
    fn over(
        &self,
        place: Place,
        tops: &[u32],
        bottom: u32,
        marks: &impl Fn(Place, &[u32]) -> Markup,
    ) -> Markup {
        html! {
            @for (lane, top) in self.lanes.iter().zip(tops) {
                @let y = top + lane.height / 2;
                text.name data-p=[lane.platform] x=(LEFT - 8) y=(y) dy="0.35em" text-anchor="end" {
                    (plain(&short(lane.name)))
                }
            }
            @if let Some(mark) = self.mark {
                path.mark d={ "M" (place(mark)) "," (TOP) "V" (bottom) } {}
            }
            (marks(place, tops))
        }
    }
}

/// Start, end, and whether the scale is logarithmic: if the values are far apart, none is zero, negative
/// or close to zero, and the axis need not begin at zero.
pub(crate) fn range(values: &[f64], from_zero: bool) -> (f64, f64, bool) {
    let in_reach = |value: &f64| value.abs() <= REACH;
    let finite = || values.iter().copied().filter(in_reach);
    let least = finite().fold(f64::INFINITY, f64::min);
    let greatest = finite().fold(f64::NEG_INFINITY, f64::max);
    if least > greatest {
        return (0.0, 1.0, false);
    }
    if !from_zero && least >= 1.0 / REACH && greatest / least > 20.0 {
        return (least / 1.3, greatest * 1.3, true);
    }
    let least = if from_zero { least.min(0.0) } else { least };
    let span = greatest - least;
    let margin = if span > 0.0 {
        span * 0.05
    } else {
        greatest.abs().max(1.0) * 0.1
    };
    let from = if from_zero && least == 0.0 {
        0.0
    } else {
        least - margin
    };
    (from, greatest + margin, false)
}

/// An SVG of the frame that plotters drew, with marks over it.
pub(crate) fn framed(name: &str, size: (u32, u32), frame: &str, marks: &Markup) -> Markup {
    // plotters has escaped the text in the frame. Its black becomes the page's text colour.
    let frame = frame.replace("\"#000000\"", "\"currentColor\"");
    let inner = frame
        .split_once('>')
        .and_then(|(_, rest)| rest.rsplit_once("</svg>"))
        .map_or("", |(inner, _)| inner);
    html! {
        svg viewBox={ "0 0 " (size.0) " " (size.1) } role="img" aria-label=(plain(name)) {
            g aria-hidden="true" { (PreEscaped(inner)) (marks) }
        }
    }
}

/// A name shortened to fit at the left of a plot; the table has it in full.
fn short(name: &str) -> String {
    const MOST: usize = 26;
    if name.chars().count() <= MOST {
        return name.to_owned();
    }
    let head: String = name.chars().take(MOST - 1).collect();
    head + "\u{2026}"
}

/// A tick's label, with suffixes for thousands, millions and billions.
pub(crate) fn tick(value: f64) -> String {
    let magnitude = value.abs();
    let (scaled, suffix) = match magnitude {
        m if m >= 1e9 => (value / 1e9, "G"),
        m if m >= 1e6 => (value / 1e6, "M"),
        m if m >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // Ticks are multiples of a step; round off floating-point errors.
    let text = format!("{:.6}", (scaled * 1e6).round() / 1e6);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let text = if text == "-0" { "0" } else { text };
    match text.contains('.') || !suffix.is_empty() {
        true => format!("{text}{suffix}"),
        false => number::value(scaled, "count"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plot(values: &[f64]) -> Plot<'static> {
        Plot {
            name: "a <plot>",
            axis: "ns & more",
            lanes: vec![Lane {
                name: "<one>",
                platform: None,
                height: 20,
            }],
            values: values.to_vec(),
            from_zero: false,
            mark: None,
        }
    }

    #[test]
    fn a_plot_is_themed_escaped_and_named() {
        let drawn = plot(&[1.0, 2.0]).draw(|place, tops| {
            assert!(place(1.0) < place(2.0) && place(1.0) > LEFT as i32);
            assert_eq!(tops, [TOP]);
            html! { circle cx=(place(1.5)) {} }
        });
        let svg = drawn.unwrap().into_string();
        assert!(svg.contains("aria-label=\"a &lt;plot&gt;\"") && svg.contains("&lt;one&gt;"));
        assert!(svg.contains("ns &amp; more") && svg.contains("currentColor"));
        assert!(!svg.contains("#000000") && svg.contains("<circle"));
    }

    #[test]
    fn far_values_are_drawn_on_a_logarithmic_scale_unless_one_is_zero() {
        assert!(range(&[1.0, 3022.0], false).2);
        assert!(!range(&[0.0, 3022.0], false).2);
        assert!(!range(&[100.0, 110.0], false).2);
    }

    #[test]
    fn any_values_can_be_drawn() {
        for values in [
            &[][..],
            &[0.0],
            &[5.0, 5.0],
            &[-3.0, 2.0],
            &[f64::NAN, 1.0],
            &[1e-12, 1e18],
            &[f64::INFINITY],
            &[f64::MAX, 1.0],
            &[5e-324, 1.0],
            &[1e-310, 1e-305],
            &[1e-300, 1e20],
            &[1e-310, 1.5e-310],
            &[1e20, 1e20 - 16384.0],
        ] {
            let svg = plot(values).draw(|place, _| html! { circle cx=(place(1.0)) {} });
            assert!(svg.is_ok(), "{values:?}");
        }
    }

    proptest! {
        /// Any costs that a result file can contain; on a range that plotters never finishes the test
        /// hangs.
        #[test]
        fn any_costs_have_an_axis(
            ticks in proptest::collection::vec(any::<(u64, u64, u64)>(), 1..4), near in any::<u64>(),
        ) {
            let cost = |(run, control, n): &(u64, u64, u64)| (*run as f64 - *control as f64) / (*n as f64 + 1.0);
            let far: Vec<f64> = ticks.iter().map(cost).collect();
            let close = [near as f64, near as f64 * (1.0 + f64::EPSILON), near as f64 + 1.0];
            for values in [far.as_slice(), &close, &close.map(|v| v / 1e38)] {
                let drawn = plot(values).draw(|place, _| html! { (place(1.0)) });
                prop_assert!(drawn.is_ok());
            }
        }
    }

    #[test]
    fn ticks_are_short() {
        let ticks = [0.0, 0.1 + 0.2, 1500.0, 20_000.0, 3e6, 1.5e9, -2e4].map(tick);
        assert_eq!(ticks, ["0", "0.3", "1,500", "20k", "3M", "1.5G", "-20k"]);
    }
}
