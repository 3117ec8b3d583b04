//! The plot that most views use: a lane for each item, its values along the x axis.
//!
//! Names are at the left, so that eight platforms or sixteen benchmarks stay readable. The caller draws the
//! marks with a map from values to positions. For a screen reader a plot is an image, so the caller adds a
//! table of the same values.

use super::axis::{self, Axis};
use super::words::plain;
use maud::{Markup, html};

const WIDTH: u32 = 720;
const LEFT: u32 = 200;
const TOP: u32 = 6;
/// Height of the ticks and the axis' label.
const AXIS: u32 = 38;
const RIGHT: u32 = 22;
/// Letters of a name on one line, and the height of a line.
const LETTERS: usize = 24;
const LINE: u32 = 14;

/// A row of a plot.
pub(crate) struct Lane<'a> {
    /// Name at the left of the lane.
    pub name: &'a str,
    /// The platform whose filter hides the lane, if one does.
    pub platform: Option<usize>,
    /// Least height in pixels.
    pub height: u32,
}

/// A plot to draw.
pub(crate) struct Plot<'a> {
    /// Name of the plot, for screen readers.
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

impl Lane<'_> {
    /// Returns the height of the lane: at least `height`, or more if its name needs it.
    fn room(&self) -> u32 {
        let lines = u32::try_from(wrapped(self.name).len()).unwrap_or(1);
        self.height.max(LINE * lines + 4)
    }

    /// Renders the name of the lane, in the middle of its height.
    fn named(&self, top: u32) -> Markup {
        let lines = wrapped(self.name);
        let first = top + self.room() / 2 - LINE * (lines.len() as u32 - 1) / 2;
        html! {
            g data-p=[self.platform] {
                @for (line, y) in lines.iter().zip((first..).step_by(LINE as usize)) {
                    text.name x=(LEFT - 8) y=(y) dy="0.35em" text-anchor="end" { (plain(line)) }
                }
            }
        }
    }
}

/// Maps a value to its x, in pixels.
pub(crate) type Place<'a> = &'a dyn Fn(f64) -> i32;

impl Plot<'_> {
    /// Draws the plot. `marks` gets the map to x, and the top of each lane.
    pub(crate) fn draw(&self, marks: impl Fn(Place, &[u32]) -> Markup) -> Markup {
        let mut tops = Vec::new();
        let mut bottom = TOP;
        for lane in &self.lanes {
            tops.push(bottom);
            bottom += lane.room();
        }
        let axis = Axis::over(&self.values, self.from_zero);
        let right = WIDTH - RIGHT;
        let place = |value: f64| axis.place(value, LEFT, right);
        framed(
            self.name,
            (WIDTH, bottom + AXIS),
            &html! {
                @for tick in axis.ticks() {
                    @let x = place(tick);
                    path.rule d={ "M" (x) "," (TOP) "V" (bottom) } {}
                    text.tick x=(x) y=(bottom + 15) text-anchor="middle" { (axis::label(tick)) }
                }
                path.axis d={ "M" (LEFT) "," (bottom) "H" (right) } {}
                text.tick x=((LEFT + right) / 2) y=(bottom + 33) text-anchor="middle" { (plain(self.axis)) " (" (axis.kind()) ")" }
                @for (lane, top) in self.lanes.iter().zip(&tops) { (lane.named(*top)) }
                @if let Some(mark) = self.mark {
                    path.mark d={ "M" (place(mark)) "," (TOP) "V" (bottom) } {}
                }
                (marks(&place, &tops))
            },
        )
    }
}

/// An SVG of a size in pixels, which screen readers see as an image with a name.
pub(crate) fn framed(name: &str, size: (u32, u32), drawn: &Markup) -> Markup {
    html! {
        svg viewBox={ "0 0 " (size.0) " " (size.1) } role="img" aria-label=(plain(name)) {
            g aria-hidden="true" { (drawn) }
        }
    }
}

/// A name in full, in lines that fit at the left of a plot; at least one.
fn wrapped(name: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = name;
    while let Some((end, _)) = rest.char_indices().nth(LETTERS) {
        // After the last mark between words. Each mark is one byte.
        let marks = rest[..end].rfind(['+', '@', '-', '/', '_', ' ']);
        let end = marks.filter(|mark| *mark > 0).map_or(end, |mark| mark + 1);
        lines.push(&rest[..end]);
        rest = &rest[end..];
    }
    lines.push(rest);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_stands_in_full() {
        assert_eq!(wrapped("in"), ["in"]);
        assert_eq!(
            wrapped("lab:neve-nested@neve+policy=kvm-4.10+vhe=1"),
            ["lab:neve-nested@neve+", "policy=kvm-4.10+vhe=1"]
        );
        let word = "\u{e4}".repeat(60);
        assert_eq!(wrapped(&word).concat(), word);
        assert_eq!(wrapped(&word).len(), 3);
    }

    #[test]
    fn a_plot_is_escaped_and_named() {
        let plot = Plot {
            name: "a <plot>",
            axis: "ns & more",
            lanes: vec![Lane {
                name: "<one>",
                platform: None,
                height: 20,
            }],
            values: vec![1.0, 2.0],
            from_zero: false,
            mark: None,
        };
        let drawn = plot.draw(|place, tops| {
            assert!(place(1.0) < place(2.0) && place(1.0) > LEFT as i32);
            assert_eq!(tops, [TOP]);
            html! { circle cx=(place(1.5)) {} }
        });
        let svg = drawn.into_string();
        assert!(svg.contains("aria-label=\"a &lt;plot&gt;\"") && svg.contains("&lt;one&gt;"));
        assert!(svg.contains("ns &amp; more") && svg.contains(">1.2</text>"));
        assert!(svg.contains("<circle"));
    }
}
