//! Order of rows, where it matters which of them are left out when the time is used up.
//!
//! Pure.

use super::plan::{self, Planned};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use ws_analysis::statistics::Rng;
use ws_machines::image::BenchmarkRow;

/// Place of a row in the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// Rows of a stage are launched before those of the next.
    pub stage: usize,
    /// Within a launch, rows of a turn are measured before those of the next.
    pub turn: usize,
}

/// Turns of rows, by their names. Rows without one are in the first.
#[derive(Clone, Debug, Default)]
pub struct Turns(BTreeMap<String, Turn>);

impl FromIterator<(String, Turn)> for Turns {
    fn from_iter<I: IntoIterator<Item = (String, Turn)>>(turns: I) -> Self {
        Self(turns.into_iter().collect())
    }
}

impl Turns {
    fn of(&self, name: &str) -> Turn {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// Plans the launches of a boot, stage by stage, each by [`plan::launches`].
    pub fn launches(&self, rows: &[&BenchmarkRow], smp: Option<u32>, apart: bool) -> Vec<Planned> {
        let mut rows = rows.to_vec();
        rows.sort_by_key(|row| self.of(&row.name));
        let stages = rows.chunk_by(|a, b| self.of(&a.name).stage == self.of(&b.name).stage);
        let launches = |rows: &[&BenchmarkRow]| plan::launches(rows, smp, apart);
        stages.flat_map(launches).collect()
    }

    /// Shuffles the rows of each turn in a launch by the boot's seed, so that no row always follows the same other row.
    pub fn shuffle(&self, launches: &mut [Planned], seed: NonZeroU64) {
        let mut random = Rng::with_seed(seed.get());
        for launch in launches {
            let turns = launch
                .rows
                .chunk_by_mut(|a, b| self.of(a).turn == self.of(b).turn);
            turns.for_each(|rows| random.shuffle(rows));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows named STAGE-TURN-N; half of them need a disk.
    fn rows() -> Vec<BenchmarkRow> {
        let mut rows = Vec::new();
        for n in 0..4 {
            for (stage, turn) in [(1, 2), (0, 1), (0, 0), (1, 3)] {
                rows.push(BenchmarkRow {
                    name: format!("{stage}-{turn}-{n}"),
                    cpus: 1,
                    host_cpus: 1,
                    vm: if n % 2 == 0 { "" } else { "disk" }.into(),
                    ..BenchmarkRow::default()
                });
            }
        }
        rows
    }

    fn turns(rows: &[BenchmarkRow]) -> Turns {
        let digit = |name: &str, at: usize| usize::from(name.as_bytes()[at] - b'0');
        let turn = |name: &str| Turn {
            stage: digit(name, 0),
            turn: digit(name, 2),
        };
        rows.iter()
            .map(|row| (row.name.clone(), turn(&row.name)))
            .collect()
    }

    #[test]
    fn stages_are_launched_in_turn_and_turns_stay_in_order() {
        let rows = rows();
        let turns = turns(&rows);
        let mut launches = turns.launches(&rows.iter().collect::<Vec<_>>(), None, false);
        let shown = |launches: &[Planned]| -> Vec<String> {
            let of = |launch: &Planned| format!("{}: {}", launch.vm, launch.rows.join(" "));
            launches.iter().map(of).collect()
        };
        let planned = [
            ": 0-0-0 0-0-2 0-1-0 0-1-2",
            "disk: 0-0-1 0-0-3 0-1-1 0-1-3",
            ": 1-2-0 1-2-2 1-3-0 1-3-2",
            "disk: 1-2-1 1-2-3 1-3-1 1-3-3",
        ];
        assert_eq!(shown(&launches), planned);
        let mut orders = std::collections::BTreeSet::new();
        for seed in 1..20 {
            turns.shuffle(&mut launches, NonZeroU64::new(seed).unwrap());
            for launch in &launches {
                assert!(launch.rows.iter().map(|name| turns.of(name)).is_sorted());
            }
            orders.insert(shown(&launches));
        }
        assert!(orders.len() > 2, "nothing is shuffled");
    }

    #[test]
    fn the_seed_alone_decides_the_order() {
        let names: Vec<String> = (0..20).map(|i| format!("row-{i}")).collect();
        let shuffled = |seed| {
            let mut launches = vec![Planned {
                vcpus: 1,
                host_cpus: 1,
                vm: String::new(),
                rows: names.clone(),
            }];
            Turns::default().shuffle(&mut launches, NonZeroU64::new(seed).unwrap());
            launches.remove(0).rows
        };
        assert_eq!(shuffled(1), shuffled(1));
        assert_ne!(shuffled(1), shuffled(2));
        let mut sorted = shuffled(3);
        sorted.sort_by_key(|name| names.iter().position(|other| other == name));
        assert_eq!(sorted, names);
    }

    #[test]
    fn without_turns_all_rows_are_alike() {
        let rows = rows();
        let rows: Vec<&BenchmarkRow> = rows.iter().collect();
        assert_eq!(
            Turns::default().launches(&rows, None, false),
            plan::launches(&rows, None, false)
        );
    }
}
