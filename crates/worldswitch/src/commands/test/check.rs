//! `worldswitch test --budget FILE` without a change: checks lab machines against a budget, or writes one.

use super::chosen;
use crate::cli::TestArgs;
use crate::shared::{Done, export, on_stdout};
use anyhow::bail;
use std::path::Path;
use ws_analysis::Outcome;
use ws_budget::{Checked, KeptUp, Measured, lines, markdown, outcome, table};
use ws_machines::platforms;
use ws_report::figure;
use ws_runner::{RunSpec, Session, parts};
use ws_terminal::{Usage, columns, output};

/// Checks the budget's machines and benchmarks.
pub fn check(args: &TestArgs, path: &Path, session: &Session) -> anyhow::Result<Done> {
    let chosen = [
        ("--on", !args.on.is_empty()),
        ("--bench", args.bench.is_some()),
        ("--suite", args.suite.is_some()),
        ("--all", args.all),
    ];
    if let Some((option, _)) = chosen.iter().find(|(_, is_given)| *is_given) {
        bail!(Usage(format!(
            "{option} needs BASE and HEAD, or --write: a budget names its machines and benchmarks"
        )));
    }
    let [json, markdown_to] = args.exports.files();
    let piped = on_stdout([json, markdown_to])?;
    let budget = super::budget(args, path)?;
    let measured = Measured::of(&budget, &spec(args), session)?;
    let lines = lines(&budget, &measured.results);
    let legend = figure::legend(measured.results.iter());
    if !piped {
        output::data(&(table(&lines) + &legend))?;
    }
    export(json, || Ok(columns::json(&Checked::of(&lines, &measured))?))?;
    export(markdown_to, || Ok(markdown(&lines, &legend)))?;
    tell(&measured);
    for line in &lines {
        if let Err(why) = &line.figure {
            let why = format!("not judged: {} on {}: {why}", line.benchmark, line.platform);
            output::remark(&why);
        }
    }
    Ok(done(&measured, outcome(&lines)))
}

/// Settings of the measurement.
fn spec(args: &TestArgs) -> RunSpec {
    RunSpec {
        perturb: Some(args.perturb.unwrap_or(0)),
        parts: args.parts.to_parts(),
        output: args.output.to_output(),
        ..RunSpec::default()
    }
}

/// Returns the command's outcome: a benchmark over its budget counts even if another could not be measured.
fn done(measured: &Measured, outcome: Outcome) -> Done {
    match outcome {
        _ if measured.broken => Done::InPart,
        Outcome::Regression => Done::Judged(outcome),
        _ if measured.lacking => Done::InPart,
        _ => Done::Judged(outcome),
    }
}

/// Prints remarks on the results, and their folder.
fn tell(measured: &Measured) {
    for remark in &measured.remarks {
        output::remark(remark);
    }
    if let (Some(folder), false) = (measured.folder(), measured.results.is_empty()) {
        output::remark(&format!("results are in {folder}"));
    }
}

/// Measures, and writes a budget that the figures just meet.
pub fn write(args: &TestArgs, path: &Path, session: &Session) -> anyhow::Result<Done> {
    let kept_up = KeptUp::read(path)?;
    let resources = parts::resources(&args.parts.to_parts());
    let names = ws_trial::machines(&args.on.concat())?;
    for name in &names {
        if name.family.as_deref() != Some("lab") {
            bail!(Usage(format!(
                "{name} does not count instructions: name a lab machine, such as lab:kvm"
            )));
        }
        platforms::check(name, &resources).map_err(|e| Usage(e.to_string()))?;
    }
    let mut measured = Measured::default();
    measured.run(&spec(args), names, chosen(args)?, session)?;
    tell(&measured);
    if measured.lacking {
        bail!("no budget was written: some platform did not measure everything");
    }
    let (figures, without) = measured.figures();
    if figures.iter().all(|(_, rows)| rows.is_empty()) {
        bail!("no budget was written: no benchmark has an exact figure");
    }
    for why in without {
        output::remark(&format!("not in the budget: {why}"));
    }
    super::written(path, &kept_up.with(&figures)?)?;
    Ok(Done::Whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regression_counts_unless_no_figure_can_be_trusted() {
        let code = |lacking, broken, outcome| {
            let measured = Measured {
                lacking,
                broken,
                ..Measured::default()
            };
            done(&measured, outcome).code()
        };
        let outcomes = [
            Outcome::NoRegression,
            Outcome::Inconclusive,
            Outcome::Regression,
        ];
        assert_eq!(outcomes.map(|one| code(false, false, one)), [0, 4, 3]);
        assert_eq!(outcomes.map(|one| code(true, false, one)), [1, 1, 3]);
        assert_eq!(outcomes.map(|one| code(true, true, one)), [1, 1, 1]);
    }
}
