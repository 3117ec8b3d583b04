//! The tables of placements as text.

use super::{Kept, Placed, PlacedCell, Placement, is_emulator};
use crate::number;
use crate::text::{Set, Sheet, below_in_markdown, below_on_terminal, markdown, terminal};

use Set::{Number, Text};

const COLUMNS: [(&str, Set); 13] = [
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
    ("intervals", Number),
    ("paper", Number),
];

const LEGEND: [&str; 4] = [
    "host CPU: of the host's processes; 0>1: the receiver, or the second VM, on CPU 1. VM CPU: of all threads of the VM's monitor; 0>1: the vCPU on CPU 0, all other threads and vhost's on CPU 1.",
    "alone, both: units of work a second of a side, while the other side is idle, or does the same work. kept: a side's speed while both work, as a share of its speed alone.",
    "intervals: the ranges of kept, host and VM, by the 95 % intervals of the speeds over boots. Intervals need three boots.",
    "paper: the same ratios of Figure 4 of Rasmusson and Corcoran (2013), KVM on a Cortex-A15 with two cores; for a range, the middle. net-guest: the paper has another machine, stbox, in place of our second VM.",
];

/// Note below times of a VM in an emulator.
const EMULATED: &str = "qemu-tcg is an emulator: its VM/host says nothing about virtualization. The kept speeds show only the scheduler.";

/// Most placements without a figure that are named one by one.
const NAMED: usize = 3;

impl Placement {
    /// Tables for a terminal.
    pub fn to_terminal(&self) -> String {
        let table = |kind: &Placed| {
            let mut out = format!(
                "{}\n{}",
                terminal(&kind.title()),
                kind.sheet().to_terminal("")
            );
            out += &below_on_terminal(kind.said().iter().map(String::as_str));
            out + "\n"
        };
        let tables: String = self.kinds.iter().map(table).collect();
        tables + &below_on_terminal(self.legend())
    }

    /// Tables in Markdown.
    pub fn to_markdown(&self) -> String {
        let table = |kind: &Placed| {
            let title = markdown(&kind.title());
            let said = below_in_markdown(kind.said().iter().map(String::as_str));
            format!("### {title}\n\n{}\n{said}\n", kind.sheet().to_markdown())
        };
        let tables: String = self.kinds.iter().map(table).collect();
        tables + &below_in_markdown(self.legend())
    }

    /// Returns the legend of the columns.
    pub(crate) fn legend(&self) -> impl Iterator<Item = &'static str> {
        let emulated = self.kinds.iter().any(|kind| is_emulator(&kind.platform));
        LEGEND.into_iter().chain(emulated.then_some(EMULATED))
    }
}

impl Placed {
    pub(crate) fn title(&self) -> String {
        format!("{} on {}: {} a second", self.kind, self.platform, self.unit)
    }

    pub(crate) fn sheet(&self) -> Sheet {
        let mut sheet = Sheet::new(COLUMNS);
        sheet.extend(self.cells.iter().map(|cell| line(self, cell)));
        sheet
    }

    /// The best and the worst placement, in one sentence, if their intervals do not overlap.
    pub(crate) fn extremes(&self) -> Option<String> {
        let at = |kept: &Kept| {
            format!(
                "host on CPU {}, VM on CPU {} (the host keeps {:.0} %, the VM {:.0} %)",
                kept.at.host(),
                kept.at.vm(),
                kept.host * 100.0,
                kept.guest * 100.0
            )
        };
        let (best, worst) = (at(self.best.as_ref()?), at(self.worst.as_ref()?));
        Some(format!(
            "Together both keep most with {best}, and least with {worst}."
        ))
    }

    /// Returns the notes below the table: the best and the worst placement, reasons of empty cells, disks, and the
    /// paper's statements.
    pub(crate) fn said(&self) -> Vec<String> {
        let mut missing: Vec<(&str, Vec<String>)> = Vec::new();
        for cell in &self.cells {
            for why in [&cell.alone.why, &cell.both.why].into_iter().flatten() {
                let at = format!("host {}, VM {}", cell.at.host(), cell.at.vm());
                match missing.iter_mut().find(|(known, _)| known == why) {
                    Some((_, places)) if places.contains(&at) => {}
                    Some((_, places)) => places.push(at),
                    None => missing.push((why, vec![at])),
                }
            }
        }
        let missing = missing.into_iter().map(|(why, places)| match places.len() {
            1..=NAMED => format!("{}: {why}", places.join("; ")),
            count => format!("{count} placements: {why}"),
        });
        let stated = self.stated.iter().map(|text| format!("The paper: {text}"));
        let disks = self.disks.iter().map(|disks| format!("Disks: {disks}"));
        let is_known = |cell: &&PlacedCell| cell.host_kept.is_some() && cell.guest_kept.is_some();
        let several = self.cells.iter().filter(is_known).count() > 1;
        let extremes = self.extremes().or_else(|| {
            let has_intervals = self.cells.iter().any(|cell| cell.guest_interval.is_some());
            let why = match has_intervals {
                true => "Boots differ by more than placements: no placement is the best.",
                false => "Naming the best placement needs three boots: --boots 3.",
            };
            several.then(|| why.to_owned())
        });
        extremes
            .into_iter()
            .chain(missing)
            .chain(disks)
            .chain(stated)
            .collect()
    }
}

fn two(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
}

fn pair(host: Option<f64>, guest: Option<f64>) -> String {
    format!("{} {}", two(host), two(guest))
}

fn ends(interval: Option<[f64; 2]>) -> String {
    interval.map_or_else(
        || "-".to_owned(),
        |[low, high]| format!("{low:.2}-{high:.2}"),
    )
}

/// A speed.
pub(crate) fn rate(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| number::value(value, "per_s"))
}

fn line(kind: &Placed, cell: &PlacedCell) -> Vec<String> {
    let paper = cell.published.as_ref();
    vec![
        cell.at.host().to_string(),
        cell.at.vm().to_string(),
        rate(cell.alone.host_per_s),
        rate(cell.alone.guest_per_s),
        two(cell.alone.guest_of_host),
        two(paper.map_or(kind.published_guest_of_host, |paper| {
            paper.alone.guest_of_host
        })),
        rate(cell.both.host_per_s),
        rate(cell.both.guest_per_s),
        two(cell.both.guest_of_host),
        two(paper.and_then(|paper| paper.both.guest_of_host)),
        pair(cell.host_kept, cell.guest_kept),
        format!("{} {}", ends(cell.host_interval), ends(cell.guest_interval)),
        pair(
            paper.and_then(|paper| paper.host_kept),
            paper.and_then(|paper| paper.guest_kept),
        ),
    ]
}
