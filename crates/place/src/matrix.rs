//! Choice of placements and kinds of work, so that all ends in a stated time.

use crate::cpus::Cpus;
use crate::work;
use std::time::Duration;
use ws_results::place::{PlaceKind, PlaceRow, Places, Side, Where};
use ws_runner::turns::{Turn, Turns};

/// Seconds to start namespaces and VMs, and seconds of a row: its two runs, and all before and after them. Measured on
/// a quiet host with two CPUs, under an emulator (docs/notebook/place.md). On other hosts only their ratio matters
/// ([`Matrix::slowness`]).
const BOOT_S: f64 = 6.0;
const ROW_S: f64 = 0.8;
/// Share of the time that is planned for: a host may get busier.
const PLANNED: f64 = 0.75;
/// Rows of a launch, about.
const ROWS_A_BOOT: usize = 38;
/// Numbers of placements after which a stage ends. Each stage has launches of its own: if the time is used up, the rows
/// of later stages are left out.
const STAGE_ENDS: [usize; 2] = [3, 7];
/// Least number of placements: fewer leave nothing to compare, so kinds of work are left out instead.
const CELLS_LEAST: usize = 2;
/// Most rows of a group: a machine's agent reads 256 workloads, the lab's own among them.
const GROUP_MOST: usize = 200;

/// Options of the user: kinds of work and limits.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub kinds: &'a [PlaceKind],
    /// Most placements, if they are limited.
    pub cells: Option<u32>,
    pub time: Duration,
    pub boots: u32,
}

/// Plan of a measurement: placements and kinds of work.
pub struct Matrix {
    cells: Vec<Places>,
    kinds: Vec<PlaceKind>,
    boots: u32,
    /// Time that this host takes for one second's work of the quiet host.
    slowness: f64,
    /// Placements and kinds that do not fit into the time.
    left_out: (usize, Vec<PlaceKind>),
    /// Whether there is only one CPU.
    only: bool,
}

impl Matrix {
    /// Chooses as many placements as fit into the time, then as many kinds of work; at least one of each.
    pub fn choose(cpus: &Cpus, asked: Asked<'_>, slowness: f64) -> Self {
        let mut all = cpus.cells();
        all.retain(|places| asked.kinds.iter().any(|kind| kind.suits(places)));
        let only = cpus.is_one();
        let most = asked.cells.map(|most| most as usize);
        all.truncate(most.unwrap_or(all.len()));
        let mut chosen = Self {
            cells: all.clone(),
            kinds: asked.kinds.to_vec(),
            boots: asked.boots,
            slowness,
            left_out: (0, Vec::new()),
            only,
        };
        while chosen.takes() > asked.time.mul_f64(PLANNED) || chosen.has_too_many() {
            if chosen.cells.len() > CELLS_LEAST {
                chosen.cells.pop();
            } else if chosen.kinds.len() > 1 {
                chosen.kinds.pop();
            } else {
                break;
            }
        }
        chosen.left_out = (
            all.len() - chosen.cells.len(),
            asked
                .kinds
                .iter()
                .skip(chosen.kinds.len())
                .copied()
                .collect(),
        );
        chosen
    }

    /// Rows by which [`Self::slowness`] is measured: both sides at work at the first placement, once for each kind.
    pub fn first_rows(&self) -> Vec<PlaceRow> {
        let first = self.cells.first().into_iter();
        first
            .flat_map(|places| {
                let kinds = self.kinds.iter();
                kinds.map(|kind| PlaceRow::both(*kind, Side::Guest, places))
            })
            .collect()
    }

    /// Computes the slowness of a host on which these rows took so long.
    pub fn slowness(rows: &[PlaceRow], took: Duration) -> f64 {
        took.as_secs_f64() / seconds(rows, 1)
    }

