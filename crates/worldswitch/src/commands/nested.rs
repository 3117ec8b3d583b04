//! `worldswitch nested`: nested virtualization on Arm by all mechanisms, as the paper's Tables 1, 6 and 7
//! have it.

use crate::cli::{NestedArgs, RunArgs, Suite};
use crate::commands::run::measure;
use crate::commands::{Done, export};
use crate::terminal::{Colours, Stop, output};
use anyhow::bail;
use std::time::Duration;
use ws_machines::name::parse_list;
use ws_report::Nested;
use ws_results::ResultFile;

const MECHANISMS: [&str; 4] = ["nv", "pv", "neve", "nv2"];
/// The paper's world switch, and the least that there can be.
const POLICIES: [&str; 2] = ["+policy=kvm-4.10", ""];
/// Of the kernel and on the CPU that can be nested, both.
const LINUX: [&str; 2] = ["lab:kvm-vhe@unstable+cpu=max", "lab:kvm-nested@unstable"];
/// An IPI of a VM in Linux in Linux takes longer than the default.
const BENCH_LIMIT: Duration = Duration::from_secs(120);

/// Measures, or takes what was measured, and shows it.
///
/// # Errors
/// Nothing could be measured, there is no such result, or a table can't be written.
pub fn nested(args: &NestedArgs, colours: Colours) -> anyhow::Result<Done> {
    let (results, done) = match args.of.is_empty() {
        true => measured(args, colours)?,
        false => (earlier(&args.of)?, Done::Whole),
    };
    if results.is_empty() {
        bail!("nothing was measured");
    }
    let nested = Nested::of(&results, &ws_report::reference::load()?);
    export(args.export_json.as_deref(), || Ok(nested.to_json()?))?;
    export(args.export_markdown.as_deref(), || Ok(nested.to_markdown()))?;
    output::data(&nested.to_terminal())?;
    Ok(done)
}

fn earlier(runs: &[String]) -> anyhow::Result<Vec<ResultFile>> {
    let mut results = ws_results::load_all(runs)?;
    // As they are measured: platforms by name lie otherwise in a folder.
    let order = platforms(false);
    let place = |result: &ResultFile| order.iter().position(|name| *name == result.platform);
    results.sort_by_key(|result| (place(result).unwrap_or(usize::MAX), result.platform.clone()));
    Ok(results)
}

fn measured(args: &NestedArgs, colours: Colours) -> anyhow::Result<(Vec<ResultFile>, Done)> {
    let on = match args.on.is_empty() {
        false => args.on.clone(),
        true => vec![parse_list(&platforms(args.short).join(","))?],
    };
    let run = RunArgs {
        on,
        suite: Some(Suite::Neve2017),
        boots: Some(args.boots),
        timeout: BENCH_LIMIT,
        parts: args.parts.clone(),
        output: args.output.clone(),
        ..RunArgs::default()
    };
    let measured = measure(&run, None, &Stop::listen()?, colours)?;
    measured.tell_problems(colours);
    for remark in &measured.remarks {
        output::remark(remark, colours);
    }
    let folder = measured.folder.path().display();
    output::remark(&format!("results are in {folder}"), colours);
    let whole = measured.problems.is_empty() && !measured.interrupted;
    let done = if whole { Done::Whole } else { Done::InPart };
    Ok((measured.results, done))
}

/// What is measured by default, each VM before the nested ones that are set beside it.
fn platforms(short: bool) -> Vec<String> {
    let policies = POLICIES.iter().take(if short { 1 } else { POLICIES.len() });
    let mut names = Vec::new();
    if short {
        // A VM on the host hypervisor, whose world switch is the other policy's.
        names.push("lab:neve".to_owned());
    }
    for policy in policies {
        names.push(format!("lab:neve{policy}"));
        for mechanism in MECHANISMS {
            for vhe in ["", "+vhe=1"] {
                names.push(format!("lab:neve-nested@{mechanism}{policy}{vhe}"));
            }
        }
    }
    if !short {
        names.extend(LINUX.map(str::to_owned));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use ws_machines::name::PlatformName;

    #[test]
    fn names_are_spelled_as_results_carry_them() {
        let names = platforms(false);
        assert_eq!((names.len(), platforms(true).len()), (20, 10));
        for name in names {
            let parsed: PlatformName = name.parse().unwrap();
            assert_eq!(parsed.to_string(), name);
        }
    }
}
