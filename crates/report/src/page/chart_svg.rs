//! Draws a chart as a standalone SVG, for documents that show no HTML.

use super::axis::{self, Axis};
use super::chart::{Bar, Chart, Fill};
use super::words::plain;
use maud::{Markup, html};

/// The colours of the page's first six platforms, for light and dark.
const STYLE: &str = ":root{--fg:#1b1f24;--dim:#57606a;--bg:#fff;--line:#d8dee4;--h:#6e7781}\
    .h0{--h:#1550dd}.h1{--h:#cc8202}.h2{--h:#2f9e62}.h3{--h:#a04ab0}.h4{--h:#575359}.h5{--h:#3d0248}\
    @media(prefers-color-scheme:dark){:root{--fg:#e6edf3;--dim:#9da7b3;--bg:#0d1117;--line:#30363d;--h:#8b949e}\
    .h0{--h:#3d85ff}.h1{--h:#d96f1c}.h2{--h:#6fe8bd}.h3{--h:#f0a6f7}.h4{--h:#847b83}.h5{--h:#e8f08b}}\
    .back{fill:var(--bg)}.bar{fill:var(--h)}.rule{stroke:var(--line)}\
    text{font:13px system-ui,sans-serif;fill:var(--fg)}.title{font-weight:600}.tick,.axis{fill:var(--dim);font-weight:400}";

/// Lengths in pixels.
const WIDTH: u32 = 900;
const EDGE: u32 = 16;
/// Width of a letter, on average.
const LETTER: u32 = 8;
const BAR: u32 = 14;
const GAP: u32 = 7;
const LINE: u32 = 22;

/// Places of the chart's parts, in pixels.
struct Places {
    /// The left end of bars, and the right end of the longest.
    left: u32,
    right: u32,
    /// The top of the first lane.
    top: u32,
    axis: Axis,
}

impl Places {
    fn x(&self, value: f64) -> u32 {
        let x = self.axis.place(value, self.left, self.right);
        u32::try_from(x)
            .unwrap_or(self.left)
            .clamp(self.left, self.right)
    }
}

impl Chart<'_> {
    /// The chart, without a base's bars, bands and marks.
    pub(crate) fn svg(&self) -> String {
        let bars = || self.lanes.iter().flat_map(|lane| &lane.bars);
        let values: Vec<f64> = bars().map(|bar| bar.value).collect();
        let letters = |lengths: &mut dyn Iterator<Item = usize>| {
            LETTER * u32::try_from(lengths.max().unwrap_or(0)).unwrap_or(0)
        };
        let places = Places {
            left: EDGE + letters(&mut self.lanes.iter().map(|lane| lane.name.chars().count())),
            right: WIDTH - EDGE - letters(&mut bars().map(|bar| bar.text.chars().count())),
            top: EDGE + 2 * LINE + GAP,
            axis: match self.log {
                true => Axis::of_log_bars(&values),
                false => Axis::over(&values, true),
            },
        };
        let mut tops = vec![places.top];
        for lane in self.lanes {
            let bars = u32::try_from(lane.bars.len()).unwrap_or(0);
            tops.push(tops.last().unwrap_or(&0) + bars * BAR + GAP);
        }
        let bottom = tops.last().copied().unwrap_or(places.top);
        let height = bottom + LINE + EDGE;
        let svg = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {WIDTH} {height}")) role="img" {
                title { (plain(self.name)) }
                style { (STYLE) }
                rect.back width=(WIDTH) height=(height) {}
                text.title x=(EDGE) y=(EDGE + 13) {
                    (plain(self.name)) tspan.axis { " (" (places.axis.kind()) ")" }
                }
                (self.svg_keys(EDGE + LINE + 13))
                @for tick in places.axis.ticks() {
                    @let x = places.x(tick);
                    line.rule x1=(x) x2=(x) y1=(places.top) y2=(bottom) {}
                    text.tick x=(x) y=(bottom + 16) text-anchor="middle" { (axis::label(tick)) }
                }
                @for (lane, ends) in self.lanes.iter().zip(tops.windows(2)) {
                    text x=(places.left - GAP) y=((ends[0] + ends[1]) / 2 + 1) text-anchor="end" { (plain(&lane.name)) }
                    @for (top, bar) in (ends[0]..).step_by(BAR as usize).zip(&lane.bars) {
                        (svg_bar(bar, &places, top))
                    }
                }
            }
        };
        svg.into_string() + "\n"
    }

    fn svg_keys(&self, y: u32) -> Markup {
        let mut x = EDGE;
        let keys = self.keys.iter().map(|(fill, name)| {
            let here = x;
            x += LETTER * u32::try_from(name.chars().count()).unwrap_or(0) + 3 * GAP + 12;
            (here, *fill, name)
        });
        html! {
            @for (x, fill, name) in keys {
                rect class=(class(fill)) x=(x) y=(y - 11) width="12" height="12" rx="2" {}
                text x=(x + 12 + GAP) y=(y) { (plain(name)) }
            }
        }
    }
}

