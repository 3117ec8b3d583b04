//! `worldswitch compare`: finds pairs of results, judges them, and shows and exports the verdicts.
//! `history check` judges its pairs in the same way.

use crate::cli::{CompareArgs, Effect, JudgeArgs, Parts};
use crate::commands::explain::{self, Changed};
use crate::commands::{Usage, benchmarks, export, on_stdout};
use crate::terminal::{Colours, output};
use anyhow::bail;
use std::collections::{BTreeMap, BTreeSet};
use ws_analysis::{
    CompareOptions, Outcome, RowComparison, Thresholds, Verdict, compare_results, judge_hosts,
};
use ws_report::text::terminal;
use ws_report::{Comparisons, HostsOfSides};
use ws_results::ResultFile;

/// Compares results.
///
/// # Errors
/// There is no such result, it can't be read, a platform has no counterpart, conditions differ, or
/// something can't be written.
pub fn compare(args: &CompareArgs, colours: Colours) -> anyhow::Result<Outcome> {
    let bases = ws_results::load(&args.base)?;
    let others = ws_results::load_all(&args.others)?;
    let explain = args.explain.then_some(&args.parts);
    let (pairs, alone) = pairs(&bases, &others)?;
    for why in alone {
        output::remark(&why, colours);
    }
    judge(&pairs, &args.how, explain, colours)
}

/// Judges pairs of a base and another result, shows the tables, and exports them. A pair whose
/// conditions differ does not hide the verdicts on other pairs. `explain`: also shows which functions
/// changed, of machines that are made from these files.
///
/// # Errors
/// No benchmark is left, the conditions differ in all pairs, or something can't be written.
pub fn judge(
    pairs: &[(&ResultFile, &ResultFile)],
    args: &JudgeArgs,
    explain: Option<&Parts>,
    colours: Colours,
) -> anyhow::Result<Outcome> {
    let [json, markdown] = args.exports.files();
    let on_stdout = on_stdout([json, markdown, args.export_csv.as_deref()])?;
    let (mut compared, mut refused, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    let thresholds = thresholds(args);
    let divided = divided(thresholds, pairs);
    for &(base, other) in pairs {
        let options = CompareOptions {
            thresholds: divided(other),
            allow: args.allow.clone(),
            only: args
                .bench
                .as_ref()
                .map(|bench| matching([base, other], bench)),
        };
        match compare_results(base, other, &options) {
            Ok(one) => {
                let rows = one.rows.iter();
                changed.extend(rows.filter_map(|row| as_changed(base, other, row)));
                compared.push(one);
            }
            Err(why) => refused.push(why),
        }
    }
    if compared.is_empty() {
        if let Some(why) = refused.into_iter().next() {
            return Err(why.into());
        }
        return Ok(Outcome::NoRegression);
    }
    if compared.iter().all(|one| one.rows.is_empty()) {
        return Err(nothing_left(pairs, args).into());
    }
    let outcomes = compared.iter().map(|one| one.outcome());
    let apart = (!refused.is_empty()).then_some(Outcome::Refused);
    let outcome = outcomes.chain(apart).max().unwrap_or(Outcome::NoRegression);
    let mut comparisons = Comparisons::of(compared);
    if !comparisons.over_hosts.is_empty() {
        comparisons.hosts = Some(sides(pairs, thresholds));
    }
    export(args.export_csv.as_deref(), || Ok(comparisons.to_csv()?))?;
    export(markdown, || Ok(comparisons.to_markdown()))?;
    if !on_stdout {
        output::data(&comparisons.to_terminal(colours.stdout, args.all))?;
    }
    for why in refused {
        output::error(&why.into(), colours);
    }
    let rows = comparisons.comparisons.iter().flat_map(|one| &one.rows);
    if rows.into_iter().any(|row| row.refused) {
        output::remark(
            "benchmarks whose own conditions differ were not compared: --allow FIELD compares them, --bench leaves them out",
            colours,
        );
    }
    if let Some(parts) = explain {
        comparisons.explained = explain::changed(&changed, parts, !on_stdout, colours)?;
    }
    export(json, || Ok(comparisons.to_json()?))?;
    Ok(outcome)
}

/// The thresholds of each result. A false alarm in a whole suite is as improbable on all hosts of a platform together: the
/// significance is divided among them, as [`judge_hosts`] does.
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

/// The hosts of both sides among others of their kind.
fn sides(pairs: &[(&ResultFile, &ResultFile)], thresholds: Thresholds) -> HostsOfSides {
    HostsOfSides {
        base: judge_hosts(pairs.iter().map(|(base, _)| *base), &thresholds),
        other: judge_hosts(pairs.iter().map(|(_, other)| *other), &thresholds),
    }
}

/// `--bench` left nothing to compare.
fn nothing_left(pairs: &[(&ResultFile, &ResultFile)], args: &JudgeArgs) -> Usage {
    let rows = pairs.iter().flat_map(|(base, other)| [base, other]);
    let rows = rows.flat_map(|result| &result.rows);
    let known: BTreeSet<&str> = rows.map(|row| &*row.benchmark).collect();
    let known: Vec<&str> = known.into_iter().collect();
    match &args.bench {
        Some(bench) if !known.iter().any(|name| bench.is_match(name)) => {
            benchmarks::none_matches(bench, &known)
        }
        _ => Usage("no benchmark is left to compare".into()),
    }
}

fn as_changed<'a>(
    base: &'a ResultFile,
    other: &'a ResultFile,
    row: &RowComparison,
) -> Option<Changed<'a>> {
    let added = row.counts.as_ref().map(|counts| counts.added);
    let is_changed = match row.verdict? {
        Verdict::Better | Verdict::Worse => true,
        // Whether layout alone is the cause can be seen in the functions.
        Verdict::Inconclusive => added.is_some_and(|added| added != 0.0),
        Verdict::NoChange => false,
    };
    is_changed.then(|| Changed {
        base,
        other,
        benchmark: row.benchmark.clone(),
        added,
    })
}

