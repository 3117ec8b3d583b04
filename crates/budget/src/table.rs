//! A check as text and as Markdown.

use crate::check::Line;
use ws_analysis::{Figure, Outcome};
use ws_report::figure::{self, number};
use ws_text::{Set, Sheet, below_in_markdown};

/// Says how much of the budget is left, or by how much the figure is over.
fn left(line: &Line<'_>) -> String {
    let figure = match &line.figure {
        Ok(figure) => figure,
        Err(why) => return format!("no value: {}", why.lines().next().unwrap_or_default()),
    };
    let left = line.budget - figure.insns;
    match line.outcome() {
        Outcome::NoRegression => format!("{} left", number(left)),
        Outcome::Inconclusive => {
            format!("{} over, inside the band: in doubt", number(-left))
        }
        _ => format!("{} OVER", number(-left)),
    }
}

fn cells(line: &Line<'_>) -> [String; 6] {
    let figure = |of: fn(&Figure) -> String| line.figure.as_ref().map_or_else(|_| "-".into(), of);
    [
        line.platform.clone(),
        line.benchmark.to_owned(),
        number(line.budget),
        figure(|figure| number(figure.insns)),
        figure(figure::band),
        left(line),
    ]
}

/// Formats a line for each benchmark, aligned.
pub fn table(lines: &[Line<'_>]) -> String {
    sheet(lines, Set::Text).to_terminal("") + "\n"
}

/// The table; `figures` is the alignment of budget and measured.
fn sheet(lines: &[Line<'_>], figures: Set) -> Sheet {
    let mut sheet = Sheet::new([
        ("platform", Set::Text),
        ("benchmark", Set::Text),
        ("budget", figures),
        ("measured", figures),
        ("band", Set::Text),
        ("", Set::Text),
    ]);
    sheet.extend(lines.iter().map(cells));
    sheet
}

/// Formats a CI job's summary: the number of benchmarks by verdict, and the table.
pub fn markdown(lines: &[Line<'_>], legend: &str) -> String {
    let counts = ["over", "in doubt", "no value", "within"].into_iter();
    let counts = counts.filter_map(|verdict| {
        let count = lines.iter().filter(|one| one.verdict() == verdict).count();
        (count > 0).then(|| format!("{count} {verdict}"))
    });
    let counts = counts.collect::<Vec<_>>().join(", ");
    let table = sheet(lines, Set::Number).to_markdown();
    let legend = below_in_markdown(legend.lines());
    format!("### Budget: {counts}\n\n{table}\n{legend}")
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
