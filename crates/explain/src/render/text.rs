//! An explained operation as text: one sentence, the call tree, other paths, phases, registers, the sum.

use crate::explained::Explained;
use crate::phases::Phase;
use crate::place::{Function, Kind};
use crate::registers::Accesses;
use crate::render::table::RegisterTable;
use crate::sum::Sum;
use crate::traps::Trap;
use std::collections::BTreeMap;
use std::fmt::Write;
use ws_text::number::{grouped, share};
use ws_text::{Column, Sheet};

/// Options of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Fewest instructions of a call that is shown. Shorter calls are counted.
    pub least: u64,
    /// Whether every register is shown by its name.
    pub registers: bool,
    /// Whether lines of the source are shown.
    pub lines: bool,
}

impl Default for Shown {
    /// Shows calls of ten instructions or more, and classes of registers.
    fn default() -> Self {
        Self {
            least: 10,
            registers: false,
            lines: false,
        }
    }
}

impl Explained {
    /// Returns the explanation for people, in a font of fixed width.
    pub fn to_text(&self, shown: Shown) -> String {
        let parts = [
            self.sentence(),
            self.tree_text(shown.least),
            self.debug_text(),
            self.lines_text(shown),
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

    /// Tells the cost of the operation and its largest parts.
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
                let attributed = self.sum.attributed - self.left_out_measured();
                format!(
                    "{} of them outside of the guest: {}",
                    grouped(attributed),
                    shares.join(", ")
                )
            }
        };
        let mut text = format!(
            "{} on {}: {} instructions{}, {outside}.\n",
            self.benchmark,
            self.platform,
            grouped(self.remaining()),
            self.left_out_words(),
        );
        text += &self.left_out_line();
        let is_left_out = |name: &String| {
            let left_out = self.left_out.as_ref();
            left_out.is_some_and(|left_out| left_out.names.contains(name))
        };
        for added in self.added.iter().filter(|added| !is_left_out(&added.name)) {
            let share = share(added.instructions as i64, self.sum.measured);
            let _ = writeln!(
                text,
                "The emulator adds {} of these ({share}). Without them the count would be {} ({}: {}).",
                grouped(added.instructions as i64),
                grouped(self.without(&[&added.name])),
                added.name,
                added.why,
            );
        }
        text
    }

    /// Draws the call tree in the order of time. Calls of fewer than `least` instructions are only counted.
    fn tree_text(&self, least: u64) -> String {
        let mut text = format!(
            "Call tree of the most common path{} ({} of {} samples), in the order of time\n",
            self.turns_text(),
            self.windows,
            self.samples
        );
        let mut sheet = Sheet::new([
            Column::number("total").wide(9),
            Column::number("own").wide(8).after(1),
            Column::number("calls").wide(6).after(1),
            Column::text(""),
        ]);
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
            sheet.extend([[
                grouped(node.total as i64),
                grouped(node.own as i64),
                function.calls(node.calls),
                "  ".repeat(depth) + &self.label(function),
            ]]);
            put(&mut open, &node.children, depth + 1);
        }
        text += &sheet.to_terminal("");
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

    fn others_text(&self) -> String {
        let mut sheet = counted(1);
        sheet.extend(self.others.iter().map(|other| {
            let what = format!("instructions in {}", self.other_text(other));
            [grouped(other.sum.measured), what]
        }));
        let partial = self.partial_text();
        sheet.extend(partial.map(|partial| [String::new(), partial]));
        titled("Other paths\n", &sheet)
    }

    fn phases_text(&self) -> String {
        let mut sheet = counted(2);
        sheet.extend(self.phase_shares().map(|(phase, instructions, share)| {
            [grouped(instructions), format!("{phase} ({share})")]
        }));
        titled("Phases\n", &sheet)
    }

    fn traps_text(&self) -> String {
        let traps = self.telling_traps();
        let count: u64 = traps.iter().map(|trap| trap.count).sum();
        let mut sheet = counted(2);
        sheet.extend(traps.iter().map(|trap| {
            let Trap {
                from, to, cause, ..
            } = trap;
            let count = grouped(trap.count as i64);
            let what = format!("{count} x L{from} to L{to}: {cause}");
            [grouped(trap.instructions as i64), what]
        }));
        titled(&format!("Traps: {}\n", grouped(count as i64)), &sheet)
    }

    fn registers_text(&self, by_name: bool) -> String {
        let RegisterTable { phases, rows } = self.register_table(by_name);
        if rows.is_empty() {
            return String::new();
        }
        let names = [
            Column::text("Registers read/written"),
            Column::text("").after(1),
        ];
        let phases = phases.iter().map(Phase::to_string);
        let phases = phases.map(|phase| Column::number(phase).wide(16).after(1));
        let mut sheet = Sheet::new(names.into_iter().chain(phases)).without_empty_columns();
        sheet.extend(rows.into_iter().map(|row| {
            let names = [row.class.to_string(), row.register.unwrap_or_default()];
            let accesses = row.accesses.into_iter().map(Accesses::text);
            names.into_iter().chain(accesses).collect::<Vec<_>>()
        }));
        let why = self.unnamed().map(|why| format!("{why}\n"));
        sheet.to_terminal("") + &why.unwrap_or_default()
    }

    /// Tells how the parts add up to the measurement, in one line.
    pub fn sum_text(&self) -> String {
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
        ) + &self.left_out_sum()
    }
}

/// Returns an empty list of numbers of instructions and, after a gap, a text.
pub(super) fn counted(gap: usize) -> Sheet {
    Sheet::new([Column::number("").wide(9), Column::text("").after(gap)])
}

/// Returns a list below its title; empty without lines.
fn titled(title: &str, list: &Sheet) -> String {
    match list.is_empty() {
        true => String::new(),
        false => title.to_owned() + &list.to_terminal(""),
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
