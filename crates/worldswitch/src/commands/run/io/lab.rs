//! Devices of a VM in the lab: instructions and exits of one request.

use crate::cli::io::IoArgs;
use crate::cli::session;
use crate::shared::{Done, export, on_stdout};
use anyhow::bail;
use schemars::JsonSchema;
use serde::Serialize;
use ws_machines::name::{PlatformName, parse_list};
use ws_recorder as recorder;
use ws_report::Requests;
use ws_runner::rows::{self, RowsOf};
use ws_runner::{RunSpec, parts, whole};
use ws_terminal::columns::{columns, json};
use ws_terminal::{Colours, output};

/// Default platform: the lab's own with devices.
const PLATFORM: &str = "lab:kvm-linux";

/// Measures and shows the results.
pub fn lab(args: &IoArgs, colours: Colours) -> anyhow::Result<Done> {
    let lab = &args.lab;
    if lab.list {
        return list(args);
    }
    let on_stdout = on_stdout(lab.exports.files())?;
    let devices = rows::Devices {
        device: lab.device.clone(),
        depths: args.depth.clone(),
        busy: lab.busy,
    };
    let choice = match lab.explain {
        true => Some(recorder::Requests::choose(
            &lab.on.concat(),
            &devices,
            lab.parts.to_parts(),
        )?),
        false => None,
    };
    let spec = RunSpec {
        rows: Some(RowsOf::Devices(devices)),
        platforms: lab.on.concat(),
        boots: Some(lab.boots),
        perturb: Some(lab.perturb),
        parts: lab.parts.to_parts(),
        output: args.output.to_output(),
        ..RunSpec::default()
    };
    let session = session(colours)?;
    let measured = whole::measure(&spec, whole::has_devices, whole::NO_DEVICES, &session)?;
    let (results, is_whole) = measured.finish(colours);
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

/// Lists the recipes' devices. Needs no packages.
fn list(args: &IoArgs) -> anyhow::Result<Done> {
    let args = &args.lab;
    let names: Vec<PlatformName> = match args.on.is_empty() {
        true => parse_list(PLATFORM)?,
        false => args.on.iter().flatten().cloned().collect(),
    };
    let lab = parts::recipes(&args.parts.lab.to_places())?;
    let mut devices: Vec<Device> = Vec::new();
    for name in &names {
        let recipe = whole::recipe(&lab, name, whole::has_devices, whole::NO_DEVICES)?;
        for device in recipe
            .vm
            .and_then(|vm| vm.io)
            .map_or_else(Vec::new, |io| io.devices)
        {
            let is_wanted = args
                .device
                .as_ref()
                .is_none_or(|regex| regex.is_match(&device.name));
            let device = Device {
                kind: word(device.kind)?,
                served: word(device.served)?,
                device: device.name,
                why: device.why,
            };
            if is_wanted && !devices.contains(&device) {
                devices.push(device);
            }
        }
    }
    output::data(&match args.exports.json {
        true => json(&Devices {
            schema: DEVICES,
            devices,
        })?,
        false => {
            let lines = devices.into_iter();
            let lines = lines.map(|one| [one.device, one.kind, one.served, one.why]);
            columns(["device", "kind", "served by", "why"], lines)
        }
    })?;
    Ok(Done::Whole)
}

/// The format version of `--list --json`.
const DEVICES: &str = "worldswitch-devices/1";

/// The devices that can be measured.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Devices {
    /// Always `worldswitch-devices/1`.
    #[schemars(extend("const" = DEVICES))]
    schema: &'static str,
    /// Devices, in the order of their recipes.
    devices: Vec<Device>,
}

/// A device of a VM in the lab.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct Device {
    /// Name of the device, for `--device`.
    device: String,
    /// Kind of the device: `blk` or `net`.
    kind: String,
    /// Back-end that serves the device.
    served: String,
    /// Reason why the device is measured.
    why: String,
}

/// A value's word in a recipe.
fn word(value: impl Serialize) -> anyhow::Result<String> {
    let value = serde_json::to_value(value)?;
    Ok(value.as_str().unwrap_or_default().to_owned())
}
