//! `worldswitch history hosts` and `history report`: results of many hosts.

use super::asked;
use crate::shared::page::write;
use anyhow::bail;
use std::collections::BTreeMap;
use std::path::Path;
use ws_analysis::{HostKind, Thresholds, judge_hosts};
use ws_history::by_kernel;
use ws_history::{Filter, Run, Store};
use ws_report::Hosts;
use ws_report::page::Asked;
use ws_results::ResultFile;
use ws_terminal::{Colours, output};

/// Shows the hosts that differ from hosts of their kind, or all hosts.
pub(super) fn hosts(
    store: &mut Store,
    filter: Filter<'_>,
    all: bool,
    as_json: bool,
    colours: Colours,
) -> anyhow::Result<()> {
    let (_, kinds) = newest(store, filter)?;
    if kinds.is_empty() {
        bail!("no run{} names the host that measured", asked(filter));
    }
    let hosts = Hosts::of(kinds);
    output::data(&match as_json {
        true => hosts.to_json()?,
        false => hosts.to_terminal(colours.stdout, all),
    })
}

/// Writes the page.
pub(super) fn report(
    store: &mut Store,
    filter: Filter<'_>,
    path: &Path,
    colours: Colours,
) -> anyhow::Result<()> {
    let (results, kinds) = newest(store, filter)?;
    if results.is_empty() {
        bail!("the history has no run{}", asked(filter));
    }
    let mut shown: BTreeMap<String, ResultFile> = BTreeMap::new();
    for result in results {
        match shown.get(&result.platform) {
            Some(known) if known.created > result.created => {}
            _ => drop(shown.insert(result.platform.clone(), result)),
        }
    }
    let shown: Vec<ResultFile> = shown.into_values().collect();
    let asked = Asked {
        trends: by_kernel(store, filter, &kinds)?,
        hosts: Some(kinds),
        ..Asked::default()
    };
    if let (Some(written), _) = write(path, &shown, asked)? {
        output::remark(&written, colours);
    }
    Ok(())
}

/// Reads the newest result of each platform and host, and judges the hosts by these.
fn newest(
    store: &mut Store,
    filter: Filter<'_>,
) -> anyhow::Result<(Vec<ResultFile>, Vec<HostKind>)> {
    let runs: Vec<Run> = store.newest(filter)?;
    let results = runs.iter().map(|run| store.result(run.id));
    let results = results.collect::<Result<Vec<_>, _>>()?;
    let kinds = judge_hosts(&results, &Thresholds::default());
    Ok((results, kinds))
}
