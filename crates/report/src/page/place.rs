//! The view of placements: the share of their speeds that a host and its VM keep on chosen CPUs, as a picture of each
//! kind of work, and the speeds as tables with coloured cells, ours and the paper's. See [`crate::Placement`].

use super::heat::{Heat, share};
use super::lead::{Lead, View};
use super::text_table::text_table;
use super::words::plain;
use crate::place::{Placed, PlacedCell, Placement, Rates, rate};
use crate::reference::Reference;
use maud::{Markup, html};
use ws_results::ResultFile;

/// The view; empty if no result has a placement. `led`: whether the page opened with one of its figures.
pub(crate) fn place(reference: &Reference, results: &[ResultFile], led: bool) -> Markup {
    if !Placement::concerns(results) {
        return html! {};
    }
    let placement = Placement::of(results, reference);
    let first = placement.widest().filter(|_| led);
    html! {
        section #place {
            h2 { "Host and VM on chosen CPUs (Rasmusson and Corcoran, Figure 4)" }
            @for kind in &placement.kinds {
                h3 { (plain(&kind.title())) }
                @if first != Some(kind) { (figure(kind)) }
                (speeds(kind))
                (text_table(&kind.title(), &kind.sheet()))
                ul.legend { @for text in &kind.said() { li { (plain(text)) } } }
            }
            ul.legend { @for text in placement.legend() { li { (text) } } }
        }
    }
}

/// The opening: the best and the worst placement of the work for which it matters most.
pub(crate) fn lead(reference: &Reference, results: &[ResultFile]) -> Option<Lead> {
    let placement = Placement::of(results, reference);
    let kind = placement.widest()?;
    Some(Lead {
        sentence: format!("{}: {}", kind.kind, kind.extremes()?),
        figure: figure(kind),
        of: View::Place,
    })
}

/// CPUs of the host and of the VM, each once, in the order of placements.
fn spots(kind: &Placed) -> (Vec<String>, Vec<String>) {
    let (mut hosts, mut vms) = (Vec::new(), Vec::new());
    for cell in &kind.cells {
        for (all, spot) in [(&mut hosts, cell.at.host()), (&mut vms, cell.at.vm())] {
            let spot = spot.to_string();
            if !all.contains(&spot) {
                all.push(spot);
            }
        }
    }
    (hosts, vms)
}

/// The placement with these CPUs.
fn at<'a>(kind: &'a Placed, host: &str, vm: &str) -> Option<&'a PlacedCell> {
    let is_it =
        |cell: &&PlacedCell| cell.at.host().to_string() == host && cell.at.vm().to_string() == vm;
    kind.cells.iter().find(is_it)
}

/// Selects the shares that both sides keep at a placement, as far as they are known.
type Keeps = fn(&PlacedCell) -> [Option<f64>; 2];

/// Draws the shares that both sides keep, and the paper's.
fn figure(kind: &Placed) -> Markup {
    let (hosts, vms) = spots(kind);
    let theirs: Keeps = |cell| match &cell.published {
        Some(paper) => [paper.host_kept, paper.guest_kept],
        None => [None, None],
    };
    let published = kind.cells.iter().any(|cell| theirs(cell) != [None, None]);
    let picture = |keeps: Keeps, whose: &str| {
        let cell = |host: &str, vm: &str| {
            let values = keeps(at(kind, host, vm)?);
            (values != [None, None]).then_some(values)
        };
        let name = format!(
            "{} on {}{whose}: what host and VM keep of their speed alone while both work",
            kind.kind, kind.platform
        );
        html! {
            figcaption { (plain(&name)) }
            div.scroll tabindex="0" role="region" aria-label=(plain(&name)) { (Heat {
                name: &name,
                down: ("host CPU", &hosts),
                across: ("VM CPU", &vms),
                halves: ["host", "VM"],
                cell: &cell,
            }.draw()) }
        }
    };
    html! {
        figure.heat.h0 { (picture(|cell| [cell.host_kept, cell.guest_kept], "")) }
        @if published { figure.heat { (picture(theirs, ", the paper's")) } }
    }
}

/// Selects the speeds of a placement: alone or together, ours or the paper's.
type Speeds = for<'a> fn(&'a PlacedCell) -> Option<&'a Rates>;

/// Speeds of both sides alone and together; below them the paper's.
fn speeds(kind: &Placed) -> Markup {
    let published = kind.cells.iter().any(|cell| cell.published.is_some());
    html! {
        details {
            summary { "Speeds by placement" @if published { ", and the paper's in MB/s" } }
            div.heat.h0 { (maps(kind, |cell| Some(&cell.alone), |cell| Some(&cell.both))) }
            @if published {
                p { "The paper's, in MB/s:" }
                div.heat { (maps(
                    kind,
                    |cell| Some(&cell.published.as_ref()?.alone),
                    |cell| Some(&cell.published.as_ref()?.both),
                )) }
            }
        }
    }
}

/// A map: its name, and the speed at each placement.
struct Map {
    name: &'static str,
    speeds: Speeds,
    side: fn(&Rates) -> Option<f64>,
}

/// Renders the four maps. Both maps of a side have one scale.
fn maps(kind: &Placed, alone: Speeds, both: Speeds) -> Markup {
    let map = |name, speeds, side| Map { name, speeds, side };
    let host = |rates: &Rates| rates.host_per_s;
    let guest = |rates: &Rates| rates.guest_per_s;
    let sides = [
        [
            map("host alone", alone, host),
            map("host, both at work", both, host),
        ],
        [
            map("VM alone", alone, guest),
            map("VM, both at work", both, guest),
        ],
    ];
    html! { div.maps {
        @for side in &sides {
            @let speeds = side.iter().flat_map(|map| kind.cells.iter().filter_map(|cell| map.speed(cell)));
            @let most = speeds.fold(0.0, f64::max);
            @for map in side { (map.markup(kind, most)) }
        }
    } }
}

impl Map {
    fn speed(&self, cell: &PlacedCell) -> Option<f64> {
        (self.speeds)(cell).and_then(self.side)
    }

    /// Renders the map; nothing if there is no speed.
    fn markup(&self, kind: &Placed, most: f64) -> Markup {
        let (hosts, vms) = spots(kind);
        html! {
            @if kind.cells.iter().any(|cell| self.speed(cell).is_some()) {
                table {
                    caption { (self.name) }
                    thead { tr {
                        th scope="col" { "host \\ VM" }
                        @for vm in &vms { th scope="col" { (plain(vm)) } }
                    } }
                    tbody {
                        @for host in &hosts {
                            tr {
                                th scope="row" { (plain(host)) }
                                @for vm in &vms {
                                    @match at(kind, host, vm).and_then(|cell| self.speed(cell)) {
                                        Some(speed) => td style=(share(Some(speed / most))) { (rate(Some(speed))) },
                                        None => td.none {},
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
