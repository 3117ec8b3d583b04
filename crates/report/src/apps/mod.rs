//! Applications: for each workload the instructions of one unit of work, natively and in each machine,
//! in the order of Table 5 of Dall et al. (2015), with the ratios that can be derived from it.

use crate::number;
use crate::reference::{Reference, Value};
use crate::text::{aligned, markdown, terminal};
use serde::Serialize;
use std::collections::BTreeMap;
use ws_analysis::Summary;
use ws_results::{HostView, ResultFile, Row, Status};

/// The schema of the JSON.
pub const APPS_SCHEMA: &str = "worldswitch-apps/1";

/// The category of workloads in results.
pub const APPLICATION: &str = "application";

/// The machine without a hypervisor.
const NATIVE: &str = "lab:linux";

/// The paper, its table with applications, and the machine that is nearest to ours.
const PAPER: &str = "dall-2015";
const TABLE: &str = "5";
const HARDWARE: &str = "r320";

/// All data of this view. Strings are not escaped yet; the renderers do that.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Apps {
    /// [`APPS_SCHEMA`].
    pub schema: &'static str,
    /// The platform without a hypervisor that ratios relate to, if it was measured.
    pub native: Option<String>,
    /// The paper's in its order, then the others.
    pub workloads: Vec<App>,
}

/// A workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct App {
    pub workload: String,
    /// What a unit of its work is.
    pub unit: Option<String>,
    /// One for each result, in their order.
    pub lines: Vec<AppLine>,
}

/// A workload on a platform.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AppLine {
    pub platform: String,
    /// Instructions of client, server and hypervisor together, for one unit; absent if there are none,
    /// with the reason in `why`.
    pub insns: Option<f64>,
    /// The least and the greatest over all boots, perturbed ones too.
    pub band: Option<[f64; 2]>,
    /// Whether all boots but the perturbed ones gave the same.
    pub exact: Option<bool>,
    /// Relative to the native platform.
    pub ratio: Option<f64>,
    /// The range of the ratio that follows from both bands.
    pub ratio_band: Option<[f64; 2]>,
    /// What KVM counted for one unit, by the kernel's names.
    pub counts: BTreeMap<String, f64>,
    /// Exits for one unit by reason.
    pub reasons: BTreeMap<String, f64>,
    /// Dall et al., Table 5, x86: the time in a VM relative to the time natively.
    pub published: Option<f64>,
    pub why: Option<String>,
}

/// As many reasons of exits are in the table; the JSON has all.
const REASONS: usize = 3;

impl AppLine {
    /// The commonest reasons of exits, as text.
    fn most_reasons(&self) -> String {
        let mut reasons: Vec<(&String, f64)> = self.reasons.iter().map(|(k, n)| (k, *n)).collect();
        reasons.sort_by(|a, b| b.1.total_cmp(&a.1));
        let words = reasons.iter().take(REASONS);
        let words = words.filter(|(_, count)| *count >= 0.005);
        let words: Vec<String> = words.map(|(name, n)| format!("{name} {n:.2}")).collect();
        words.join(", ")
    }

    /// Exits of one unit, if the host counted them.
    pub fn exits(&self) -> Option<f64> {
        self.counts.get("exits").copied()
    }
}

impl Apps {
    /// From these results, in their order; rows that are no workloads are left out.
    pub fn of(results: &[ResultFile], reference: &Reference) -> Self {
        let is_native = |result: &&ResultFile| base(result) == NATIVE;
        let native = results.iter().find(is_native);
        let mut names: Vec<&str> = Vec::new();
        let published = reference.of_table(PAPER, TABLE);
        let of_paper = published.map(|value| &*value.benchmark);
        let measured = results.iter().flat_map(|result| &result.rows);
        let measured: Vec<&Row> = measured.filter(|row| row.category == APPLICATION).collect();
        for name in of_paper.chain(measured.iter().map(|row| &*row.benchmark)) {
            let known = measured.iter().any(|row| row.benchmark == name);
            if known && !names.contains(&name) {
                names.push(name);
            }
        }
        let workloads = names.iter().map(|name| App {
            workload: (*name).to_owned(),
            unit: measured
                .iter()
                .find(|row| row.benchmark == *name)
                .and_then(|row| row.work.clone()),
            lines: results
                .iter()
                .map(|result| line(name, result, native, reference))
                .collect(),
        });
        Self {
            schema: APPS_SCHEMA,
            workloads: workloads.collect(),
            native: native.map(|native| native.platform.clone()),
        }
    }

