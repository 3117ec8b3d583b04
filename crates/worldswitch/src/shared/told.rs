//! Output after a measurement: problems, remarks, and the folder of the results.

use super::Done;
use ws_results::{ResultFile, Row, Status};
use ws_runner::Measured;
use ws_terminal::{Colours, output};

/// Prints problems, remarks and the folder of the results, for commands with a table of their own.
pub fn told(measured: Measured, colours: Colours) -> (Vec<ResultFile>, Done) {
    measured.tell_problems(colours);
    let done = done(&measured, colours);
    for remark in &measured.remarks {
        output::remark(remark, colours);
    }
    let folder = measured.folder.path().display();
    output::remark(&format!("results are in {folder}"), colours);
    (measured.results, done)
}

/// Returns the command's outcome. A run that measured nothing is not a success, whatever the reasons; an error says
/// so.
pub fn done(measured: &Measured, colours: Colours) -> Done {
    let nothing = nothing(&measured.results);
    if let Some(why) = &nothing {
        output::error(&anyhow::anyhow!("{why}"), colours);
    }
    match measured.is_whole() && nothing.is_none() {
        true => Done::Whole,
        false => Done::InPart,
    }
}

/// Returns an error text if no result has a figure; `None` if one has, or if there are no results.
fn nothing(results: &[ResultFile]) -> Option<String> {
    let has_figures = |row: &Row| row.status == Status::Ok && !row.metrics.is_empty();
    let rows: Vec<&Row> = results.iter().flat_map(|result| &result.rows).collect();
    if results.is_empty() || rows.iter().any(|row| has_figures(row)) {
        return None;
    }
    let all = rows.len();
    Some(match rows.first().filter(|_| all == 1) {
        Some(row) => format!(
            "nothing was measured: {}: {}: {}",
            row.benchmark,
            row.status.word(),
            row.reason.as_deref().unwrap_or("no reason is given")
        ),
        None => format!(
            "nothing was measured: {all} benchmarks have no figures; the table has the reasons"
        ),
    })
}
