//! Pairs of results to compare, of two runs that measured several platforms, or several hosts.

use crate::suite::{CompareOptions, Refused, SuiteComparison, compare_results};
use crate::verdict::Thresholds;
use crate::{Gap, GapKind};
use std::collections::{BTreeMap, BTreeSet};
use ws_results::ResultFile;
use ws_text::terminal;

/// A base, and a result to compare with it.
pub type Paired<'a> = (&'a ResultFile, &'a ResultFile);

/// Reason why a result has no base.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unpaired {
    #[error(
        "the base has no {}, only {}: name the one to compare with, as FOLDER:PLATFORM",
        terminal(platform),
        terminal(known)
    )]
    NoPlatform { platform: String, known: String },
    #[error("the base has no {} of {}", terminal(platform), terminal(host))]
    NoHost { platform: String, host: String },
    #[error(
        "the base has several results of {}{}: name one of its files",
        terminal(platform),
        terminal(on)
    )]
    Several { platform: String, on: String },
    /// No result of several has a base, for these reasons.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    All(Vec<Self>),
}

/// Finds the base of the same platform. Of several, it chooses the base of the same host, with some of the same rows.
pub fn counterpart<'a>(
    bases: &'a [ResultFile],
    other: &ResultFile,
) -> Result<&'a ResultFile, Unpaired> {
    let like = || bases.iter().filter(|base| base.platform == other.platform);
    let platform = other.platform.clone();
    let Some(first) = like().next() else {
        let known: Vec<&str> = bases.iter().map(|base| &*base.platform).collect();
        let known = known.join(", ");
        return Err(Unpaired::NoPlatform { platform, known });
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
    let host = other.host().filter(|_| are_hosts).map(str::to_owned);
    match (same.next(), same.next(), host) {
        (Some(base), None, _) => Ok(base),
        (None, _, Some(host)) => Err(Unpaired::NoHost { platform, host }),
        (Some(_), Some(_), Some(host)) => Err(Unpaired::Several {
            platform,
            on: format!(" on {host}"),
        }),
        _ => Err(Unpaired::Several {
            platform,
            on: String::new(),
        }),
    }
}

/// Returns the pairs to compare, and a reason for each result whose host the base lacks. A single base is compared
/// with all others. Of several bases, each other result is compared with its [`counterpart`]. A base that is also
/// among the others, in a folder, is not compared with itself.
pub fn pairs<'a>(
    bases: &'a [ResultFile],
    others: &'a [ResultFile],
) -> Result<(Vec<Paired<'a>>, Vec<Unpaired>), Unpaired> {
    if let [base] = bases {
        let mut rest: Vec<_> = others.iter().filter(|other| *other != base).collect();
        if rest.is_empty() {
            rest = others.iter().collect();
        }
        let pairs = rest.into_iter().map(|other| (base, other));
        return Ok((pairs.collect(), Vec::new()));
    }
    let (mut pairs, mut alone) = (Vec::new(), Vec::new());
    for other in others {
        match counterpart(bases, other) {
            Ok(base) => pairs.push((base, other)),
            Err(why @ Unpaired::NoHost { .. }) => alone.push(why),
            Err(why) => return Err(why),
        }
    }
    match pairs.is_empty() {
        true => Err(Unpaired::All(alone)),
        false => Ok((pairs, alone)),
    }
}

