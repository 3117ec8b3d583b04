//! The view of paravirtual I/O in the lab: instructions and exits of one request, by device. See
//! [`crate::Requests`].

use super::chart::{Bar, Chart, Fill, Lane};
use super::lead::{Lead, View};
use super::text_table::text_table;
use super::words::plain;
use crate::reference::Reference;
use crate::requests::{IoLine, Requests};
use crate::unit_of_work::{insns, two};
use maud::{Markup, html};
use ws_results::ResultFile;

/// The view; empty if no result has such a row. `led`: whether the page opened with its figure.
pub(crate) fn requests(
    reference: &Reference,
    results: &[ResultFile],
    platforms: &[&str],
    led: bool,
) -> Markup {
    if !Requests::concerns(results) {
        return html! {};
    }
    let requests = Requests::of(results, reference);
    let figure = (!led).then(|| figure(&requests, platforms));
    html! {
        section #requests {
            h2 { "One I/O request of a VM, by device" }
            @if let Some(figure) = figure { (figure) }
            (text_table("One I/O request, by device: instructions, and exits by reason", &requests.sheet()))
            ul.legend { @for text in requests.below() { li { (plain(&text)) } } }
        }
    }
}

/// The opening: the cheapest and the costliest way to serve a disk.
pub(crate) fn lead(
    reference: &Reference,
    results: &[ResultFile],
    platforms: &[&str],
) -> Option<Lead> {
    let requests = Requests::of(results, reference);
    let lines = plainest(&requests);
    let first = lines.first()?;
    let alike = lines.iter().filter(|line| kind(line) == kind(first));
    let mut alike: Vec<&IoLine> = alike.copied().collect();
    alike.sort_by(|a, b| a.insns.unwrap_or(0.0).total_cmp(&b.insns.unwrap_or(0.0)));
    let (least, most) = (alike.first()?, alike.last()?);
    let takes = |line: &IoLine| {
        let exits = line
            .exits()
            .map(|exits| format!(" and {} exits", two(exits)));
        let count = insns(line.insns.unwrap_or_default());
        format!("{count} instructions{}", exits.unwrap_or_default())
    };
    let other = match least.benchmark == most.benchmark && least.platform == most.platform {
        true => String::new(),
        false => format!("; by {} it takes {}", server(most, least), takes(most)),
    };
    Some(Lead {
        sentence: format!(
            "One {} request served by {} takes {}{other}.",
            kind(least),
            server(least, most),
            takes(least)
        ),
        figure: figure(&requests, platforms),
        of: View::Requests,
    })
}

/// Returns the lines with instructions of a vCPU that sleeps, if there are any, and among these of the fewest requests
/// at a time.
fn plainest(requests: &Requests) -> Vec<&IoLine> {
    let counted = || {
        requests
            .lines
            .iter()
            .filter(|line| line.insns.is_some_and(f64::is_finite))
    };
    let usage = |line: &IoLine| (line.row.busy, line.row.depth);
    let Some(least) = counted().map(usage).min() else {
        return Vec::new();
    };
    counted().filter(|line| usage(line) == least).collect()
}

/// Returns the kind of a device: `virtio-blk`.
fn kind(line: &IoLine) -> &str {
    line.row
        .served()
        .split(", ")
        .next()
        .filter(|kind| !kind.is_empty())
        .unwrap_or("I/O")
}

/// Returns the server of a device, with its platform if `other` has another one.
fn server(line: &IoLine, other: &IoLine) -> String {
    let by = line
        .row
        .served()
        .split(", ")
        .nth(1)
        .unwrap_or(&line.row.device);
    match line.platform == other.platform {
        true => by.to_owned(),
        false => format!("{by} in {}", line.platform),
    }
}

fn figure(requests: &Requests, platforms: &[&str]) -> Markup {
    let lines = plainest(requests);
    let mut lanes: Vec<Lane> = Vec::new();
    for line in &lines {
        let name = match line.row.served() {
            "" => line.row.device.clone(),
            served => served.to_owned(),
        };
        let bar = bar(line, platforms);
        match lanes.iter_mut().find(|lane| lane.name == name) {
            Some(lane) => lane.bars.push(bar),
            None => lanes.push(Lane {
                name,
                bars: vec![bar],
            }),
        }
    }
    let (depth, busy) = lines
        .first()
        .map_or((1, false), |line| (line.row.depth, line.row.busy));
    let name = format!(
        "Instructions of one request, all CPUs together, and exits; {depth} at a time{}",
        if busy { ", with a busy vCPU" } else { "" }
    );
    let here = platforms.iter().enumerate();
    let here = here.filter(|(_, name)| lines.iter().any(|line| line.platform == **name));
    let chart = Chart {
        name: &name,
        log: false,
        lanes: &lanes,
        mark: None,
        keys: here
            .map(|(index, name)| (Fill::Platform(index), (*name).to_owned()))
            .collect(),
    };
    chart.markup()
}

fn bar(line: &IoLine, platforms: &[&str]) -> Bar {
    let platform = platforms.iter().position(|name| *name == line.platform);
    let value = line.insns.unwrap_or_default().max(0.0);
    let exits = line.exits().map(|exits| format!("{} exits", two(exits)));
    let mut reasons: Vec<(&String, &f64)> = line.reasons.iter().collect();
    reasons.sort_by(|a, b| b.1.total_cmp(a.1));
    let reasons: Vec<String> = reasons
        .iter()
        .map(|(reason, count)| format!("{reason} {}", two(**count)))
        .filter(|text| !text.ends_with(" 0.00"))
        .collect();
    let text = insns(value);
    Bar {
        fill: platform.map_or(Fill::Plain, Fill::Platform),
        value,
        before: None,
        band: line.band.filter(|[low, high]| low < high),
        detail: format!(
            "{}, {}: {text} instructions; exits by reason: {}",
            line.benchmark,
            line.platform,
            reasons.join(", ")
        ),
        text,
        remark: exits.map(|exits| ("dim", exits)),
    }
}
