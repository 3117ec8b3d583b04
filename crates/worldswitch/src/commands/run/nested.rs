//! `worldswitch run nested`: nested virtualization on Arm with every mechanism, in the layout of the NEVE
//! paper's Tables 1, 6 and 7.

use crate::cli::{NestedArgs, Suite, View, session};
use crate::shared::suite::Layout;
use crate::shared::{Done, on_stdout, put, views};
use anyhow::bail;
use std::time::Duration;
use ws_machines::name::parse_list;
use ws_report::{Nested, reference};
use ws_results::ResultFile;
use ws_runner::rows::RowsOf;
use ws_runner::{Benchmarks, RunSpec, measure, whole};

const MECHANISMS: [&str; 4] = ["nv", "pv", "neve", "nv2"];
/// Policies: the paper's world switch, and the minimal one.
const POLICIES: [&str; 2] = ["+policy=kvm-4.10", ""];
/// Linux KVM on the kernel and the CPU that support nesting: a VM, and a nested VM.
const LINUX: [&str; 2] = ["lab:kvm-vhe@unstable+cpu=max", "lab:kvm-nested@unstable"];
/// Time limit of a benchmark: under Linux KVM in Linux KVM, IPIs exceed the default limit.
const BENCH_LIMIT: Duration = Duration::from_secs(120);
/// Platforms with a whole Linux: without a hypervisor, in a VM, and in nested VMs. All have the same CPU.
const LONG: [&str; 5] = [
    "lab:arm-linux+cpu=max",
    "lab:kvm-vhe-linux+cpu=max",
    "lab:kvm-nested-linux",
    "lab:neve-linux@nv",
    "lab:neve-linux@nv2",
];

/// Measures and shows the results.
pub fn nested(args: &NestedArgs) -> anyhow::Result<Done> {
    on_stdout(args.usual.exports.files())?;
    let (results, is_whole) = measured(args)?;
    if results.is_empty() {
        bail!("nothing was measured");
    }
    if args.long {
        let places = args.usual.parts.lab.to_places();
        views::show(View::NestedApps, &results, &places, &args.usual.exports)?;
        return Ok(Done::whole_if(is_whole));
    }
    let nested = Nested::of(&results, &reference::load()?);
    if is_whole && nested.is_empty() {
        bail!("no benchmark of the paper's tables was measured");
    }
    put(
        &args.usual.exports,
        || nested.to_terminal(),
        || nested.to_json(),
        || nested.to_markdown(),
    )?;
    Ok(Done::whole_if(is_whole))
}

/// Measures microbenchmarks, or applications.
fn measured(args: &NestedArgs) -> anyhow::Result<(Vec<ResultFile>, bool)> {
    let usual = match args.long {
        true => LONG.join(","),
        false => platforms(args.short).join(","),
    };
    let on = match args.on.is_empty() {
        false => args.on.concat(),
        true => parse_list(&usual)?,
    };
    let session = session()?;
    let measured = match args.long {
        true => {
            let spec = RunSpec {
                benchmarks: args.workload.clone().into(),
                perturb: Some(0),
                ..args.usual.spec(on, args.boots.unwrap_or(1))
            };
            // vCPUs of an L2 would take turns on the one CPU of an L1.
            whole::measure(RowsOf::ApplicationsOfOneCpu, spec, &session)?
        }
        false => {
            let spec = RunSpec {
                benchmarks: Benchmarks::Matching(Layout::of(Suite::Neve2017)?.benchmarks()?),
                timeout: Some(BENCH_LIMIT),
                ..args.usual.spec(on, args.boots.unwrap_or(2))
            };
            measure(&spec, None, &session)?
        }
    };
    Ok(measured.finish())
}

/// Default platforms: each VM before the nested VMs that are compared with it.
fn platforms(short: bool) -> Vec<String> {
    let policies = POLICIES.iter().take(if short { 1 } else { POLICIES.len() });
    let mut names = Vec::new();
    if short {
        // The VM on the host hypervisor itself, which has the other policy's world switch.
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
