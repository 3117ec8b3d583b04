//! Numbers that Rasmusson and Corcoran published. Their MB/s are those of a machine of 2013: only ratios are compared.

use super::{PlaceKind, Places, PublishedCell, Rates, Spot, ratio};
use crate::reference::{Reference, Value};

const PAPER: &str = "rasmusson-2013";

/// The paper's numbers.
pub(super) struct Paper<'a> {
    values: Vec<&'a Value>,
}

/// Returns the paper's name of CPUs. Its machine has two: the first, the second, both.
fn cores(spot: &Spot) -> Option<&'static str> {
    match (&*spot.work, &spot.serve) {
        ("0", None) => Some("0"),
        ("1", None) => Some("1"),
        ("0-1" | "0,1", None) => Some("0, 1"),
        _ => None,
    }
}

/// Returns the columns of Figure 4 for one sender and for two. For vebox, the paper's host, there is no column of one
/// sender. The paper's stbox is another machine; our second VM takes its place.
fn columns(kind: PlaceKind) -> Option<(Option<&'static str>, &'static str)> {
    match kind {
        PlaceKind::NetSelf => Some((
            Some("single sender to localhost"),
            "concurrent to localhost",
        )),
        PlaceKind::NetHost => Some((None, "concurrent to vebox")),
        PlaceKind::NetGuest => Some((Some("single to stbox"), "concurrent to stbox")),
        _ => None,
    }
}

/// Whether a row of the paper's text is about this kind of work.
fn is_of(kind: PlaceKind, row: &str) -> bool {
    match kind {
        PlaceKind::DiskBuffered => row.ends_with("buffered reads"),
        PlaceKind::DiskCached => row == "disk, cached reads",
        PlaceKind::Cpu => row == "Geekbench2, integer and floating point",
        PlaceKind::Memory => row == "Geekbench2, memory and stream",
        PlaceKind::NetGuest => row == "network, one sender",
        _ => false,
    }
}

impl<'a> Paper<'a> {
    pub(super) fn of(reference: &'a Reference) -> Self {
        let values = reference.values.iter();
        Self {
            values: values.filter(|value| value.paper == PAPER).collect(),
        }
    }

    /// A cell of Figure 4.
    pub(super) fn cell(&self, kind: PlaceKind, places: &Places) -> Option<PublishedCell> {
        let (host, vm) = (cores(&places.host)?, cores(&places.vm)?);
        let (single, both) = columns(kind)?;
        let row = format!("host core {host}; kvm core {vm}");
        let at = |column: &str, side: &str| {
            let column = format!("{column}; {side} rate");
            let mut all = self.values.iter();
            let value = all.find(|value| value.row == row && value.column == column)?;
            let low = value.value?;
            Some(f64::midpoint(low, value.to.unwrap_or(low)))
        };
        let rates = |column: Option<&str>| {
            Rates::of(
                column.and_then(|column| at(column, "host")),
                column.and_then(|column| at(column, "kvm")),
            )
        };
        let (alone, both) = (rates(single), rates(Some(both)));
        both.guest_of_host?;
        Some(PublishedCell {
            host_kept: ratio(both.host_per_s, alone.host_per_s),
            guest_kept: ratio(both.guest_per_s, alone.guest_per_s),
            alone,
            both,
        })
    }

    fn in_text(&self, kind: PlaceKind) -> impl Iterator<Item = &&Value> {
        let in_text = |value: &&&Value| value.table.starts_with("text ");
        let values = self.values.iter().filter(in_text);
        values.filter(move |value| is_of(kind, &value.row))
    }

    /// Returns the speed of the paper's VM relative to the host's, where the text has one number and only that.
    pub(super) fn guest_of_host(&self, kind: PlaceKind) -> Option<f64> {
        let is_ratio = |value: &&&Value| value.unit == "percent" && value.to.is_none();
        Some(self.in_text(kind).find(is_ratio)?.value? / 100.0)
    }

    /// Returns the statements of the text, as printed.
    pub(super) fn stated(&self, kind: PlaceKind) -> Vec<String> {
        let said = |value: &&Value| format!("{}, {}: {}", value.row, value.column, value.printed);
        self.in_text(kind).map(said).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(host: &str, vm: &str) -> Places {
        Places {
            host: Spot::of(host),
            vm: Spot::of(vm),
        }
    }

    #[test]
    fn figure_4_is_found_by_placement_and_kind() {
        let reference = crate::reference::load().unwrap();
        let paper = Paper::of(&reference);
        let cell = paper.cell(PlaceKind::NetSelf, &places("0", "1")).unwrap();
        assert_eq!(
            (cell.alone.host_per_s, cell.alone.guest_per_s),
            (Some(77.4), Some(51.3))
        );
        assert_eq!(cell.host_kept, Some(46.1 / 77.4));
        assert_eq!(cell.both.guest_of_host, Some(46.0 / 46.1));
        // A range's middle.
        let cell = paper
            .cell(PlaceKind::NetSelf, &places("0-1", "0,1"))
            .unwrap();
        assert_eq!(cell.both.guest_per_s, Some(f64::midpoint(6.5, 46.0)));
        // Its host alone as a receiver is not there, its other machine is.
        let cell = paper.cell(PlaceKind::NetHost, &places("1", "0")).unwrap();
        assert_eq!(
            (cell.alone, cell.both.guest_per_s),
            (Rates::default(), Some(13.3))
        );
        let cell = paper
            .cell(PlaceKind::NetGuest, &places("0-1", "0-1"))
            .unwrap();
        assert_eq!(cell.guest_kept, Some(1.1 / 8.7));
    }

    #[test]
    fn every_number_is_shown_somewhere() {
        let reference = crate::reference::load().unwrap();
        let paper = Paper::of(&reference);
        let spots = ["0", "1", "0-1"];
        let mut shown = 0;
        for kind in PlaceKind::ALL {
            shown += paper.stated(kind).len();
            for places in spots
                .iter()
                .flat_map(|host| spots.map(|vm| places(host, vm)))
            {
                let cell = paper.cell(kind, &places);
                let rates = cell.iter().flat_map(|cell| [&cell.alone, &cell.both]);
                let numbers = rates.flat_map(|rates| [rates.host_per_s, rates.guest_per_s]);
                shown += numbers.flatten().count();
            }
        }
        assert_eq!(shown, paper.values.len());
    }

    #[test]
    fn what_it_did_not_measure_has_nothing_beside() {
        let reference = crate::reference::load().unwrap();
        let paper = Paper::of(&reference);
        assert_eq!(paper.cell(PlaceKind::NetSelf, &places("2", "3")), None);
        assert_eq!(paper.cell(PlaceKind::Cpu, &places("0", "1")), None);
        let apart = Places {
            host: Spot::apart("0", "1"),
            vm: Spot::of("1"),
        };
        assert_eq!(paper.cell(PlaceKind::NetSelf, &apart), None);
        assert_eq!(paper.guest_of_host(PlaceKind::DiskCached), Some(0.93));
        assert_eq!(paper.guest_of_host(PlaceKind::Cpu), Some(0.68));
        assert_eq!(paper.guest_of_host(PlaceKind::NetGuest), None);
        assert_eq!(paper.stated(PlaceKind::DiskBuffered).len(), 3);
        assert_eq!(paper.stated(PlaceKind::TripHost), Vec::<String>::new());
    }
}
