//! Finds hosts that differ from others of their kind, by each host's newest result of a platform.
//!
//! A kind is a group of results that [`compare_results`] compares: one platform under the same conditions, on counts
//! also the same machine, guest image and benchmarks. On time each host is compared with the one in the middle, by the
//! method of [`compare_results`]; the significance is divided among the hosts (Bonferroni). Counts must be the same to
//! the digit, so each host's counts are compared with those of most hosts.

use crate::suite::{CompareOptions, SuiteShift, compare_results};
use crate::{Summary, Thresholds, UnitKind, Verdict, median};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use ws_results::{COST, ResultFile, Samples};

/// Hosts of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HostKind {
    /// The platform of all hosts.
    pub platform: String,
    /// The unit of all figures.
    pub unit: String,
    /// Host in the middle on time, with which the others were compared. Null on counts, or with fewer than three hosts.
    pub middle: Option<String>,
    /// Hosts of the kind: those that differ come first, then by name.
    pub hosts: Vec<Host>,
}

/// A host among others of its kind.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Host {
    /// Name of the host.
    pub host: String,
    /// Start of the host's run.
    pub created: String,
    /// Standing of the host among the others.
    pub standing: Standing,
    /// The benchmarks in which the host differs.
    pub differing: Vec<String>,
    /// Median row's cost / that of the host in the middle, on time; null with few rows, and for that host.
    pub shift: Option<SuiteShift>,
    /// Settings that differ from those of most hosts of the kind: fields of the result's subject, and the doctor's
    /// findings.
    pub unlike: Vec<HostUnlike>,
}

/// Standing of a host among the hosts of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Costs are higher or lower than on the others, or counts are others.
    Differs,
    /// The host's own boots gave different counts, or hosts disagree and none has a majority.
    Unsettled,
    /// Boots are too noisy for a verdict.
    Inconclusive,
    /// The host is like the others.
    Alike,
    /// Fewer than two others of its kind are known, or on counts none.
    Alone,
}

/// A setting in which a host differs from most hosts of its kind.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HostUnlike {
    /// Name of the field, or of the doctor's finding, such as `processor.governor`.
    pub field: String,
    /// Value on this host; null if it has none.
    pub here: Option<Value>,
    /// Value on most hosts; null if they have none.
    pub most: Option<Value>,
}

/// Fewest hosts among which one can be the odd one.
const FEWEST: usize = 3;

/// Judges the hosts of each kind. Results whose subject has no `host` are left out. Of several results of a host,
/// platform and unit only the newest is used.
pub fn judge_hosts<'a>(
    results: impl IntoIterator<Item = &'a ResultFile>,
    thresholds: &Thresholds,
) -> Vec<HostKind> {
    let mut newest: BTreeMap<_, &ResultFile> = BTreeMap::new();
    for result in results {
        let Some(host) = result.host() else {
            continue;
        };
        let one = (&*result.platform, host, result.unit());
        let known = newest.entry(one).or_insert(result);
        if known.created <= result.created {
            *known = result;
        }
    }
    let mut kinds: BTreeMap<String, Vec<&ResultFile>> = BTreeMap::new();
    for result in newest.into_values() {
        kinds.entry(kind(result)).or_default().push(result);
    }
    kinds
        .into_values()
        .map(|results| judge_kind(&results, thresholds))
        .collect()
}

fn is_exact(result: &ResultFile) -> bool {
    result.unit().map(UnitKind::of) == Some(UnitKind::Count)
}

/// Returns the common features of hosts of one kind, as text.
fn kind(result: &ResultFile) -> String {
    let mut text = format!("{}\n{:?}\n", result.platform, result.identity.conditions);
    if is_exact(result) {
        for field in ["machine_digest", "guest_image_sha256"] {
            text += &format!("{:?}\n", result.identity.subject.get(field));
        }
        for row in &result.rows {
            text += &format!("{:?}\n", row.benchmark);
        }
    }
    text
}

