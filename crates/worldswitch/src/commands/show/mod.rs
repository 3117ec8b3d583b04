//! `worldswitch show`: results of an earlier run, or their cost model.

mod model;

use crate::cli::{ShowArgs, View};
use crate::shared::suite::Layout;
use crate::shared::tables::{self, Shown};
use crate::shared::{put, views};
use std::path::Path;
use ws_results::ResultFile;
use ws_terminal::{Usage, output};

/// Prints a table, one result in detail, or a model.
pub fn show(args: &ShowArgs) -> anyhow::Result<()> {
    if !args.model.native.is_empty() {
        return model::model(args);
    }
    let mut results = ws_results::load_all(&args.paths)?;
    match view(args, &results)? {
        View::Table => table(args, &results),
        view => {
            results.extend(ws_results::load_all(&args.prices)?);
            views::show(view, &results, &args.places.to_places(), &args.forms())
        }
    }
}

/// Returns the view that the user names, else the view of the results' workloads.
fn view(args: &ShowArgs, results: &[ResultFile]) -> Result<View, Usage> {
    let of_table = [
        ("--csv", args.csv),
        ("--suite", args.suite.is_some()),
        ("--base", args.base.is_some()),
        ("--all", args.all),
        ("--allow", !args.allow.is_empty()),
    ];
    let of_table = of_table.iter().find(|(_, is_given)| *is_given);
    let is_of_others = args.view.is_some_and(|view| view != View::Apps);
    if !args.prices.is_empty() && (is_of_others || of_table.is_some()) {
        return Err(Usage(
            "--prices is only for the table of applications: leave out --prices, or the options of another table"
                .to_owned(),
        ));
    }
    match (args.view, of_table) {
        (Some(view), Some((option, _))) if view != View::Table => Err(Usage(format!(
            "{option} is only for the table of benchmarks: leave out {option} or --view"
        ))),
        (Some(view), _) => Ok(view),
        (None, Some(_)) => Ok(View::Table),
        (None, None) if !args.prices.is_empty() => Ok(View::Apps),
        (None, None) => Ok(views::of(results)),
    }
}

fn table(args: &ShowArgs, results: &[ResultFile]) -> anyhow::Result<()> {
    let forms = args.forms();
    let has_form = args.csv || forms.files().iter().any(Option::is_some);
    // A folder is a run and is shown as a table; a single result is shown in detail.
    let is_run = args.paths.iter().any(|path| Path::new(path).is_dir());
    let is_table = has_form || is_run || args.base.is_some() || args.suite.is_some();
    if let ([one], false) = (results, is_table) {
        return output::data(&ws_report::show(one, output::is_coloured()));
    }
    let options = ws_report::Options {
        baseline: args.base.as_ref().map(ToString::to_string),
        allow: args.allow.clone(),
    };
    let table = ws_report::table(results, &options)?;
    let table = match args.suite {
        Some(suite) => Layout::of(suite)?.lay_out(table),
        None => table,
    };
    if args.csv {
        return output::data(&table.to_csv());
    }
    let shown = Shown::asked(args.all, args.suite.is_some());
    put(
        &forms,
        || tables::text(&table, shown),
        || table.to_json(),
        || table.to_markdown(),
    )
}
