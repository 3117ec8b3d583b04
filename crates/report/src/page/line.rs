//! Draws one benchmark's values in order as a standalone SVG, for documents.

use super::plot::{Lane, Plot};
use maud::html;

/// Replaces the page's style sheet in a standalone drawing, for light and dark.
const STYLE: &str = "svg{color:#1b1f24;--h:#0550ae;background:#fff}\
    @media(prefers-color-scheme:dark){svg{color:#e6edf3;--h:#79c0ff;background:#0d1117}}\
    .name{font:12.5px system-ui,sans-serif;fill:currentColor}circle{fill:var(--h)}\
    .tick{font:13px system-ui,sans-serif;fill:currentColor}.axis{stroke:currentColor;stroke-opacity:.6}\
    .rule{stroke:currentColor;stroke-opacity:.15}.line{fill:none;stroke:var(--h);stroke-opacity:.5}";

/// An SVG of values, the first at the top, joined by a line.
pub fn line(name: &str, unit: &str, values: &[(String, f64)]) -> String {
    const LANE: u32 = 18;
    let plot = Plot {
        name,
        axis: name,
        lanes: values
            .iter()
            .map(|(name, _)| Lane {
                name,
                platform: None,
                height: LANE,
            })
            .collect(),
        values: values.iter().map(|(_, value)| *value).collect(),
        from_zero: false,
        mark: None,
    };
    let svg = plot.draw(|place, tops| {
        let at = |((_, value), top): (&(String, f64), &u32)| (place(*value), top + LANE / 2);
        let points: Vec<(i32, u32)> = values.iter().zip(tops).map(at).collect();
        let joined: Vec<String> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
        html! {
            style { (STYLE) }
            polyline.line points=(joined.join(" ")) {}
            @for ((x, y), (_, value)) in points.iter().zip(values) {
                circle cx=(x) cy=(y) r="4" { title { (crate::number::value(*value, unit)) } }
            }
        }
    });
    let svg = svg.into_string();
    svg.replacen("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 1) + "\n"
}
