//! A trial as Markdown: a comment on a patch.

use crate::guilty::Guilty;
use crate::trial::{Machine, Trial};
use std::fmt::Write;
use ws_text::number::signed;
use ws_text::{Column, Sheet, markdown};

/// The table's column of functions.
const FUNCTIONS: usize = 6;

impl Trial {
    /// Returns the comment: sentence, table, functions, and the rest folded. `budget` is the text of a budget that the
    /// change just meets, to paste.
    pub fn to_markdown(&self, budget: &str) -> String {
        let mut text = format!("**{}**\n", markdown(&self.sentence));
        for machine in self.machines.iter().filter(|one| !one.rows.is_empty()) {
            text += &table(machine);
        }
        for (at, over) in self.over_budget.iter().enumerate() {
            let gap = if at == 0 { "\n" } else { "" };
            let _ = writeln!(text, "{gap}- over the budget: {}", markdown(&over.text()));
        }
        let details: String = self.machines.iter().map(details).collect();
        if !details.is_empty() {
            let _ = write!(
                text,
                "\n<details><summary>What did not change</summary>\n{details}\n</details>\n"
            );
        }
        if !budget.is_empty() {
            let _ = write!(
                text,
                "\n<details><summary>To accept these figures, put them into your budget (worldswitch test --budget FILE)</summary>\n\n```toml\n{budget}```\n</details>\n"
            );
        }
        text
    }
}

fn table(machine: &Machine) -> String {
    let name = format!("{}, instructions", machine.machine);
    let mut sheet = Sheet::new([
        Column::text(name),
        Column::number("before"),
        Column::number("after"),
        Column::number("change"),
        Column::number(""),
        Column::text("").joined(),
        Column::text("functions"),
    ]);
    for (line, row) in machine.rows.iter().enumerate() {
        sheet.extend([row.cells()]);
        let functions = row.functions.iter().map(function);
        let rest = row.rest().map(|rest| markdown(&rest));
        let functions: Vec<String> = functions.chain(rest).collect();
        sheet.prepare(line, FUNCTIONS, functions.join("<br>"));
    }
    format!("\n{}", sheet.to_markdown())
}

/// Returns a function with its name as code.
fn function(guilty: &Guilty) -> String {
    let called = guilty.called().map(|called| format!(" {called}"));
    let place = guilty.place().map(|place| format!(" ({place})"));
    format!(
        "`{}` {}{}",
        guilty.function.replace('`', "'"),
        signed(guilty.own),
        markdown(&(called.unwrap_or_default() + &place.unwrap_or_default()))
    )
}

fn details(machine: &Machine) -> String {
    let lines = [
        (!machine.unchanged.is_empty()).then(|| machine.unchanged.join(", ")),
        (!machine.not_compared.is_empty())
            .then(|| format!("not compared: {}", machine.not_compared.join("; "))),
    ];
    let lines: Vec<String> = lines.into_iter().flatten().collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!(
            "\n{}: {}\n",
            markdown(&machine.machine),
            markdown(&lines.join(". "))
        ),
    }
}
