//! The view of applications, after Figure 4 of Dall et al. (2015): the cost of a unit of work in a VM
//! relative to the native one, with the paper's beside. See [`crate::Apps`].

use super::chart::{Bar, Chart, Fill, Lane};
use super::lead::{Lead, View};
use super::text_table::text_table;
use super::words::plain;
use crate::apps::{App, AppLine, Apps};
use crate::reference::Reference;
use crate::unit_of_work::two;
use maud::{Markup, html};
use ws_results::ResultFile;

/// The paper's bars, in the key.
const DALL: &str = "Dall et al. 2015: time, from Table 5";

/// The view; empty if no result has a workload. `led`: whether the page opened with its figure.
pub(crate) fn apps(
    reference: &Reference,
    results: &[ResultFile],
    platforms: &[&str],
    led: bool,
) -> Markup {
    if !Apps::concerns(results) {
        return html! {};
    }
    let apps = Apps::of(results, reference);
    let figure = (!led).then(|| figure(&apps, platforms));
    html! {
        section #apps {
            h2 { "Applications (Dall et al., Figure 4)" }
            @if let Some(figure) = figure { (figure) }
            @for block in apps.blocks() {
                (text_table(block.title.unwrap_or("a unit of work"), &block.sheet))
                ul.legend { @for text in &block.below { li { (plain(text)) } } }
            }
        }
    }
}

/// The opening: the workloads that a VM makes most and least costly.
pub(crate) fn lead(
    reference: &Reference,
    results: &[ResultFile],
    platforms: &[&str],
) -> Option<Lead> {
    let apps = Apps::of(results, reference);
    let of = |app: &'_ App| {
        let lines = app.lines.iter();
        let ratios = lines.filter_map(|line| Some((finite(line)?, line.platform.clone())));
        ratios
            .map(|(ratio, platform)| (ratio, platform, app.name()))
            .collect::<Vec<_>>()
    };
    let mut ratios: Vec<(f64, String, String)> = apps.workloads.iter().flat_map(of).collect();
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (least, most) = (ratios.first()?, ratios.last()?);
    let less = match ratios.len() {
        1 => String::new(),
        _ => format!(", {} {} times", least.2, two(least.0)),
    };
    Some(Lead {
        sentence: format!(
            "In {} {} takes {} times the native instructions{less}.",
            most.1,
            most.2,
            two(most.0)
        ),
        figure: figure(&apps, platforms),
        of: View::Apps,
    })
}

fn finite(line: &AppLine) -> Option<f64> {
    line.ratio.filter(|ratio| ratio.is_finite())
}

/// A lane for each workload with a ratio; empty without.
fn figure(apps: &Apps, platforms: &[&str]) -> Markup {
    let lanes = apps.workloads.iter().map(|app| lane(app, platforms));
    let lanes: Vec<Lane> = lanes.filter(|lane| !lane.bars.is_empty()).collect();
    let has_ratio = |platform: &str| {
        let mut lines = apps.workloads.iter().flat_map(|app| &app.lines);
        lines.any(|line| line.platform == platform && line.ratio.is_some())
    };
    let ours = platforms
        .iter()
        .enumerate()
        .filter(|(_, name)| has_ratio(name));
    let ours = ours.map(|(index, name)| (Fill::Platform(index), (*name).to_owned()));
    let chart = Chart {
        name: "Instructions of one unit of work in a VM relative to native; shorter is better",
        log: false,
        lanes: &lanes,
        mark: Some(1.0),
        keys: ours.chain([(Fill::Theirs, DALL.to_owned())]).collect(),
    };
    html! {
        @if !lanes.is_empty() {
            (chart.markup())
            p.legend {
                "Ours are ratios of instructions of client, server and hypervisor together, Dall's of time, where client "
                "and server were two machines. The thin line in a bar is its band."
            }
        }
    }
}

/// A bar for each platform with a ratio, and the paper's of the same setups.
fn lane(app: &App, platforms: &[&str]) -> Lane {
    let ours = app.lines.iter().filter_map(|line| ours(line, platforms));
    let mut bars: Vec<Bar> = ours.collect();
    let published = app.lines.iter().filter_map(theirs);
    if !bars.is_empty() {
        bars.extend(published);
    }
    Lane {
        name: app.workload.clone(),
        bars,
    }
}

fn theirs(line: &AppLine) -> Option<Bar> {
    let (ratio, setup) = line.published.zip(line.published_setup)?;
    Some(Bar {
        fill: Fill::Theirs,
        value: ratio,
        before: None,
        band: None,
        text: two(ratio),
        remark: Some(("note", setup.to_owned())),
        detail: format!("{DALL}, {setup}"),
    })
}

fn ours(line: &AppLine, platforms: &[&str]) -> Option<Bar> {
    let ratio = finite(line)?;
    let platform = platforms.iter().position(|name| *name == line.platform)?;
    Some(Bar {
        fill: Fill::Platform(platform),
        value: ratio,
        before: None,
        band: line.ratio_band.filter(|[low, high]| low < high),
        text: two(ratio),
        remark: None,
        detail: format!(
            "{}: {} times the native instructions",
            line.platform,
            two(ratio)
        ),
    })
}
