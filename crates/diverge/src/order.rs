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
    if asked.kernel.is_some() {
        return Ok(request(1, 1, String::new(), asked.append.clone()));
    }
    let facts = machine.description();
    let usual = match &facts.workloads {
        Some(rows) => rows.first().map(|row| row.name.clone()).unwrap_or_default(),
        None => USUAL.to_owned(),
    };
    let rows = match &facts.workloads {
        Some(rows) => rows.clone(),
        None => GuestImage::read(&resources.guest_for(facts.architecture)?)?.rows,
    };
    let name = asked.bench.clone().unwrap_or(usual);
    let names: Vec<&str> = rows.iter().map(|row| &*row.name).collect();
    benchmarks::check(&name, &names)?;
    let row: Vec<&BenchmarkRow> = rows.iter().filter(|row| row.name == name).collect();
    for row in &row {
        if let Some(why) = machine.lacks(row) {
            bail!(Usage(format!("{name} does not run on this machine: {why}")));
        }
    }
    let planned = plan::launches(&row, None, false);
    let planned = planned.first().context("there is no launch")?;
    // The nonce is the same on both machines: other digits are other instructions.
    let nonce = nonce::fixed("lab diverge", 0, planned).to_string();
    let words = plan::command_line(
        planned,
        &Parameters::default(),
        plan::Asked::by(facts),
        &nonce,
    );
    Ok(request(
        planned.vcpus,
        planned.host_cpus,
        planned.vm.clone(),
        words,
    ))
}

fn request(vcpus: u32, host_cpus: u32, vm: String, command_line: String) -> LaunchRequest {
    LaunchRequest {
        vcpus,
        host_cpus,
        vm,
        command_line,
        memory_mib: None,
        timed: false,
    }
}
