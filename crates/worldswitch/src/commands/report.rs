//! `worldswitch report`: writes results as one HTML page.

use crate::cli::ReportArgs;
use crate::shared::page::write;
use crate::shared::{Done, events};
use anyhow::{Context, anyhow, bail};
use std::path::Path;
use ws_explain::explained::Explained;
use ws_history::{Store, by_kernel, newest, of_each_platform};
use ws_report::is_baseline;
use ws_report::page::{Asked, Bases, Simulated};
use ws_results::{FindError, ResultFile};
use ws_terminal::{Usage, input, output};

/// Limit of the size of an explanation, far above any real one.
const EXPLANATION_BYTES: u64 = 64 << 20;

/// Writes the page of the command line's results. If a requested comparison is not possible, the page is still
/// written, and the command ends with an error.
///
/// # Errors
/// There is no such result or baseline, the events can't be read, or the page can't be written.
pub fn report(args: &ReportArgs) -> anyhow::Result<Done> {
    let (results, asked) = match args.history {
        true => of_history(args)?,
        false => of_runs(args)?,
    };
    let (written, refused) = write(&args.output, &results, asked)?;
    for why in &refused {
        output::error(&anyhow!("{why}"));
    }
    if let Some(written) = written {
        output::remark(&written);
    }
    Ok(Done::whole_if(refused.is_empty()))
}

/// Reads the newest run of each platform in the history, the hosts, and the trends.
fn of_history(args: &ReportArgs) -> anyhow::Result<(Vec<ResultFile>, Asked)> {
    let mut store = Store::open(&args.store.place()?)?;
    let filter = args.of.to_filter();
    let (results, kinds) = newest(&mut store, filter)?;
    if results.is_empty() {
        bail!("the history has no run{filter}");
    }
    let asked = Asked {
        trends: by_kernel(&mut store, filter, &kinds)?,
        hosts: Some(kinds),
        ..Asked::default()
    };
    Ok((of_each_platform(results), asked))
}

/// Reads the results and explanations that the command line names.
fn of_runs(args: &ReportArgs) -> anyhow::Result<(Vec<ResultFile>, Asked)> {
    let (mut results, explained) = found(&args.runs)?;
    let mut asked = Asked {
        allow: args.allow.clone(),
        explained,
        ..Asked::default()
    };
    for base in &args.base {
        let is_shown = results.iter().any(|result| result.platform == *base);
        match is_shown {
            true if asked.baseline.is_none() => asked.baseline = Some(base.clone()),
            false if asked.bases.is_none() => asked.bases = Some(others(base, &results)?),
            _ => bail!(Usage(format!(
                "--base {base}: only one --base may name a platform, and only one other results"
            ))),
        }
    }
    if let Some(path) = &args.events {
        asked.workload = Some(events::read(path)?);
    }
    if let Some(path) = &args.simulated {
        let name = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("can't read {name}"))?;
        let read = Simulated::from_json(&text);
        asked.simulated = Some(read.map_err(|why| {
            Usage(format!(
                "{name} is not output of elvis simulate --figure N --json: {why}"
            ))
        })?);
    }
    order(&mut results, asked.baseline.as_deref());
    Ok((results, asked))
}

/// Loads the results of `--base`: a folder's, or a single one.
fn others(base: &str, results: &[ResultFile]) -> anyhow::Result<Bases> {
    let mut found = ws_results::load(base).with_context(|| {
        let platforms = ws_results::platforms(results);
        format!(
            "--base {base} is neither a platform of these results ({}) nor other results",
            platforms.join(", ")
        )
    })?;
    Ok(match (found.len(), Path::new(base).is_dir()) {
        (1, false) => Bases::One(Box::new(found.remove(0))),
        _ => Bases::Each(found),
    })
}

/// Loads the results and explanations that the command line names. A folder may have results, explanations or both.
fn found(runs: &[String]) -> anyhow::Result<(Vec<ResultFile>, Vec<Explained>)> {
    let (mut results, mut explained) = (Vec::new(), Vec::new());
    for spec in runs {
        let paths = ws_results::find_explanations(spec)?;
        let read = paths.iter().map(|path| explanation(path));
        explained.extend(read.collect::<anyhow::Result<Vec<_>>>()?);
        if paths.iter().any(|path| path == Path::new(spec)) {
            continue;
        }
        match ws_results::load(spec) {
            Err(FindError::Empty(_)) if !paths.is_empty() => {}
            loaded => results.extend(loaded?),
        }
    }
    Ok((results, explained))
}

/// Sorts runs by date; in each, the baseline first, then the platforms in its unit, each group in the run's order.
fn order(results: &mut [ResultFile], named: Option<&str>) {
    let base = results.iter().find(|r| is_baseline(r, named));
    let base_unit = base.and_then(ResultFile::unit).map(str::to_owned);
    results.sort_by(|a, b| {
        let is_other = |r: &ResultFile| !is_baseline(r, named);
        let key = |r: &ResultFile| (r.unit() != base_unit.as_deref(), is_other(r));
        (&a.created, key(a), a.place()).cmp(&(&b.created, key(b), b.place()))
    });
}

/// Reads an explanation.
fn explanation(path: &Path) -> anyhow::Result<Explained> {
    let text = input::read_at_most(path, EXPLANATION_BYTES)?;
    Explained::from_json(&text).with_context(|| format!("can't read {}", path.display()))
}
