//! `worldswitch compare`: finds pairs of results, judges them, and shows and exports the verdicts.
//! `history check` judges its pairs in the same way.

use crate::cli::{CompareArgs, Effect, JudgeArgs, Parts};
use crate::commands::explain::{self, Changed};
use crate::commands::{Usage, benchmarks, export, on_stdout};
use crate::terminal::{Colours, output};
use anyhow::bail;
use std::collections::BTreeSet;
use ws_analysis::{CompareOptions, Outcome, RowComparison, Thresholds, Verdict, compare_results};
use ws_report::Comparisons;
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
    judge(&pairs(&bases, &others)?, &args.how, explain, colours)
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
    for &(base, other) in pairs {
        let options = CompareOptions {
            thresholds: thresholds(args),
            allow: args.allow.clone(),
            only: args
                .bench
                .as_ref()
                .map(|bench| matching([base, other], bench)),
        };
        match compare_results(base, other, &options) {
            Ok(one) => {
                changed.extend(
                    one.rows
                        .iter()
                        .filter_map(|row| as_changed(base, other, row)),
                );
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

/// The pairs to compare. A single base is compared with all others; of several bases, each other
/// result is compared with the one of its platform. A base that is also among the others, in a
/// folder, is not compared with itself.
fn pairs<'a>(
    bases: &'a [ResultFile],
    others: &'a [ResultFile],
) -> anyhow::Result<Vec<(&'a ResultFile, &'a ResultFile)>> {
    if let [base] = bases {
        let rest: Vec<_> = others.iter().filter(|other| *other != base).collect();
        let others = if rest.is_empty() {
            others.iter().collect()
        } else {
            rest
        };
        return Ok(others.into_iter().map(|other| (base, other)).collect());
    }
    let pair = |other: &'a ResultFile| Ok((counterpart(bases, other)?, other));
    others.iter().map(pair).collect()
}

/// The base of the same platform.
///
/// # Errors
/// There is none, or more than one.
pub fn counterpart<'a>(
    bases: &'a [ResultFile],
    other: &ResultFile,
) -> anyhow::Result<&'a ResultFile> {
    let mut like = bases.iter().filter(|base| base.platform == other.platform);
    match (like.next(), like.next()) {
        (Some(base), None) => Ok(base),
        (Some(_), Some(_)) => bail!(
            "the base has several results of {}: name one of its files",
            ws_report::text::terminal(&other.platform)
        ),
        (None, _) => {
            let there: Vec<_> = bases
                .iter()
                .map(|base| ws_report::text::terminal(&base.platform))
                .collect();
            bail!(
                "the base has no {}, only {}: name the one to compare with, as FOLDER:PLATFORM",
                ws_report::text::terminal(&other.platform),
                there.join(", ")
            )
        }
    }
}
