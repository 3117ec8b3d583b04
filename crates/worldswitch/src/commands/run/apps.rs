//! `worldswitch run apps`: applications natively and in virtual machines, in the lab and in real time on this host.

use crate::cli::{AppsArgs, session};
use crate::shared::traffics::traffics;
use crate::shared::{Done, export, on_stdout};
use anyhow::bail;
use ws_recorder as recorder;
use ws_report::Apps;
use ws_runner::rows::RowsOf;
use ws_runner::{RunSpec, whole};
use ws_terminal::output;

/// Measures and shows the results.
pub fn apps(args: &AppsArgs) -> anyhow::Result<Done> {
    let [json, markdown] = args.usual.exports.files();
    let on_stdout = on_stdout([json, markdown])?;
    let choice = match args.explain {
        true => Some(recorder::Workloads::choose(
            &args.on.concat(),
            args.workload.as_ref(),
            args.usual.parts.to_parts(),
        )?),
        false => None,
    };
    let session = session()?;
    let spec = RunSpec {
        benchmarks: args.workload.clone().into(),
        perturb: Some(args.perturb),
        ..args.usual.spec(args.on.concat(), args.boots)
    };
    let measured = whole::measure(RowsOf::Applications, spec, &session)?;
    let (mut results, is_whole) = measured.finish();
    results.extend(ws_results::load_all(&args.prices)?);
    let traffics = traffics(&args.usual.parts.lab.to_places())?;
    let reference = ws_report::reference::load()?;
    let mut apps = Apps::of(&results, &reference, &traffics);
    if apps.is_empty() {
        bail!("no workload was measured: worldswitch benchmarks --on lab:kvm-linux lists all");
    }
    export(markdown, || Ok(apps.to_markdown()))?;
    if !on_stdout {
        output::data(&apps.to_terminal())?;
    }
    let mut done = Done::whole_if(is_whole);
    if let Some(choice) = choice {
        match choice.explain(&mut apps, &reference, !on_stdout, &session)? {
            Some(explained) => apps.explained = explained,
            None => done = Done::InPart,
        }
    }
    export(json, || Ok(apps.to_json()?))?;
    Ok(done)
}
