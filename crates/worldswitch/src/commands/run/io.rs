//! `worldswitch run io`: the cost of I/O, with servers on this host or with a VM's devices in the lab.

use crate::cli::io::IoArgs;
use crate::cli::session;
use crate::shared::{Done, export, on_stdout};
use anyhow::bail;
use ws_io::host;
use ws_io::table::{Servers, crowded};
use ws_recorder as recorder;
use ws_report::Requests;
use ws_runner::rows::{Devices, RowsOf};
use ws_runner::{RunSpec, whole};
use ws_terminal::{columns, output};

/// Measures, shows the table, keeps the results.
pub fn io(args: &IoArgs) -> anyhow::Result<Done> {
    match args.lab.on.is_empty() {
        true => servers(args),
        false => devices(args),
    }
}

/// Block and network I/O of many devices on this host, served by elvis, its baselines and its peers in alternating
/// order.
fn servers(args: &IoArgs) -> anyhow::Result<Done> {
    let json = args.lab.exports.json_to();
    let measured = host::run(&args.options(), &session()?)?;
    let servers = Servers::of(&measured.results);
    if !on_stdout([json])? {
        output::data(&servers.to_terminal())?;
    }
    export(json, || Ok(columns::json(&servers)?))?;
    if let Some(crowded) = crowded(&measured.results) {
        output::remark(&crowded);
    }
    let folder = measured.folder.display();
    output::remark(&format!("results are in {folder}"));
    Ok(Done::whole_if(measured.is_whole))
}

/// Devices of a VM in the lab: instructions and exits of one request.
fn devices(args: &IoArgs) -> anyhow::Result<Done> {
    let lab = &args.lab;
    let on_stdout = on_stdout(lab.exports.files())?;
    let devices = Devices {
        device: lab.device.clone(),
        depths: args.depth.clone(),
        busy: lab.busy,
    };
    let (on, parts) = (lab.on.concat(), lab.parts.to_parts());
    let choice = match lab.explain {
        true => Some(recorder::Requests::choose(&on, &devices, parts.clone())?),
        false => None,
    };
    let spec = RunSpec {
        platforms: on,
        boots: Some(lab.boots),
        perturb: Some(lab.perturb),
        parts,
        output: args.output.to_output(),
        ..RunSpec::default()
    };
    let session = session()?;
    let measured = whole::measure(RowsOf::Devices(devices), spec, &session)?;
    let (results, is_whole) = measured.finish();
    let mut done = Done::whole_if(is_whole);
    let mut requests = Requests::of(&results, &ws_report::reference::load()?);
    if requests.is_empty() {
        bail!("no device was measured: worldswitch benchmarks --on lab:kvm-linux lists all");
    }
    if !on_stdout {
        output::data(&requests.to_terminal())?;
    }
    export(lab.exports.markdown_to(), || Ok(requests.to_markdown()))?;
    if let Some(choice) = choice {
        match choice.explain(!on_stdout, &session)? {
            Some(explained) => requests.explained = explained,
            None => done = Done::InPart,
        }
    }
    export(lab.exports.json_to(), || Ok(requests.to_json()?))?;
    Ok(done)
}
