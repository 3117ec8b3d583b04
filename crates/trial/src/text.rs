//! A trial as text.

use crate::guilty::Guilty;
use crate::trial::{Machine, Trial};
use std::fmt::Write;
use ws_explain::render::number::signed;
use ws_text::{aligned, terminal, wrapped};

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
        text
    }
}

impl Trial {
    /// Returns a text for a patch's cover letter: the rows that changed, in instructions. `name` gives a
    /// benchmark's name on a machine.
    pub fn cover_letter(&self, name: impl Fn(&str, &str) -> String) -> String {
        let mut text = "\nFor a cover letter:\n".to_owned();
        for machine in &self.machines {
            let at = terminal(&machine.machine);
            let _ = write!(text, "\n  {at}, in instructions (worldswitch):\n");
            let rows = machine.rows.iter().map(|row| {
                [
                    name(&machine.machine, &row.benchmark),
                    row.before(),
                    row.after(),
                    row.percentage(),
                ]
            });
            let head = ["", "before", "after", ""].map(str::to_owned);
            let lines: Vec<[String; 4]> = std::iter::once(head).chain(rows).collect();
            for line in aligned(&lines, |column| column == 0) {
                let _ = writeln!(text, "    {}", terminal(&line));
            }
            let _ = writeln!(text, "    no change: {}", machine.unchanged.len());
        }
        text
    }
}

fn table(machine: &Machine) -> String {
    let rows = machine.rows.iter().map(|row| {
        [
            row.benchmark.clone(),
            row.before(),
            row.after(),
            row.difference(),
            row.percentage(),
            row.word().to_owned(),
        ]
    });
    let head = ["benchmark", "before", "after", "change", "", ""].map(str::to_owned);
    let lines: Vec<[String; 6]> = std::iter::once(head).chain(rows).collect();
    if lines.len() == 1 {
        return String::new();
    }
    let lines = aligned(&lines, |column| column == 0 || column == 5);
    let mut text = format!("  {}\n", lines[0]);
    for (line, row) in lines[1..].iter().zip(&machine.rows) {
        let _ = writeln!(text, "  {line}");
        for guilty in &row.functions {
            let _ = writeln!(text, "      {}", function(guilty));
        }
        if let Some(rest) = row.rest() {
            let _ = writeln!(text, "      {}", terminal(&rest));
        }
    }
    text
}

fn function(guilty: &Guilty) -> String {
    let place = guilty.place().map(|place| format!(" ({place})"));
    let text = format!(
        "{:>7}  {}{}: {}",
        signed(guilty.own),
        guilty.function,
        place.unwrap_or_default(),
        guilty.word()
    );
    terminal(&text).into_owned()
}
