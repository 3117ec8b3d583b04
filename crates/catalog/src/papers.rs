//! The tables and figures of the five papers, their numbers, and the commands that measure them.

use schemars::JsonSchema;
use serde::Serialize;
use ws_report::reference::{Figure, Reference, Value};
use ws_terminal::Usage;
use ws_terminal::columns::{self, columns};
use ws_text::{Set, Sheet, terminal};

/// The format version of `--json`.
const PAPERS: &str = "worldswitch-papers/1";

/// From this width in characters on a table is turned if that makes it narrower.
const WIDE: usize = 130;

/// Papers, their figures that are measured here, and the numbers of one figure.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Papers {
    /// Always `worldswitch-papers/1`.
    #[schemars(extend("const" = PAPERS))]
    schema: &'static str,
    papers: Vec<PaperListed>,
    /// Published numbers of the requested figure.
    numbers: Vec<Number>,
}

/// A paper.
#[derive(Debug, Serialize, JsonSchema)]
struct PaperListed {
    name: String,
    authors: String,
    title: String,
    venue: String,
    /// Figures of the paper that are measured here, with their commands.
    figures: Vec<Figure>,
}

/// A published number.
#[derive(Debug, Serialize, JsonSchema)]
struct Number {
    row: String,
    column: String,
    /// Number as printed.
    printed: String,
    /// Value, or the lower end of a range.
    value: Option<f64>,
    unit: String,
    /// Machine of the paper.
    hardware: String,
    /// Explanation for the reader.
    note: String,
}

/// Finds the key of the named paper.
pub fn named<'a>(reference: &'a Reference, given: &str) -> Result<&'a str, Usage> {
    let given_low = given.to_lowercase();
    let mut like = reference
        .papers
        .iter()
        .filter(|paper| !given.is_empty() && paper.paper.starts_with(&given_low));
    match (like.next(), like.next()) {
        (Some(paper), None) => Ok(&paper.paper),
        _ => {
            let all: Vec<&str> = reference.papers.iter().map(|it| &*it.paper).collect();
            Err(Usage(format!(
                "there is no paper {}: choose one of {}",
                terminal(given),
                all.join(", ")
            )))
        }
    }
}

/// Finds the named figure: a figure that is measured here, else one whose numbers are known.
pub fn figure(reference: &Reference, paper: &str, given: &str) -> Result<Figure, Usage> {
    let given_low = given.trim().to_lowercase();
    let kinds = ["", "table ", "figure ", "text "];
    let measured = figures(reference, paper);
    let with_numbers = reference
        .tables
        .iter()
        .filter(|table| table.paper == paper)
        .map(|table| {
            let is_table = table.table.starts_with(|c: char| c.is_ascii_digit());
            Figure {
                paper: paper.to_owned(),
                figure: match is_table {
                    true => format!("table {}", table.table),
                    false => table.table.clone(),
                },
                shows: table.caption.clone(),
                command: String::new(),
                page: String::new(),
            }
        });
    let all: Vec<Figure> = measured.cloned().chain(with_numbers).collect();
    let found = kinds.iter().find_map(|kind| {
        let wanted = format!("{kind}{given_low}");
        all.iter().find(|figure| figure.figure == wanted)
    });
    found.cloned().ok_or_else(|| {
        let mut names: Vec<&str> = all.iter().map(|figure| &*figure.figure).collect();
        names.sort_unstable();
        names.dedup();
        Usage(format!(
            "{paper} has no table, figure or section {}: choose one of {}",
            terminal(given),
            names.join(", ")
        ))
    })
}

/// Figures of a paper that are measured here.
fn figures<'a>(reference: &'a Reference, paper: &'a str) -> impl Iterator<Item = &'a Figure> {
    let all = reference.figures.iter();
    all.filter(move |figure| figure.paper == paper)
}

