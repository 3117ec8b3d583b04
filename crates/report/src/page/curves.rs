//! The frame of a figure with a curve for each server: integers on the x axis, a quantity
//! on the y axis. The caller draws the marks.

use super::axis::{self, Axis};
use super::plot::framed;
use super::words::plain;
use maud::{Markup, html};

const WIDTH: u32 = 520;
const HEIGHT: u32 = 300;
const LEFT: u32 = 64;
const BOTTOM: u32 = 42;
const MARGIN: u32 = 20;
/// Most labels of steps.
const STEPS: u32 = 16;

/// The frame of the figure.
pub(crate) struct Curves<'a> {
    /// Name of the figure, for screen readers.
    pub name: &'a str,
    /// The label at the bottom.
    pub steps_axis: &'a str,
    /// The steps, ascending.
    pub steps: &'a [u32],
    /// All values that must be visible.
    pub values: &'a [f64],
}

/// Maps a step and a value to pixels, rightward and downward.
pub(crate) type Point<'a> = &'a dyn Fn(u32, f64) -> (i32, i32);

impl Curves<'_> {
    /// Draws the figure. `marks` gets the map from values to pixels.
    pub(crate) fn draw(&self, marks: impl Fn(Point) -> Markup) -> Markup {
        // From zero, unless the values are so far apart that small ones would coincide with zero.
        let values = match Axis::over(self.values, false) {
            apart if apart.is_log() => apart,
            _ => Axis::over(self.values, true),
        };
        let ends = self.steps.first().zip(self.steps.last());
        let (first, last) = ends.map_or((0, 1), |(first, last)| (*first, *last));
        let steps = Axis::linear(f64::from(first) - 0.4, f64::from(last) + 0.4);
        let stride = 1 + last.saturating_sub(first) / STEPS;
        let (right, bottom) = (WIDTH - MARGIN, HEIGHT - BOTTOM);
        let x = |step: u32| steps.place(f64::from(step), LEFT, right);
        let y = |value: f64| values.place(value, bottom, MARGIN);
        framed(
            self.name,
            (WIDTH, HEIGHT),
            &html! {
                @for tick in values.ticks() {
                    path.rule d={ "M" (LEFT) "," (y(tick)) "H" (right) } {}
                    text.tick x=(LEFT - 6) y=(y(tick)) dy="0.35em" text-anchor="end" { (axis::label(tick)) }
                }
                @for step in (first..=last).step_by(stride as usize) {
                    text.tick x=(x(step)) y=(bottom + 17) text-anchor="middle" { (step) }
                }
                path.axis d={ "M" (LEFT) "," (MARGIN) "V" (bottom) "H" (right) } {}
                text.tick x=(right) y=(MARGIN) dy="-0.25em" text-anchor="end" { (values.kind()) }
                text.tick x=((LEFT + right) / 2) y=(bottom + 36) text-anchor="middle" { (plain(self.steps_axis)) }
                (marks(&|step, value| (x(step), y(value))))
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greater_steps_lie_right_and_greater_values_above() {
        let curves = Curves {
            name: "a <figure>",
            steps_axis: "devices & more",
            steps: &[1, 4, 14],
            values: &[100.0, 900.0],
        };
        let svg = curves.draw(|point| {
            let (low, high) = (point(1, 100.0), point(14, 900.0));
            assert!(low.0 < high.0 && low.1 > high.1);
            assert!(point(1, 0.0).1 > low.1, "the axis begins at zero");
            html! { circle {} }
        });
        let svg = svg.into_string();
        assert!(svg.contains("aria-label=\"a &lt;figure&gt;\"") && svg.contains("<circle"));
        assert!(svg.contains("devices &amp; more") && svg.contains(">14</text>"));
    }
}
