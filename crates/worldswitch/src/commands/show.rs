//! `worldswitch show`: results of an earlier run.

use crate::cli::ShowArgs;
use crate::shared::suite::Layout;
use crate::shared::tables::{self, Shown};
use std::path::Path;
use ws_terminal::{Colours, output};

/// Prints a table, or one result in detail.
///
/// # Errors
/// There is no such result, it can't be read, or standard output can't be written.
pub fn show(args: &ShowArgs, colours: Colours) -> anyhow::Result<()> {
    let results = ws_results::load_all(&args.paths)?;
    let form = args.json || args.markdown || args.csv;
    // A folder is a run and is shown as a table; a single result is shown in detail.
    let run = args.paths.iter().any(|path| Path::new(path).is_dir());
    let table = form || run || args.base.is_some() || args.suite.is_some();
    if let ([one], false) = (results.as_slice(), table) {
        return output::data(&ws_report::show(one, colours.stdout));
    }
    let table = ws_report::table(
        &results,
        &ws_report::Options {
            baseline: args.base.as_ref().map(ToString::to_string),
            allow: args.allow.clone(),
        },
    )?;
    let table = match args.suite {
        Some(suite) => Layout::of(suite)?.lay_out(table),
        None => table,
    };
    output::data(&if args.json {
        table.to_json()?
    } else if args.markdown {
        table.to_markdown()
    } else if args.csv {
        table.to_csv()?
    } else {
        tables::text(
            &table,
            Shown::asked(args.all, args.suite.is_some()),
            colours,
        )
    })
}
