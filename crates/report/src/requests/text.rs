//! The table of I/O requests as text.

use super::{IoLine, MUCH_IDLE, PublishedRate, Requests};
use crate::exit_columns;
use crate::number;
use crate::text::{Block, Set, Sheet};
use crate::unit_of_work::{dash, insns, insns_of, two};

const LEGEND: [&str; 5] = [
    "insns a request: executed instructions of all CPUs together, guest, hypervisor and server, for one request: 4 KiB read with O_DIRECT, or an ICMP echo of 64 bytes. band: range over perturbed boots (--perturb).",
    "vCPU: sleeps while it waits, or is busy with another process, so that it never halts. The instructions of that process count too.",
    "exits: from the guest to KVM for one request, counted by KVM. A separate run counts exits by reason.",
    exit_columns::LEGEND,
    "injected: interrupts injected into the guest for one request.",
];

impl IoLine {
    /// Returns the exits of one request; a range if boots do not agree.
    fn all_exits(&self) -> String {
        match self.exits_of_boots {
            Some([low, high]) if two(low) != two(high) => format!("{} to {}", two(low), two(high)),
            _ => dash(self.exits().map(two)),
        }
    }

    /// Returns the note on idle time in the row's instructions.
    fn idle(&self) -> Option<String> {
        idle(&self.benchmark, &self.platform, self.idle)
    }

    fn reason(&self) -> Option<String> {
        let why = self.why.as_ref()?;
        Some(format!("{} on {}: {why}", self.benchmark, self.platform))
    }
}

/// Returns the note on idle time in a row's instructions, if it is much.
pub(crate) fn idle(row: &str, platform: &str, share: Option<f64>) -> Option<String> {
    let share = share.filter(|share| *share > MUCH_IDLE)?;
    Some(format!(
        "{row} on {platform}: all CPUs were idle in {} of its ticks, which count as instructions",
        number::percent(share)
    ))
}

/// Returns ELVIS' rates, as one text.
pub(crate) fn stated(published: &[PublishedRate]) -> Option<String> {
    let hardware = &published.first()?.hardware;
    let machine = hardware.split(',').next().unwrap_or_default();
    let words = |rate: &PublishedRate| {
        let what = rate.row.strip_prefix("exits").unwrap_or(&rate.row);
        let what = what.trim_start_matches([',', ' ']);
        let note = rate.note.trim_end_matches('.');
        let note = match note.is_empty() {
            true => String::new(),
            false => format!(": {}", lowered(note)),
        };
        format!("{} {} ({what}{note})", rate.column, rate.printed)
    };
    let stated: Vec<String> = published.iter().map(words).collect();
    Some(format!(
        "ELVIS, section 4.3 (Har'El et al., 2013), {machine}, exits a second, not for a unit of work: {}.",
        stated.join("; ")
    ))
}

impl Requests {
    /// Returns the table of devices, a line each.
    pub(crate) fn sheet(&self) -> Sheet {
        use Set::{Number, Text};
        let mut lines = self.lines.iter();
        let several = lines
            .next()
            .is_some_and(|first| lines.any(|line| line.platform != first.platform));
        let mut columns = vec![("device", Text), ("served by", Text)];
        columns.extend(several.then_some(("platform", Text)));
        columns.extend([("depth", Number), ("vCPU", Text)]);
        columns.extend(["insns a request", "band", "exits"].map(|head| (head, Number)));
        columns.extend(exit_columns::heads().map(|head| (head, Number)));
        let mut sheet = Sheet::new(columns);
        let mut last = "";
        sheet.extend(self.lines.iter().map(|line| {
            let is_first = line.row.device != last;
            last = &line.row.device;
            let head = |text: &str| {
                if is_first {
                    text.to_owned()
                } else {
                    String::new()
                }
            };
            let mut cells = vec![head(&line.row.device), head(line.row.served())];
            cells.extend(several.then(|| line.platform.clone()));
            cells.extend([line.row.depth.to_string(), line.row.vcpu().to_owned()]);
            cells.push(insns_of(line.insns, line.exact));
            let band = |[low, high]: [f64; 2]| format!("{} to {}", insns(low), insns(high));
            cells.push(dash(line.band.map(band)));
            cells.push(line.all_exits());
            cells.extend(exit_columns::cells(&line.counts, &line.reasons));
            cells
        }));
        sheet
    }

    /// Returns the notes below the table.
    pub(crate) fn below(&self) -> Vec<String> {
        let lines = self.lines.iter();
        let mut below: Vec<String> = lines.clone().filter_map(IoLine::reason).collect();
        below.extend(lines.filter_map(IoLine::idle));
        below.extend(LEGEND.map(str::to_owned));
        below.extend(stated(&self.published));
        below
    }

    fn block(&self) -> Block {
        Block {
            title: None,
            sheet: self.sheet(),
            below: self.below(),
        }
    }

    /// Aligned text. Ends in a newline.
    pub fn to_terminal(&self) -> String {
        self.block().to_terminal()
    }

    /// A Markdown table. Ends in a newline.
    pub fn to_markdown(&self) -> String {
        self.block().to_markdown()
    }
}

/// Makes the first letter of a sentence small, for its use within another sentence.
fn lowered(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_lowercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
