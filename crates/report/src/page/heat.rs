//! A heat map as an SVG: cells of two halves, each with its value, and shaded by it.
//!
//! The map keeps its size, so that its letters do on a narrow screen: the caller lets it scroll. For a screen reader
//! the map is an image, whose name has all values.

use super::plot::framed;
use super::words::plain;
use maud::{Markup, html};

/// Share of the colour in a half whose value is 1 or more: letters must stand out from it.
const FULL_PERCENT: f64 = 55.0;

/// Lengths in pixels.
const EDGE: u32 = 4;
const HALF: u32 = 52;
const CELL: u32 = 2 * HALF;
const HEIGHT: u32 = 30;
const GAP: u32 = 2;
const LINE: u32 = 18;
/// Width of a letter, on average.
const LETTER: u32 = 8;
/// The steps of the legend.
const STEPS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// The values of a cell's halves.
pub(crate) type Values = [Option<f64>; 2];

/// A map to draw.
pub(crate) struct Heat<'a> {
    /// Name of the map, for screen readers.
    pub name: &'a str,
    /// Quantity of the rows and of the columns, with their names.
    pub down: (&'a str, &'a [String]),
    pub across: (&'a str, &'a [String]),
    /// Names of both halves of a cell.
    pub halves: [&'a str; 2],
    /// The values of a cell's halves, by row and column: shares of 1. None: there is no such cell.
    pub cell: &'a dyn Fn(&str, &str) -> Option<Values>,
}

fn letters(text: &str) -> u32 {
    LETTER * u32::try_from(text.chars().count()).unwrap_or(0)
}

/// A value, as it stands in its half.
fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{:.0} %", value * 100.0))
}

/// The shade of a value, as a style: a share of 1.
pub(crate) fn share(value: Option<f64>) -> String {
    let value = value.unwrap_or(0.0).clamp(0.0, 1.0);
    format!("--share:{:.0}%", value * FULL_PERCENT)
}

impl Heat<'_> {
    /// The map and its legend.
    pub(crate) fn draw(&self) -> Markup {
        let (rows, columns) = (self.down.1, self.across.1);
        let names = rows.iter().map(|name| letters(name));
        let left = EDGE + names.chain([letters(self.down.0)]).max().unwrap_or(0) + LETTER;
        let top = EDGE + 2 * LINE;
        let count = |list: &[String]| u32::try_from(list.len()).unwrap_or(0);
        let bottom = top + count(rows) * (HEIGHT + GAP);
        let right = left + count(columns) * (CELL + GAP);
        let tops = (top..).step_by((HEIGHT + GAP) as usize);
        let lefts = || (left..).step_by((CELL + GAP) as usize);
        let size = (
            right.max(self.legend_right()) + EDGE,
            bottom + 2 * LINE + EDGE,
        );
        let drawn = html! {
            text.tick x=(left) y=(EDGE + 13) { (self.across.0) }
            text.tick x=(left - LETTER) y=(top - 6) text-anchor="end" { (self.down.0) }
            @for (x, name) in lefts().zip(columns) {
                text.name x=(x + HALF) y=(top - 6) text-anchor="middle" { (plain(name)) }
            }
            @for (y, row) in tops.zip(rows) {
                text.name x=(left - LETTER) y=(y + HEIGHT / 2) dy="0.35em" text-anchor="end" { (plain(row)) }
                @for (x, column) in lefts().zip(columns) {
                    @if let Some(values) = (self.cell)(row, column) {
                        @for (x, value) in [x, x + HALF].into_iter().zip(values) { (half(x, y, value)) }
                    }
                }
            }
            (self.legend(bottom + LINE - 6))
        };
        html! { div style={ "width:" (size.0) "px" } { (framed(&self.spoken(), size, &drawn)) } }
    }

    /// The left end of the legend's steps.
    fn legend_left(&self) -> u32 {
        EDGE + 2 * self.half_width() + 2 * LETTER
    }

    /// The width of each half in the legend.
    fn half_width(&self) -> u32 {
        let [a, b] = self.halves.map(letters);
        HALF.max(a.max(b) + LETTER)
    }

    fn legend_right(&self) -> u32 {
        self.legend_left() + HALF * STEPS.len() as u32
    }

    /// Renders the legend: names of the halves, and shades with their values.
    fn legend(&self, y: u32) -> Markup {
        let width = self.half_width();
        let halves = [EDGE, EDGE + width].into_iter().zip(self.halves);
        let steps = (self.legend_left()..).step_by(HALF as usize).zip(STEPS);
        html! {
            @for (x, name) in halves {
                rect.none x=(x) y=(y) width=(width) height=(LINE + 2) {}
                text.name x=(x + width / 2) y=(y + 14) text-anchor="middle" { (plain(name)) }
            }
            @for (x, step) in steps {
                rect.cell x=(x) y=(y) width=(HALF) height=(LINE + 2) style=(share(Some(step))) {}
                text.name x=(x + HALF / 2) y=(y + 14) text-anchor="middle" { (percent(Some(step))) }
            }
        }
    }

    /// All values in words.
    fn spoken(&self) -> String {
        let mut text = self.name.to_owned();
        let [first, second] = self.halves;
        for row in self.down.1 {
            for column in self.across.1 {
                if let Some([a, b]) = (self.cell)(row, column) {
                    let (down, across) = (self.down.0, self.across.0);
                    let (a, b) = (percent(a), percent(b));
                    text +=
                        &format!("; {down} {row}, {across} {column}: {first} {a}, {second} {b}");
                }
            }
        }
        text
    }
}

fn half(x: u32, y: u32, value: Option<f64>) -> Markup {
    html! {
        rect.cell x=(x) y=(y) width=(HALF) height=(HEIGHT) style=(share(value)) {}
        text.name x=(x + HALF / 2) y=(y + HEIGHT / 2) dy="0.35em" text-anchor="middle" { (percent(value)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_says_shades_and_draws_its_values() {
        let names = |names: [&str; 2]| names.map(str::to_owned);
        let (rows, columns) = (names(["0", "0>1"]), names(["0", "1"]));
        let cell = |row: &str, column: &str| match (row, column) {
            ("0", "1") => Some([Some(0.5), None]),
            ("0>1", "0") => Some([Some(1.3), Some(0.0)]),
            _ => None,
        };
        let heat = Heat {
            name: "kept",
            down: ("host CPU", &rows),
            across: ("VM CPU", &columns),
            halves: ["host", "VM"],
            cell: &cell,
        };
        let drawn = heat.draw().into_string();
        assert!(drawn.contains(
            "aria-label=\"kept; host CPU 0, VM CPU 1: host 50 %, VM -; host CPU 0&gt;1, VM CPU 0: host 130 %, VM 0 %\""
        ), "{drawn}");
        // Two cells, and the legend's steps.
        assert_eq!(drawn.matches("class=\"cell\"").count(), 4 + STEPS.len());
        // More than all is not darker than all.
        assert_eq!(drawn.matches("--share:55%").count(), 2);
        assert!(drawn.contains(">130 %</text>"));
    }
}