    /// Rows in the order of placements, with the turn of each. A kind of work has each side alone, once on its CPUs,
    /// and both sides at each placement, once for each side that is timed.
    fn in_turn(&self) -> Vec<(PlaceRow, Turn)> {
        let mut rows: Vec<(PlaceRow, Turn)> = Vec::new();
        for (turn, places) in self.cells.iter().enumerate() {
            let stage = STAGE_ENDS.iter().filter(|end| turn >= **end).count();
            let kinds = self.kinds.iter().filter(|kind| kind.suits(places));
            for row in kinds.flat_map(|kind| needed(*kind, places)) {
                if rows.iter().all(|(known, _)| *known != row) {
                    rows.push((row, Turn { stage, turn }));
                }
            }
        }
        rows
    }

    /// The rows, those of the first placement first.
    pub fn rows(&self) -> Vec<PlaceRow> {
        self.in_turn().into_iter().map(|(row, _)| row).collect()
    }

    /// Turns of the rows, by the row's name.
    pub fn turns(&self) -> Turns {
        let rows = self.in_turn().into_iter();
        rows.map(|(row, turn)| (row.name(), turn)).collect()
    }

    /// Names the placements that lack rows, and the kinds of work that lack them; None if all rows are measured.
    pub fn left_out(&self, is_measured: impl Fn(&PlaceRow) -> bool) -> Option<String> {
        let mut groups: Vec<(String, Vec<PlaceKind>)> = Vec::new();
        for kind in &self.kinds {
            let cells = self.cells.iter().filter(|places| kind.suits(places));
            let lacks = |places: &&Places| {
                let rows = needed(*kind, places);
                // Rows of one side alone belong to other placements too.
                let is_begun = rows.iter().any(|row| is_both(row) && is_measured(row));
                let at = format!("{}/{}", places.host, places.vm);
                match rows.iter().all(&is_measured) {
                    true => None,
                    false if is_begun => Some(at + " (in part)"),
                    false => Some(at),
                }
            };
            let lacking: Vec<String> = cells.clone().filter_map(|places| lacks(&places)).collect();
            let text = match lacking.len() {
                0 => continue,
                count if count == cells.count() => format!("all {count}"),
                _ => lacking.join(" "),
            };
            match groups.iter_mut().find(|(known, _)| *known == text) {
                Some((_, kinds)) => kinds.push(*kind),
                None => groups.push((text, vec![*kind])),
            }
        }
        let groups = groups
            .iter()
            .map(|(text, kinds)| format!("{} at {text}", words(kinds)));
        let groups: Vec<String> = groups.collect();
        (!groups.is_empty()).then(|| groups.join("; "))
    }

    fn has_too_many(&self) -> bool {
        let all = groups(&self.rows());
        all.as_flattened().iter().any(|rows| *rows > GROUP_MOST)
    }

    /// Estimates how long the measurement takes on this host.
    pub fn takes(&self) -> Duration {
        let rows = self.in_turn();
        let stages = rows.chunk_by(|(_, a), (_, b)| a.stage == b.stage);
        let of = |stage: &[(PlaceRow, Turn)]| seconds(stage.iter().map(|(row, _)| row), self.boots);
        Duration::from_secs_f64(stages.map(of).sum::<f64>() * self.slowness)
    }

    /// Describes the plan and its duration in one line.
    pub fn said(&self) -> String {
        let cells: Vec<String> = self
            .cells
            .iter()
            .map(|places| format!("{}/{}", places.host, places.vm))
            .collect();
        let mut text = format!(
            "{} placements (host's CPU/VM's CPU: {}) of {}: {} rows, about {} min",
            cells.len(),
            cells.join(" "),
            words(&self.kinds),
            self.rows().len(),
            self.takes().as_secs().div_ceil(60),
        );
        if self.only {
            text += "; with one CPU there is only one placement";
        }
        let (cells, kinds) = &self.left_out;
        if *cells > 0 {
            text += &format!("; {cells} more placements do not fit into --time");
        }
        if !kinds.is_empty() {
            text += &format!("; nor do {}", words(kinds));
        }
        text
    }
}

fn is_both(row: &PlaceRow) -> bool {
    matches!(row.where_, Where::Both(_))
}

