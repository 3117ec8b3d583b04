//! The view of applications, after Figure 4 of Dall et al. (2015): the cost of a unit of work in a VM
//! relative to the native one, with the paper's beside. See [`crate::Apps`].

use super::bars::{Bar, Bars, Fill, Group, keys};
use super::text_table::text_table;
use super::words::plain;
use crate::apps::{App, AppLine, Apps};
use crate::reference::Reference;
use crate::unit_of_work::two;
use maud::{Markup, html};
use ws_results::ResultFile;

/// The paper's bars, in the key.
const DALL: &str = "Dall et al. 2015, KVM on x86: time, from Table 5";

/// The view; empty if no result has a workload.
pub(crate) fn apps(reference: &Reference, results: &[ResultFile], platforms: &[&str]) -> Markup {
    if !Apps::concerns(results) {
        return html! {};
    }
    let apps = Apps::of(results, reference);
    let groups: Vec<Group> = apps
        .workloads
        .iter()
        .map(|app| group(app, platforms))
        .collect();
    let groups: Vec<Group> = groups
        .into_iter()
        .filter(|group| !group.bars.is_empty())
        .collect();
    html! {
        section #apps {
            h2 { "Applications (Dall et al., Figure 4)" }
            @if groups.is_empty() {
                p.absent {
                    "Not drawn: it takes results of lab:linux, to which ratios relate, and of a VM, as "
                    code { "worldswitch apps" } " measures them."
                }
            } @else {
                (figure(&apps, &groups, platforms))
            }
            @for block in apps.blocks() {
                (text_table(block.title.unwrap_or("a unit of work"), &block.sheet))
                ul.legend { @for text in &block.below { li { (plain(text)) } } }
            }
        }
    }
}

fn figure(apps: &Apps, groups: &[Group], platforms: &[&str]) -> Markup {
    let name = "instructions of one unit of work in a VM relative to native, by workload";
    let has_ratio = |platform: &str| {
        let mut lines = apps.workloads.iter().flat_map(|app| &app.lines);
        lines.any(|line| line.platform == platform && line.ratio.is_some())
    };
    let ours = platforms
        .iter()
        .enumerate()
        .filter(|(_, platform)| has_ratio(platform));
    let ours = ours.map(|(index, platform)| (Fill::Hue(index), *platform, Some(index)));
    html! {
        p {
            "A bar at 1 is as fast as native; shorter is better. Ours are ratios of instructions of client, server and "
            "hypervisor together, Dall's of time, where client and server were two machines. The thin line in a bar is "
            "its band."
        }
        div.cards { div.card.wide {
            (Bars {
                name: &format!("{name}; the table below has the values"),
                axis: "relative to native (linear axis)",
                groups,
                mark: Some(1.0),
            }.draw())
            (keys(ours.chain([(Fill::Outlined, DALL, None)])))
        } }
    }
}

/// A bar for each platform with a ratio, and the paper's.
fn group(app: &App, platforms: &[&str]) -> Group {
    let ours = app.lines.iter().filter_map(|line| ours(line, platforms));
    let mut bars: Vec<Bar> = ours.collect();
    let published = app.lines.iter().find_map(|line| line.published);
    if !bars.is_empty() {
        bars.extend(published.map(|ratio| Bar {
            parts: vec![(Fill::Outlined, ratio)],
            band: None,
            text: two(ratio),
            platform: None,
        }));
    }
    Group {
        name: app.workload.clone(),
        bars,
    }
}

fn ours(line: &AppLine, platforms: &[&str]) -> Option<Bar> {
    let ratio = line.ratio.filter(|ratio| ratio.is_finite())?;
    let platform = platforms.iter().position(|name| *name == line.platform)?;
    Some(Bar {
        parts: vec![(Fill::Hue(platform), ratio)],
        band: line.ratio_band.filter(|[low, high]| low < high),
        text: two(ratio),
        platform: Some(platform),
    })
}