/// The last of each kind counts.
fn thresholds(args: &JudgeArgs) -> Thresholds {
    let mut thresholds = Thresholds {
        significance: args.significance,
        ..Thresholds::default()
    };
    for effect in &args.min_effect {
        match *effect {
            Effect::Ratio(fraction) => thresholds.min_effect = fraction,
            Effect::Insns(insns) => thresholds.min_effect_insns = insns,
        }
    }
    thresholds
}

/// The benchmarks of either result whose name matches.
fn matching(results: [&ResultFile; 2], bench: &regex::Regex) -> BTreeSet<String> {
    let rows = results.into_iter().flat_map(|result| &result.rows);
    let names = rows.map(|row| &row.benchmark);
    names.filter(|name| bench.is_match(name)).cloned().collect()
}

/// Results to compare, each base before its other.
type Pairs<'a> = Vec<(&'a ResultFile, &'a ResultFile)>;

/// The pairs to compare, and results that have none because their host is on one side only, in words. A single base is
/// compared with all others; of several bases, each other result is compared with its [`counterpart`]. A base that is
/// also among the others, in a folder, is not compared with itself.
fn pairs<'a>(
    bases: &'a [ResultFile],
    others: &'a [ResultFile],
) -> anyhow::Result<(Pairs<'a>, Vec<String>)> {
    if let [base] = bases {
        let rest: Vec<_> = others.iter().filter(|other| *other != base).collect();
        let others = if rest.is_empty() {
            others.iter().collect()
        } else {
            rest
        };
        let pairs = others.into_iter().map(|other| (base, other));
        return Ok((pairs.collect(), Vec::new()));
    }
    let (mut pairs, mut alone) = (Vec::new(), Vec::new());
    for other in others {
        match counterpart(bases, other) {
            Ok(base) => pairs.push((base, other)),
            Err(error) if error.is::<NoHost>() => alone.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    if pairs.is_empty() {
        bail!(alone.join("; "));
    }
    let is_paired = |base: &&ResultFile| pairs.iter().any(|(one, _)| std::ptr::eq(*one, *base));
    let of_pairs = |base: &&ResultFile| {
        pairs
            .iter()
            .any(|(_, other)| other.platform == base.platform)
    };
    for base in bases
        .iter()
        .filter(|base| !is_paired(base) && of_pairs(base))
    {
        let host = base.host().unwrap_or("an unknown host");
        let (platform, host) = (terminal(&base.platform), terminal(host));
        alone.push(format!("{platform} of {host} is in the base only"));
    }
    Ok((pairs, alone))
}

/// A result of a host of which the base has none.
#[derive(Debug, thiserror::Error)]
#[error("the base has no {} of {}", terminal(.0), terminal(.1))]
struct NoHost(String, String);

/// The base of the same platform; if there are several, that of the same host, with some of the same rows.
///
/// # Errors
/// There is none, or more than one.
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
