//! `worldswitch run fleet collect`.

use super::{show, view};
use crate::cli::fleet::CollectArgs;
use crate::shared::Done;
use anyhow::Context;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;
use ws_fleet::expand::CellOf;
use ws_fleet::kept;
use ws_fleet::merge;
use ws_results::ResultFile;
use ws_runner::Folder;
use ws_terminal::{Colours, output};

/// Copies all valid results into a folder. Results in time go into one subfolder for each host.
pub fn collect(args: &CollectArgs, colours: Colours) -> anyhow::Result<Done> {
    let view = view(&args.campaign)?;
    view.settle()?;
    show::doubts(&view, colours);
    let mut history = kept::open(&view.campaign)?;
    let mut folders: BTreeMap<PathBuf, Vec<ResultFile>> = BTreeMap::new();
    for known in &view.expanded.tasks {
        let CellOf::Cell(key, _) = &known.cell else {
            continue;
        };
        let result = match (view.counted(key), view.kept.get(key), &mut history) {
            (Some(stored), ..) => kept::of_task(&known.task, stored)?,
            (None, Some(run), Some(history)) => ResultFile {
                platform: known.task.platform.clone(),
                ..history.result(*run)?
            },
            _ => continue,
        };
        let folder = match &known.task.host {
            Some(host) => args.output.join(host),
            None => args.output.clone(),
        };
        folders.entry(folder).or_default().push(result);
    }
    let mut all = Vec::new();
    for (path, results) in folders {
        let results = merge::by_platform(results);
        let folder = Folder::make(Some(&path), args.force, SystemTime::now())?;
        folder.must_take(results.iter().map(|result| &*result.platform))?;
        if let Some(error) = folder.write(&results).into_iter().next() {
            return Err(error.into());
        }
        all.extend(results);
    }
    // What tasks posted is known there.
    let added = kept::add(&view.campaign, &all).with_context(|| {
        format!(
            "the results are in {}, but not in the history: collect again with --force",
            args.output.display()
        )
    })?;
    if let Some(added) = added {
        output::remark(&added, colours);
    }
    let whole = view.doubts.is_empty() && view.count(|state| !state.is_measured()) == 0;
    output::data(&match args.campaign.json {
        true => show::json(&view, &[])?,
        false => format!(
            "{} results in {}: {}\n",
            all.len(),
            args.output.display(),
            show::totals(&view)
        ),
    })?;
    Ok(if whole { Done::Whole } else { Done::InPart })
}
