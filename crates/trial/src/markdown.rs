//! A trial as Markdown: a comment on a patch.

use crate::trial::{Machine, Trial};
use std::fmt::Write;
use ws_text::markdown;
use ws_text::number::signed;

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
    let mut text = format!(
        "\n| {}, instructions | before | after | change | | functions |\n|---|--:|--:|--:|--:|---|\n",
        markdown(&machine.machine)
    );
    for row in &machine.rows {
        let functions = row.functions.iter().map(|guilty| {
            let place = guilty.place().map(|place| format!(" ({place})"));
            let place = place.unwrap_or_default();
            let called = guilty.called().map(|called| format!(" {called}"));
            format!(
                "`{}` {}{}",
                guilty.function.replace('`', "'"),
                signed(guilty.own),
                markdown(&(called.unwrap_or_default() + &place))
            )
        });
        let rest = row.rest().map(|rest| markdown(&rest));
        let functions: Vec<String> = functions.chain(rest).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} {} | {} |",
            markdown(&row.benchmark),
            row.before(),
            row.after(),
            row.difference(),
            row.percentage(),
            row.word(),
            functions.join("<br>")
        );
    }
    text
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