/// Judges hosts of one kind: counts against those of most hosts, times against the host in the middle.
fn judge_kind(results: &[&ResultFile], thresholds: &Thresholds) -> HostKind {
    let exact = results.first().is_some_and(|result| is_exact(result));
    let middle = (!exact && results.len() >= FEWEST).then(|| middle(results));
    let middle = middle.flatten();
    let common = common(results);
    let most = most(if exact { results } else { &[] });
    // Each host but the middle one is compared once: the correction is Bonferroni's.
    let thresholds = Thresholds {
        significance: thresholds.significance / (results.len().max(2) - 1) as f64,
        ..*thresholds
    };
    let mut hosts: Vec<Host> = results
        .iter()
        .map(|result| {
            let mut one = Host {
                host: result.host().unwrap_or_default().to_owned(),
                created: result.created.clone(),
                standing: Standing::Alone,
                differing: Vec::new(),
                shift: None,
                unlike: unlike(result, &common),
            };
            match (exact, middle) {
                (true, _) if results.len() > 1 => of_counts(&mut one, result, &most),
                (false, Some(middle)) => of_times(&mut one, result, middle, &thresholds),
                _ => {}
            }
            one
        })
        .collect();
    hosts.sort_by(|a, b| (a.standing, &a.host).cmp(&(b.standing, &b.host)));
    let first = results.first();
    HostKind {
        platform: first.map_or_else(String::new, |result| result.platform.clone()),
        unit: first
            .and_then(|result| result.unit())
            .unwrap_or_default()
            .to_owned(),
        middle: middle.and_then(ResultFile::host).map(str::to_owned),
        hosts,
    }
}

/// Finds the host whose rows cost, in the median, as much as on the median host.
fn middle<'a>(results: &[&'a ResultFile]) -> Option<&'a ResultFile> {
    let costs: Vec<_> = results
        .iter()
        .map(|result| Summary::costs(result))
        .collect();
    let mut by_row: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, cost) in costs.iter().flatten() {
        by_row.entry(name).or_default().push(cost.value);
    }
    let typical: BTreeMap<&str, f64> = by_row
        .into_iter()
        .filter(|(_, values)| values.len() == results.len())
        .filter_map(|(name, values)| Some((name, median(&values)?)))
        .collect();
    let mut placed: Vec<(f64, &ResultFile)> = results
        .iter()
        .zip(&costs)
        .map(|(result, costs)| {
            let shifts = costs.iter().filter_map(|(name, cost)| {
                let shift = (cost.value / typical.get(name)?).ln();
                shift.is_finite().then_some(shift)
            });
            (median(&shifts.collect::<Vec<_>>()).unwrap_or(0.0), *result)
        })
        .collect();
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    placed
        .get((placed.len() - 1) / 2)
        .map(|(_, result)| *result)
}

/// Compares a host's times with those of the host in the middle.
fn of_times(one: &mut Host, result: &ResultFile, middle: &ResultFile, thresholds: &Thresholds) {
    if std::ptr::eq(result, middle) {
        one.standing = Standing::Alike;
        return;
    }
    let options = CompareOptions {
        thresholds: *thresholds,
        ..CompareOptions::default()
    };
    let Ok(compared) = compare_results(middle, result, &options) else {
        return;
    };
    let with = |wanted: &[Verdict]| -> Vec<String> {
        let rows = compared.rows.iter();
        rows.filter(|row| row.verdict.is_some_and(|verdict| wanted.contains(&verdict)))
            .map(|row| row.benchmark.clone())
            .collect()
    };
    one.shift = compared.together;
    one.differing = with(&[Verdict::Worse, Verdict::Better]);
    one.standing = match (
        one.differing.is_empty(),
        with(&[Verdict::NoChange]).is_empty(),
    ) {
        (false, _) => Standing::Differs,
        (true, false) => Standing::Alike,
        (true, true) => Standing::Inconclusive,
    };
}

