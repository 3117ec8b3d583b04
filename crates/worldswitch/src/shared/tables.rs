//! The table of results on standard output: a sentence with the finding, the main rows, and the next commands.

use std::path::Path;
use ws_report::{MAIN, Table};
use ws_terminal::output;
use ws_text::{Set, Sheet, wrapped};

/// Width of a file or pipe, in columns, which fits into a mail and onto half a screen.
const COLUMNS: usize = 100;

/// Part of the results that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Main rows of a whole suite, after the finding. All rows of fewer benchmarks.
    Main,
    All,
    /// A paper's table. A file or pipe has the published figures next to ours, at any width.
    Suite,
}

impl Shown {
    /// Returns the part that `--all` and `--suite` choose.
    pub fn asked(all: bool, suite: bool) -> Self {
        match (suite, all) {
            (true, _) => Self::Suite,
            (false, true) => Self::All,
            (false, false) => Self::Main,
        }
    }
}

/// Formats the table as text.
pub fn text(table: &Table, shown: Shown) -> String {
    let columns = output::columns().unwrap_or(match shown {
        Shown::Suite => usize::MAX,
        Shown::Main | Shown::All => COLUMNS,
    });
    let Some(main) = table.main_rows().filter(|_| shown == Shown::Main) else {
        return table.to_terminal(output::is_coloured(), columns);
    };
    let finding = ws_report::finding(table).map_or(String::new(), |finding| {
        format!("{}\n\n", wrapped(&finding, columns, "").join("\n"))
    });
    finding + &main.to_terminal_in_brief(output::is_coloured(), columns)
}

/// Command for Intel's machines. These are not default platforms: a boot of Bochs takes half a minute.
const INTEL: &str = "run --on lab:intel-native,lab:kvm-intel,lab:kvm-intel-shadow";

/// Prints next commands for the results in this folder.
pub fn next(table: &Table, folder: &Path) {
    let program = std::env::args_os().next().unwrap_or_default();
    let program = program.to_string_lossy();
    let folder = folder.display();
    let mut lines = vec![(
        format!("show {folder} --all"),
        format!("all {} benchmarks", table.rows.len()),
    )];
    lines.extend(explained(table).map(|(benchmark, platform)| {
        (
            format!("explain {benchmark} --on {platform}"),
            "the functions that execute its instructions".to_owned(),
        )
    }));
    if let [first, second, ..] = &*counted(table) {
        lines.push((
            format!("compare {folder}:{first} {folder}:{second}"),
            "what is better or worse on the second platform".to_owned(),
        ));
    }
    lines.push((
        format!("compare {folder} LATER"),
        "what got better or worse in a later run".to_owned(),
    ));
    if table
        .columns
        .iter()
        .any(|column| column.platform == "lab:kvm")
    {
        let what = "the same on Intel's VMX, once \"lab fetch kvm-intel\" has run";
        lines.push((INTEL.to_owned(), what.to_owned()));
    }
    let mut sheet = Sheet::list([Set::Text; 2]);
    let lines = lines.into_iter();
    sheet
        .extend(lines.map(|(command, what)| [format!("{program} {command}"), format!("# {what}")]));
    output::remark(&format!("next:\n{}", sheet.to_terminal("")));
}

/// Lists the lab machines with a hypervisor whose instructions were counted.
fn counted(table: &Table) -> Vec<&str> {
    let columns = table.columns.iter().enumerate();
    let counted = columns.filter(|(index, column)| {
        column.platform.starts_with("lab:")
            && column.unit.as_deref() == Some("insns")
            && column.baseline != Some(*index)
    });
    counted.map(|(_, column)| &*column.platform).collect()
}

/// Chooses a benchmark to explain, with a lab machine: the first main row that the machine measured.
fn explained(table: &Table) -> Option<(&'static str, &str)> {
    let &platform = counted(table).first()?;
    let mut columns = table.columns.iter();
    let index = columns.position(|column| column.platform == platform)?;
    let measured = |benchmark: &&str| {
        let row = table.rows.iter().find(|row| row.benchmark == **benchmark);
        let cell = row.and_then(|row| row.cells.get(index)?.as_ref());
        cell.is_some_and(|cell| cell.value.is_some())
    };
    let mut names = MAIN.iter().map(|main| main.benchmark);
    Some((names.find(measured)?, platform))
}
