//! `worldswitch compare`: finds the pairs, has them judged, shows and exports what was found.

use crate::Usage;
use crate::cli::{CompareArgs, Effect};
use crate::output::{self, Colours};
use crate::run::export;
use anyhow::bail;
use ws_analysis::{CompareOptions, Outcome, Thresholds, compare_results};
use ws_report::Comparisons;
use ws_results::ResultFile;

/// Compares.
///
/// # Errors
/// There is no such result, it can't be read, platforms have no counterpart, conditions differ, or
/// something can't be written.
pub fn compare(args: &CompareArgs, colours: Colours) -> anyhow::Result<Outcome> {
    let mut bases = ws_results::load(&args.base)?;
    let mut others = Vec::new();
    for other in &args.others {
        others.extend(ws_results::load(other)?);
    }
    for result in bases.iter_mut().chain(&mut others) {
        select(result, args.bench.as_ref());
    }
    let options = CompareOptions {
        thresholds: thresholds(args),
        allow: args.allow.clone(),
    };
    let mut compared = Vec::new();
    for (base, other) in pairs(&bases, &others)? {
        compared.push(compare_results(base, other, &options)?);
    }
    if compared.iter().all(|one| one.rows.is_empty()) {
        return Err(Usage("no benchmark is left to compare: see --bench".into()).into());
    }
    let outcomes = compared.iter().map(|one| one.outcome());
    let outcome = outcomes.max().unwrap_or(Outcome::NoRegression);
    let comparisons = Comparisons::of(compared);
    export(args.export_json.as_deref(), || Ok(comparisons.to_json()?))?;
    export(args.export_csv.as_deref(), || Ok(comparisons.to_csv()?))?;
    export(args.export_markdown.as_deref(), || {
        Ok(comparisons.to_markdown())
    })?;
    output::data(&comparisons.to_terminal(colours.stdout))?;
    if outcome == Outcome::Refused {
        output::remark(
            "benchmarks whose own conditions differ were not compared: --allow FIELD compares them, --bench leaves them out",
            colours,
        );
    }
    Ok(outcome)
}

/// What the shell gets.
pub fn exit_code(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::NoRegression => 0,
        Outcome::Regression => 3,
        Outcome::Inconclusive => 4,
        Outcome::Refused => 1,
    }
}

/// The last of each kind counts.
fn thresholds(args: &CompareArgs) -> Thresholds {
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

fn select(result: &mut ResultFile, bench: Option<&regex::Regex>) {
    let wanted = |name: &str| bench.is_none_or(|bench| bench.is_match(name));
    result.rows.retain(|row| wanted(&row.benchmark));
}

/// What is compared with what. With one base, all others; with several, each with the base of its
/// platform. A base that a folder among the others names once more is not compared with itself.
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
    let mut pairs = Vec::new();
    for other in others {
        let mut like = bases.iter().filter(|base| base.platform == other.platform);
        match (like.next(), like.next()) {
            (Some(base), None) => pairs.push((base, other)),
            (Some(_), Some(_)) => bail!(
                "the base has several results of {}: name one of its files",
                ws_text::terminal(&other.platform)
            ),
            (None, _) => {
                let there: Vec<_> = bases
                    .iter()
                    .map(|base| ws_text::terminal(&base.platform))
                    .collect();
                bail!(
                    "the base has no {}, only {}: name the one to compare with, as FOLDER:PLATFORM",
                    ws_text::terminal(&other.platform),
                    there.join(", ")
                )
            }
        }
    }
    Ok(pairs)
}