/// Lists papers, and the numbers of a figure, as JSON.
pub fn json(
    reference: &Reference,
    name: Option<&str>,
    figure: Option<&Figure>,
) -> serde_json::Result<String> {
    let papers = reference.papers.iter();
    let papers = papers.filter(|paper| name.is_none_or(|name| paper.paper == name));
    let papers = papers.map(|paper| PaperListed {
        name: paper.paper.clone(),
        authors: paper.authors.clone(),
        title: paper.title.clone(),
        venue: paper.venue.clone(),
        figures: figures(reference, &paper.paper)
            .filter(|one| figure.is_none_or(|figure| figure.figure == one.figure))
            .cloned()
            .collect(),
    });
    let numbers = figure.into_iter().flat_map(|figure| {
        let values = reference.of_table(&figure.paper, figure.table());
        values.map(|value| Number {
            row: value.row.clone(),
            column: value.column.clone(),
            printed: value.printed.clone(),
            value: value.value,
            unit: value.unit.clone(),
            hardware: reference.hardware_of(value).unwrap_or_default().to_owned(),
            note: value.note.clone(),
        })
    });
    columns::json(&Papers {
        schema: PAPERS,
        papers: papers.collect(),
        numbers: numbers.collect(),
    })
}

/// Lists the papers, each with its figures that are measured here.
pub fn list(reference: &Reference, name: Option<&str>) -> String {
    let papers = reference.papers.iter();
    let papers = papers.filter(|paper| name.is_none_or(|name| paper.paper == name));
    let parts = papers.map(|paper| {
        let lines = figures(reference, &paper.paper);
        let lines = lines.map(|one| {
            let [figure, shows, command] = [&one.figure, &one.shows, &one.command];
            [figure.clone(), shows.clone(), command.clone()]
        });
        format!(
            "{}: {}. {}. {}.\n\n{}",
            paper.paper,
            paper.authors,
            paper.title,
            paper.venue,
            columns(["figure", "shows", "command"], lines)
        )
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// Formats a figure: its published numbers, their machines, and the command that measures it here.
pub fn shown(reference: &Reference, figure: &Figure) -> String {
    let values: Vec<&Value> = reference.of_table(&figure.paper, figure.table()).collect();
    let mut text = format!("{}, {}: {}\n", figure.paper, figure.figure, figure.shows);
    match values.is_empty() {
        true => text.push_str("\nThe paper prints no numbers for this figure.\n"),
        false => text.push_str(&format!("\n{}", numbers(&values))),
    }
    let mut below: Vec<String> = Vec::new();
    let mut add = |line: String| {
        if !below.contains(&line) {
            below.push(line);
        }
    };
    for value in &values {
        if let Some(hardware) = reference.hardware_of(value) {
            add(format!("{}: {hardware}", value.hardware));
        }
    }
    for value in values.iter().filter(|value| !value.note.is_empty()) {
        let of_note = |other: &&&Value| other.row == value.row && other.note == value.note;
        let column = match values.iter().filter(of_note).count() {
            1 => format!(", {}", value.column),
            _ => String::new(),
        };
        add(format!("{}{column}: {}", value.row, value.note));
    }
    for value in values.iter().filter(|value| !value.errata.is_empty()) {
        add(format!("{}: {}", value.row, value.errata));
    }
    if !below.is_empty() {
        text.push_str(&format!("\n{}\n", below.join("\n")));
    }
    match figure.command.is_empty() {
        true => text.push_str("\nNo command measures this figure.\n"),
        false => text.push_str(&format!(
            "\ncommand: {}\npage:    docs/{}\n",
            figure.command, figure.page
        )),
    }
    text
}

/// Lays out the numbers as printed, by row and column, or turned if that is narrower. Columns have their unit and
/// machine where these differ.
fn numbers(values: &[&Value]) -> String {
    let unit = |value: &Value| match value.unit.as_str() {
        "" => String::new(),
        unit => format!(" ({})", unit.replace('_', " ")),
    };
    let machine = |value: &Value| format!(", {}", value.hardware);
    let differ = |of: &dyn Fn(&Value) -> String| values.iter().any(|it| of(it) != of(values[0]));
    let (units_differ, machines_differ) = (differ(&unit), differ(&machine));
    let head = |value: &Value| {
        let mut head = value.column.clone();
        if machines_differ {
            head.push_str(&machine(value));
        }
        if units_differ {
            head.push_str(&unit(value));
        }
        head
    };
    let (mut rows, mut heads): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for value in values {
        if !rows.contains(&value.row) {
            rows.push(value.row.clone());
        }
        if !heads.contains(&head(value)) {
            heads.push(head(value));
        }
    }
    let corner = match units_differ {
        true => String::new(),
        false => unit(values[0]).trim().to_owned(),
    };
    let cell = |row: &str, column: &str| {
        let found = values.iter().find(|it| it.row == row && head(it) == column);
        found.map_or(String::new(), |value| value.printed.clone())
    };
    let upright = numbers_by(&corner, &rows, &heads, cell);
    let turned = numbers_by(&corner, &heads, &rows, |column, row| cell(row, column));
    let width = |text: &str| text.lines().map(|line| line.chars().count()).max();
    match width(&upright) > Some(WIDE) && width(&turned) < width(&upright) {
        true => turned,
        false => upright,
    }
}

/// Returns a table with a line for each of `down`, and a column of numbers for each of `across`.
fn numbers_by(
    corner: &str,
    down: &[String],
    across: &[String],
    cell: impl Fn(&str, &str) -> String,
) -> String {
    let numbers = across.iter().map(|head| (&**head, Set::Number));
    let mut sheet = Sheet::new([(corner, Set::Text)].into_iter().chain(numbers));
    sheet.extend(down.iter().map(|name| {
        let cells = across.iter().map(|head| cell(name, head));
        [name.clone()].into_iter().chain(cells).collect::<Vec<_>>()
    }));
    sheet.to_terminal("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ws_report::reference;

    #[test]
    fn each_measured_table_has_a_command() {
        let reference = reference::load().unwrap();
        let measured = reference.tables.iter();
        let measured = measured.filter(|table| {
            table.kind == reference::Kind::Measured && !table.table.starts_with("text")
        });
        for table in measured {
            let found = figure(&reference, &table.paper, &table.table).unwrap();
            assert!(!found.command.is_empty(), "{} {}", table.paper, table.table);
        }
    }

    #[test]
    fn papers_and_figures_are_found_by_short_names() {
        let reference = reference::load().unwrap();
        let find = |paper: &str, given: &str| {
            let paper = named(&reference, paper).map_err(|error| error.0)?;
            figure(&reference, paper, given)
                .map(|figure| figure.figure)
                .map_err(|error| error.0)
        };
        assert_eq!(find("dall", "2").unwrap(), "table 2");
        assert_eq!(find("Dall", "Figure 4").unwrap(), "figure 4");
        assert_eq!(find("elvis", "4.3").unwrap(), "text 4.3");
        assert_eq!(find("elvis", "4.8").unwrap(), "text 4.8");
        assert_eq!(find("rasmusson", "4").unwrap(), "figure 4");
        let none = find("", "1").unwrap_err();
        assert!(
            none.contains("choose one of hyperbench-2019, dall-2015"),
            "{none}"
        );
        let none = find("neve", "9").unwrap_err();
        assert!(
            none.contains("section 9: choose one of table 1, "),
            "{none}"
        );
    }

    #[test]
    fn numbers_stand_as_printed() {
        let reference = reference::load().unwrap();
        let table = figure(&reference, "dall-2015", "2").unwrap();
        let text = shown(&reference, &table);
        let hypercall = text.lines().find(|line| line.starts_with("Hypercall"));
        let cells: Vec<&str> = hypercall.unwrap().split_whitespace().collect();
        assert_eq!(cells, ["Hypercall", "6,500", "376", "1,300", "1,228"]);
        assert!(
            text.contains("command: worldswitch run --suite dall2015"),
            "{text}"
        );
        for figure in &reference.figures {
            assert!(!shown(&reference, figure).is_empty());
        }
    }
}
