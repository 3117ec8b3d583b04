//! The view of placements: heat maps of a host and its VM at work on chosen CPUs, ours and the paper's. See
//! [`crate::Placement`].
//!
//! A map is a table with coloured cells, as charts here are boxes and text: its letters keep their size on a narrow
//! screen, and a screen reader reads its values.

use super::lead::{Lead, View};
use super::text_table::text_table;
use super::words::plain;
use crate::place::{Placed, PlacedCell, Placement, Rates, rate};
use crate::reference::Reference;
use maud::{Markup, html};
use ws_results::ResultFile;

/// How much of the colour a cell of the greatest speed has.
const FULL_PERCENT: f64 = 55.0;

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

/// A map: its name, and the speed at each placement.
struct Map<'a> {
    name: &'static str,
    speed: &'a dyn Fn(&PlacedCell) -> Option<f64>,
}

/// Maps of both sides alone and together; below them the paper's.
fn figure(kind: &Placed) -> Markup {
    let theirs = |cell: &PlacedCell, of: fn(&PlacedCell) -> Option<&Rates>| of(cell).cloned();
    let published = kind.cells.iter().any(|cell| cell.published.is_some());
    let alone = |cell: &PlacedCell| Some(cell.alone.clone());
    let both = |cell: &PlacedCell| Some(cell.both.clone());
    let their_alone = |cell: &PlacedCell| theirs(cell, |c| Some(&c.published.as_ref()?.alone));
    let their_both = |cell: &PlacedCell| theirs(cell, |c| Some(&c.published.as_ref()?.both));
    html! {
        figure.heat.h0 {
            figcaption { (plain(&kind.title())) ", by CPU of the host (down) and of the VM (across)" }
            (maps(kind, &alone, &both))
        }
        @if published {
            figure.heat {
                figcaption { "the paper's, in MB/s" }
                (maps(kind, &their_alone, &their_both))
            }
        }
    }
}

/// The four maps. Those of a side have one scale.
fn maps(
    kind: &Placed,
    alone: &dyn Fn(&PlacedCell) -> Option<Rates>,
    both: &dyn Fn(&PlacedCell) -> Option<Rates>,
) -> Markup {
    let host = |rates: Option<Rates>| rates?.host_per_s;
    let guest = |rates: Option<Rates>| rates?.guest_per_s;
    let of_host = [
        Map {
            name: "host alone",
            speed: &|cell| host(alone(cell)),
        },
        Map {
            name: "host, both at work",
            speed: &|cell| host(both(cell)),
        },
    ];
    let of_guest = [
        Map {
            name: "VM alone",
            speed: &|cell| guest(alone(cell)),
        },
        Map {
            name: "VM, both at work",
            speed: &|cell| guest(both(cell)),
        },
    ];
    html! { div.maps {
        @for side in [of_host, of_guest] {
            @let speeds = side.iter().flat_map(|map| kind.cells.iter().filter_map(map.speed));
            @let most = speeds.fold(0.0, f64::max);
            @for map in &side { (map.markup(kind, most)) }
        }
    } }
}

impl Map<'_> {
    /// Nothing if there is no speed.
    fn markup(&self, kind: &Placed, most: f64) -> Markup {
        let mut hosts: Vec<String> = Vec::new();
        let mut vms: Vec<String> = Vec::new();
        for cell in &kind.cells {
            for (all, spot) in [(&mut hosts, cell.at.host()), (&mut vms, cell.at.vm())] {
                let spot = spot.to_string();
                if !all.contains(&spot) {
                    all.push(spot);
                }
            }
        }
        let at = |host: &String, vm: &String| {
            let is_it = |cell: &&PlacedCell| {
                cell.at.host().to_string() == *host && cell.at.vm().to_string() == *vm
            };
            let mut found = kind.cells.iter().filter(is_it);
            found.next().and_then(self.speed)
        };
        let share = |speed: f64| format!("{:.0}%", speed / most * FULL_PERCENT);
        html! {
            @if kind.cells.iter().any(|cell| (self.speed)(cell).is_some()) {
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
                                    @match at(host, vm) {
                                        Some(speed) => td style={ "--share:" (share(speed)) } { (rate(Some(speed))) },
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
