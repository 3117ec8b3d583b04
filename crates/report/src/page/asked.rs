//! A page as the user asks for it: judged against other results, with a workload's cost.

use super::{Report, ReportError, Simulated, picture, render};
use crate::apps::Traffics;
use crate::model::Modelled;
use crate::{Options, baselines, has_baseline, table};
use ws_analysis::model::{ModelOptions, Workload, fit};
use ws_analysis::{HostKind, Thresholds, Trends, compare_pairs, counterpart, judge_hosts};
use ws_explain::explained::Explained;
use ws_results::{Paging, ResultFile};

/// Input of a page beside its results, as the user asks for it.
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
    /// The traffic of workloads.
    pub traffics: Traffics,
}

/// Results to judge against.
#[derive(Debug)]
pub enum Bases {
    /// Bases of the same platforms: each platform is judged against its own.
    Each(Vec<ResultFile>),
    /// Base of all platforms.
    One(Box<ResultFile>),
}

/// A page, and what it lacks.
#[derive(Debug)]
pub struct Page {
    /// HTML, or an SVG picture; none if a picture was requested and there is nothing to draw.
    pub text: Option<String>,
    /// Requested parts that the page lacks, with reasons.
    pub refused: Vec<String>,
}

impl Page {
    /// Makes the page of these results. `as_picture`: only the page's first chart.
    ///
    /// # Errors
    /// The baseline is not among the results, or the workload can't be predicted.
    pub fn of(
        results: &[ResultFile],
        mut asked: Asked,
        as_picture: bool,
    ) -> Result<Self, ReportError> {
        let mut page = Report {
            results,
            hosts: match asked.hosts.take() {
                Some(hosts) => hosts,
                None => judge_hosts(results, &Thresholds::default()),
            },
            traffics: std::mem::take(&mut asked.traffics),
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
        let text = match as_picture {
            true => picture(&page)?,
            false => Some(render(&page)?),
        };
        Ok(Self { text, refused })
    }
}

/// Lists the requested parts that the page lacks.
fn refused(page: &Report, asked: &Asked) -> Result<Vec<String>, ReportError> {
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
        refused.extend(table(page.results, &options)?.not_comparable(named));
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
    let all = match bases {
        Bases::Each(all) => &**all,
        Bases::One(one) => std::slice::from_ref(&**one),
    };
    let mut pairs = Vec::new();
    for other in page.results.iter().filter(|result| !all.contains(result)) {
        let base = match bases {
            Bases::Each(all) => counterpart(all, other),
            Bases::One(one) => Ok(&**one),
        };
        match base {
            Ok(base) => pairs.push((base, other)),
            Err(why) => page.not_compared.push(why.to_string()),
        }
    }
    if pairs.is_empty() && page.not_compared.is_empty() {
        let why = "these results are the base itself: name others to compare with it";
        page.not_compared.push(why.to_owned());
    }
    for (_, one) in compare_pairs(&pairs, Thresholds::default(), &asked.allow, None) {
        match one {
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
fn model(page: &mut Report, asked: &Asked) -> Result<(), ReportError> {
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
