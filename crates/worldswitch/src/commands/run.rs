//! `worldswitch run`: measures platforms, writes result files and prints a table.

use crate::cli::{RunArgs, session};
use crate::shared::suite::Layout;
use crate::shared::tables::{self, Shown};
use crate::shared::{Done, export, on_stdout, page, told};
use anyhow::bail;
use std::path::Path;
use ws_runner::{Benchmarks, Measured, measure};
use ws_terminal::{Colours, Why, output};

/// Measures, shows the table and keeps the results.
///
/// # Errors
/// Wrong usage, nothing to run on, or results that can't be written.
pub fn run(args: &RunArgs, colours: Colours) -> anyhow::Result<Done> {
    on_stdout(files(args))?;
    let layout = args.suite.map(Layout::of).transpose()?;
    let mut spec = args.spec();
    if let Some(layout) = &layout {
        spec.benchmarks = Benchmarks::Matching(layout.benchmarks()?);
    }
    let measured = measure(&spec, None, &session(colours)?)?;
    measured.tell_problems(colours);
    show(args, layout.as_ref(), measured, colours)
}

/// Where forms of the table go.
fn files(args: &RunArgs) -> [Option<&Path>; 3] {
    let [json, markdown] = args.exports.files();
    [json, markdown, args.export_csv.as_deref()]
}

/// Shows the table and the remarks.
fn show(
    args: &RunArgs,
    layout: Option<&Layout>,
    measured: Measured,
    colours: Colours,
) -> anyhow::Result<Done> {
    let done = told::done(&measured, colours);
    let (results, folder) = (measured.results, measured.folder.path());
    if results.is_empty() {
        let why = if measured.interrupted {
            "stopped before anything was measured"
        } else {
            "nothing was measured"
        };
        bail!("{why}");
    }
    let base = measured.base;
    let options = ws_report::Options {
        baseline: base.filter(|name| results.iter().any(|result| result.platform == *name)),
        allow: args.allow.clone(),
    };
    let table = ws_report::table(&results, &options)?;
    let table = match layout {
        Some(layout) => layout.lay_out(table),
        None => table,
    };
    // First, because it needs no disk space.
    let on_stdout = on_stdout(files(args))?;
    if !on_stdout {
        let shown = Shown::asked(args.all, layout.is_some());
        output::data(&tables::text(&table, shown, colours))?;
    }
    export(args.exports.json_to(), || Ok(table.to_json()?))?;
    export(args.export_csv.as_deref(), || Ok(table.to_csv()?))?;
    export(args.exports.markdown_to(), || Ok(table.to_markdown()))?;
    for remark in &measured.remarks {
        output::remark(remark, colours);
    }
    if measured.interrupted {
        // It has no bound.
        let why = Why::Asked.words();
        output::remark(&format!("{why}; the results until then are kept"), colours);
    }
    output::remark(&format!("results are in {}", folder.display()), colours);
    if args.report {
        let path = folder.join(page::FILE);
        let asked = page::Asked {
            baseline: options.baseline,
            allow: args.allow.clone(),
            ..page::Asked::default()
        };
        page::write(&path, &results, asked)?;
        output::remark(&page::told(&path), colours);
    }
    if !on_stdout && table.main_rows().is_some() {
        tables::next(&table, folder, colours);
    }
    Ok(done)
}
