//! Judges pairs of results, and shows and exports the verdicts, for `compare` and `history check`.

use crate::cli::{Effect, JudgeArgs, session};
use crate::shared::{export, on_stdout};
use anyhow::anyhow;
use std::collections::BTreeSet;
use ws_analysis::{Gap, Outcome, Paired, Thresholds};
use ws_report::Judged;
use ws_runner::benchmarks;
use ws_runner::parts::Parts;
use ws_terminal::{Usage, output};
use ws_trial::changed;

/// Judges pairs of a base and another result, shows the tables, and exports them. `gaps`: results of the base that are
/// in no pair. `explain`: also shows which functions changed; the machines are made from these files.
///
/// # Errors
/// `--bench` matches nothing, the conditions differ in all pairs, or something can't be written.
pub fn judge(
    pairs: &[Paired<'_>],
    gaps: Vec<Gap>,
    args: &JudgeArgs,
    explain: Option<&Parts>,
) -> anyhow::Result<Outcome> {
    let [json, markdown] = args.exports.files();
    let on_stdout = on_stdout([json, markdown, args.export_csv.as_deref()])?;
    must_match(pairs, args)?;
    let is_meant = |name: &str| {
        args.bench
            .as_ref()
            .is_some_and(|bench| bench.is_match(name))
    };
    let only: Option<&dyn Fn(&str) -> bool> = args.bench.is_some().then_some(&is_meant);
    let mut judged = Judged::of(pairs, gaps, thresholds(args), &args.allow, only)?;
    let comparisons = &judged.comparisons;
    export(args.export_csv.as_deref(), || Ok(comparisons.to_csv()))?;
    export(markdown, || Ok(comparisons.to_markdown()))?;
    if !on_stdout {
        output::data(&comparisons.to_terminal(output::is_coloured(), args.all))?;
    }
    for why in &judged.refused {
        output::error(&anyhow!("{why}"));
    }
    for why in judged.not_judged() {
        output::remark(&format!("not judged: {why}"));
    }
    if let Some(parts) = explain {
        let explained = changed(&judged.changed, parts, !on_stdout, &session()?)?;
        judged.comparisons.explained = explained;
    }
    export(json, || Ok(judged.comparisons.to_json()?))?;
    Ok(judged.comparisons.outcome)
}

/// Checks that `--bench` matches a benchmark of some pair.
fn must_match(pairs: &[Paired<'_>], args: &JudgeArgs) -> Result<(), Usage> {
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

/// Takes the last threshold of each kind.
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
