//! Devices of a VM in the lab: instructions and exits of one request.

use crate::cli::io::IoArgs;
use crate::cli::session;
use crate::shared::{Done, export, on_stdout};
use anyhow::bail;
use ws_recorder as recorder;
use ws_report::Requests;
use ws_runner::rows::{self, RowsOf};
use ws_runner::{RunSpec, whole};
use ws_terminal::output;

/// Measures and shows the results.
pub fn lab(args: &IoArgs) -> anyhow::Result<Done> {
    let lab = &args.lab;
    let on_stdout = on_stdout(lab.exports.files())?;
    let devices = rows::Devices {
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
