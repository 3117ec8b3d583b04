//! The page of results: for `report` and `run --report`.

use crate::cli::Form;
use crate::shared::traffics::traffics;
use crate::shared::write as write_file;
use anyhow::Context;
use std::path::Path;
use ws_report::page::{Asked, Page};
use ws_results::ResultFile;
use ws_runner::parts::Places;

/// Name of the report in the folder of its results.
pub const FILE: &str = "report.html";

/// Writes the page of these results; into a file `.svg`, only the page's first chart. Returns the message after a page
/// is in a file, and the requested parts that the page lacks, with reasons.
///
/// # Errors
/// The baseline is not among the results, or the page can't be written.
pub fn write(
    path: &Path,
    results: &[ResultFile],
    mut asked: Asked,
) -> anyhow::Result<(Option<String>, Vec<String>)> {
    asked.traffics = traffics(&Places::default())?;
    let page = Page::of(results, asked, Form::of(path) == Some(Form::Svg))?;
    let text = page.text;
    let text = text.context("no benchmark has a cost to draw: write a page instead, FILE.html")?;
    let is_file = write_file(path, text.as_bytes())?;
    let written = format!("the report is {}; open it in a browser", path.display());
    Ok((is_file.then_some(written), page.refused))
}
