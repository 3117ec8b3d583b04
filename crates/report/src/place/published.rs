//! What Rasmusson and Corcoran published, as ratios: their MB/s are those of a machine of 2013.

use super::{PlaceKind, PublishedCell, ratio};
use crate::reference::{Reference, Value};

const PAPER: &str = "rasmusson-2013";

/// The paper's numbers.
pub(super) struct Paper<'a> {
    values: Vec<&'a Value>,
}

/// A list of CPUs as the paper has it, whose machine has two: the first, the second, both.
fn cores(cpus: &str) -> Option<&'static str> {
    match cpus {
        "0" => Some("0"),
        "1" => Some("1"),
        "0-1" | "0,1" => Some("0, 1"),
        _ => None,
    }
}

impl<'a> Paper<'a> {
    pub(super) fn of(reference: &'a Reference) -> Self {
        let values = reference.values.iter();
        Self {
            values: values.filter(|value| value.paper == PAPER).collect(),
        }
    }

    fn value(&self, row: &str, column: &str) -> Option<f64> {
        let mut all = self.values.iter();
        let value = all.find(|value| value.row == row && value.column == column)?;
        let low = value.value?;
        Some(f64::midpoint(low, value.to.unwrap_or(low)))
    }

    /// A cell of Figure 4.
    pub(super) fn cell(&self, kind: PlaceKind, host: &str, vm: &str) -> Option<PublishedCell> {
        let row = format!("host core {}; kvm core {}", cores(host)?, cores(vm)?);
        let at = |what: &str, side: &str| self.value(&row, &format!("{what}; {side} rate"));
        let both = match kind {
            PlaceKind::NetSelf => "concurrent to localhost",
            PlaceKind::NetHost => "concurrent to vebox",
            _ => return None,
        };
        let [host, guest] = ["host", "kvm"].map(|side| at(both, side));
        let both_guest_of_host = ratio(guest, host);
        both_guest_of_host?;
        // To vebox the paper has no sender alone.
        let single = |side| match kind {
            PlaceKind::NetSelf => at("single sender to localhost", side),
            _ => None,
        };
        let [host_alone, guest_alone] = ["host", "kvm"].map(single);
        Some(PublishedCell {
            alone_guest_of_host: ratio(guest_alone, host_alone),
            both_guest_of_host,
            host_kept: ratio(host, host_alone),
            guest_kept: ratio(guest, guest_alone),
        })
    }

    /// The speed of its VM relative to the host's, where the text has only that.
    pub(super) fn guest_of_host(&self, kind: PlaceKind) -> Option<f64> {
        let row = match kind {
            PlaceKind::Cpu => "Geekbench2, integer and floating point",
            PlaceKind::Memory => "Geekbench2, memory and stream",
            _ => return None,
        };
        Some(self.value(row, "kvmbox of vbox")? / 100.0)
    }
}
