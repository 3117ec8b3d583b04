//! The view of applications, after Figure 4 of Dall et al. (2015), Figure 2 of Lim et al. (NEVE, 2017) and Figure 7 of
//! HyperBench (2019): the cost of a unit of work in a VM relative to the native one, with the papers' numbers beside.
//! See [`crate::Apps`].

use super::Report;
use super::chart::{Bar, Chart, Fill, Lane};
use super::lead::{Lead, View};
use super::text_table::text_table;
use super::words::plain;
use crate::apps::{AppLine, Apps, NestedRatio, TimedApp, TimedLine, Traffics};
use crate::reference::Reference;
use crate::unit_of_work::{insns as insns_text, two};
use maud::{Markup, html};
use ws_results::ResultFile;

/// The papers' bars, in the key.
const DALL: &str = "Dall et al. 2015: time, from Table 5";
const NEVE: &str = "Lim et al. 2017 (NEVE): time, from section 7.2";

/// Greatest ratio on a linear axis; a chart with a greater one has a logarithmic axis.
const LINEAR_UP_TO: f64 = 10.0;

/// The view; empty if no result has a workload. `led`: whether the page opened with its first figure.
pub(crate) fn apps(
    reference: &Reference,
    report: &Report,
    platforms: &[&str],
    led: bool,
) -> Markup {
    let results = report.results;
    if !Apps::concerns(results) {
        return html! {};
    }
    let apps = Apps::of(results, reference, &report.traffics);
    html! {
        section #apps {
            h2 { "Applications" }
            @for (heading, figure) in figures(&apps, platforms).iter().skip(usize::from(led)) {
                h3 { (heading) }
                (figure)
            }
            @for block in apps.blocks() {
                (text_table(block.title.unwrap_or("a unit of work"), &block.sheet))
                ul.legend { @for text in &block.below { li { (plain(text)) } } }
            }
        }
    }
}

/// The opening: the workload that a VM makes most costly, and the one that this VM makes least costly.
pub(crate) fn lead(
    reference: &Reference,
    results: &[ResultFile],
    platforms: &[&str],
) -> Option<Lead> {
    let apps = Apps::of(results, reference, &Traffics::new());
    let counted = apps.workloads.iter().flat_map(|app| {
        let lines = app.lines.iter();
        lines.filter_map(|line| Some((finite(line)?, &*line.platform, app.name())))
    });
    let mut ratios: Vec<(f64, &str, String)> = counted.collect();
    let mut what = "the native instructions";
    // Times only if nothing was counted: both ratios are never in one sentence.
    if ratios.is_empty() {
        let timed = apps.times.iter().flat_map(|app| {
            let lines = app.lines.iter();
            lines.filter_map(|line| Some((line.ratio?, &*line.platform, app.name())))
        });
        ratios = timed.filter(|(ratio, ..)| ratio.is_finite()).collect();
        what = "the time on the host";
    }
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let most = ratios.last()?;
    let least = ratios.iter().find(|ratio| ratio.1 == most.1)?;
    let less = match least.2 == most.2 {
        true => String::new(),
        false => format!(", {} {} times", least.2, two(least.0)),
    };
    Some(Lead {
        sentence: format!(
            "In {} {} takes {} times {what}{less}.",
            most.1,
            most.2,
            two(most.0)
        ),
        figure: figures(&apps, platforms).into_iter().next()?.1,
        of: View::Apps,
    })
}

fn finite(line: &AppLine) -> Option<f64> {
    line.ratio.filter(|ratio| ratio.is_finite())
}

/// Returns the figures that have bars, with their headings.
fn figures(apps: &Apps, platforms: &[&str]) -> Vec<(&'static str, Markup)> {
    let all = [
        ("In VMs (Dall et al., Figure 4)", in_vms(apps, platforms)),
        (
            "In VMs of this host, in real time (Dall et al., Figure 4)",
            in_real_time(apps, platforms, false),
        ),
        (
            "In nested VMs (NEVE, Figure 2)",
            in_nested_vms(apps, platforms),
        ),
        (
            "In nested VMs of this host, in real time (NEVE, Figure 2)",
            in_real_time(apps, platforms, true),
        ),
        (
            "What lmbench measures (HyperBench, Figure 7)",
            primitives(apps, platforms),
        ),
    ];
    let all = all.into_iter();
    all.filter_map(|(heading, figure)| Some((heading, figure?)))
        .collect()
}

