//! Parts of an explanation as rows, which a terminal and a page both show.

use crate::explained::{Explained, OtherPath};
use crate::phases::Phase;
use crate::place::{Function, Kind};
use crate::registers::{Accesses, Class};
use crate::traps::Trap;
use ws_text::number::{grouped, share};

/// Accesses to registers: a row for each class or register, a column for each phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegisterTable {
    /// The columns of the table.
    pub phases: Vec<Phase>,
    /// Rows by class, then by name.
    pub rows: Vec<RegisterRow>,
}

/// A class, or one of its registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterRow {
    /// The class.
    pub class: Class,
    /// The register, if the table is by name.
    pub register: Option<String>,
    /// Accesses in each phase.
    pub accesses: Vec<Accesses>,
}

impl Accesses {
    /// Writes accesses as `READS/WRITES`, or `-`.
    pub fn text(self) -> String {
        match self.reads + self.writes {
            0 => "-".to_owned(),
            _ => format!("{}/{}", self.reads, self.writes),
        }
    }
}

impl Explained {
    /// Names a function with the software that has it, and its level if there are several.
    pub fn label(&self, function: &Function) -> String {
        let place = match (function.kind, &function.module) {
            (Kind::Guest, _) => "guest".to_owned(),
            (_, Some(module)) => module.clone(),
            (Kind::User, None) if !function.image.is_empty() => function.image.clone(),
            (kind, None) => kind.to_string(),
        };
        let inlined = if function.is_inlined { ", inlined" } else { "" };
        match (self.hypervisors, function.kind) {
            (0 | 1, _) | (_, Kind::Guest) => format!("{} [{place}{inlined}]", function.name),
            _ => format!("{} [L{} {place}{inlined}]", function.name, function.level),
        }
    }

    /// Returns the phases with their share.
    pub fn phase_shares(&self) -> impl Iterator<Item = (Phase, i64, String)> + '_ {
        let whole = self.phases.iter().map(|count| count.instructions as i64);
        let whole = whole.sum();
        self.phases.iter().map(move |count| {
            let instructions = count.instructions as i64;
            (count.phase, instructions, share(instructions, whole))
        })
    }

    /// Returns the traps, if they say more than the tree: with one hypervisor and one trap they do not.
    pub fn telling_traps(&self) -> &[Trap] {
        let count: u64 = self.traps.iter().map(|trap| trap.count).sum();
        match self.hypervisors < 2 && count < 2 {
            true => &[],
            false => &self.traps,
        }
    }

    /// Tells how often another path was taken, and why it is longer.
    pub fn other_text(&self, other: &OtherPath) -> String {
        let samples = if other.windows == 1 {
            "sample"
        } else {
            "samples"
        };
        let often = format!("{} {samples} of {}", other.windows, self.samples);
        let Some(because) = &other.because else {
            return often;
        };
        let (function, instructions) = (&because.function, grouped(because.instructions as i64));
        match because.is_new {
            true => format!("{often}, with {function}: {instructions} instructions"),
            false => format!("{often}, {function}: {instructions} more"),
        }
    }

    /// ` of N vCPUs, which take turns`; empty with one vCPU.
    pub fn turns_text(&self) -> String {
        match self.vcpus > 1 {
            true => format!(" of {} vCPUs, which take turns", self.vcpus),
            false => String::new(),
        }
    }

    /// Tells how many samples have no path, and why.
    pub fn partial_text(&self) -> Option<String> {
        (self.partial > 0).then(|| {
            format!(
                "not known for {} of {} samples: the benchmark reads the clock itself, and measured only part of the recording",
                self.partial, self.samples
            )
        })
    }

    /// Tabulates accesses to registers by class, or by name.
    pub fn register_table(&self, by_name: bool) -> RegisterTable {
        let mut phases: Vec<Phase> = self.registers.iter().map(|count| count.phase).collect();
        phases.sort_unstable();
        phases.dedup();
        let mut rows: Vec<RegisterRow> = Vec::new();
        for count in &self.registers {
            let register = by_name.then(|| count.register.clone());
            let is_same =
                |row: &RegisterRow| (row.class, &row.register) == (count.class, &register);
            if !rows.last().is_some_and(is_same) {
                rows.push(RegisterRow {
                    class: count.class,
                    register,
                    accesses: vec![Accesses::default(); phases.len()],
                });
            }
            let column = phases.binary_search(&count.phase);
            if let (Some(row), Ok(column)) = (rows.last_mut(), column) {
                row.accesses[column].reads += count.accesses.reads;
                row.accesses[column].writes += count.accesses.writes;
            }
        }
        RegisterTable { phases, rows }
    }
}
