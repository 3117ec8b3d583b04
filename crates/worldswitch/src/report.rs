//! `worldswitch report`: results in, one HTML page out. `run --report` ends in the same page.

use crate::cli::ReportArgs;
use crate::output::{self, Colours};
use std::path::Path;
use ws_results::ResultFile;

/// The name of a report beside the results that it is of.
pub const FILE: &str = "report.html";

/// Makes the page.
///
/// # Errors
/// There is no such result or baseline, or the page can't be written.
pub fn report(args: &ReportArgs, colours: Colours) -> anyhow::Result<()> {
    let mut results = Vec::new();
    for path in &args.runs {
        results.extend(ws_results::load(path)?);
    }
    let baseline = args.baseline.as_ref().map(ToString::to_string);
    order(&mut results, baseline.as_deref());
    write(&args.output, &results, baseline, &args.allow)?;
    output::remark(&told(&args.output), colours);
    Ok(())
}

/// Runs in the order of their dates; in each the baseline first, then those in its unit.
fn order(results: &mut [ResultFile], baseline: Option<&str>) {
    let baseline = baseline.unwrap_or(ws_report::page::BASELINE);
    let unit = |result: &ResultFile| result.identity.conditions.get("unit").cloned();
    let base = results.iter().find(|result| result.platform == baseline);
    let base_unit = base.and_then(unit);
    results.sort_by(|a, b| {
        let key = |r: &ResultFile| (unit(r) != base_unit, r.platform != baseline);
        (&a.created, key(a), &a.platform).cmp(&(&b.created, key(b), &b.platform))
    });
}

/// Writes the page of these results.
///
/// # Errors
/// As [`report`].
pub fn write(
    path: &Path,
    results: &[ResultFile],
    baseline: Option<String>,
    allow: &[String],
) -> anyhow::Result<()> {
    let report = ws_report::page::Report {
        results,
        baseline,
        allow: allow.to_vec(),
        ..ws_report::page::Report::default()
    };
    Ok(ws_results::write_bytes(
        path,
        ws_report::page::render(&report)?.as_bytes(),
    )?)
}

/// What is said when it is written.
pub fn told(path: &Path) -> String {
    format!("the report is {}; open it in a browser", path.display())
}
