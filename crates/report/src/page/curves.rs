//! The frame of a figure with a curve for each server, drawn by plotters: integers on the x axis, a
//! quantity on the y axis. The caller draws the marks.

use super::plot::{PlotError, framed, range, tick};
use super::words::plain;
use maud::Markup;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

const WIDTH: u32 = 520;
const HEIGHT: u32 = 300;
const LEFT: u32 = 64;
const BOTTOM: u32 = 42;
const MARGIN: u32 = 14;

/// What to draw in.
pub(crate) struct Curves<'a> {
    /// What it shows, for screen readers.
    pub name: &'a str,
    /// The label of the x axis.
    pub steps_axis: &'a str,
    /// The steps, ascending.
    pub steps: &'a [u32],
    /// All values that must be visible.
    pub values: &'a [f64],
}

/// Maps a step and a value to pixels, from the left and from the top.
pub(crate) type Point<'a> = &'a dyn Fn(u32, f64) -> (i32, i32);

impl Curves<'_> {
    /// Draws the figure. `marks` gets the map from values to pixels.
    pub(crate) fn draw(&self, marks: impl Fn(Point) -> Markup) -> Result<Markup, PlotError> {
        // From zero, unless the values are so far apart that small ones would coincide with zero.
        let apart = range(self.values, false);
        let (from, to, log) = if apart.2 {
            apart
        } else {
            range(self.values, true)
        };
        let mut frame = String::new();
        let drawn = {
            let area = SVGBackend::with_string(&mut frame, (WIDTH, HEIGHT)).into_drawing_area();
            match log {
                true => self.axes(&area, (from..to).log_scale(), (from, to), &marks),
                false => self.axes(&area, from..to, (from, to), &marks),
            }
        };
        let marks = drawn.map_err(|cause| PlotError {
            name: self.name.to_owned(),
            cause,
        })?;
        Ok(framed(self.name, (WIDTH, HEIGHT), &frame, &marks))
    }

    fn axes<Y>(
        &self,
        area: &DrawingArea<SVGBackend, Shift>,
        y: Y,
        (from, to): (f64, f64),
        marks: &impl Fn(Point) -> Markup,
    ) -> Result<Markup, String>
    where
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let failed = |error: DrawingAreaErrorKind<_>| error.to_string();
        let ends = self.steps.first().zip(self.steps.last());
        let (first, last) = ends.map_or((0, 1), |(first, last)| (*first, *last));
        let steps = f64::from(first) - 0.4..f64::from(last) + 0.4;
        let mut chart = ChartBuilder::on(area)
            .margin_top(MARGIN)
            .margin_right(MARGIN)
            .x_label_area_size(BOTTOM)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(steps, y)
            .map_err(failed)?;
        // No labels between integers.
        let label = |value: &f64| match value.fract() == 0.0 {
            true => tick(*value),
            false => String::new(),
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels((last - first).saturating_add(1).min(16) as usize)
            .y_labels(6)
            .y_max_light_lines(0)
            .axis_style(BLACK.mix(0.6))
            .bold_line_style(BLACK.mix(0.15))
            .label_style(("sans-serif", 14))
            .x_label_formatter(&label)
            .y_label_formatter(&|value| tick(*value))
            .x_desc(plain(self.steps_axis).into_owned())
            .draw()
            .map_err(failed)?;
        // plotters cannot place values far outside of the axis.
        let inside = |value: f64| {
            if value.is_nan() {
                from
            } else {
                value.clamp(from, to)
            }
        };
        let marks = marks(&|step, value| chart.backend_coord(&(f64::from(step), inside(value))));
        area.present().map_err(failed)?;
        Ok(marks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use maud::html;
    use proptest::prelude::*;

    fn draw(steps: &[u32], values: &[f64], marks: impl Fn(Point) -> Markup) -> String {
        let curves = Curves {
            name: "a <figure>",
            steps_axis: "devices & more",
            steps,
            values,
        };
        curves.draw(marks).unwrap().into_string()
    }

    #[test]
    fn greater_steps_lie_right_and_greater_values_above() {
        let svg = draw(&[1, 4, 14], &[100.0, 900.0], |point| {
            let (low, high) = (point(1, 100.0), point(14, 900.0));
            assert!(low.0 < high.0 && low.1 > high.1);
            assert!(point(1, 0.0).1 > low.1, "the axis begins at zero");
            html! { circle {} }
        });
        assert!(svg.contains("aria-label=\"a &lt;figure&gt;\"") && svg.contains("<circle"));
        assert!(svg.contains("devices &amp; more") && !svg.contains("#000000"));
    }

    proptest! {
        #[test]
        fn any_values_can_be_drawn(values in proptest::collection::vec(any::<f64>(), 0..6)) {
            let svg = draw(&[1, 2], &values, |point| html! { (point(2, values.first().copied().unwrap_or(0.0)).1) });
            prop_assert!(svg.contains("<svg"));
        }
    }
}
