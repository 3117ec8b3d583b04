//! Applications in real time: for each workload the time of one unit of work on this host and in its VMs.

use super::{NestedRatio, named, needs_vm, published};
use crate::baselines::of_its_run;
use crate::reference::Reference;
use schemars::JsonSchema;
use serde::Serialize;
use ws_analysis::Summary;
use ws_results::{Facts, ResultFile, Role, Status};

/// The unit of results in real time.
const UNIT: &str = "ns";

/// A workload in real time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimedApp {
    pub workload: String,
    /// Name of a unit of work, such as `transaction`.
    pub unit: Option<String>,
    /// Lines of the workload, one for each result with a workload, the host first.
    pub lines: Vec<TimedLine>,
    /// Ratios that Lim et al. (NEVE), section 7.2, state for the workload in a nested VM.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nested: Vec<NestedRatio>,
}

/// A workload's time on a platform.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimedLine {
    pub platform: String,
    /// Time of one unit, in nanoseconds: the median over boots; absent if there is none, with the reason in `why`.
    pub ns: Option<f64>,
    /// Interval of the time at a confidence of 95 %, of three boots or more.
    pub interval: Option<[f64; 2]>,
    /// The least and the greatest time of a boot.
    pub range: Option<[f64; 2]>,
    pub boots: usize,
    /// Whether boots or samples scatter so much that the time is an order of magnitude at best.
    pub noisy: bool,
    /// Time relative to the host's, of the host's result of the same run, else of its first.
    pub ratio: Option<f64>,
    /// Dall et al., Table 5: the time in a VM relative to the time natively.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
    pub why: Option<String>,
    /// Facts of the machine.
    #[serde(skip)]
    pub facts: Facts,
}

impl TimedApp {
    /// The workload with its unit: `tcp-rr (transaction)`.
    pub(crate) fn name(&self) -> String {
        named(&self.workload, self.unit.as_deref())
    }
}

/// Whether a result has times of applications.
pub(crate) fn is_timed(result: &ResultFile) -> bool {
    result.unit() == Some(UNIT)
}

/// Whether a result is of this host itself, without a VM.
fn is_native(result: &ResultFile) -> bool {
    result.facts().role == Some(Role::Native)
}

/// Sorts results, the host first.
pub(super) fn by_platform<'a>(results: &[&'a ResultFile]) -> Vec<&'a ResultFile> {
    let mut results = results.to_vec();
    results.sort_by_key(|result| !is_native(result));
    results
}

/// The workloads `names` in these results.
pub(super) fn of(results: &[&ResultFile], names: &[&str], reference: &Reference) -> Vec<TimedApp> {
    let results = by_platform(results);
    let apps = names.iter().map(|name| {
        let hosts = results.iter().filter(|host| is_native(host));
        let natives: Vec<_> = hosts.map(|host| (host, summary(name, host))).collect();
        let lines = results
            .iter()
            .filter(|result| result.row(name).is_some() || !needs_vm(name, &results))
            .map(|result| {
                let native = of_its_run(result, natives.iter(), |(host, _)| host);
                line(
                    name,
                    result,
                    native.and_then(|(_, native)| native.as_ref()),
                    reference,
                )
            });
        TimedApp {
            workload: (*name).to_owned(),
            unit: results
                .iter()
                .find_map(|result| result.row(name)?.work.clone()),
            lines: lines.collect(),
            nested: published::nested(name, reference),
        }
    });
    apps.filter(|app| !app.lines.is_empty()).collect()
}

fn summary(workload: &str, result: &ResultFile) -> Option<Summary> {
    Summary::cost(result.row(workload)?, &result.perturbed())
}

/// Makes the line of a machine. Only a native time above zero gives a ratio.
fn line(
    workload: &str,
    result: &ResultFile,
    native: Option<&Summary>,
    reference: &Reference,
) -> TimedLine {
    let row = result.row(workload);
    let here = row.and_then(|_| summary(workload, result));
    let reason = || {
        let failed = row.filter(|row| row.status != Status::Ok);
        let text = failed.and_then(|row| row.reason.as_deref());
        text.unwrap_or("not measured there").to_owned()
    };
    let other = native.filter(|native| !is_native(result) && native.value > 0.0);
    let facts = result.facts().into_owned();
    let published = published::slowdown(workload, &facts, reference);
    TimedLine {
        platform: result.platform.clone(),
        ns: here.as_ref().map(|here| here.value),
        interval: (here.as_ref().and_then(Summary::interval)).map(|at| [at.low, at.high]),
        range: here.as_ref().map(|here| {
            let range = here.range();
            [range.low, range.high]
        }),
        boots: here.as_ref().map_or(0, |here| here.boots.len()),
        noisy: here.as_ref().is_some_and(Summary::is_noisy),
        ratio: here
            .as_ref()
            .zip(other)
            .map(|(here, native)| here.value / native.value),
        published: published.map(|(ratio, _)| ratio),
        why: here.is_none().then(reason),
        facts,
    }
}
