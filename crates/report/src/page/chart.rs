//! A chart of horizontal bars: lanes with a name, each with a bar for each platform. It is made of boxes and
//! text, not drawn, so that its letters keep their size on a narrow screen and a screen reader reads its values.

use super::axis::{self, Axis};
use super::boots::HUES;
use super::words::plain;
use maud::{Markup, html};

/// Most letters of a name beside its bars. On a narrow screen a longer name is above its bars.
const LONG: usize = 26;

/// How a bar is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// The colour of this platform.
    Platform(usize),
    /// No colour: the lane has the platform's name.
    Plain,
    /// Outlined: not measured here.
    Theirs,
    /// A thin bar below another: the base's.
    Before,
}

/// A bar.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    pub fill: Fill,
    pub value: f64,
    /// The base's value, a thin bar below.
    pub before: Option<f64>,
    /// The least and the greatest value.
    pub band: Option<[f64; 2]>,
    /// Text after the bar, and a remark on the bar with its class.
    pub text: String,
    pub remark: Option<(&'static str, String)>,
    /// Text of the bar's tooltip.
    pub detail: String,
}

/// A name with its bars below each other.
pub(crate) struct Lane {
    pub name: String,
    pub bars: Vec<Bar>,
}

/// The chart.
pub(crate) struct Chart<'a> {
    /// Quantity of the bars, with the unit.
    pub name: &'a str,
    /// Whether the axis is logarithmic; a linear one begins at zero.
    pub log: bool,
    pub lanes: &'a [Lane],
    /// A value to mark with a line across all lanes.
    pub mark: Option<f64>,
    /// Names of the fills, where a lane's name does not say it.
    pub keys: Vec<(Fill, String)>,
}

impl Bar {
    fn values(&self) -> impl Iterator<Item = f64> {
        let ends = self.band.into_iter().flatten();
        [self.value].into_iter().chain(self.before).chain(ends)
    }

    /// Returns the number of letters after the bar.
    fn letters(&self) -> usize {
        let remark = self.remark.as_ref();
        self.text.chars().count() + remark.map_or(0, |(_, text)| text.chars().count() + 1)
    }
}

impl Chart<'_> {
    fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.lanes.iter().flat_map(|lane| &lane.bars)
    }

    /// The chart; nothing without bars.
    pub(crate) fn markup(&self) -> Markup {
        let values: Vec<f64> = self.bars().flat_map(Bar::values).chain(self.mark).collect();
        let axis = match self.log {
            true => Axis::of_log_bars(&values),
            false => Axis::over(&values, true),
        };
        let share = |value: f64| f64::from(axis.place(value, 0, 1000)) / 10.0;
        let letters = self.bars().map(Bar::letters).max().unwrap_or(0);
        let most = self.lanes.iter().map(|lane| lane.bars.len()).max();
        let is_long = |lane: &Lane| lane.name.chars().count() > LONG;
        let long = self.lanes.iter().any(is_long);
        let both = self.bars().any(|bar| bar.before.is_some());
        let ticks = axis.ticks();
        html! {
            @if !values.is_empty() {
                figure.chart.long[long].both[both].dense[most > Some(2)].fine[ticks.len() > 4] style={ "--room:" (letters + 1) "ch" } {
                    figcaption { (plain(self.name)) " " span.axis { "(" (axis.kind()) ")" } }
                    (keys(&self.keys))
                    div.lanes {
                        div.rules aria-hidden="true" {
                            @for &tick in &ticks { i style={ "left:" (share(tick)) "%" } {} }
                            @if let Some(mark) = self.mark { i.mark style={ "left:" (share(mark)) "%" } {} }
                        }
                        @for lane in self.lanes { (lane.markup(&share)) }
                        div.ticks aria-hidden="true" {
                            @for &tick in &ticks { span style={ "left:" (share(tick)) "%" } { (axis::label(tick)) } }
                        }
                    }
                }
            }
        }
    }
}

impl Lane {
    fn markup(&self, share: &dyn Fn(f64) -> f64) -> Markup {
        html! {
            div.name { (plain(&self.name)) }
            div.bars { @for bar in &self.bars { (bar.markup(share)) } }
        }
    }
}

impl Bar {
    fn markup(&self, share: &dyn Fn(f64) -> f64) -> Markup {
        let ends = self
            .band
            .map_or(self.value, |[_, high]| high.max(self.value));
        html! {
            div class={ "bar " (class(self.fill)) } data-t=(plain(&self.detail)) {
                i style={ "width:" (share(self.value)) "%" } {}
                @if let Some(before) = self.before { s style={ "width:" (share(before)) "%" } {} }
                @if let Some([low, high]) = self.band {
                    u style={ "left:" (share(low)) "%;width:" (format!("{:.1}", share(high) - share(low))) "%" } {}
                }
                b style={ "left:" (share(ends)) "%" } {
                    (plain(&self.text))
                    @if let Some((class, remark)) = &self.remark { " " span class=(class) { (plain(remark)) } }
                }
            }
        }
    }
}

fn class(fill: Fill) -> String {
    match fill {
        Fill::Platform(platform) => format!("h{}", platform % HUES),
        Fill::Plain => String::new(),
        Fill::Theirs => "theirs".into(),
        Fill::Before => "before".into(),
    }
}

/// Renders the names of the fills; nothing if there are none.
fn keys(keys: &[(Fill, String)]) -> Markup {
    html! {
        @if !keys.is_empty() {
            p.keys { @for (fill, name) in keys {
                span class=(class(*fill)) { i.box {} (plain(name)) }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(fill: Fill, value: f64) -> Bar {
        Bar {
            fill,
            value,
            before: None,
            band: None,
            text: format!("<{value}>"),
            remark: None,
            detail: "a & b".into(),
        }
    }

    #[test]
    fn bars_have_their_lengths_names_and_kind_of_axis() {
        let lanes = [Lane {
            name: "<one>".into(),
            bars: vec![
                Bar {
                    before: Some(5.0),
                    remark: Some(("worse", "+5".into())),
                    ..bar(Fill::Platform(HUES + 1), 10.0)
                },
                bar(Fill::Theirs, 20.0),
            ],
        }];
        let chart = |log| Chart {
            name: "insns & more",
            log,
            lanes: &lanes,
            mark: None,
            keys: vec![(Fill::Platform(1), "<lab>".into())],
        };
        let linear = chart(false).markup().into_string();
        for part in [
            "insns &amp; more",
            "(linear axis)",
            "&lt;one&gt;",
            "&lt;lab&gt;",
            "data-t=\"a &amp; b\"",
            "class=\"bar h1\"",
            "class=\"bar theirs\"",
            "<span class=\"worse\">+5</span>",
        ] {
            assert!(linear.contains(part), "no {part} in {linear}");
        }
        let length = |page: &str, tag: &str| -> f64 {
            let from = page
                .split(&format!("<{tag} style=\"width:"))
                .nth(1)
                .unwrap();
            from[..from.find('%').unwrap()].parse().unwrap()
        };
        let (now, before) = (length(&linear, "i"), length(&linear, "s"));
        assert!((now - 2.0 * before).abs() < 0.2, "{now} {before}");
        let log = chart(true).markup().into_string();
        assert!(log.contains("(log axis)"));
        assert!(length(&log, "s") > 0.6 * length(&log, "i"));
        let none = Chart {
            lanes: &[],
            ..chart(true)
        };
        assert_eq!(none.markup().into_string(), "");
    }
}
