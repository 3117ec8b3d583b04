//! Horizontal bars, from zero on a linear axis: several for each lane, each in one part or stacked.

use super::boots::HUES;
use super::plot::{Lane, Plot};
use super::words::plain;
use maud::{Markup, html};

/// The height of a bar with the gap to the next, and the gap between lanes, in pixels.
const BAR: u32 = 16;
const GAP: u32 = 8;
/// Room for a value behind the longest bar, as a share of it.
const ROOM: f64 = 0.12;

/// How a part of a bar is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// In this colour of the page's.
    Hue(usize),
    /// Outlined: not measured here.
    Outlined,
}

/// A bar: the lengths of its parts.
pub(crate) struct Bar {
    pub parts: Vec<(Fill, f64)>,
    /// The least and the greatest of the whole.
    pub band: Option<[f64; 2]>,
    /// What stands behind it.
    pub text: String,
    /// The platform whose filter hides it, if one does.
    pub platform: Option<usize>,
}

/// What stands at the left, with its bars below each other.
pub(crate) struct Group {
    pub name: String,
    pub bars: Vec<Bar>,
}

/// The bars.
pub(crate) struct Bars<'a> {
    /// What they show, for screen readers.
    pub name: &'a str,
    /// The x axis's label, with its unit.
    pub axis: &'a str,
    pub groups: &'a [Group],
    /// A value to mark with a line across all lanes.
    pub mark: Option<f64>,
}

impl Bar {
    fn length(&self) -> f64 {
        self.parts.iter().map(|(_, part)| part).sum()
    }
}

impl Bars<'_> {
    /// Draws them.
    pub(crate) fn draw(&self) -> Markup {
        let bars = || self.groups.iter().flat_map(|group| &group.bars);
        let ends = bars().map(|bar| bar.band.map_or(0.0, |band| band[1]).max(bar.length()));
        let lane = |group: &'_ Group| BAR * u32::try_from(group.bars.len()).unwrap_or(0) + GAP;
        let lanes = self.groups.iter().map(|group| Lane {
            name: &group.name,
            platform: None,
            height: lane(group),
        });
        let plot = Plot {
            name: self.name,
            axis: self.axis,
            lanes: lanes.collect(),
            values: ends
                .map(|end| end * (1.0 + ROOM))
                .chain(self.mark)
                .collect(),
            from_zero: true,
            mark: self.mark,
        };
        plot.draw(|place, tops| {
            html! {
                @for (group, top) in self.groups.iter().zip(tops) {
                    @for (bar, top) in group.bars.iter().zip((top + GAP / 2..).step_by(BAR as usize)) {
                        g data-p=[bar.platform] { (one(bar, top, place)) }
                    }
                }
            }
        })
    }
}

fn one(bar: &Bar, top: u32, place: &dyn Fn(f64) -> i32) -> Markup {
    let height = BAR - 3;
    let middle = top + height / 2;
    let mut from = 0.0;
    let parts = bar.parts.iter().map(|(fill, part)| {
        let left = place(from);
        from += part;
        (*fill, left, place(from) - left)
    });
    let parts: Vec<(Fill, i32, i32)> = parts.filter(|(_, _, width)| *width > 0).collect();
    let end = place(bar.band.map_or(0.0, |band| band[1]).max(from));
    html! {
        @for (fill, left, width) in parts {
            @match fill {
                Fill::Hue(hue) => rect class={ "h" (hue % HUES) } x=(left) y=(top) width=(width) height=(height) {},
                Fill::Outlined => rect.theirs x=(left) y=(top) width=(width) height=(height) {},
            }
        }
        @if let Some([low, high]) = bar.band {
            path.range d={ "M" (place(low)) "," (middle) "H" (place(high)) } {}
        }
        text.amount x=(end + 5) y=(middle) dy="0.35em" { (plain(&bar.text)) }
    }
}

/// The key of bars: a square of each fill with its name.
pub(crate) fn keys<'a>(keys: impl IntoIterator<Item = (Fill, &'a str, Option<usize>)>) -> Markup {
    html! {
        p.keys {
            @for (fill, name, platform) in keys {
                @let hue = match fill { Fill::Hue(hue) => format!("h{}", hue % HUES), Fill::Outlined => String::new() };
                span class=[Some(hue).filter(|hue| !hue.is_empty())] data-p=[platform] {
                    svg.key viewBox="-6 -6 12 12" aria-hidden="true" {
                        @match fill {
                            Fill::Hue(_) => rect x="-5" y="-5" width="10" height="10" {},
                            Fill::Outlined => rect.theirs x="-5" y="-5" width="10" height="10" {},
                        }
                    }
                    " " (plain(name)) " "
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_stacked_from_zero_and_escaped() {
        let bar = |parts: &[(Fill, f64)]| Bar {
            parts: parts.to_vec(),
            band: Some([2.5, 3.5]),
            text: "<3>".into(),
            platform: Some(1),
        };
        let groups = [Group {
            name: "<one>".into(),
            bars: vec![
                bar(&[
                    (Fill::Hue(0), 1.0),
                    (Fill::Hue(9), 2.0),
                    (Fill::Hue(2), 0.0),
                ]),
                bar(&[(Fill::Outlined, 3.0)]),
            ],
        }];
        let bars = Bars {
            name: "a & b",
            axis: "exits",
            groups: &groups,
            mark: None,
        };
        let svg = bars.draw().into_string();
        assert_eq!(
            svg.matches("<rect ").count(),
            3,
            "no bar of length zero: {svg}"
        );
        assert!(svg.contains("class=\"h1\"") && svg.contains("class=\"theirs\""));
        assert!(
            svg.contains("a &amp; b") && svg.contains("&lt;3&gt;") && svg.contains("&lt;one&gt;")
        );
        // Each part begins where the last ends, and equal lengths end at the same place.
        let numbers = |word: &str| -> Vec<i32> {
            let pieces = svg.split("<rect ").skip(1);
            pieces
                .map(|rect| {
                    let from = rect.split(word).nth(1).unwrap();
                    from[..from.find('"').unwrap()].parse().unwrap()
                })
                .collect()
        };
        let (x, width) = (numbers(" x=\""), numbers("width=\""));
        assert_eq!(x[0] + width[0], x[1]);
        assert_eq!(x[1] + width[1], x[2] + width[2]);
        let keys = keys([
            (Fill::Hue(8), "<npf>", None),
            (Fill::Outlined, "Dall", None),
        ]);
        let keys = keys.into_string();
        assert!(keys.contains("class=\"h0\"") && keys.contains("&lt;npf&gt;"));
    }
}
