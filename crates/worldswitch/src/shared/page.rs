//! The page of results: for `report`, `run --report` and `history report`.

use crate::cli::Form;
use crate::shared::pairs::{counterpart, divided};
use crate::shared::traffics::traffics;
use crate::shared::write as write_file;
use anyhow::Context;
use std::path::Path;
use ws_analysis::model::{ModelOptions, Workload, fit};
use ws_analysis::{CompareOptions, HostKind, Thresholds, Trends, compare_results, judge_hosts};
use ws_explain::explained::Explained;
use ws_report::page::{Report, Simulated};
use ws_report::{Modelled, Options, baselines, has_baseline};
use ws_results::{Paging, ResultFile};
use ws_runner::parts::Places;

/// Name of the report in the folder of its results.
pub const FILE: &str = "report.html";

/// Input of a page beside its results.
#[derive(Debug, Default)]
pub struct Asked {
    /// Platform that others are compared with. Without one, [`baselines`] chooses.
    pub baseline: Option<String>,
    /// Conditions that may differ between compared results.
    pub allow: Vec<String>,
    /// Results to judge against.
    pub bases: Option<Bases>,
    /// Workload whose cost the model predicts. Without a workload the page has no model.
    pub workload: Option<Workload>,
    /// Explained operations.
    pub explained: Vec<Explained>,
    /// Figures of a simulation.
    pub simulated: Option<Simulated>,
    /// Judged hosts. Without any, the results' hosts are judged.
    pub hosts: Option<Vec<HostKind>>,
    /// Trends of benchmarks over kernels.
    pub trends: Vec<Trends>,
}

/// Results to judge against.
#[derive(Debug)]
pub enum Bases {
    /// Bases of the same platforms: each platform is judged against its own.
    Each(Vec<ResultFile>),
    /// Base of all platforms.
    One(Box<ResultFile>),
}

/// Outcome of writing a page.
#[derive(Debug, Default)]
pub struct Written {
    /// Whether the page is a file, not standard output.
    pub is_file: bool,
    /// Requested parts that the page lacks, with reasons.
    pub refused: Vec<String>,
}

/// Writes the page of these results; into a file `.svg`, only the page's first chart.
///
/// # Errors
/// The baseline is not among the results, or the page can't be written.
pub fn write(path: &Path, results: &[ResultFile], mut asked: Asked) -> anyhow::Result<Written> {
    let mut page = Report {
        results,
        hosts: match asked.hosts.take() {
            Some(hosts) => hosts,
            None => judge_hosts(results, &Thresholds::default()),
        },
        traffics: traffics(&Places::default())?,
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
        picture.context("no benchmark has a cost to draw: write a page instead, FILE.html")?
    } else {
        ws_report::page::render(&page)?
    };
    Ok(Written {
        is_file: write_file(path, text.as_bytes())?,
        refused,
    })
}

/// Lists the requested parts that the page lacks.
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
        let fits = |r: &&ResultFile| r.unit() == guest.unit() && Paging::of(r).is_none();
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

/// Returns the message after a page is written.
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