/// Rows of a placement: each side alone, and both sides together with each of them timed.
fn needed(kind: PlaceKind, places: &Places) -> Vec<PlaceRow> {
    let sides = [Side::Host, Side::Guest].into_iter();
    let rows = sides.flat_map(|side| {
        let (alone, both) = (PlaceRow::alone, PlaceRow::both);
        [alone(kind, side, places), both(kind, side, places)]
    });
    rows.collect()
}

fn words(kinds: &[PlaceKind]) -> String {
    let words: Vec<_> = kinds.iter().map(|kind| kind.word()).collect();
    words.join(", ")
}

/// Counts the rows that are launched apart: with a second VM, with disks, and all others. Each group has rows in a VM
/// of one vCPU, then rows in a VM of two.
fn groups<'a>(rows: impl IntoIterator<Item = &'a PlaceRow>) -> [[usize; 2]; 3] {
    let mut groups = [[0; 2]; 3];
    for row in rows {
        let group = match (row.kind.has_second_vm(), row.kind.has_disk()) {
            (true, _) => 0,
            (false, true) => 1,
            (false, false) => 2,
        };
        groups[group][usize::from(work::vcpus(row) > 1)] += 1;
    }
    groups
}

/// Estimates the seconds that the rows of a stage take on a quiet host.
fn seconds<'a>(rows: impl IntoIterator<Item = &'a PlaceRow>, boots: u32) -> f64 {
    let groups = groups(rows);
    let launches = groups.map(|sizes| sizes.iter().map(|rows| rows.div_ceil(ROWS_A_BOOT)).sum());
    let [second_vm, ..]: [usize; 3] = launches;
    // A second VM boots too.
    let booted = launches.iter().sum::<usize>() + second_vm;
    let rows: usize = groups.as_flattened().iter().sum();
    (rows as f64 * ROW_S + booted as f64 * BOOT_S) * f64::from(boots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ws_results::{APPLICATION, Row, RowFacts};

    fn asked(kinds: &[PlaceKind], minutes: u64) -> Asked<'_> {
        Asked {
            kinds,
            cells: None,
            time: Duration::from_secs(minutes * 60),
            boots: 1,
        }
    }

    #[test]
    fn each_side_alone_is_measured_once_on_its_cpus() {
        let two = Cpus::some(&[0, 1], &[0], &[0, 1]);
        let names = |kind| {
            let all = Matrix::choose(&two, asked(&[kind], 600), 1.0);
            let names: Vec<String> = all.rows().iter().map(PlaceRow::name).collect();
            let unique: std::collections::BTreeSet<&String> = names.iter().collect();
            assert_eq!(unique.len(), names.len());
            names
        };
        // Three sets of CPUs of each side, and both sides of seven placements.
        let cpu = names(PlaceKind::Cpu);
        assert_eq!(cpu.len(), 3 + 3 + 2 * 7);
        assert!(cpu.contains(&"place-cpu-guest-both-0to1-1".to_owned()));
        // Of all 13: five of the host, nine of the VM with its receiver, which is on the host.
        let net = names(PlaceKind::NetHost);
        assert_eq!(net.len(), 5 + 9 + 2 * 13);
        assert!(net.contains(&"place-net-host-guest-alone-1x0-1".to_owned()));
    }

    /// A result of a version that wrote no facts has those of its names.
    #[test]
    fn names_of_all_rows_have_their_facts_too() {
        let all: Vec<u32> = (0..64).collect();
        let hosts = [
            Cpus::some(&[3], &[3], &[3]),
            Cpus::some(&[0, 1], &[0], &[0, 1]),
            Cpus::some(&[0, 1, 2, 3, 8], &[0, 8], &[0, 1]),
            Cpus::some(&all, &[0, 32], &all[..48]),
        ];
        for cpus in hosts {
            let rows = Matrix::choose(&cpus, asked(&PlaceKind::ALL, 6000), 1.0).rows();
            let facts = work::facts(&rows);
            assert_eq!(facts.len(), rows.len());
            for row in rows {
                let old = Row::new(&row.name(), APPLICATION);
                assert_eq!(facts[&row.name()], RowFacts::named(&old));
                assert_eq!(facts[&row.name()].placement.as_ref(), Some(&row));
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_said() {
        let two = Cpus::some(&[0, 1], &[0], &[0, 1]);
        let default = Matrix::choose(&two, asked(&PlaceKind::ALL, 10), 1.0);
        assert!(default.takes() <= Duration::from_secs(450));
        assert!(default.cells.len() >= 6, "{}", default.cells.len());
        let short = Matrix::choose(&two, asked(&PlaceKind::ALL, 1), 1.0);
        assert!(short.takes() <= Duration::from_secs(45));
        assert_eq!(short.cells.len(), 2);
        assert!(short.kinds.len() < 9);
        assert!(short.said().contains("11 more placements do not fit"));
        assert!(short.said().contains("nor do "));
        let slow = Matrix::choose(&two, asked(&PlaceKind::ALL, 10), 3.0);
        assert!(slow.cells.len() < default.cells.len());
        let few = Asked {
            cells: Some(3),
            ..asked(&PlaceKind::ALL, 600)
        };
        let few = Matrix::choose(&two, few, 1.0);
        assert_eq!((few.cells.len(), few.left_out.0), (3, 0));
        let one = Matrix::choose(
            &Cpus::some(&[3], &[3], &[3]),
            asked(&PlaceKind::ALL, 10),
            1.0,
        );
        assert!(one.said().contains("with one CPU there is only one"));
    }

    #[test]
    fn what_is_cut_is_whole_placements_at_the_end() {
        let two = Cpus::some(&[0, 1], &[0], &[0, 1]);
        let kinds = [PlaceKind::NetHost, PlaceKind::Cpu];
        let all = Matrix::choose(&two, asked(&kinds, 600), 1.0);
        let rows = all.in_turn();
        assert!(rows.iter().map(|(_, turn)| turn).is_sorted());
        assert_eq!(all.left_out(|_| true), None);
        let after = |count: usize| {
            let measured: Vec<&PlaceRow> = rows.iter().take(count).map(|(row, _)| row).collect();
            all.left_out(|row| measured.contains(&row)).unwrap()
        };
        assert_eq!(after(0), "net-host at all 13; cpu at all 7");
        // The first placement of all kinds.
        let first = "0/0 0-1/0-1 1/0";
        assert!(
            after(8).starts_with(&format!("net-host at {first}")),
            "{}",
            after(8)
        );
        // The last stage ends in the middle.
        let paper = rows.iter().filter(|(_, turn)| turn.stage < 2).count();
        assert_eq!(
            after(paper + 5),
            "net-host at 0>1/1 (in part) 0>1/1>0 1/1>0 1>0/1 1>0/1>0"
        );
        // Kinds that lack the same are named together.
        let rest = |row: &PlaceRow| !matches!(&row.where_, Where::Both(at) if at.vm.work == "0");
        let said = all.left_out(rest).unwrap();
        assert_eq!(said, "net-host, cpu at 0/0 1/0 0-1/0");
    }

    #[test]
    fn a_large_host_has_no_more_rows_than_an_agent_reads() {
        let all: Vec<u32> = (0..64).collect();
        let large = Cpus::some(&all, &[0, 32], &all[..48]);
        let matrix = Matrix::choose(&large, asked(&PlaceKind::ALL, 600), 1.0);
        assert!(matrix.cells.len() > 6 && !matrix.has_too_many());
    }

    #[test]
    fn the_first_rows_tell_how_slow_a_host_is() {
        let two = Cpus::some(&[0, 1], &[0], &[0, 1]);
        let all = Matrix::choose(&two, asked(&PlaceKind::ALL, 600), 1.0);
        let rows = all.first_rows();
        assert_eq!(rows.len(), 9);
        // Three launches, in one of which two VMs boot.
        let quiet = 9.0 * ROW_S + 4.0 * BOOT_S;
        let slowness = Matrix::slowness(&rows, Duration::from_secs_f64(2.0 * quiet));
        assert!((slowness - 2.0).abs() < 1e-9, "{slowness}");
    }
}
