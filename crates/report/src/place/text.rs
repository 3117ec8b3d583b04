//! The tables of placements as text.

use super::{Kept, Placed, PlacedCell, Placement, is_emulator};
use crate::number;
use crate::sheet::{Set, Sheet, below_in_markdown, below_on_terminal};
use crate::text::{markdown, terminal};

use Set::{Number, Text};

const COLUMNS: [(&str, Set); 12] = [
    ("host CPU", Text),
    ("VM CPU", Text),
    ("alone: host", Number),
    ("VM", Number),
    ("VM/host", Number),
    ("paper", Number),
    ("both: host", Number),
    ("VM", Number),
    ("VM/host", Number),
    ("paper", Number),
    ("kept: host, VM", Number),
    ("paper", Number),
];

const LEGEND: [&str; 3] = [
    "alone, both: units of work a second of a side while the other does nothing, or the same all the time. VM CPU: where all threads of the VM's program may run.",
    "kept: what a side does of its speed alone while both work.",
    "paper: the same ratios of Figure 4 of Rasmusson and Corcoran (2013), KVM on a Cortex-A15 with two cores; of a range the middle. Their second machine, stbox, is not here.",
];

/// Said below times of a VM in an emulator.
const EMULATED: &str = "qemu-tcg is an emulator: its VM/host says nothing of virtualization; what both keep is the scheduler's doing.";

impl Placement {
    /// Tables for a terminal.
    pub fn to_terminal(&self) -> String {
        let table = |kind: &Placed| {
            let mut out = format!(
                "{}\n{}",
                terminal(&title(kind)),
                sheet(kind).to_terminal("")
            );
            out += &below_on_terminal(said(kind).iter().map(String::as_str));
            out + "\n"
        };
        let tables: String = self.kinds.iter().map(table).collect();
        tables + &below_on_terminal(self.legend())
    }

    /// Tables in Markdown.
    pub fn to_markdown(&self) -> String {
        let table = |kind: &Placed| {
            let title = markdown(&title(kind));
            let said = below_in_markdown(said(kind).iter().map(String::as_str));
            format!("### {title}\n\n{}\n{said}\n", sheet(kind).to_markdown())
        };
        let tables: String = self.kinds.iter().map(table).collect();
        tables + &below_in_markdown(self.legend())
    }

    fn legend(&self) -> impl Iterator<Item = &'static str> {
        let emulated = self.kinds.iter().any(|kind| is_emulator(&kind.platform));
        LEGEND.into_iter().chain(emulated.then_some(EMULATED))
    }
}

fn title(kind: &Placed) -> String {
    format!("{} on {}: {} a second", kind.kind, kind.platform, kind.unit)
}

fn two(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
}

fn pair(host: Option<f64>, guest: Option<f64>) -> String {
    format!("{} {}", two(host), two(guest))
}

fn rate(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| number::value(value, "per_s"))
}

fn sheet(kind: &Placed) -> Sheet {
    let mut sheet = Sheet::new(COLUMNS);
    sheet.extend(kind.cells.iter().map(|cell| line(kind, cell)));
    sheet
}

fn line(kind: &Placed, cell: &PlacedCell) -> Vec<String> {
    let paper = cell.published.as_ref();
    vec![
        cell.host_cpus.clone(),
        cell.vm_cpus.clone(),
        rate(cell.alone.host_per_s),
        rate(cell.alone.guest_per_s),
        two(cell.alone.guest_of_host),
        two(paper.map_or(kind.published_guest_of_host, |paper| {
            paper.alone_guest_of_host
        })),
        rate(cell.both.host_per_s),
        rate(cell.both.guest_per_s),
        two(cell.both.guest_of_host),
        two(paper.and_then(|paper| paper.both_guest_of_host)),
        pair(cell.host_kept, cell.guest_kept),
        pair(
            paper.and_then(|paper| paper.host_kept),
            paper.and_then(|paper| paper.guest_kept),
        ),
    ]
}

/// The best and the worst placement, and why cells are empty.
fn said(kind: &Placed) -> Vec<String> {
    let at = |kept: &Kept| {
        format!(
            "host on CPU {}, VM on CPU {} (the host keeps {:.0} %, the VM {:.0} %)",
            kept.host_cpus,
            kept.vm_cpus,
            kept.host * 100.0,
            kept.guest * 100.0
        )
    };
    let extremes = kind.best.as_ref().zip(kind.worst.as_ref());
    let extremes = extremes.map(|(best, worst)| {
        let (best, worst) = (at(best), at(worst));
        format!("Together both keep most with {best}, and least with {worst}.")
    });
    let missing = kind.cells.iter().flat_map(|cell| {
        let why = [&cell.alone.why, &cell.both.why].into_iter().flatten();
        why.map(|why| format!("host {}, VM {}: {why}", cell.host_cpus, cell.vm_cpus))
    });
    extremes.into_iter().chain(missing).collect()
}