/// Lists the results of the base that are in no pair. Unless `of_all`, only hosts of platforms that are in a pair.
pub fn only_in_base(bases: &[ResultFile], pairs: &[Paired<'_>], of_all: bool) -> Vec<Gap> {
    let is_paired = |base: &ResultFile| pairs.iter().any(|(one, _)| std::ptr::eq(*one, base));
    let is_meant = |base: &ResultFile| {
        let mut pairs = pairs.iter();
        of_all || pairs.any(|(_, other)| other.platform == base.platform)
    };
    let of_hosts = |base: &ResultFile| {
        let mut like = bases.iter().filter(|one| one.platform == base.platform);
        like.any(|one| one.host() != base.host())
    };
    let gap = |base: &ResultFile| {
        let host = match of_hosts(base) {
            true => format!(" of {}", base.host().unwrap_or("an unknown host")),
            false => String::new(),
        };
        Gap {
            kind: GapKind::NoCounterpart,
            platform: base.platform.clone(),
            benchmarks: Vec::new(),
            why: format!("{}{host} is in the base only", base.platform),
        }
    };
    let alone = bases.iter().filter(|base| !is_paired(base));
    alone.filter(|base| is_meant(base)).map(gap).collect()
}

/// Compares each pair. The significance is divided among the hosts of a platform, as in [`crate::judge_hosts`]. So a
/// false alarm on any of these hosts is as improbable as on a single host. `only` matches the benchmarks that are
/// compared.
pub fn compare_pairs<'a>(
    pairs: &[Paired<'a>],
    thresholds: Thresholds,
    allow: &[String],
    only: Option<&dyn Fn(&str) -> bool>,
) -> Vec<(Paired<'a>, Result<SuiteComparison, Refused>)> {
    let mut hosts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (base, other) in pairs {
        if let Some(host) = other.host().filter(|host| base.host() == Some(host)) {
            hosts.entry(&other.platform).or_default().insert(host);
        }
    }
    let compared = pairs.iter().map(|&(base, other)| {
        let hosts = hosts.get(&*other.platform).map_or(1, BTreeSet::len);
        let only = only.map(|is_meant| {
            let rows = [base, other].into_iter().flat_map(|result| &result.rows);
            let names = rows.map(|row| &row.benchmark);
            names.filter(|name| is_meant(name)).cloned().collect()
        });
        let options = CompareOptions {
            thresholds: Thresholds {
                significance: thresholds.significance / hosts as f64,
                ..thresholds
            },
            allow: allow.to_vec(),
            only,
        };
        ((base, other), compare_results(base, other, &options))
    });
    compared.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn on(host: &str, created: &str) -> ResultFile {
        let samples =
            json!([{"boot": 1, "launch": 0, "iterations": 1, "run": [9, 9], "control": [0, 0]}]);
        let row = json!({"benchmark": "in", "category": "io", "status": "ok", "reason": null, "outcomes": [],
            "conditions": {}, "exact": null, "metrics": [{"name": "cost", "unit": "ns", "boots": samples}]});
        let value = json!({"schema": ws_results::SCHEMA, "created": created, "tool": "t", "command": [],
            "platform": "kvm", "identity": {"subject": {"host": host}, "conditions": {}},
            "interrupted": false, "boots": [], "rows": [row]});
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_false_alarm_on_any_of_several_hosts_is_as_improbable_as_on_one() {
        let all = |created| ["n1", "n2"].map(|host| on(host, created)).to_vec();
        let bases = all("2026-01-01T00:00:00Z");
        let results = all("2026-01-02T00:00:00Z");
        let judged = |results| -> Vec<f64> {
            let (pairs, _) = pairs(&bases, results).unwrap();
            let all = compare_pairs(&pairs, Thresholds::default(), &[], None).into_iter();
            all.map(|(_, one)| one.unwrap().thresholds.significance)
                .collect()
        };
        let whole = Thresholds::default().significance;
        assert_eq!(judged(&results), [whole / 2.0; 2]);
        assert_eq!(judged(&results[..1]), [whole]);
    }

    #[test]
    fn a_result_without_its_host_in_the_base_is_left_out_and_named() {
        let bases = ["n1", "n2"].map(|host| on(host, "2026-01-01T00:00:00Z"));
        let others = ["n2", "n3"].map(|host| on(host, "2026-01-02T00:00:00Z"));
        let (paired, alone) = pairs(&bases, &others).unwrap();
        assert_eq!(paired, [(&bases[1], &others[0])]);
        assert_eq!(alone[0].to_string(), "the base has no kvm of n3");
        let gaps = only_in_base(&bases, &paired, false);
        assert_eq!(gaps[0].why, "kvm of n1 is in the base only");
        let none = pairs(&bases, &others[1..]).unwrap_err();
        assert_eq!(none.to_string(), "the base has no kvm of n3");
    }
}
