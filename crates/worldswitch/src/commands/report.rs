//! `worldswitch report` and `run --report`: writes results as one HTML page.

use crate::cli::lab::Places;
use crate::cli::{Form, ReportArgs};
use crate::commands::compare::{counterpart, divided};
use crate::commands::model::{self, Workload};
use crate::commands::{self, Done, Usage, explain, parts};
use crate::terminal::{Colours, output};
use anyhow::{Context, anyhow, bail};
use std::path::Path;
use ws_analysis::model::{ModelOptions, Paging, fit};
use ws_analysis::{CompareOptions, HostKind, Thresholds, Trends, compare_results, judge_hosts};
use ws_explain::explained::Explained;
use ws_report::page::{Report, Simulated};
use ws_report::{Modelled, Options, baselines, has_baseline, is_baseline};
use ws_results::{FindError, ResultFile};

/// The name of the report in its results' folder.
pub const FILE: &str = "report.html";

/// Input of a page beside its results.
#[derive(Debug, Default)]
pub struct Asked {
    /// The platform that others are compared with. If none is named, see [`baselines`].
    pub baseline: Option<String>,
    /// Conditions that may differ.
    pub allow: Vec<String>,
    /// Other results to judge against.
    pub bases: Option<Bases>,
    /// The workload whose cost the model predicts. Without one the page has no model.
    pub workload: Option<Workload>,
    /// Explained operations.
    pub explained: Vec<Explained>,
    /// Figures that a model gives.
    pub simulated: Option<Simulated>,
    /// The hosts that measured, judged; if none are given, those of the results are.
    pub hosts: Option<Vec<HostKind>>,
    /// How benchmarks moved over kernels.
    pub trends: Vec<Trends>,
}

/// Results to judge against.
#[derive(Debug)]
pub enum Bases {
    /// Each platform against the same one here.
    Each(Vec<ResultFile>),
    /// All platforms against this one.
    One(Box<ResultFile>),
}

/// What became of a page.
#[derive(Debug, Default)]
pub struct Written {
    /// Whether it is a file, and not on standard output.
    pub is_file: bool,
    /// What was asked for and is not on it, with reasons.
    pub refused: Vec<String>,
}

/// Writes the page of the command line's results. If a requested comparison is not possible, the page is still
/// written, and the command ends with an error.
///
/// # Errors
/// There is no such result or baseline, the events can't be read, or the page can't be written.
pub fn report(args: &ReportArgs, colours: Colours) -> anyhow::Result<Done> {
    let (mut results, explained) = found(&args.runs)?;
    let mut asked = Asked {
        allow: args.allow.clone(),
        explained,
        ..Asked::default()
    };
    for base in &args.base {
        let is_shown = results.iter().any(|result| result.platform == *base);
        match is_shown {
            true if asked.baseline.is_none() => asked.baseline = Some(base.clone()),
            false if asked.bases.is_none() => asked.bases = Some(others(base, &results)?),
            _ => bail!(Usage(format!(
                "--base {base}: only one --base may name a platform, and only one other results"
            ))),
        }
    }
    if let Some(path) = &args.events {
        asked.workload = Some(model::read(path)?);
    }
    if let Some(path) = &args.simulated {
        let name = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("can't read {name}"))?;
        let read = Simulated::from_json(&text);
        asked.simulated = Some(read.map_err(|why| {
            Usage(format!(
                "{name} is no output of elvis simulate --figure N --json: {why}"
            ))
        })?);
    }
    order(&mut results, asked.baseline.as_deref());
    let written = write(&args.output, &results, asked)?;
    for why in &written.refused {
        output::error(&anyhow!("{why}"), colours);
    }
    if written.is_file {
        output::remark(&told(&args.output), colours);
    }
    Ok(match written.refused.is_empty() {
        true => Done::Whole,
        false => Done::InPart,
    })
}

/// The results of `--base`, to judge against: a folder's, or the one that it names.
fn others(base: &str, results: &[ResultFile]) -> anyhow::Result<Bases> {
    let mut found = ws_results::load(base).with_context(|| {
        let platforms = ws_results::platforms(results);
        format!(
            "--base {base} is neither a platform of these results ({}) nor other results",
            platforms.join(", ")
        )
    })?;
    Ok(match (found.len(), Path::new(base).is_dir()) {
        (1, false) => Bases::One(Box::new(found.remove(0))),
        _ => Bases::Each(found),
    })
}

