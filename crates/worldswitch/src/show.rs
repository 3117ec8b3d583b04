//! `worldswitch show`: results of an earlier run.

use crate::cli::ShowArgs;
use crate::output::{self, Colours};
use ws_results::ResultFile;

/// Shows.
///
/// # Errors
/// There is no such result, it can't be read, or standard output can't be written.
pub fn show(args: &ShowArgs, colours: Colours) -> anyhow::Result<()> {
    let mut results: Vec<ResultFile> = Vec::new();
    for path in &args.paths {
        results.extend(ws_results::load(path)?);
    }
    let form = args.json || args.markdown || args.csv;
    let compares = args.baseline.is_some() || results.len() != 1;
    if let ([one], false, false) = (results.as_slice(), form, compares) {
        return output::data(&ws_report::show(one, colours.stdout));
    }
    let table = ws_report::table(
        &results,
        &ws_report::Options {
            baseline: args.baseline.as_ref().map(ToString::to_string),
            allow: args.allow.clone(),
        },
    )?;
    output::data(&if args.json {
        table.to_json()?
    } else if args.markdown {
        table.to_markdown()
    } else if args.csv {
        table.to_csv()?
    } else {
        table.to_terminal(colours.stdout)
    })
}