fn svg_bar(bar: &Bar, places: &Places, top: u32) -> Markup {
    let end = places.x(bar.value);
    html! {
        rect class=(class(bar.fill)) x=(places.left) y=(top) width=(end - places.left) height=(BAR - 2) rx="1" {
            title { (plain(&bar.detail)) }
        }
        text x=(end + 4) y=(top + BAR - 3) { (plain(&bar.text)) }
    }
}

fn class(fill: Fill) -> String {
    match fill {
        Fill::Platform(platform) => format!("bar h{}", platform % super::boots::HUES),
        Fill::Plain | Fill::Theirs | Fill::Before => "bar".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::chart::Lane;
    use super::*;

    #[test]
    fn bars_have_their_lengths_and_everything_fits_and_is_escaped() {
        let bar = |fill, value| Bar {
            fill,
            value,
            before: None,
            band: None,
            text: format!("{value}"),
            remark: None,
            detail: "a & b".into(),
        };
        let lane = |name: &str, values: [f64; 2]| Lane {
            name: name.into(),
            bars: vec![
                bar(Fill::Platform(0), values[0]),
                bar(Fill::Platform(7), values[1]),
            ],
        };
        let lanes = [lane("<one>", [10.0, 1000.0]), lane("two", [100.0, 1000.0])];
        let chart = Chart {
            name: "insns & more",
            log: true,
            lanes: &lanes,
            mark: None,
            keys: vec![(Fill::Platform(0), "<lab>".into())],
        };
        let svg = chart.svg();
        for part in [
            "(log axis)",
            "insns &amp; more",
            "&lt;one&gt;",
            "&lt;lab&gt;",
            "a &amp; b",
            "bar h1",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        let number = |rect: &str, name: &str| -> u32 {
            let at = rect.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
            rect[at..].split('"').next().unwrap().parse().unwrap()
        };
        let bars: Vec<&str> = svg.split("<rect class=\"bar").skip(2).collect();
        let ends: Vec<u32> = bars
            .iter()
            .map(|bar| number(bar, "x") + number(bar, "width"))
            .collect();
        assert_eq!(ends.len(), 4);
        // On a log axis a tenfold is the same length everywhere.
        let [ten, thousand, hundred, again] = ends[..] else {
            unreachable!()
        };
        assert!(
            thousand == again && (thousand - hundred).abs_diff(hundred - ten) <= 1,
            "{ends:?}"
        );
        assert!(thousand + LETTER * 4 <= WIDTH, "{ends:?}");
    }

    #[test]
    fn its_colours_are_those_of_the_page() {
        let page = include_str!("page.css");
        for hue in 0..6 {
            let name = format!("--h{hue}: ");
            let colours: Vec<&str> = page
                .match_indices(&name)
                .map(|(at, _)| &page[at + name.len()..][..7])
                .collect();
            assert_eq!(colours.len(), 2, "{hue} in light and dark");
            for colour in colours {
                assert!(
                    STYLE.contains(&format!(".h{hue}{{--h:{colour}}}")),
                    "{hue} {colour}"
                );
            }
        }
    }
}
