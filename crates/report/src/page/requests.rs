//! The view of paravirtual I/O in the lab: exits of one request by reason, and its instructions, by
//! device. See [`crate::Requests`].

use super::bars::{Bar, Bars, Fill, Group, keys};
use super::text_table::text_table;
use super::words::plain;
use crate::reference::Reference;
use crate::requests::{IoLine, REASONS, Requests};
use crate::unit_of_work::{insns, two};
use maud::{Markup, html};
use ws_results::ResultFile;

/// The view; empty if no result has such a row.
pub(crate) fn requests(
    reference: &Reference,
    results: &[ResultFile],
    platforms: &[&str],
) -> Markup {
    if !Requests::concerns(results) {
        return html! {};
    }
    let requests = Requests::of(results, reference);
    let below = requests.below();
    html! {
        section #requests {
            h2 { "One I/O request of a VM, by device" }
            p {
                "What ELVIS (2013) changed: a server that polls needs no kick, and a request no exit for it. d1, d8: "
                "so many requests outstanding; busy: a vCPU that never halts."
            }
            div.cards {
                (card(&requests, platforms, &EXITS))
                (card(&requests, platforms, &INSNS))
            }
            (text_table("one I/O request, by device", &requests.sheet()))
            ul.legend { @for text in &below { li { (plain(text)) } } }
        }
    }
}

/// What is drawn of each row.
struct Figure {
    title: &'static str,
    axis: &'static str,
    bar: fn(&IoLine, Option<usize>) -> Option<Bar>,
    /// Whether bars are stacked by reason, or coloured by platform.
    by_reason: bool,
}

const EXITS: Figure = Figure {
    title: "exits of one request, by reason",
    axis: "exits for one request (linear axis)",
    bar: exits,
    by_reason: true,
};

const INSNS: Figure = Figure {
    title: "instructions of one request, all CPUs together",
    axis: "insns for one request (linear axis)",
    bar: instructions,
    by_reason: false,
};

/// Exits for reasons without a colour of their own.
const OTHER: (&str, Fill) = ("other", Fill::Hue(7));

fn exits(line: &IoLine, platform: Option<usize>) -> Option<Bar> {
    let reasons = REASONS.iter().enumerate();
    let mut parts: Vec<(Fill, f64)> = reasons
        .filter_map(|(hue, (_, reason))| Some((Fill::Hue(hue), line.exits_by(reason)?)))
        .collect();
    parts.extend(line.other_exits().map(|count| (OTHER.1, count)));
    let sum: f64 = parts.iter().map(|(_, count)| count).sum();
    // Without reasons, all exits are others.
    if parts.is_empty() {
        parts.push((OTHER.1, line.exits()?));
    }
    let text = two(line.exits().unwrap_or(sum));
    Some(Bar {
        parts,
        band: None,
        text,
        platform,
    })
}

fn instructions(line: &IoLine, platform: Option<usize>) -> Option<Bar> {
    let count = line.insns.filter(|count| count.is_finite())?;
    Some(Bar {
        parts: vec![(Fill::Hue(platform.unwrap_or(0)), count.max(0.0))],
        band: line.band.filter(|[low, high]| low < high),
        text: insns(count),
        platform,
    })
}

/// The rows as groups: one for each device, depth and vCPU, with a bar for each platform.
fn groups(requests: &Requests, platforms: &[&str], figure: &Figure) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for line in &requests.lines {
        let platform = platforms.iter().position(|name| *name == line.platform);
        let Some(bar) = (figure.bar)(line, platform) else {
            continue;
        };
        let busy = if line.row.busy { " busy" } else { "" };
        let name = format!("{} d{}{busy}", line.row.device, line.row.depth);
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.bars.push(bar),
            None => groups.push(Group {
                name,
                bars: vec![bar],
            }),
        }
    }
    groups
}

fn card(requests: &Requests, platforms: &[&str], figure: &Figure) -> Markup {
    let groups = groups(requests, platforms, figure);
    if groups.is_empty() {
        return html! {};
    }
    let measured = |platform: &str| requests.lines.iter().any(|line| line.platform == platform);
    let by_platform = platforms
        .iter()
        .enumerate()
        .filter(|(_, name)| measured(name));
    let by_platform = by_platform.map(|(index, name)| (Fill::Hue(index), *name, Some(index)));
    let reasons = REASONS.iter().enumerate();
    let reasons = reasons.map(|(hue, (head, _))| (Fill::Hue(hue), *head, None));
    let by_reason = reasons.chain([(OTHER.1, OTHER.0, None)]);
    html! {
        div.card.wide {
            h3 { (figure.title) }
            (Bars {
                name: &format!("{}, by device; the table below has the values", figure.title),
                axis: figure.axis,
                groups: &groups,
                mark: None,
            }.draw())
            @if figure.by_reason { (keys(by_reason)) } @else { (keys(by_platform)) }
        }
    }
}