/// The keys of the platforms that a chart has bars of.
fn keys(lanes: &[Lane], platforms: &[&str]) -> Vec<(Fill, String)> {
    let is_there = |fill: Fill| {
        lanes
            .iter()
            .flat_map(|lane| &lane.bars)
            .any(|bar| bar.fill == fill)
    };
    let ours = platforms.iter().enumerate();
    let ours = ours.map(|(index, name)| (Fill::Platform(index), (*name).to_owned()));
    ours.filter(|(fill, _)| is_there(*fill)).collect()
}

/// Whether a bar is too long for a linear axis.
fn is_long(lanes: &[Lane]) -> bool {
    let mut bars = lanes.iter().flat_map(|lane| &lane.bars);
    bars.any(|bar| bar.value > LINEAR_UP_TO)
}

/// Draws a chart after Dall et al., Figure 4: a lane for each workload with a ratio in a VM that is not nested.
fn in_vms(apps: &Apps, platforms: &[&str]) -> Option<Markup> {
    let workloads = apps.workloads.iter().filter(|app| !app.primitive);
    let lanes = workloads.map(|app| {
        let lines = || app.lines.iter().filter(|line| !line.facts.is_nested());
        lane(
            &app.workload,
            lines().filter_map(|line| ours(line, platforms)),
            lines().filter_map(|line| theirs(line.published?, line.published_setup?)),
        )
    });
    let lanes: Vec<Lane> = lanes.filter(|lane| !lane.bars.is_empty()).collect();
    let mut keys = keys(&lanes, platforms);
    keys.push((Fill::Theirs, DALL.to_owned()));
    let chart = Chart {
        name: "Instructions of one unit of work in a VM relative to native; shorter is better",
        log: false,
        lanes: &lanes,
        mark: Some(1.0),
        keys,
    };
    (!lanes.is_empty()).then(|| html! {
        (chart.markup())
        p.legend {
            "Ours are ratios of instructions of client, server and hypervisor together, Dall's of time, where client "
            "and server were two machines. The thin line in a bar is its band."
        }
    })
}

/// Draws a chart of the time in VMs relative to the host's. If `nested`, it has nested VMs too, with NEVE's ratios.
fn in_real_time(apps: &Apps, platforms: &[&str], nested: bool) -> Option<Markup> {
    let ours = |line: &TimedLine| {
        let ratio = line.ratio.filter(|ratio| ratio.is_finite())?;
        let noise = ("note", "noise: an order of magnitude at best".to_owned());
        Some(Bar {
            remark: line.noisy.then_some(noise),
            ..times(&line.platform, ratio, "as long as on the host", platforms)?
        })
    };
    let is_there = |app: &&TimedApp| {
        let mut lines = app.lines.iter();
        !nested || lines.any(|line| line.facts.is_nested() && line.ratio.is_some())
    };
    let lanes = apps.times.iter().filter(is_there).map(|app| {
        let lines = app.lines.iter();
        let lines: Vec<&TimedLine> = lines
            .filter(|line| nested || !line.facts.is_nested())
            .collect();
        let bars = lines.iter().copied().filter_map(ours);
        match nested {
            true => lane(&app.workload, bars, app.nested.iter().map(stated)),
            false => {
                let theirs = |line: &&TimedLine| theirs(line.published?, "KVM on x86");
                lane(&app.workload, bars, lines.iter().filter_map(theirs))
            }
        }
    });
    let lanes: Vec<Lane> = lanes.filter(|lane| !lane.bars.is_empty()).collect();
    let mut keys = keys(&lanes, platforms);
    keys.push((Fill::Theirs, if nested { NEVE } else { DALL }.to_owned()));
    let chart = Chart {
        name: match nested {
            false => "Time of one unit of work in a VM relative to the host; shorter is better",
            true => {
                "Time of one unit of work in VMs and nested VMs relative to the host; shorter is better"
            }
        },
        log: is_long(&lanes),
        lanes: &lanes,
        mark: Some(1.0),
        keys,
    };
    (!lanes.is_empty()).then(|| html! { (chart.markup()) })
}

