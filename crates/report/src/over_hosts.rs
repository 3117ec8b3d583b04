//! Comparisons of one platform on several hosts, each with its own base: the change of each benchmark over the hosts.

use crate::hosts::names;
use crate::number;
use crate::text::{Set, Sheet};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use ws_analysis::{HostKind, RowComparison, SuiteComparison, Verdict, median};

/// A platform that several hosts measured on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OverHosts {
    /// Name of the platform.
    pub platform: String,
    /// The unit of its figures; null if there is none.
    pub unit: Option<String>,
    /// The hosts, in the order of the comparisons.
    pub hosts: Vec<String>,
    /// Benchmarks of the platform.
    pub rows: Vec<RowOverHosts>,
}

/// A benchmark over hosts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RowOverHosts {
    /// Name of the benchmark.
    pub benchmark: String,
    /// The unit of its figures; null if no host has any.
    pub unit: Option<String>,
    /// Change of the other side against the base: a ratio on time, a difference on counts. Null if no host has any.
    pub change: Option<Change>,
    /// The hosts of each verdict.
    pub worse: Vec<String>,
    pub better: Vec<String>,
    pub no_change: Vec<String>,
    pub inconclusive: Vec<String>,
    pub not_compared: Vec<String>,
    /// Hosts of `not_compared` on which the conditions differ.
    pub refused: Vec<String>,
}

/// The change of a benchmark on the host in the middle (of an even number the mean of the two), and the least and the
/// greatest on any.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    pub median: f64,
    pub least: f64,
    pub greatest: f64,
}

/// The hosts of both sides, among others of their kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct HostsOfSides {
    /// Hosts of the base.
    pub base: Vec<HostKind>,
    /// Hosts of the other side.
    pub other: Vec<HostKind>,
}

/// The platforms that several hosts measured, each with its own base.
pub(crate) fn over_hosts(comparisons: &[SuiteComparison]) -> Vec<OverHosts> {
    let mut platforms: BTreeMap<_, Vec<(&str, &SuiteComparison)>> = BTreeMap::new();
    for one in comparisons {
        if let Some(host) = host_of(one) {
            // Workloads of a platform and its benchmarks have different units.
            let of_platform = platforms.entry((&*one.other.platform, unit_of(one)));
            of_platform.or_default().push((host, one));
        }
    }
    let platforms = platforms.into_iter();
    let several = platforms.filter(|(_, all)| {
        let hosts: BTreeSet<&str> = all.iter().map(|(host, _)| *host).collect();
        hosts.len() > 1 && hosts.len() == all.len()
    });
    several
        .map(|((platform, unit), all)| OverHosts {
            platform: platform.to_owned(),
            unit: unit.map(str::to_owned),
            hosts: all.iter().map(|(host, _)| (*host).to_owned()).collect(),
            rows: rows(&all),
        })
        .collect()
}

/// The unit of a comparison's figures.
fn unit_of(one: &SuiteComparison) -> Option<&str> {
    one.rows.iter().find_map(|row| row.unit.as_deref())
}

/// The host of a comparison of a platform on one host.
pub(crate) fn host_of(one: &SuiteComparison) -> Option<&str> {
    let host = one.other.host.as_deref()?;
    let is_own = one.base.host.as_deref() == Some(host) && one.base.platform == one.other.platform;
    is_own.then_some(host)
}

fn rows(all: &[(&str, &SuiteComparison)]) -> Vec<RowOverHosts> {
    let mut order: Vec<&str> = Vec::new();
    let mut by_name: BTreeMap<&str, Vec<(&str, &RowComparison)>> = BTreeMap::new();
    for (host, one) in all {
        for row in &one.rows {
            let of_row = by_name.entry(&row.benchmark).or_insert_with(|| {
                order.push(&row.benchmark);
                Vec::new()
            });
            of_row.push((host, row));
        }
    }
    order
        .into_iter()
        .map(|name| row(name, &by_name[name]))
        .collect()
}

