//! The launch of both machines: the user's kernel or a benchmark, with the same command line.

use crate::Asked;
use anyhow::{Context, bail};
use ws_machines::image::{BenchmarkRow, GuestImage};
use ws_machines::machine::{LaunchRequest, Machine};
use ws_machines::resources::Resources;
use ws_runner::plan::{self, Parameters};
use ws_runner::{benchmarks, nonce};
use ws_terminal::Usage;

/// Default benchmark, which each guest image has.
const USUAL: &str = "hypercall";

/// Makes the launch request of a machine.
pub fn order(
    asked: &Asked,
    machine: &dyn Machine,
    resources: &Resources,
) -> anyhow::Result<LaunchRequest> {
    let of_kernel = LaunchRequest {
        vcpus: 1,
        host_cpus: 1,
        vm: String::new(),
        command_line: asked.append.clone(),
        memory_mib: None,
        timed: false,
    };
    if asked.kernel.is_some() {
        return Ok(of_kernel);
    }
    let facts = machine.description();
    let (rows, usual) = match &facts.workloads {
        Some(rows) => (rows.clone(), rows.first().map(|row| row.name.clone())),
        None => {
            let image = GuestImage::read(&resources.guest_for(facts.architecture)?)?;
            (image.rows, Some(USUAL.to_owned()))
        }
    };
    let name = asked.bench.clone().or(usual).unwrap_or_default();
    let names: Vec<&str> = rows.iter().map(|row| &*row.name).collect();
    benchmarks::check(&name, &names)?;
    let row: Vec<&BenchmarkRow> = rows.iter().filter(|row| row.name == name).collect();
    if let Some(why) = row.iter().find_map(|row| machine.lacks(row)) {
        bail!(Usage(format!("{name} does not run on this machine: {why}")));
    }
    let planned = plan::launches(&row, None, false);
    let planned = planned.first().context("there is no launch")?;
    // The nonce is the same on both machines: other digits are other instructions.
    let nonce = nonce::fixed("lab diverge", 0, planned).to_string();
    let by = plan::Asked::by(facts);
    Ok(LaunchRequest {
        vcpus: planned.vcpus,
        host_cpus: planned.host_cpus,
        vm: planned.vm.clone(),
        command_line: plan::command_line(planned, &Parameters::default(), by, &nonce),
        ..of_kernel
    })
}
