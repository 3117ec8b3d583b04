//! `worldswitch run` without options of one workload: benchmarks, and any workload by its name.

use crate::cli::{RunArgs, Suite, View, session};
use crate::shared::suite::Layout;
use crate::shared::tables::{self, Shown};
use crate::shared::{Done, export, on_stdout, page, views};
use anyhow::bail;
use std::path::Path;
use ws_machines::name::parse_list;
use ws_report::page::Asked;
use ws_report::{Options, Table};
use ws_results::ResultFile;
use ws_runner::{Benchmarks, Measured, measure};
use ws_terminal::{Why, output};

pub fn benchmarks(args: &RunArgs) -> anyhow::Result<Done> {
    on_stdout(files(args))?;
    let layout = args.suite.map(Layout::of).transpose()?;
    let mut spec = args.spec();
    if let Some(layout) = &layout {
        spec.benchmarks = Benchmarks::Matching(layout.benchmarks()?);
    }
    if let (Some(platforms), true) = (
        args.suite.and_then(Suite::platforms),
        spec.platforms.is_empty(),
    ) {
        spec.platforms = parse_list(platforms)?;
    }
    let measured = measure(&spec, None, &session()?)?;
    measured.tell_problems();
    show(args, layout.as_ref(), measured)
}

/// Files of the exported tables.
fn files(args: &RunArgs) -> [Option<&Path>; 3] {
    let [json, markdown] = args.exports.files();
    [json, markdown, args.export_csv.as_deref()]
}

/// Shows the table and the remarks.
fn show(args: &RunArgs, layout: Option<&Layout>, measured: Measured) -> anyhow::Result<Done> {
    let done = Done::whole_if(measured.tell_outcome());
    let (results, folder) = (measured.results, measured.folder.path());
    if results.is_empty() {
        let why = if measured.interrupted {
            "stopped before anything was measured"
        } else {
            "nothing was measured"
        };
        bail!("{why}");
    }
    let options = Options {
        baseline: (measured.base.clone())
            .filter(|name| results.iter().any(|result| result.platform == *name)),
        allow: args.allow.clone(),
    };
    // Standard output first, because it needs no disk space.
    let on_stdout = on_stdout(files(args))?;
    let has_next = match view(args, &results) {
        View::Table => shown(args, layout, &results, &options)?,
        view => {
            views::show(view, &results, &args.parts.to_parts().lab, &args.exports)?;
            None
        }
    };
    for remark in &measured.remarks {
        output::remark(remark);
    }
    if measured.interrupted {
        // This run has no time limit, so the user stopped it.
        let why = Why::Asked.words();
        output::remark(&format!("{why}; the results so far are kept"));
    }
    output::remark(&format!("results are in {}", folder.display()));
    if args.report {
        let path = folder.join(page::FILE);
        let asked = Asked {
            baseline: options.baseline,
            allow: args.allow.clone(),
            ..Asked::default()
        };
        if let (Some(written), _) = page::write(&path, &results, asked)? {
            output::remark(&written);
        }
    }
    if let Some(table) = has_next.filter(|_| !on_stdout) {
        tables::next(&table, folder);
    }
    Ok(done)
}

/// Returns the view of the results. An option of the table of benchmarks chooses that table.
fn view(args: &RunArgs, results: &[ResultFile]) -> View {
    let is_of_table = args.suite.is_some() || args.base.is_some() || args.export_csv.is_some();
    match is_of_table || args.all || !args.allow.is_empty() {
        true => View::Table,
        false => views::of(results),
    }
}

/// Shows the table of benchmarks. Returns the table if next commands can be suggested.
fn shown(
    args: &RunArgs,
    layout: Option<&Layout>,
    results: &[ResultFile],
    options: &Options,
) -> anyhow::Result<Option<Table>> {
    let table = ws_report::table(results, options)?;
    let table = match layout {
        Some(layout) => layout.lay_out(table),
        None => table,
    };
    if !on_stdout(files(args))? {
        let shown = Shown::asked(args.all, layout.is_some());
        output::data(&tables::text(&table, shown))?;
    }
    export(args.exports.json_to(), || Ok(table.to_json()?))?;
    export(args.export_csv.as_deref(), || Ok(table.to_csv()))?;
    export(args.exports.markdown_to(), || Ok(table.to_markdown()))?;
    Ok(Some(table).filter(|table| table.main_rows().is_some()))
}
