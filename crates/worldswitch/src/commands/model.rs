//! `worldswitch model`: loads results, reads a workload's events, fits the model, and shows the model
//! and its prediction.

use crate::cli::{ModelArgs, PagingKind, STDOUT};
use crate::commands::{export, input, on_stdout};
use anyhow::bail;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use ws_analysis::model::{
    HostEvents, Model, ModelOptions, Paging, PredictError, Prediction, fit, host_events, predict,
};
use ws_report::{Modelled, Models};
use ws_results::ResultFile;
use ws_terminal::{Colours, output};

/// Fits and shows a model of each platform.
///
/// # Errors
/// A result or the events can't be found or read, the results don't fit together, or something can't
/// be written.
pub fn model(args: &ModelArgs, colours: Colours) -> anyhow::Result<()> {
    let mut natives = ws_results::load_all(&args.native)?;
    let guests = ws_results::load_all(&args.guests)?;
    // A run's folder contains the native result too.
    let native = natives.first().map(|native| native.platform.clone());
    let (own, others): (Vec<_>, Vec<_>) = guests
        .into_iter()
        .partition(|guest| Some(&guest.platform) == native.as_ref());
    let runs_guests = own.iter().any(|own| Paging::of(own).is_some());
    let guests = if others.is_empty() && runs_guests {
        let what = "guest and native are one platform: the added cost is zero, only the operator is meaningful";
        output::remark(what, colours);
        natives.clone_from(&own);
        own
    } else {
        others
    };
    let platforms = ws_results::platforms(&guests);
    if platforms.is_empty() {
        bail!(
            "there is no result of a guest, only of {}",
            args.native.join(", ")
        );
    }
    let workload = workload(args)?;
    let options = ModelOptions {
        paging: args.paging.map(paging),
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
            output::remark(&format!("no model: {why}"), colours);
        }
    }
    let models = Models::of(models);
    let json = match args.json {
        true => Some(Path::new(STDOUT)),
        false => args.export_json.as_deref(),
    };
    export(json, || Ok(models.to_json()?))?;
    match on_stdout([json])? {
        true => Ok(()),
        false => output::data(&models.to_terminal(colours.stdout)),
    }
}

fn paging(kind: PagingKind) -> Paging {
    match kind {
        PagingKind::Nested => Paging::Nested,
        PagingKind::Shadow => Paging::Shadow,
        PagingKind::Software => Paging::Software,
    }
}

/// The workload, if one was given.
fn workload(args: &ModelArgs) -> anyhow::Result<Option<Workload>> {
    if let Some(path) = &args.events {
        return Ok(Some(read(path)?));
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

/// An events file: how often each event occurs, by the name of the benchmark that measures it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EventFile {
    events: BTreeMap<String, f64>,
    time: Option<Given>,
}

/// The workload's time, as the user states it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// The unit of both, one that results have.
    unit: String,
    /// Native time: T_direct.
    direct: f64,
    /// Time as measured in the guest, for eta.
    guest: Option<f64>,
}

/// Where a workload's time comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Time {
    /// From its events file.
    Given(Given),
    /// The time of a number of operations of a benchmark, on this platform and natively.
    OfRow {
        platform: String,
        benchmark: String,
        operations: f64,
    },
}

/// A workload.
#[derive(Debug)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// How often each event occurs, by the benchmark that measures it.
    pub counts: BTreeMap<String, f64>,
    /// What could not be counted, in words.
    pub left_out: Vec<String>,
    /// Its total time.
    pub time: Option<Time>,
}

impl Workload {
    /// Its cost on a platform, with its total time if that is known in the model's unit.
    ///
    /// # Errors
    /// See [`PredictError`].
    pub fn predict(&self, model: &Model) -> Result<Prediction, PredictError> {
        let prediction = predict(model, &self.counts, self.left_out.clone())?;
        Ok(match self.times(model) {
            Some((direct, measured)) => prediction.with_times(direct, measured),
            None => prediction,
        })
    }

    /// T_direct, and T_guest as measured.
    fn times(&self, model: &Model) -> Option<(f64, Option<f64>)> {
        match self.time.as_ref()? {
            Time::Given(given) if given.unit == model.unit => Some((given.direct, given.guest)),
            Time::Given(_) => None,
            Time::OfRow {
                platform,
                benchmark,
                operations,
            } => {
                let row = model.rows.iter().find(|row| row.benchmark == *benchmark)?;
                let measured = (*platform == model.platform).then_some(row.guest * operations);
                Some((row.native * operations, measured))
            }
        }
    }
}

/// Reads an events file.
///
/// # Errors
/// It can't be read, or is not an events file.
pub fn read(path: &Path) -> anyhow::Result<Workload> {
    let text = input::read(path)?;
    let file: EventFile = toml::from_str(&text).map_err(|error| {
        anyhow::anyhow!(
            "{} is not an events file: {}",
            path.display(),
            error.to_string().trim_end()
        )
    })?;
    if let Some(given) = &file.time {
        let times = [Some(given.direct), given.guest];
        if times
            .into_iter()
            .flatten()
            .any(|t| !(t.is_finite() && t >= 0.0))
        {
            bail!("{}: a time must be 0 or more", path.display());
        }
    }
    Ok(Workload {
        name: path.display().to_string(),
        counts: file.events,
        left_out: Vec::new(),
        time: file.time.map(Time::Given),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_text(text: &str) -> anyhow::Result<Workload> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.toml");
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn events_are_read() {
        let read = read_text("# a web server\n[events]\nin = 20\nhypercall = 1.5e3\n").unwrap();
        assert_eq!(
            read.counts,
            BTreeMap::from([("in".into(), 20.0), ("hypercall".into(), 1500.0)])
        );
        assert_eq!(read.time, None);
        let timed = "[events]\nin = 1\n[time]\nunit = \"ns\"\ndirect = 5\nguest = 7.5\n";
        let given = Given {
            unit: "ns".into(),
            direct: 5.0,
            guest: Some(7.5),
        };
        assert_eq!(read_text(timed).unwrap().time, Some(Time::Given(given)));
    }

    #[test]
    fn what_is_no_file_of_events_says_where() {
        let error = |text: &str| read_text(text).unwrap_err().to_string();
        assert!(
            error("in = 5").contains("unknown field `in`"),
            "{}",
            error("in = 5")
        );
        assert!(error("").contains("missing field `events`"));
        assert!(error("[events]\nin = \"many\"").contains("line 2"));
        assert!(error("[event").contains("is not an events file"));
        let negative = "[events]\n[time]\nunit = \"ns\"\ndirect = -1\n";
        assert!(error(negative).contains("a time must be 0 or more"));
        assert!(read(Path::new("/nonexistent")).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
            let _ = read_text(&text);
            let _ = read_text(&format!("[events]\n{text}"));
        }
    }
}