/// Draws a chart after NEVE, Figure 2: each workload in VMs and in nested VMs of KVM, with the ratios of the paper's
/// text.
fn in_nested_vms(apps: &Apps, platforms: &[&str]) -> Option<Markup> {
    let with_nested = apps.workloads.iter().filter(|app| {
        let mut lines = app.lines.iter();
        lines.any(|line| line.facts.is_nested() && finite(line).is_some())
    });
    let lanes = with_nested.map(|app| {
        let of_kvm = |line: &&AppLine| !line.facts.is_on("xen");
        let lines = app.lines.iter().filter(of_kvm);
        let lines = lines.filter_map(|line| ours(line, platforms));
        lane(&app.workload, lines, app.nested.iter().map(stated))
    });
    let lanes: Vec<Lane> = lanes.collect();
    let mut keys = keys(&lanes, platforms);
    keys.push((Fill::Theirs, NEVE.to_owned()));
    let chart = Chart {
        name: "Instructions of one unit of work in VMs and nested VMs relative to native; shorter is better",
        log: is_long(&lanes),
        lanes: &lanes,
        mark: Some(1.0),
        keys,
    };
    (!lanes.is_empty()).then(|| html! {
        (chart.markup())
        p.legend {
            "NEVE's ratios are of time on its machines. Its Figure 2 has no numbers, so only numbers of the text are here."
        }
    })
}

/// Draws a chart after HyperBench, Figure 7: instructions of lmbench's operations, natively and in VMs.
fn primitives(apps: &Apps, platforms: &[&str]) -> Option<Markup> {
    let workloads = apps.workloads.iter().filter(|app| app.primitive);
    let lanes = workloads.map(|app| {
        let bars = app
            .lines
            .iter()
            .filter_map(|line| absolute(line, platforms));
        lane(&app.name(), bars, std::iter::empty())
    });
    let lanes: Vec<Lane> = lanes.filter(|lane| !lane.bars.is_empty()).collect();
    let chart = Chart {
        name: "Instructions of what lmbench measures, natively and in VMs; shorter is better",
        log: true,
        lanes: &lanes,
        mark: None,
        keys: keys(&lanes, platforms),
    };
    (!lanes.is_empty()).then(|| html! {
        (chart.markup())
        p.legend {
            "The paper's bars are times on two machines and have no numbers. A number after a bar is the ratio to the "
            "native instructions. The benchmarks below show how the hypervisors differ."
        }
    })
}

/// Makes a lane of our bars and, if there are any, the paper's.
fn lane(name: &str, ours: impl Iterator<Item = Bar>, theirs: impl Iterator<Item = Bar>) -> Lane {
    let mut bars: Vec<Bar> = ours.collect();
    if !bars.is_empty() {
        // Variants of a machine share a bar of the paper.
        for bar in theirs {
            let is_same = |other: &Bar| other.detail == bar.detail && other.text == bar.text;
            if !bars.iter().any(is_same) {
                bars.push(bar);
            }
        }
    }
    Lane {
        name: name.to_owned(),
        bars,
    }
}

/// Makes a bar of the ratio that NEVE states for a workload.
fn stated(ratio: &NestedRatio) -> Bar {
    Bar {
        fill: Fill::Theirs,
        value: ratio.ratio,
        before: None,
        band: None,
        text: ratio.stated(),
        remark: Some(("note", ratio.column.clone())),
        detail: format!("{NEVE}, {}, {}", ratio.column, ratio.hardware),
    }
}

/// Makes a bar of instructions.
fn absolute(line: &AppLine, platforms: &[&str]) -> Option<Bar> {
    let insns = line.insns.filter(|insns| *insns > 0.0)?;
    let platform = platforms.iter().position(|name| *name == line.platform)?;
    let ratio = finite(line).map(|ratio| ("note", format!("x {}", two(ratio))));
    Some(Bar {
        fill: Fill::Platform(platform),
        value: insns,
        before: None,
        band: None,
        text: insns_text(insns),
        remark: ratio,
        detail: format!("{}: {} instructions", line.platform, insns_text(insns)),
    })
}

/// Makes a bar of the ratio of Dall et al. in a setup.
fn theirs(ratio: f64, setup: &str) -> Option<Bar> {
    Some(Bar {
        fill: Fill::Theirs,
        value: ratio,
        before: None,
        band: None,
        text: two(ratio),
        remark: Some(("note", setup.to_owned())),
        detail: format!("{DALL}, {setup}"),
    })
}

fn ours(line: &AppLine, platforms: &[&str]) -> Option<Bar> {
    let bar = times(
        &line.platform,
        finite(line)?,
        "the native instructions",
        platforms,
    )?;
    Some(Bar {
        band: line.ratio_band.filter(|[low, high]| low < high),
        ..bar
    })
}

/// Makes a bar of a platform's ratio to a unit without a VM.
fn times(platform: &str, ratio: f64, what: &str, platforms: &[&str]) -> Option<Bar> {
    let place = platforms.iter().position(|name| *name == platform)?;
    Some(Bar {
        fill: Fill::Platform(place),
        value: ratio,
        before: None,
        band: None,
        text: two(ratio),
        remark: None,
        detail: format!("{platform}: {} times {what}", two(ratio)),
    })
}
