//! A trial as text.

use crate::row::TrialRow;
use crate::trial::{Machine, Trial};
use std::collections::BTreeMap;
use std::fmt::Write;
use ws_text::number::signed;
use ws_text::{Column, Set, Sheet, terminal, wrapped};

/// Columns of a terminal.
const WIDTH: usize = 100;

impl Trial {
    /// Returns the sentence, and for each machine the rows that changed with their functions.
    pub fn to_text(&self) -> String {
        let mut text = wrapped(&terminal(&self.sentence), WIDTH, "").join("\n") + "\n";
        for machine in &self.machines {
            let _ = write!(text, "\n{}\n", terminal(&machine.machine));
            text += &table(machine);
            let rest = [
                (!machine.unchanged.is_empty())
                    .then(|| format!("no change: {}", machine.unchanged.join(", "))),
                (!machine.not_compared.is_empty())
                    .then(|| format!("not compared: {}", machine.not_compared.join("; "))),
            ];
            for line in rest.into_iter().flatten() {
                let lines = wrapped(&terminal(&line), WIDTH - 2, "    ");
                let _ = writeln!(text, "  {}", lines.join("\n"));
            }
        }
        for (at, over) in self.over_budget.iter().enumerate() {
            let head = if at == 0 { "\nOver the budget\n" } else { "" };
            let _ = writeln!(text, "{head}  {}", terminal(&over.text()));
        }
        text
    }
}

impl Trial {
    /// Returns a text for a patch's cover letter: the rows that changed, in instructions. `names` has a
    /// benchmark's names in kvm-unit-tests or another suite; where two of its programs have the row, x86's goes first.
    pub fn cover_letter(&self, names: &BTreeMap<String, String>) -> String {
        let mut text = "\nFor a cover letter:\n".to_owned();
        for machine in &self.machines {
            let at = terminal(&machine.machine);
            let _ = write!(text, "\n  {at}, in instructions (worldswitch):\n");
            let heads = [
                ("", Set::Text),
                ("before", Set::Number),
                ("after", Set::Number),
                ("", Set::Number),
            ];
            let mut sheet = Sheet::new(heads);
            sheet.extend(machine.rows.iter().map(|row| {
                [
                    name(names, machine, &row.benchmark),
                    row.before(),
                    row.after(),
                    row.percentage(),
                ]
            }));
            text += &sheet.to_terminal("    ");
            let _ = writeln!(text, "    no change: {}", machine.unchanged.len());
        }
        text
    }
}

fn name(names: &BTreeMap<String, String>, machine: &Machine, benchmark: &str) -> String {
    let Some(names) = names.get(benchmark) else {
        return benchmark.to_owned();
    };
    // The list has names of x86 and ARM.
    let name = match machine.architecture.as_deref() {
        Some("aarch64") => names.rsplit(", ").next(),
        Some("x86_64") | None => names.split(", ").next(),
        Some(_) => None,
    };
    name.unwrap_or(benchmark).to_owned()
}

/// The rows, and below each its functions.
fn table(machine: &Machine) -> String {
    if machine.rows.is_empty() {
        return String::new();
    }
    let heads = [
        ("benchmark", Set::Text),
        ("before", Set::Number),
        ("after", Set::Number),
        ("change", Set::Number),
        ("", Set::Number),
        ("", Set::Text),
    ];
    let mut sheet = Sheet::new(heads);
    for row in &machine.rows {
        sheet.extend([row.cells()]);
        let functions = functions(row).to_terminal("    ");
        for line in functions.lines() {
            sheet.span([line.to_owned()]);
        }
    }
    sheet.to_terminal("  ")
}

/// Returns a row's functions, and the note on them.
fn functions(row: &TrialRow) -> Sheet {
    let mut sheet = Sheet::new([Column::number("").wide(7), Column::text("")]);
    sheet.extend(row.functions.iter().map(|guilty| {
        let place = guilty.place().map(|place| format!(" ({place})"));
        let place = place.unwrap_or_default();
        let what = format!("{}{place}: {}", guilty.function, guilty.how());
        [signed(guilty.own), what]
    }));
    if let Some(rest) = row.rest() {
        sheet.span([rest]);
    }
    sheet
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
