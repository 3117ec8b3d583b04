//! Remarks on a finished run: facts that the user should know, and their cures.
//!
//! Pure: from results to sentences.

use std::path::Path;
use ws_analysis::SUITE_BOOTS;
use ws_results::{COST_EXTERNAL, LaunchEnd, ResultFile, Status};

/// Makes the remarks on a result in `folder`.
pub fn on(result: &ResultFile, folder: &Path) -> Vec<String> {
    let mut remarks = Vec::new();
    remarks.extend(unsteady(result));
    remarks.extend(trouble(result, folder));
    remarks.extend(strayed(result));
    remarks.extend(damage(result));
    remarks.extend(unheard(result, folder));
    remarks.extend(few_boots(result));
    remarks
}

fn names(result: &ResultFile, wanted: impl Fn(&ws_results::Row) -> bool) -> Vec<&str> {
    let rows = result.rows.iter().filter(|row| wanted(row));
    rows.map(|row| row.benchmark.as_str()).collect()
}

fn unsteady(result: &ResultFile) -> Option<String> {
    let names = names(result, |row| row.exact == Some(false));
    if names.is_empty() {
        return None;
    }
    Some(format!(
        "{}: NOT EXACT: boots gave different counts for {}. These counts should be the same: please report \
         this with the result file",
        result.platform,
        names.join(", ")
    ))
}

fn trouble(result: &ResultFile, folder: &Path) -> Option<String> {
    let no_value = |status| !matches!(status, Status::Ok | Status::Skip | Status::Unreached);
    let names = names(result, |row| no_value(row.status));
    if names.is_empty() {
        return None;
    }
    Some(format!(
        "{}: {} failed; worldswitch show {}:{} shows how each launch ended",
        result.platform,
        names.join(", "),
        folder.display(),
        result.platform
    ))
}

fn strayed(result: &ResultFile) -> Option<String> {
    let names = names(result, |row| {
        row.host.iter().any(|view| !view.strayed.is_empty())
    });
    let first = result.rows.iter().flat_map(|row| &row.host);
    let first = first.flat_map(|view| &view.strayed).next()?;
    Some(format!(
        "{}: pinning did not hold for {}: {first}. Does something else on this host move its threads?",
        result.platform,
        names.join(", ")
    ))
}

fn damage(result: &ResultFile) -> Option<String> {
    let (mut bad, mut stale, mut lost) = (0u64, 0u64, 0u64);
    for launch in result.boots.iter().flat_map(|boot| &boot.launches) {
        // Stopping a machine cuts its last line.
        if launch.end != LaunchEnd::Interrupted {
            bad = bad.saturating_add(launch.bad_lines);
        }
        stale = stale.saturating_add(launch.stale_records);
        lost = lost.saturating_add(launch.lost_records);
    }
    if (bad, stale, lost) == (0, 0, 0) {
        return None;
    }
    Some(format!(
        "{}: its console had {bad} damaged records, {stale} of another launch, {lost} missing; \
         the rows concerned were measured again or are marked lost. Does something else write to \
         this console?",
        result.platform
    ))
}

/// Counts samples that the host did not time, in rows of which it timed others. The table shows rows that the host
/// could not time at all.
fn unheard(result: &ResultFile, folder: &Path) -> Option<String> {
    let timed = result.rows.iter().flat_map(|row| &row.metrics);
    let boots = timed
        .filter(|metric| metric.name == COST_EXTERNAL)
        .flat_map(|metric| &metric.boots);
    let (mut missing, mut all) = (0, 0);
    for samples in boots {
        missing += samples.missing.len();
        all += samples.missing.len() + samples.run.len();
    }
    (missing > 0).then(|| {
        format!(
            "{}: {missing} of {all} samples have no time from outside and are left out of that column: \
             the host did not receive their marks separately; see worldswitch show {}:{}",
            result.platform,
            folder.display(),
            result.platform
        )
    })
}

fn few_boots(result: &ResultFile) -> Option<String> {
    let timed = result
        .rows
        .iter()
        .flat_map(|row| &row.metrics)
        .any(|metric| !["insns", "count"].contains(&&*metric.unit));
    let boots = result.boots.len();
    // Figures of a software KVM are not worth comparing, with any number of boots.
    if !timed || result.is_software_kvm() || boots >= SUITE_BOOTS as usize {
        return None;
    }
    Some(format!(
        "{}: {boots} {}: for compare to detect 10 % in one benchmark, use --boots {SUITE_BOOTS} or more",
        result.platform,
        if boots == 1 { "boot" } else { "boots" }
    ))
}

#[cfg(test)]
#[path = "remarks_tests.rs"]
mod tests;
