//! As text: one sentence, the call tree, other paths, phases, registers, the sum.

use crate::explained::{Because, Explained, OtherPath};
use crate::phases::Phase;
use crate::place::{Function, Kind};
use crate::registers::{Accesses, Class};
use crate::render::number::{grouped, percent};
use crate::sum::Sum;
use crate::traps::Trap;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What of it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Calls with fewer instructions in all are left out, and counted.
    pub least: u64,
    /// Every register by its name.
    pub registers: bool,
}

impl Default for Shown {
    /// Calls of ten instructions, and classes of registers.
    fn default() -> Self {
        Self {
            least: 10,
            registers: false,
        }
    }
}

impl Explained {
    /// For people, in a font of fixed width.
    pub fn to_text(&self, shown: Shown) -> String {
        let parts = [
            self.sentence(),
            self.tree_text(shown.least),
            self.others_text(),
            self.phases_text(),
            self.traps_text(),
            self.registers_text(shown.registers),
            self.reckoning_text(),
            self.sum_text(),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n")
    }

    /// What the operation costs, and what most of it is.
    pub fn sentence(&self) -> String {
        let mut by: BTreeMap<(u8, Kind), i64> = BTreeMap::new();
        for count in self.counts() {
            let Function { level, kind, .. } = self.functions[count.function as usize];
            *by.entry((level, kind)).or_default() += count.own as i64;
        }
        let mut by: Vec<_> = by.into_iter().collect();
        by.sort_by_key(|(_, own)| std::cmp::Reverse(*own));
        let name = |level: u8, kind: Kind| match self.hypervisors {
            0 | 1 => format!("the {kind}").replace("the user", "user"),
            _ => format!("L{level}'s {kind}"),
        };
        let shares = by
            .iter()
            .map(|((level, kind), own)| format!("{} in {}", grouped(*own), name(*level, *kind)));
        let shares: Vec<String> = shares.collect();
        let outside = match shares.is_empty() {
            true => "all of the guest's own".to_owned(),
            false => {
                let attributed = grouped(self.sum.attributed);
                format!(
                    "{attributed} of them outside of the guest: {}",
                    shares.join(", ")
                )
            }
        };
        let mut text = format!(
            "{} on {}: {} instructions, {outside}.\n",
            self.benchmark,
            self.platform,
            grouped(self.sum.measured),
        );
        for added in &self.added {
            let share = percent(added.instructions as i64, self.sum.measured);
            let _ = writeln!(
                text,
                "The emulator adds {} of them ({share}), without which it would be {} ({}: {}).",
                grouped(added.instructions as i64),
                grouped(self.without(&[&added.name])),
                added.name,
                added.why,
            );
        }
        text
    }

    fn tree_text(&self, least: u64) -> String {
        let mut text = format!(
            "Call tree of the most common path ({} of {} samples), in the order of time\n{:>9} {:>8} {:>6}\n",
            self.windows, self.samples, "total", "own", "calls"
        );
        let mut open: Vec<(u32, usize)> = Vec::new();
        let mut left_out = Vec::new();
        let mut put = |open: &mut Vec<(u32, usize)>, nodes: &[u32], depth: usize| {
            for node in nodes.iter().rev() {
                let total = self.tree.nodes[*node as usize].total;
                match total >= least {
                    true => open.push((*node, depth)),
                    false => left_out.push(total),
                }
            }
        };
        put(&mut open, &self.tree.roots, 0);
        while let Some((index, depth)) = open.pop() {
            let node = &self.tree.nodes[index as usize];
            let function = &self.functions[node.function as usize];
            let _ = writeln!(
                text,
                "{:>9} {:>8} {:>6}  {}{}",
                grouped(node.total as i64),
                grouped(node.own as i64),
                grouped(node.calls as i64),
                "  ".repeat(depth),
                self.label(function),
            );
            put(&mut open, &node.children, depth + 1);
        }
        if !left_out.is_empty() {
            let sum = left_out.iter().sum::<u64>();
            let _ = writeln!(
                text,
                "{} calls of fewer than {least} instructions are not shown: {} in all",
                grouped(left_out.len() as i64),
                grouped(sum as i64)
            );
        }
        text
    }

    fn label(&self, function: &Function) -> String {
        let place = match (function.kind, &function.module) {
            (Kind::Guest, _) => "guest".to_owned(),
            (_, Some(module)) => module.clone(),
            (Kind::User, None) if !function.image.is_empty() => function.image.clone(),
            (kind, None) => kind.to_string(),
        };
        match (self.hypervisors, function.kind) {
            (0 | 1, _) | (_, Kind::Guest) => format!("{} [{place}]", function.name),
            _ => format!("{} [L{} {place}]", function.name, function.level),
        }
    }

    fn others_text(&self) -> String {
        let mut text = String::new();
        for OtherPath {
            windows,
            sum,
            because,
        } in &self.others
        {
            let why = because.as_ref().map_or_else(String::new, |because| {
                let Because {
                    function,
                    is_new,
                    instructions,
                } = because;
                let instructions = grouped(*instructions as i64);
                match is_new {
                    true => format!(", with {function}: {instructions} instructions"),
                    false => format!(", {function}: {instructions} more"),
                }
            });
            let samples = if *windows == 1 { "sample" } else { "samples" };
            let _ = writeln!(
                text,
                "{:>9} instructions in {windows} {samples} of {}{why}",
                grouped(sum.measured),
                self.samples
            );
        }
        match text.is_empty() {
            true => text,
            false => format!("Other paths\n{text}"),
        }
    }

    fn phases_text(&self) -> String {
        if self.phases.is_empty() {
            return String::new();
        }
        let mut text = String::from("Phases\n");
        for count in &self.phases {
            let instructions = count.instructions as i64;
            let share = percent(instructions, self.sum.attributed + self.control);
            let phase = count.phase.to_string();
            let _ = writeln!(text, "{:>9}  {phase} ({share})", grouped(instructions));
        }
        text
    }

    /// With one hypervisor and one trap the tree says it all.
    fn traps_text(&self) -> String {
        let count: u64 = self.traps.iter().map(|trap| trap.count).sum();
        if self.hypervisors < 2 && count < 2 {
            return String::new();
        }
        let mut text = format!("Traps: {}\n", grouped(count as i64));
        for trap in &self.traps {
            let Trap {
                from,
                to,
                cause,
                count,
                instructions,
            } = trap;
            let (count, instructions) = (grouped(*count as i64), grouped(*instructions as i64));
            let _ = writeln!(
                text,
                "{instructions:>9}  {count} x L{from} to L{to}: {cause}"
            );
        }
        text
    }

    fn registers_text(&self, by_name: bool) -> String {
        let phases: BTreeSet<Phase> = self.registers.iter().map(|count| count.phase).collect();
        let mut rows: Vec<(String, BTreeMap<Phase, Accesses>)> = Vec::new();
        let mut last: Option<(Class, &str)> = None;
        for count in &self.registers {
            let name = if by_name { &count.register } else { "" };
            if last != Some((count.class, name)) {
                last = Some((count.class, name));
                let class = count.class.to_string();
                rows.push((
                    format!("{class:20}{name}").trim_end().to_owned(),
                    BTreeMap::new(),
                ));
            }
            if let Some((_, sums)) = rows.last_mut() {
                let sum = sums.entry(count.phase).or_default();
                sum.reads += count.accesses.reads;
                sum.writes += count.accesses.writes;
            }
        }
        if rows.is_empty() {
            return String::new();
        }
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let mut text = format!("{:width$}", "Registers read/written");
        let width = width.max("Registers read/written".len());
        for phase in &phases {
            let _ = write!(text, " {:>16}", phase.to_string());
        }
        text.push('\n');
        for (name, sums) in rows {
            let _ = write!(text, "{name:width$}");
            for phase in &phases {
                let Accesses { reads, writes } = sums.get(phase).copied().unwrap_or_default();
                let cell = if reads + writes == 0 {
                    "-".to_owned()
                } else {
                    format!("{reads}/{writes}")
                };
                let _ = write!(text, " {cell:>16}");
            }
            text.push('\n');
        }
        text
    }

    fn sum_text(&self) -> String {
        let Sum {
            attributed,
            guest,
            measured,
            intercepted,
        } = self.sum;
        let uncharged = match intercepted {
            0 => String::new(),
            1.. => format!(
                " + {} intercepted, which the clock does not charge",
                grouped(intercepted)
            ),
            _ => format!(
                " - {} charged by the clock and not executed",
                grouped(-intercepted)
            ),
        };
        format!(
            "Sum: {} attributed + {} of the guest's own = {} measured{uncharged}\n",
            grouped(attributed),
            grouped(guest),
            grouped(measured),
        )
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
