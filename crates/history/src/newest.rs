//! The newest runs of a history: judged against pinned runs, and against each other.

use crate::{Error, Filter, Pair, Run, Store};
use std::collections::BTreeMap;
use ws_analysis::{Gap, GapKind, HostKind, Paired, Thresholds, judge_hosts};
use ws_results::ResultFile;
use ws_text::terminal;

/// Reads the newest result of each platform and host, and judges the hosts by these.
pub fn newest(
    store: &mut Store,
    filter: Filter<'_>,
) -> Result<(Vec<ResultFile>, Vec<HostKind>), Error> {
    let runs: Vec<Run> = store.newest(filter)?;
    let results = runs.iter().map(|run| store.result(run.id));
    let results = results.collect::<Result<Vec<_>, _>>()?;
    let kinds = judge_hosts(&results, &Thresholds::default());
    Ok((results, kinds))
}

/// Keeps the newest result of each platform.
pub fn of_each_platform(results: Vec<ResultFile>) -> Vec<ResultFile> {
    let mut newest: BTreeMap<String, ResultFile> = BTreeMap::new();
    for result in results {
        match newest.get(&result.platform) {
            Some(known) if known.created > result.created => {}
            _ => drop(newest.insert(result.platform.clone(), result)),
        }
    }
    newest.into_values().collect()
}

/// Returns the pairs to judge, and a gap for each pinned run that no run is newer than.
pub fn judged(pairs: &[Pair]) -> (Vec<Paired<'_>>, Vec<Gap>) {
    let (mut judged, mut alone) = (Vec::new(), Vec::new());
    for pair in pairs {
        let (run, base) = &pair.pinned;
        match &pair.newest {
            Some((_, newest)) => judged.push((base, newest)),
            None => alone.push(Gap {
                kind: GapKind::NoCounterpart,
                platform: run.platform.clone(),
                benchmarks: Vec::new(),
                why: format!(
                    "{}: no run is newer than the pinned run {}",
                    run.named(&run.host),
                    run.id
                ),
            }),
        }
    }
    (judged, alone)
}

impl Run {
    /// Formats the platform, with the host if there is one.
    fn named(&self, host: &str) -> String {
        let platform = terminal(&self.platform);
        match host {
            "" => platform.into_owned(),
            host => format!("{platform} on {}", terminal(host)),
        }
    }

    /// Says which runs are judged against this pinned run.
    pub fn pinned_text(&self) -> String {
        let runs = self.named(&self.judged_on);
        format!("newer runs of {runs} are judged against run {}", self.id)
    }
}
