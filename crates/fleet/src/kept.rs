//! Exact results of a campaign's cells in its history, whoever measured them.

use crate::campaign::Campaign;
use crate::cell::Key;
use crate::digits::Digits;
use crate::expand::{CellOf, Exact, Known};
use crate::folder::Stored;
use crate::task::Task;
use std::collections::BTreeMap;
use ws_history::{Error, Place, Store};
use ws_machines::image::BenchmarkRow;
use ws_results::{ReadError, ResultFile, Row, Status};

/// Opens the campaign's history; None if the campaign names none, or one that does not exist yet.
pub fn open(campaign: &Campaign) -> Result<Option<Store>, Error> {
    let Some(text) = &campaign.history else {
        return Ok(None);
    };
    match Store::open(&Place::parse(text)?) {
        Err(Error::NotThere(_)) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Reads the result of a run in the folder under the task's platform: of two kernels with the same bytes one was
/// measured.
pub fn of_task(task: &Task, stored: &Stored) -> Result<ResultFile, ReadError> {
    Ok(ResultFile {
        platform: task.platform.clone(),
        ..ws_results::read_file(&stored.result())?
    })
}

/// Finds runs in the history that these tasks would only repeat. Runs with the digits of a node that is not trusted
/// (`doubted`, by cell) are left out: the node may have been trusted when they were added.
pub fn known(
    store: &mut Store,
    tasks: &[Known],
    doubted: &BTreeMap<Key, Vec<Digits>>,
) -> Result<BTreeMap<Key, i64>, Error> {
    let mut found = BTreeMap::new();
    for known in tasks {
        let CellOf::Cell(key, Some(exact)) = &known.cell else {
            continue;
        };
        if found.contains_key(key) {
            continue;
        }
        let is_asked = |row: &&BenchmarkRow| known.task.rows.contains(&row.name);
        let rows: Vec<&BenchmarkRow> = exact.rows.iter().filter(is_asked).collect();
        let names = rows.iter().map(|row| &*row.name);
        let cell = ws_history::cell(&exact.digest, exact.image_sha256.as_deref(), names);
        for run in store.of_cell(&cell)? {
            let result = store.result(run.id)?;
            let is_doubted = || {
                let of_cell = doubted.get(key);
                of_cell.is_some_and(|all| Digits::of(&result).is_some_and(|one| all.contains(&one)))
            };
            if answers(&result, &known.task, exact, &rows) && !is_doubted() {
                found.insert(key.clone(), run.id);
                break;
            }
        }
    }
    Ok(found)
}

/// Whether a result of the same machine and benchmarks has all that a task asks for.
fn answers(result: &ResultFile, task: &Task, exact: &Exact, rows: &[&BenchmarkRow]) -> bool {
    let perturbed = result.perturbed().len();
    let plain = result.boots.len().saturating_sub(perturbed);
    let enough = plain >= task.boots as usize && perturbed >= task.perturb as usize;
    let is_of_image = exact.image_sha256.is_some();
    let has_all = rows.iter().all(|row| {
        let measured = result.row(&row.name);
        measured.is_some_and(|measured| !is_of_image || is_as_asked(measured, row, task))
    });
    !result.interrupted && enough && has_all
}

/// Whether a row has as many samples, of as many operations, as a run by default or by the task has.
fn is_as_asked(measured: &Row, row: &BenchmarkRow, task: &Task) -> bool {
    let wanted = task.samples.unwrap_or(row.insns_samples);
    let cost = measured.metric("cost");
    match measured.status {
        Status::Ok => cost.is_some_and(|cost| {
            cost.boots.iter().all(|samples| {
                samples.run.len() as u64 == wanted && samples.iterations == row.insns_iterations
            })
        }),
        Status::Skip => true,
        _ => false,
    }
}

/// Adds results, and describes how many were new; None without a history.
pub fn add(campaign: &Campaign, results: &[ResultFile]) -> Result<Option<String>, Error> {
    let Some(text) = &campaign.history else {
        return Ok(None);
    };
    let place = Place::parse(text)?;
    let mut store = Store::create(&place)?;
    let added = store.add_all(results)?;
    let new = added.iter().filter(|added| added.new).count();
    Ok(Some(format!(
        "{new} results are new in the history {place}"
    )))
}