fn row(name: &str, all: &[(&str, &RowComparison)]) -> RowOverHosts {
    let on = |is_it: &dyn Fn(&RowComparison) -> bool| -> Vec<String> {
        let of = all.iter().filter(|(_, row)| is_it(row));
        of.map(|(host, _)| (*host).to_owned()).collect()
    };
    let with = |verdict: Option<Verdict>| on(&|row| row.verdict == verdict);
    let changes: Vec<f64> = all.iter().filter_map(|(_, row)| change(row)).collect();
    RowOverHosts {
        benchmark: name.to_owned(),
        unit: all.iter().find_map(|(_, row)| row.unit.clone()),
        change: median(&changes).map(|median| Change {
            median,
            least: changes.iter().copied().fold(f64::INFINITY, f64::min),
            greatest: changes.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }),
        worse: with(Some(Verdict::Worse)),
        better: with(Some(Verdict::Better)),
        no_change: with(Some(Verdict::NoChange)),
        inconclusive: with(Some(Verdict::Inconclusive)),
        not_compared: with(None),
        refused: on(&|row| row.verdict.is_none() && row.refused),
    }
}

fn change(row: &RowComparison) -> Option<f64> {
    match (&row.time, &row.counts) {
        (Some(time), _) => time.ratio,
        (None, Some(counts)) => Some(counts.added),
        (None, None) => None,
    }
}

impl OverHosts {
    /// Whether the platform has this comparison.
    pub(crate) fn has(&self, one: &SuiteComparison) -> bool {
        let is_platform = one.other.platform == self.platform;
        host_of(one).is_some() && is_platform && unit_of(one) == self.unit.as_deref()
    }

    /// `kvm, tsc_ticks: 4 hosts, each against its own base`.
    pub(crate) fn heading(&self) -> String {
        format!(
            "{}, {}: {} hosts, each against its own base",
            self.platform,
            self.unit.as_deref().unwrap_or("no figures"),
            self.hosts.len()
        )
    }

    /// Returns the rows that changed on some host, may have changed, or could not be compared because their conditions
    /// differ. Rows that are worse on most hosts come first. With `all`, returns all rows in their order.
    pub(crate) fn shown(&self, all: bool) -> Vec<&RowOverHosts> {
        let rows = self.rows.iter();
        if all {
            return rows.collect();
        }
        let is_changed = |row: &&RowOverHosts| {
            let hosts = [&row.worse, &row.better, &row.inconclusive, &row.refused];
            hosts.into_iter().any(|hosts| !hosts.is_empty())
        };
        let mut rows: Vec<&RowOverHosts> = rows.filter(is_changed).collect();
        let rank = |row: &RowOverHosts| {
            let count = |hosts: &Vec<String>| std::cmp::Reverse(hosts.len());
            (
                count(&row.worse),
                count(&row.better),
                count(&row.inconclusive),
                count(&row.refused),
            )
        };
        rows.sort_by_key(|row| rank(row));
        rows
    }

    /// Returns the text in place of a table without rows.
    pub(crate) fn nothing(&self) -> String {
        let rows = self.rows.iter();
        let compared = rows.filter(|row| row.not_compared.is_empty()).count();
        if compared == 0 {
            return "no benchmark was compared on all hosts".to_owned();
        }
        let rest = match self.rows.len() - compared {
            0 => String::new(),
            more => format!("; {more} not compared on some"),
        };
        format!("no change in any of {compared} benchmarks on any host{rest}")
    }

    /// The table of these rows.
    pub(crate) fn sheet(&self, rows: &[&RowOverHosts]) -> Sheet {
        let mut sheet = Sheet::new([
            ("benchmark", Set::Text),
            ("median host", Set::Number),
            ("least", Set::Number),
            ("greatest", Set::Number),
            ("worse on", Set::Text),
            ("better on", Set::Text),
            ("no change", Set::Number),
            ("inconclusive", Set::Number),
            ("not compared on", Set::Text),
        ]);
        sheet.extend(rows.iter().map(|row| {
            let counts = row.unit.as_deref().is_some_and(number::is_count);
            let figure = |of: fn(&Change) -> f64| match row.change.as_ref().map(of) {
                None => "-".to_owned(),
                Some(added) if counts => number::added(added),
                Some(ratio) => format!("{ratio:.3}x"),
            };
            vec![
                row.benchmark.clone(),
                figure(|change| change.median),
                figure(|change| change.least),
                figure(|change| change.greatest),
                names(&row.worse),
                names(&row.better),
                row.no_change.len().to_string(),
                row.inconclusive.len().to_string(),
                names(&row.not_compared),
            ]
        }));
        sheet
    }
}