/// The results and explanations that the command line names. A folder may have only one of them.
fn found(runs: &[String]) -> anyhow::Result<(Vec<ResultFile>, Vec<Explained>)> {
    let (mut results, mut explained) = (Vec::new(), Vec::new());
    for spec in runs {
        let paths = ws_results::find_explanations(spec)?;
        let read = paths.iter().map(|path| explain::read(path));
        explained.extend(read.collect::<anyhow::Result<Vec<_>>>()?);
        if paths.iter().any(|path| path == Path::new(spec)) {
            continue;
        }
        match ws_results::load(spec) {
            Err(FindError::Empty(_)) if !paths.is_empty() => {}
            loaded => results.extend(loaded?),
        }
    }
    Ok((results, explained))
}

/// Sorts runs by date; in each, the baseline first, then the platforms in its unit, each group in the run's order.
fn order(results: &mut [ResultFile], named: Option<&str>) {
    let base = results.iter().find(|r| is_baseline(r, named));
    let base_unit = base.and_then(unit).cloned();
    results.sort_by(|a, b| {
        let is_other = |r: &ResultFile| !is_baseline(r, named);
        let key = |r: &ResultFile| (unit(r) != base_unit.as_ref(), is_other(r));
        (&a.created, key(a), a.place()).cmp(&(&b.created, key(b), b.place()))
    });
}

fn unit(result: &ResultFile) -> Option<&serde_json::Value> {
    result.identity.conditions.get("unit")
}

/// Writes the page of these results, or into a file `.svg` the chart that it opens with.
///
/// # Errors
/// As [`report`].
pub fn write(path: &Path, results: &[ResultFile], mut asked: Asked) -> anyhow::Result<Written> {
    let mut page = Report {
        results,
        hosts: match asked.hosts.take() {
            Some(hosts) => hosts,
            None => judge_hosts(results, &Thresholds::default()),
        },
        traffics: parts::traffics(&Places::default())?,
        ..Report::default()
    };
    judge(&mut page, &asked);
    model(&mut page, &asked)?;
    let refused = refused(&page, &asked)?;
    page.explained = asked.explained;
    page.simulated = asked.simulated;
    page.trends = asked.trends;
    page.baseline = asked.baseline;
    page.allow = asked.allow;
    let text = if Form::of(path) == Some(Form::Svg) {
        let picture = ws_report::page::picture(&page)?;
        picture.context("there is no cost of a benchmark to draw: name the page with .html")?
    } else {
        ws_report::page::render(&page)?
    };
    Ok(Written {
        is_file: commands::write(path, text.as_bytes())?,
        refused,
    })
}

/// What the user asked for and a page has not.
fn refused(page: &Report, asked: &Asked) -> anyhow::Result<Vec<String>> {
    let compared = page.not_compared.iter();
    let mut refused: Vec<String> = compared.map(|why| format!("not compared: {why}")).collect();
    let rows = page.comparisons.iter().flat_map(|one| &one.rows);
    let rows = match rows.filter(|row| row.refused).count() {
        0 => None,
        1 => Some("1 benchmark whose own conditions differ was".to_owned()),
        rows => Some(format!(
            "{rows} benchmarks whose own conditions differ were"
        )),
    };
    refused.extend(rows.map(|rows| format!("{rows} not compared: --allow FIELD compares them")));
    let is_judged = !page.comparisons.is_empty();
    if let Some(named) = asked.baseline.as_ref().filter(|_| !is_judged) {
        let options = Options {
            baseline: Some(named.clone()),
            allow: asked.allow.clone(),
        };
        refused.extend(ws_report::table(page.results, &options)?.not_comparable(named));
    }
    let modelled = page.not_modelled.iter();
    refused.extend(modelled.map(|why| format!("no model: {why}")));
    if asked.workload.is_some() && page.models.is_empty() && refused.is_empty() {
        refused.push(
            "--events: no model: it needs a guest's result and a native one in the same unit; name the native \
             platform with --base"
                .to_owned(),
        );
    }
    Ok(refused)
}