    /// As JSON. Ends in a newline.
    ///
    /// # Errors
    /// Only by a bug in this program.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// A platform's name without variant and options.
fn base(result: &ResultFile) -> &str {
    let end = result.platform.find(['@', '+']);
    result
        .platform
        .get(..end.unwrap_or(result.platform.len()))
        .unwrap_or_default()
}

fn line(
    workload: &str,
    result: &ResultFile,
    native: Option<&ResultFile>,
    reference: &Reference,
) -> AppLine {
    let cost = |result: &ResultFile| Summary::cost(result.row(workload)?, &result.perturbed());
    let here = cost(result);
    let other = native.filter(|native| native.platform != result.platform);
    let there = other.and_then(cost).filter(|there| there.value > 0.0);
    let both = here.as_ref().zip(there.as_ref());
    let band = |summary: &Summary| summary.band().map(|band| [band.low, band.high]);
    let row = result.row(workload);
    let reason = || {
        let failed = row.filter(|row| row.status != Status::Ok);
        let text = failed.and_then(|row| row.reason.as_deref());
        text.unwrap_or("not measured there").to_owned()
    };
    let setup = match base(result) {
        "lab:kvm-linux" => Some("kvm"),
        _ => None,
    };
    AppLine {
        platform: result.platform.clone(),
        insns: here.as_ref().map(|here| here.value),
        band: here.as_ref().and_then(band),
        exact: here.as_ref().and_then(|here| here.exact),
        ratio: both.map(|(here, there)| here.value / there.value),
        ratio_band: both.and_then(|(here, there)| {
            let ([low, high], [least, most]) = (band(here)?, band(there)?);
            (least > 0.0).then(|| [low / most, high / least])
        }),
        counts: row.map_or_else(BTreeMap::new, |row| a_unit(row, |view| view.kvm.as_ref())),
        reasons: row.map_or_else(BTreeMap::new, |row| a_unit(row, |view| Some(&view.reasons))),
        published: setup.and_then(|setup| slowdown(workload, setup, reference)),
        why: here.is_none().then(reason),
    }
}

/// What the host counted for one unit, in the first boot in which it did.
fn a_unit(
    row: &Row,
    counts: impl Fn(&HostView) -> Option<&BTreeMap<String, u64>>,
) -> BTreeMap<String, f64> {
    let counted = |view: &HostView| Some((view.operations?, counts(view)?.clone()));
    let Some((operations @ 1.., counts)) = row.host.iter().find_map(counted) else {
        return BTreeMap::new();
    };
    let of_one = |(name, count)| (name, count as f64 / operations as f64);
    counts.into_iter().map(of_one).collect()
}

/// The published time of a workload in a setup relative to the native one; a rate is the reciprocal of
/// a time.
fn slowdown(workload: &str, setup: &str, reference: &Reference) -> Option<f64> {
    let of = |setup: &str| -> Option<&Value> {
        reference.of_table(PAPER, TABLE).find(|value| {
            value.benchmark == workload && value.setup == setup && value.hardware == HARDWARE
        })
    };
    let (native, here) = (of("native")?, of(setup)?);
    let ratio = here.value? / native.value?;
    Some(if here.unit == "s" { ratio } else { 1.0 / ratio })
}

// ---- Renderers ----------------------------------------------------------------------------------

const HEADS: [&str; 8] = [
    "workload",
    "platform",
    "insns a unit",
    "ratio",
    "band",
    "Dall",
    "exits",
    "most by reason",
];

/// The columns that are no numbers.
const TEXTS: [usize; 3] = [0, 1, 7];

const LEGEND: [&str; 4] = [
    "insns a unit: executed instructions of client, server, kernels and hypervisor together for one unit of work, idle time left out.",
    "ratio: to the platform without a hypervisor; band: its range over boots that vary what should not matter (--perturb).",
    "exits: from the guest to KVM for one unit, as KVM counts them; by reason in a run of their own, if the workload is short.",
    "Dall: time in KVM's VM to native time, of Table 5 of Dall et al. (2015), x86. There client and server were two machines with a wire between them, which saturated in TCP_STREAM and TCP_MAERTS; here both are on one CPU and the wire costs nothing.",
];

impl App {
    /// The cells of all lines, by [`HEADS`].
    fn cells(&self) -> Vec<[String; HEADS.len()]> {
        let dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let two = |value: f64| format!("{value:.2}");
        let name = match &self.unit {
            Some(unit) => format!("{} ({unit})", self.workload),
            None => self.workload.clone(),
        };
        let lines = self.lines.iter().enumerate().map(|(index, line)| {
            let inexact = if line.exact == Some(false) {
                " inexact"
            } else {
                ""
            };
            let insns = line
                .insns
                .map(|insns| number::value(insns.round(), "insns") + inexact);
            [
                if index == 0 {
                    name.clone()
                } else {
                    String::new()
                },
                line.platform.clone(),
                dash(insns),
                dash(line.ratio.map(two)),
                dash(
                    line.ratio_band
                        .map(|[low, high]| format!("{low:.2} to {high:.2}")),
                ),
                dash(line.published.map(two)),
                dash(line.exits().map(two)),
                line.most_reasons(),
            ]
        });
        lines.collect()
    }
}

impl Apps {
    fn reasons(&self) -> Vec<String> {
        let reasons = self.workloads.iter().flat_map(|app| {
            let lines = app.lines.iter();
            lines.filter_map(|line| {
                Some(format!(
                    "{} on {}: {}",
                    app.workload,
                    line.platform,
                    line.why.as_ref()?
                ))
            })
        });
        reasons.collect()
    }

    /// Aligned text. Ends in a newline.
    pub fn to_terminal(&self) -> String {
        let mut lines = vec![HEADS.map(str::to_owned)];
        for app in &self.workloads {
            let cells = app.cells();
            lines.extend(
                cells
                    .iter()
                    .map(|line| line.each_ref().map(|cell| terminal(cell).into_owned())),
            );
        }
        let mut out = String::new();
        for line in aligned(&lines, |column| TEXTS.contains(&column)) {
            out += &format!("{line}\n");
        }
        out.push('\n');
        for reason in self.reasons() {
            out += &format!("{}\n", terminal(&reason));
        }
        for text in LEGEND {
            out += &format!("{text}\n");
        }
        out
    }

    /// A Markdown table. Ends in a newline.
    pub fn to_markdown(&self) -> String {
        let mut out = format!(
            "| {} |\n|---|---|---:|---:|---:|---:|---:|---|\n",
            HEADS.join(" | ")
        );
        for line in self.workloads.iter().flat_map(App::cells) {
            let cells = line.each_ref().map(|cell| markdown(cell));
            out += &format!("| {} |\n", cells.join(" | "));
        }
        out.push('\n');
        for text in self.reasons() {
            out += &format!("- {}\n", markdown(&text));
        }
        for text in LEGEND {
            out += &format!("- {}\n", markdown(text));
        }
        out
    }
}
