//! Copies the results of a campaign out of the shared folder.

use crate::view::{State, View};
use crate::{kept, merge};
use anyhow::Context;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use ws_results::ResultFile;
use ws_runner::Folder;

/// Outcome of collecting.
pub struct Collected {
    /// Number of results in the folder.
    pub results: usize,
    /// Number of results that are new in the campaign's history, in words; None without a history.
    pub added: Option<String>,
    /// Whether all cells have a result, and all nodes are trusted.
    pub is_whole: bool,
}

/// Copies all valid results into a folder. Results in time go into one subfolder for each host. `force`: results that
/// are already there are replaced.
pub fn collect(view: &View, output: &Path, force: bool) -> anyhow::Result<Collected> {
    let mut history = kept::open(&view.campaign)?;
    let mut folders: BTreeMap<PathBuf, Vec<ResultFile>> = BTreeMap::new();
    for known in &view.expanded.tasks {
        let Some(key) = known.key() else { continue };
        let result = match (view.counted(key), view.kept.get(key), &mut history) {
            (Some(stored), ..) => kept::of_task(&known.task, stored)?,
            (None, Some(run), Some(history)) => ResultFile {
                platform: known.task.platform.clone(),
                ..history.result(*run)?
            },
            _ => continue,
        };
        let folder = match &known.task.host {
            Some(host) => output.join(host),
            None => output.to_owned(),
        };
        folders.entry(folder).or_default().push(result);
    }
    let mut all = Vec::new();
    for (path, results) in folders {
        let results = merge::by_platform(results);
        let folder = Folder::make(Some(&path), force, SystemTime::now())?;
        folder.must_take(results.iter().map(|result| &*result.platform))?;
        if let Some(error) = folder.write(&results).into_iter().next() {
            return Err(error.into());
        }
        all.extend(results);
    }
    // Results that tasks posted are known there.
    let added = kept::add(&view.campaign, &all).with_context(|| {
        format!(
            "the results are in {}, but not in the history: collect again with --force",
            output.display()
        )
    })?;
    Ok(Collected {
        results: all.len(),
        added,
        is_whole: view.doubts.is_empty() && view.count(|state| !State::is_measured(state)) == 0,
    })
}
