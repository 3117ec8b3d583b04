//! Which placements are measured, so that all ends in a stated time.

use anyhow::Context;
use std::fs;
use ws_machines::pin;
use ws_report::{PlaceKind, PlaceRow, Places, Side, Where};

/// How long a row takes on a quiet host: its two runs, and what is before and behind them (docs/place.md).
const ROW_S: u32 = 4;
/// How long namespaces and a VM take to start. A launch takes so many rows.
const BOOT_S: u32 = 15;
const ROWS_A_BOOT: usize = 40;
/// With fewer placements than this there is nothing to compare; rather kinds of work are left out.
const CELLS_LEAST: usize = 2;

/// The CPUs that this process may use.
pub struct Cpus {
    allowed: Vec<u32>,
    /// Those that share a core with the first one.
    siblings: Vec<u32>,
    /// Those on the memory of the first one.
    near: Vec<u32>,
}

impl Cpus {
    /// Of this host.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn of_host() -> anyhow::Result<Self> {
        let status = fs::read_to_string("/proc/self/status").context("can't read my status")?;
        let mut lines = status.lines();
        let allowed = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let allowed = pin::parse(allowed.unwrap_or_default()).map_err(anyhow::Error::msg)?;
        let first = allowed.first().copied().unwrap_or_default();
        let cpu = format!("/sys/devices/system/cpu/cpu{first}");
        let list = |path: String| -> Vec<u32> {
            let text = fs::read_to_string(path).unwrap_or_default();
            pin::parse(&text).unwrap_or_default()
        };
        let node = (0..64).find(|node| fs::exists(format!("{cpu}/node{node}")).unwrap_or(false));
        let near = node.map(|node| list(format!("/sys/devices/system/node/node{node}/cpulist")));
        Ok(Self {
            siblings: list(format!("{cpu}/topology/thread_siblings_list")),
            near: near.unwrap_or_else(|| allowed.clone()),
            allowed,
        })
    }

    /// All of them, as a list.
    pub fn all(&self) -> String {
        ranges(&self.allowed)
    }

    /// Placements, those first that tell most: apart, on the same CPU, everywhere; then to another thread of
    /// the same core and to another node where there are such; then the rest of the paper's.
    fn cells(&self) -> Vec<Places> {
        let Some((first, rest)) = self.allowed.split_first() else {
            return Vec::new();
        };
        let is_sibling = |cpu: &&u32| self.siblings.contains(cpu);
        let is_far = |cpu: &&u32| !self.near.contains(cpu);
        let mut apart = rest.iter().filter(|cpu| !is_sibling(cpu) && !is_far(cpu));
        let apart = apart.next().or_else(|| rest.first());
        let a = first.to_string();
        let Some(other) = apart else {
            return vec![at(&a, &a)];
        };
        let (b, all) = (other.to_string(), self.all());
        let mut cells = vec![at(&a, &b), at(&a, &a), at(&all, &all)];
        let special = [rest.iter().find(is_sibling), rest.iter().find(is_far)];
        for cpu in special.into_iter().flatten().filter(|cpu| *cpu != other) {
            cells.push(at(&a, &cpu.to_string()));
        }
        cells.extend([at(&b, &a), at(&b, &b), at(&all, &a), at(&all, &b)]);
        cells
    }
}

fn at(host: &str, vm: &str) -> Places {
    Places {
        host: host.to_owned(),
        vm: vm.to_owned(),
    }
}

/// CPUs as the kernel writes them: `0-3,8`.
fn ranges(cpus: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => runs.push((*cpu, *cpu)),
        }
    }
    let runs = runs.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    runs.collect::<Vec<_>>().join(",")
}

/// What is measured.
pub struct Matrix {
    cells: Vec<Places>,
    kinds: Vec<PlaceKind>,
    boots: u32,
    /// Placements and kinds that do not fit into the time.
    left_out: (usize, Vec<PlaceKind>),
    one_cpu: bool,
}

impl Matrix {
    /// As many placements as fit into the time, then as many kinds; at least one of each.
    pub fn choose(
        cpus: &Cpus,
        kinds: &[PlaceKind],
        most: Option<u32>,
        minutes: u32,
        boots: u32,
    ) -> Self {
        let mut all = cpus.cells();
        let one_cpu = all.len() == 1;
        all.truncate(most.map_or(all.len(), |most| most as usize));
        let mut chosen = Self {
            cells: all.clone(),
            kinds: kinds.to_vec(),
            boots,
            left_out: (0, Vec::new()),
            one_cpu,
        };
        while chosen.seconds() > minutes * 60 {
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
            kinds.iter().skip(chosen.kinds.len()).copied().collect(),
        );
        chosen
    }

