//! Judges pairs of results, and shows and exports the verdicts, for `compare` and `history check`.

use crate::cli::{Effect, JudgeArgs, session};
use crate::shared::changed::{self, Changed};
use crate::shared::pairs::divided;
use crate::shared::{export, on_stdout};
use std::collections::BTreeSet;
use ws_analysis::{
    CompareOptions, Gap, Outcome, RowComparison, Thresholds, Verdict, compare_results, judge_hosts,
};
use ws_report::{Comparisons, HostsOfSides};
use ws_results::ResultFile;
use ws_runner::benchmarks;
use ws_runner::parts::Parts;
use ws_terminal::{Colours, Usage, output};

/// Judges pairs of a base and another result, shows the tables, and exports them. A pair whose conditions differ does
/// not hide the verdicts on other pairs. `gaps`: results of the base that are in no pair. `explain`: also shows which
/// functions changed; the machines are made from these files.
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
            // The user asked for other benchmarks.
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
    // From here on some pair was judged: refused pairs are reported next to its verdicts, not instead of them.
    let mut comparisons = Comparisons::of(compared).lacking(gaps);
    if !comparisons.over_hosts.is_empty() {
        comparisons.hosts = Some(sides(pairs, thresholds));
    }
    export(args.export_csv.as_deref(), || Ok(comparisons.to_csv()))?;
    export(markdown, || Ok(comparisons.to_markdown()))?;
    if !on_stdout {
        output::data(&comparisons.to_terminal(colours.stdout, args.all))?;
    }
    for why in &refused {
        output::error(&anyhow::anyhow!("{why}"), colours);
    }
    // Pairs that were refused as a whole are printed above.
    let is_said = |gap: &&Gap| !refused.iter().any(|why| why.gap() == **gap);
    for gap in comparisons.gaps.iter().filter(is_said) {
        output::remark(&format!("not judged: {}", gap.why), colours);
    }
    if let Some(parts) = explain {
        comparisons.explained = changed::changed(&changed, parts, !on_stdout, &session(colours)?)?;
    }
    export(json, || Ok(comparisons.to_json()?))?;
    Ok(comparisons.outcome)
}

/// Judges the hosts of both sides among others of their kind.
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

/// Lists the benchmarks of either result whose name matches.
fn matching(results: [&ResultFile; 2], bench: &regex::Regex) -> BTreeSet<String> {
    let rows = results.into_iter().flat_map(|result| &result.rows);
    let names = rows.map(|row| &row.benchmark);
    names.filter(|name| bench.is_match(name)).cloned().collect()
}
