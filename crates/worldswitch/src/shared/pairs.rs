//! Pairs of results to compare.

use anyhow::bail;
use std::collections::{BTreeMap, BTreeSet};
use ws_analysis::Thresholds;
use ws_results::ResultFile;
use ws_text::terminal;

/// Returns the thresholds of each result. The significance is divided among the hosts of a platform, as in
/// [`ws_analysis::judge_hosts`]. So a false alarm on any of these hosts is as improbable as on a single host.
pub fn divided<'a>(
    thresholds: Thresholds,
    pairs: &[(&'a ResultFile, &'a ResultFile)],
) -> impl Fn(&ResultFile) -> Thresholds + use<'a> {
    let mut hosts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (base, other) in pairs {
        if let Some(host) = other.host().filter(|host| base.host() == Some(host)) {
            hosts.entry(&other.platform).or_default().insert(host);
        }
    }
    move |result| {
        let hosts = hosts.get(&*result.platform).map_or(1, BTreeSet::len);
        Thresholds {
            significance: thresholds.significance / hosts as f64,
            ..thresholds
        }
    }
}

/// A result whose host the base lacks.
#[derive(Debug, thiserror::Error)]
#[error("the base has no {} of {}", terminal(.0), terminal(.1))]
pub struct NoHost(String, String);

/// Finds the base of the same platform. Of several, it chooses the base of the same host, with some of the same rows.
///
/// # Errors
/// No base fits ([`NoHost`] if only the host is missing), or several do.
pub fn counterpart<'a>(
    bases: &'a [ResultFile],
    other: &ResultFile,
) -> anyhow::Result<&'a ResultFile> {
    let like = || bases.iter().filter(|base| base.platform == other.platform);
    let platform = terminal(&other.platform);
    let Some(first) = like().next() else {
        let there: Vec<_> = bases.iter().map(|base| terminal(&base.platform)).collect();
        bail!(
            "the base has no {platform}, only {}: name the one to compare with, as FOLDER:PLATFORM",
            there.join(", ")
        )
    };
    if like().count() == 1 {
        return Ok(first);
    }
    let has_row = |base: &&ResultFile| {
        let mut rows = other.rows.iter();
        rows.any(|row| base.row(&row.benchmark).is_some())
    };
    // A host may have a platform's benchmarks and its workloads.
    let of_host = like().filter(|base| base.host() == other.host());
    let (with, without): (Vec<_>, Vec<_>) = of_host.partition(has_row);
    let mut same = if with.is_empty() { without } else { with }.into_iter();
    let are_hosts = like().any(|base| base.host() != first.host());
    match (same.next(), same.next(), other.host()) {
        (Some(base), None, _) => Ok(base),
        (None, _, Some(host)) if are_hosts => {
            bail!(NoHost(other.platform.clone(), host.to_owned()))
        }
        (Some(_), Some(_), Some(host)) if are_hosts => bail!(
            "the base has several results of {platform} on {}: name one of its files",
            terminal(host)
        ),
        _ => bail!("the base has several results of {platform}: name one of its files"),
    }
}