    /// What is measured of each kind: each side alone on its CPUs once, and both at each placement, once for
    /// each side that is timed.
    pub fn rows(&self) -> Vec<PlaceRow> {
        let mut rows: Vec<PlaceRow> = Vec::new();
        for kind in &self.kinds {
            for places in &self.cells {
                for (side, cpus) in [(Side::Host, &places.host), (Side::Guest, &places.vm)] {
                    for where_ in [Where::Alone(cpus.clone()), Where::Both(places.clone())] {
                        let row = PlaceRow {
                            kind: *kind,
                            side,
                            where_,
                        };
                        if !rows.contains(&row) {
                            rows.push(row);
                        }
                    }
                }
            }
        }
        rows
    }

    /// How long it takes on a quiet host.
    fn seconds(&self) -> u32 {
        let rows = self.rows().len();
        let boots = rows.div_ceil(ROWS_A_BOOT);
        let seconds = |count: usize, each| u32::try_from(count).unwrap_or(u32::MAX) * each;
        (seconds(rows, ROW_S) + seconds(boots, BOOT_S)) * self.boots
    }

    /// What will be measured and how long it takes, in one line.
    pub fn said(&self) -> String {
        let words = |kinds: &[PlaceKind]| {
            let words: Vec<_> = kinds.iter().map(|kind| kind.word()).collect();
            words.join(", ")
        };
        let cells: Vec<String> = self
            .cells
            .iter()
            .map(|places| format!("{}/{}", places.host, places.vm))
            .collect();
        let mut text = format!(
            "{} placements (host's CPU/VM's CPU: {}) of {}: {} rows, about {} min on a quiet host",
            cells.len(),
            cells.join(" "),
            words(&self.kinds),
            self.rows().len(),
            self.seconds().div_ceil(60),
        );
        if self.one_cpu {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(allowed: &[u32], siblings: &[u32], near: &[u32]) -> Cpus {
        Cpus {
            allowed: allowed.to_vec(),
            siblings: siblings.to_vec(),
            near: near.to_vec(),
        }
    }

    fn shown(cpus: &Cpus) -> String {
        let cells = cpus.cells().into_iter();
        let cells = cells.map(|places| format!("{}/{}", places.host, places.vm));
        cells.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn two_cpus_have_the_papers_seven_placements() {
        let two = cpus(&[0, 1], &[0], &[0, 1]);
        assert_eq!(shown(&two), "0/1 0/0 0-1/0-1 1/0 1/1 0-1/0 0-1/1");
        // Also if they are threads of one core.
        let two = cpus(&[0, 1], &[0, 1], &[0, 1]);
        assert_eq!(shown(&two), "0/1 0/0 0-1/0-1 1/0 1/1 0-1/0 0-1/1");
        assert_eq!(shown(&cpus(&[3], &[3], &[3])), "3/3");
    }

    #[test]
    fn a_thread_of_the_core_and_another_node_are_placements_of_their_own() {
        let many = cpus(&[0, 1, 2, 3, 8], &[0, 1], &[0, 1, 2, 3]);
        assert_eq!(
            shown(&many),
            "0/2 0/0 0-3,8/0-3,8 0/1 0/8 2/0 2/2 0-3,8/0 0-3,8/2"
        );
    }

    #[test]
    fn each_side_alone_is_measured_once_on_its_cpus() {
        let two = cpus(&[0, 1], &[0], &[0, 1]);
        let all = Matrix::choose(&two, &[PlaceKind::Cpu], None, 600, 1);
        // Three sets of CPUs of each side, and both sides of seven placements.
        assert_eq!(all.rows().len(), 3 + 3 + 2 * 7);
        let names: std::collections::BTreeSet<String> =
            all.rows().iter().map(PlaceRow::name).collect();
        assert_eq!(names.len(), 20);
        assert!(names.contains("place-cpu-guest-both-0to1-1"));
        assert!(names.iter().all(|name| name.len() <= 40));
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_said() {
        let two = cpus(&[0, 1], &[0], &[0, 1]);
        let default = Matrix::choose(&two, &PlaceKind::ALL, None, 10, 1);
        assert!(default.seconds() <= 600);
        assert!(default.cells.len() >= 6, "{}", default.cells.len());
        let short = Matrix::choose(&two, &PlaceKind::ALL, None, 1, 1);
        assert!(short.seconds() <= 60);
        assert_eq!(short.cells.len(), 2);
        assert!(short.kinds.len() < 5);
        assert!(short.said().contains("5 more placements do not fit"));
        assert!(short.said().contains("nor do "));
        let few = Matrix::choose(&two, &PlaceKind::ALL, Some(3), 600, 1);
        assert_eq!((few.cells.len(), few.left_out.0), (3, 0));
        let one = Matrix::choose(&cpus(&[3], &[3], &[3]), &PlaceKind::ALL, None, 10, 1);
        assert!(
            one.said()
                .contains("with one CPU there is only one placement")
        );
    }
}
