//! `worldswitch lab check`: checks benchmarks' instruction counts on lab machines against a budget.

use crate::cli::lab::CheckArgs;
use crate::cli::session;
use crate::shared::{Done, export, on_stdout, write as write_file};
use anyhow::bail;
use std::path::Path;
use ws_analysis::{Figure, Outcome};
use ws_budget::{Budget, Checked, Measured, lines, markdown, outcome, table};
use ws_machines::platforms;
use ws_machines::resources::Resources;
use ws_report::figure;
use ws_runner::{RunSpec, Session, parts};
use ws_terminal::{Colours, Usage, columns, output};

/// Checks the budget, or writes one.
pub fn check(args: &CheckArgs, colours: Colours) -> anyhow::Result<Done> {
    let markdown_to = args.export_markdown.as_deref();
    let json_to = args.json.then_some(Path::new("-"));
    let piped = on_stdout([markdown_to, json_to])?;
    let session = session(colours)?;
    let resources = parts::resources(&args.parts.to_parts());
    if args.write {
        return write(args, &resources, &session);
    }
    let budget = Budget::read(&args.budget, &resources)?;
    let measured = Measured::of(&budget, &spec(args), &session)?;
    let lines = lines(&budget, &measured.results);
    let legend = figure::legend(measured.results.iter());
    if !piped {
        output::data(&(table(&lines) + &legend))?;
    }
    export(json_to, || {
        Ok(columns::json(&Checked::of(&lines, &measured))?)
    })?;
    export(markdown_to, || Ok(markdown(&lines, &legend)))?;
    tell(&measured, colours);
    for line in &lines {
        if let Err(why) = &line.figure {
            let why = format!("not judged: {} on {}: {why}", line.benchmark, line.platform);
            output::remark(&why, colours);
        }
    }
    Ok(done(&measured, outcome(&lines)))
}

/// Settings of the measurement.
fn spec(args: &CheckArgs) -> RunSpec {
    RunSpec {
        perturb: Some(args.perturb),
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
fn tell(measured: &Measured, colours: Colours) {
    for remark in &measured.remarks {
        output::remark(remark, colours);
    }
    if let (Some(folder), false) = (measured.folder(), measured.results.is_empty()) {
        output::remark(&format!("results are in {folder}"), colours);
    }
}

/// Measures, and writes a budget that the figures just meet.
fn write(args: &CheckArgs, resources: &Resources, session: &Session) -> anyhow::Result<Done> {
    let path = &args.budget;
    if path.exists() {
        bail!(Usage(format!(
            "{} exists already: remove it, or name another file",
            path.display()
        )));
    }
    let names: Vec<_> = args.on.iter().flatten().cloned().collect();
    for name in &names {
        if name.family.as_deref() != Some("lab") {
            bail!(Usage(format!(
                "{name} does not count instructions: name a lab machine, such as lab:kvm"
            )));
        }
        platforms::check(name, resources).map_err(|e| Usage(e.to_string()))?;
    }
    let mut measured = Measured::default();
    measured.run(&spec(args), names, args.bench.clone().into(), session)?;
    tell(&measured, session.colours);
    if measured.lacking {
        bail!("no budget was written: some platform did not measure everything");
    }
    let mut all = Vec::new();
    let mut any = false;
    for result in &measured.results {
        let rows = result.rows.iter().map(|row| {
            let figure = Figure::of(result, &row.benchmark);
            any |= figure.is_ok();
            (row.benchmark.clone(), figure)
        });
        all.push((result.platform.clone(), rows.collect()));
    }
    if !any {
        bail!("no budget was written: no benchmark has an exact figure");
    }
    if write_file(path, ws_budget::write(&all).as_bytes())? {
        output::remark(
            &format!("the budget is in {}", path.display()),
            session.colours,
        );
    }
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
