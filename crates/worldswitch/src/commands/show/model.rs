//! `worldswitch show --native`: loads results, reads a workload's events, fits the model, and shows the model
//! and its prediction.

use crate::cli::{ModelArgs, ShowArgs};
use crate::shared::{events, export, on_stdout};
use anyhow::bail;
use ws_analysis::model::{HostEvents, ModelOptions, Time, Workload, fit, host_events};
use ws_report::{Modelled, Models};
use ws_results::{Paging, ResultFile};
use ws_terminal::output;

/// Fits and shows a model of each platform.
pub fn model(args: &ShowArgs) -> anyhow::Result<()> {
    let mut natives = ws_results::load_all(&args.model.native)?;
    let guests = ws_results::load_all(&args.paths)?;
    // A run's folder contains the native result too.
    let native = natives.first().map(|native| native.platform.clone());
    let (own, others): (Vec<_>, Vec<_>) = guests
        .into_iter()
        .partition(|guest| Some(&guest.platform) == native.as_ref());
    let runs_guests = own.iter().any(|own| Paging::of(own).is_some());
    let guests = if others.is_empty() && runs_guests {
        let what = "guest and native are one platform: the added cost is zero, only the operator is meaningful";
        output::remark(what);
        natives.clone_from(&own);
        own
    } else {
        others
    };
    let platforms = ws_results::platforms(&guests);
    if platforms.is_empty() {
        bail!(
            "there is no result of a guest, only of {}: name a platform with a guest",
            args.model.native.join(", ")
        );
    }
    let workload = workload(&args.model)?;
    let options = ModelOptions {
        paging: args.model.paging,
        allow: args.allow.clone(),
        ..ModelOptions::default()
    };
    // A run's folder may contain platforms without a native counterpart, such as qemu-tcg.
    let (mut models, mut refused) = (Vec::new(), Vec::new());
    for platform in platforms {
        let of_it = guests.iter().filter(|guest| guest.platform == platform);
        let of_it: Vec<ResultFile> = of_it.cloned().collect();
        match fit(&of_it, &natives, &options) {
            Ok(model) => {
                let prediction = workload.as_ref().map(|w| w.predict(&model)).transpose()?;
                models.push(Modelled { model, prediction });
            }
            Err(why) => refused.push(why),
        }
    }
    if models.is_empty() {
        if let Some(why) = refused.into_iter().next() {
            return Err(why.into());
        }
    } else {
        for why in refused {
            output::remark(&format!("no model: {why}"));
        }
    }
    let models = Models::of(models);
    let json = args.exports.json_to();
    export(json, || Ok(models.to_json()?))?;
    match on_stdout([json])? {
        true => Ok(()),
        false => output::data(&models.to_terminal(output::is_coloured())),
    }
}

/// Reads the workload, if the user named one.
fn workload(args: &ModelArgs) -> anyhow::Result<Option<Workload>> {
    if let Some(path) = &args.events {
        return Ok(Some(events::read(path)?));
    }
    let [spec, benchmark] = args.events_of.as_slice() else {
        return Ok(None);
    };
    let results = ws_results::load(spec)?;
    let [result] = results.as_slice() else {
        bail!(
            "{spec} has {} results: name one, as FOLDER:PLATFORM",
            results.len()
        );
    };
    let Some(row) = result.row(benchmark) else {
        bail!("{spec} has no benchmark {benchmark}")
    };
    if row.host.iter().all(|view| view.operations.is_none()) {
        bail!(
            "the host counted nothing while {benchmark} ran in {spec}: measure it on platform kvm"
        );
    }
    let counted = row.host.iter().filter_map(|view| view.operations);
    let (boots, all) = counted.fold((0u64, 0u64), |(boots, all), n| (boots + 1, all + n));
    let HostEvents { counts, left_out } = host_events(&row.host);
    Ok(Some(Workload {
        name: benchmark.clone(),
        counts,
        left_out,
        time: Some(Time::OfRow {
            platform: result.platform.clone(),
            benchmark: benchmark.clone(),
            operations: all as f64 / boots.max(1) as f64,
        }),
    }))
}