/// The counts of a row in a boot: iterations, run, control.
type Digits<'a> = (u64, &'a [u64], &'a [u64]);

/// Finds the counts of more than half of the hosts, by row; none if no counts have a majority.
fn most<'a>(results: &[&'a ResultFile]) -> BTreeMap<&'a str, Option<Digits<'a>>> {
    let mut by_row: BTreeMap<&str, BTreeMap<Digits<'_>, usize>> = BTreeMap::new();
    for result in results {
        for (row, digits) in first_boot(result) {
            *by_row.entry(row).or_default().entry(digits).or_default() += 1;
        }
    }
    let rows = by_row.into_iter();
    rows.map(|(row, counted)| {
        let all: usize = counted.values().sum();
        let mut counted = counted.into_iter();
        (
            row,
            counted
                .find(|(_, hosts)| 2 * hosts > all)
                .map(|most| most.0),
        )
    })
    .collect()
}

/// Compares a host's samples with those of most hosts.
fn of_counts(one: &mut Host, result: &ResultFile, most: &BTreeMap<&str, Option<Digits<'_>>>) {
    one.standing = Standing::Alike;
    for (row, own) in first_boot(result) {
        let exact = result.row(row).and_then(|row| row.exact);
        let standing = match (exact, most.get(row).copied().flatten()) {
            (Some(false), _) | (_, None) => Standing::Unsettled,
            (_, Some(most)) if most == own => Standing::Alike,
            (_, Some(_)) => Standing::Differs,
        };
        if standing != Standing::Alike {
            one.differing.push(row.to_owned());
        }
        one.standing = one.standing.min(standing);
    }
}

/// Returns the counts of each row's first boot that is not perturbed.
fn first_boot(result: &ResultFile) -> Vec<(&str, Digits<'_>)> {
    let perturbed = result.perturbed();
    let rows = result.rows.iter();
    rows.filter_map(|row| {
        let (own, _) = perturbed.split(row.metric(COST)?);
        let own: &Samples = own.into_iter().next()?;
        Some((&*row.benchmark, (own.iterations, &*own.run, &*own.control)))
    })
    .collect()
}

/// Returns all settings that a result records of its host and its software, by name.
fn facts(result: &ResultFile) -> BTreeMap<&str, Value> {
    let subject = result.identity.subject.iter();
    let mut facts: BTreeMap<&str, Value> = subject
        .filter(|(field, _)| *field != "host")
        .map(|(field, value)| (field.as_str(), value.clone()))
        .collect();
    for finding in result.disturbances.iter().flatten() {
        facts.insert(&finding.id, finding.found.clone().into());
    }
    facts
}

/// Finds the settings that more than half of the hosts share, by field.
fn common<'a>(results: &[&'a ResultFile]) -> BTreeMap<&'a str, Option<Value>> {
    let all: Vec<_> = results.iter().map(|result| facts(result)).collect();
    let fields: BTreeSet<&str> = all.iter().flat_map(|facts| facts.keys().copied()).collect();
    let of = |field: &str| {
        let values: Vec<Option<&Value>> = all.iter().map(|facts| facts.get(field)).collect();
        let most = values
            .iter()
            .find(|one| 2 * values.iter().filter(|other| other == one).count() > values.len());
        most.map(|value| value.cloned())
    };
    fields
        .into_iter()
        .filter_map(|field| Some((field, of(field)?)))
        .collect()
}

fn unlike(result: &ResultFile, common: &BTreeMap<&str, Option<Value>>) -> Vec<HostUnlike> {
    let facts = facts(result);
    let common = common.iter();
    common
        .filter(|(field, most)| facts.get(*field) != most.as_ref())
        .map(|(field, most)| HostUnlike {
            field: (*field).to_owned(),
            here: facts.get(field).cloned(),
            most: most.clone(),
        })
        .collect()
}

#[cfg(test)]
#[path = "hosts_tests.rs"]
mod tests;
