//! `worldswitch compare`: finds pairs of results, judges them, and shows and exports the verdicts.
//! `history check` judges its pairs in the same way.

use crate::cli::{CompareArgs, Effect, JudgeArgs, Parts};
use crate::commands::explain::{self, Changed};
use crate::commands::{Usage, benchmarks, export, on_stdout};
use anyhow::bail;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use ws_analysis::{
    CompareOptions, Gap, GapKind, Outcome, RowComparison, Thresholds, Verdict, compare_results,
    judge_hosts,
};
use ws_report::{Comparisons, HostsOfSides};
use ws_results::ResultFile;
use ws_terminal::{Colours, output};
use ws_text::terminal;

/// Compares results.
///
/// # Errors
/// There is no such result, it can't be read, a platform has no counterpart, conditions differ, or
/// something can't be written.
pub fn compare(args: &CompareArgs, colours: Colours) -> anyhow::Result<Outcome> {
    let bases = ws_results::load(&args.base)?;
    let others = ws_results::load_all(&args.others)?;
    let explain = args.explain.then_some(&args.parts);
    // Who names FOLDER:PLATFORM or a file means no other platform.
    let are_whole = args.others.iter().any(|other| Path::new(other).is_dir());
    let (pairs, alone) = pairs(&bases, &others)?;
    for why in alone {
        output::remark(&why, colours);
    }
    let gaps = only_in_base(&bases, &pairs, are_whole);
    judge(&pairs, gaps, &args.how, explain, colours)
}

/// Judges pairs of a base and another result, shows the tables, and exports them. A pair whose
/// conditions differ does not hide the verdicts on other pairs. `gaps`: what of the base is in no pair.
/// `explain`: also shows which functions changed, of machines that are made from these files.
///
/// # Errors
/// `--bench` matches nothing, the conditions differ in all pairs, or something can't be written.
pub fn judge(
    pairs: &[(&ResultFile, &ResultFile)],
    mut gaps: Vec<Gap>,
    args: &JudgeArgs,
    explain: Option<&Parts>,
    colours: Colours,
) -> anyhow::Result<Outcome> {
    let [json, markdown] = args.exports.files();
    let on_stdout = on_stdout([json, markdown, args.export_csv.as_deref()])?;
    must_match(pairs, args)?;
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
            // None of its benchmarks was asked for.
            Ok(one) if one.rows.is_empty() && args.bench.is_some() => {}
            Ok(one) => {
                let rows = one.rows.iter();
                changed.extend(rows.filter_map(|row| as_changed(base, other, row)));
                compared.push(one);
            }
            Err(why) => {
                gaps.push(why.gap());
                refused.push(why);
            }
        }
    }
    let is_refused = |gap: &Gap| gap.kind.outcome() == Outcome::Refused;
    if compared.is_empty() && gaps.iter().all(is_refused) {
        if let Some(why) = refused.first() {
            return Err(why.clone().into());
        }
    }
    let mut comparisons = Comparisons::of(compared).lacking(gaps);
    if !comparisons.over_hosts.is_empty() {
        comparisons.hosts = Some(sides(pairs, thresholds));
    }
    export(args.export_csv.as_deref(), || Ok(comparisons.to_csv()?))?;
    export(markdown, || Ok(comparisons.to_markdown()))?;
    if !on_stdout {
        output::data(&comparisons.to_terminal(colours.stdout, args.all))?;
    }
    for why in &refused {
        output::error(&anyhow::anyhow!("{why}"), colours);
    }
    // What is refused as a whole was said just now.
    let is_said = |gap: &&Gap| !refused.iter().any(|why| why.gap() == **gap);
    for gap in comparisons.gaps.iter().filter(is_said) {
        output::remark(&format!("not judged: {}", gap.why), colours);
    }
    if let Some(parts) = explain {
        comparisons.explained = explain::changed(&changed, parts, !on_stdout, colours)?;
    }
    export(json, || Ok(comparisons.to_json()?))?;
    Ok(comparisons.outcome)
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

/// Checks that `--bench` matches a benchmark of some pair.
fn must_match(pairs: &[(&ResultFile, &ResultFile)], args: &JudgeArgs) -> Result<(), Usage> {
    let rows = pairs.iter().flat_map(|(base, other)| [base, other]);
    let rows = rows.flat_map(|result| &result.rows);
    let known: BTreeSet<&str> = rows.map(|row| &*row.benchmark).collect();
    let known: Vec<&str> = known.into_iter().collect();
    match &args.bench {
        Some(bench) if !pairs.is_empty() && !known.iter().any(|name| bench.is_match(name)) => {
            Err(benchmarks::none_matches(bench, &known))
        }
        _ => Ok(()),
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

/// The pairs to compare, and results that have none because the base has none of their host, in words. A single base is
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
    Ok((pairs, alone))
}

/// The results of the base that are in no pair: of all its platforms, or else only other hosts of the platforms that are.
fn only_in_base(bases: &[ResultFile], pairs: &Pairs<'_>, of_all: bool) -> Vec<Gap> {
    let is_paired = |base: &ResultFile| pairs.iter().any(|(one, _)| std::ptr::eq(*one, base));
    let is_meant = |base: &ResultFile| {
        let mut pairs = pairs.iter();
        of_all || pairs.any(|(_, other)| other.platform == base.platform)
    };
    let alone = bases
        .iter()
        .filter(|base| !is_paired(base) && is_meant(base));
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
    alone.map(gap).collect()
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