/// Adds verdicts: each result against its base.
fn judge(page: &mut Report, asked: &Asked) {
    let Some(bases) = &asked.bases else {
        return;
    };
    let (all, base_of): (_, Box<dyn Fn(&_) -> _>) = match bases {
        Bases::Each(all) => (&**all, Box::new(|other| counterpart(all, other))),
        Bases::One(one) => (std::slice::from_ref(&**one), Box::new(|_| Ok(&**one))),
    };
    let mut pairs = Vec::new();
    for other in page.results.iter().filter(|result| !all.contains(result)) {
        match base_of(other) {
            Ok(base) => pairs.push((base, other)),
            Err(why) => page.not_compared.push(why.to_string()),
        }
    }
    if pairs.is_empty() && page.not_compared.is_empty() {
        let why = "these results are the base itself: name others to compare with it";
        page.not_compared.push(why.to_owned());
    }
    let divided = divided(Thresholds::default(), &pairs);
    for (base, other) in pairs {
        let options = CompareOptions {
            allow: asked.allow.clone(),
            thresholds: divided(other),
            ..CompareOptions::default()
        };
        match compare_results(base, other, &options) {
            Ok(compared) => {
                let gaps = compared.gaps().into_iter();
                page.not_compared.extend(gaps.map(|gap| gap.why));
                page.comparisons.push(compared);
            }
            Err(why) => page.not_compared.push(why.to_string()),
        }
    }
}

/// Adds the workload's cost for each platform with guests: from its newest result and that result's baseline, if
/// the baseline is native and in the same unit.
fn model(page: &mut Report, asked: &Asked) -> anyhow::Result<()> {
    let Some(workload) = &asked.workload else {
        return Ok(());
    };
    let named = asked.baseline.as_deref();
    page.workload.clone_from(&workload.name);
    let options = ModelOptions {
        allow: asked.allow.clone(),
        ..ModelOptions::default()
    };
    let mut platforms = ws_results::platforms(page.results);
    platforms.retain(|platform| !has_baseline(page.results, platform, named));
    let baselines = baselines(page.results, named);
    let newest = |platform: &str| {
        let all = page.results.iter().zip(&baselines);
        let of_it = all.filter(|(r, _)| r.platform == platform);
        of_it.max_by(|(a, _), (b, _)| a.created.cmp(&b.created))
    };
    for (guest, baseline) in platforms.into_iter().filter_map(newest) {
        let native = baseline.map(|index| &page.results[index]);
        let fits = |r: &&ResultFile| unit(r) == unit(guest) && Paging::of(r).is_none();
        let Some(native) = native.filter(fits) else {
            continue;
        };
        match fit(
            std::slice::from_ref(guest),
            std::slice::from_ref(native),
            &options,
        ) {
            Ok(model) => {
                let prediction = Some(workload.predict(&model)?);
                page.models.push(Modelled { model, prediction });
            }
            Err(why) => page.not_modelled.push(why.to_string()),
        }
    }
    Ok(())
}

/// The message after it is written.
pub fn told(path: &Path) -> String {
    format!("the report is {}; open it in a browser", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_false_alarm_on_any_of_several_hosts_is_as_improbable_as_on_one() {
        let on = |host: &str, created: &str| -> ResultFile {
            let samples = json!([{"boot": 1, "launch": 0, "iterations": 1, "run": [9, 9], "control": [0, 0]}]);
            let row = json!({"benchmark": "in", "category": "io", "status": "ok", "reason": null, "outcomes": [],
                "conditions": {}, "exact": null, "metrics": [{"name": "cost", "unit": "ns", "boots": samples}]});
            let value = json!({"schema": ws_results::SCHEMA, "created": created, "tool": "t", "command": [],
                "platform": "kvm", "identity": {"subject": {"host": host}, "conditions": {}},
                "interrupted": false, "boots": [], "rows": [row]});
            serde_json::from_value(value).unwrap()
        };
        let all = |created| ["n1", "n2"].map(|host| on(host, created)).to_vec();
        let asked = Asked {
            bases: Some(Bases::Each(all("2026-01-01T00:00:00Z"))),
            ..Asked::default()
        };
        let results = all("2026-01-02T00:00:00Z");
        let judged = |results| {
            let mut page = Report {
                results,
                ..Report::default()
            };
            judge(&mut page, &asked);
            let of = page.comparisons.iter();
            of.map(|one| one.thresholds.significance)
                .collect::<Vec<_>>()
        };
        let whole = Thresholds::default().significance;
        assert_eq!(judged(&results), [whole / 2.0; 2]);
        assert_eq!(judged(&results[..1]), [whole]);
    }
}
