//! `worldswitch model`: finds the results, reads a workload's events, has the model fitted and used,
//! and shows it.

use crate::cli::{ModelArgs, PagingKind};
use crate::output::{self, Colours};
use crate::run::export;
use anyhow::{Context, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use ws_analysis::model::{HostEvents, ModelOptions, Paging, fit, host_events, predict};
use ws_report::{Modelled, Models};
use ws_results::ResultFile;

/// Larger files of events are refused.
const MAX_EVENT_BYTES: u64 = 1 << 20;

/// Models.
///
/// # Errors
/// A result or the events can't be found or read, results don't go together, or something can't be
/// written.
pub fn model(args: &ModelArgs, colours: Colours) -> anyhow::Result<()> {
    let mut natives: Vec<ResultFile> = Vec::new();
    for spec in &args.native {
        natives.extend(ws_results::load(spec)?);
    }
    let mut guests: Vec<ResultFile> = Vec::new();
    for spec in &args.guests {
        guests.extend(ws_results::load(spec)?);
    }
    // A folder of a run holds the native result too.
    let native = natives.first().map(|native| native.platform.clone());
    guests.retain(|guest| Some(&guest.platform) != native.as_ref());
    let mut platforms: Vec<&str> = Vec::new();
    for guest in &guests {
        if !platforms.contains(&guest.platform.as_str()) {
            platforms.push(&guest.platform);
        }
    }
    if platforms.is_empty() {
        bail!(
            "there is no result of a guest, only of {}",
            args.native.join(", ")
        );
    }
    let events = events(args)?;
    let options = ModelOptions {
        paging: args.paging.map(paging),
        allow: args.allow.clone(),
        ..ModelOptions::default()
    };
    let mut models = Vec::new();
    for platform in platforms {
        let of_it = guests.iter().filter(|guest| guest.platform == platform);
        let of_it: Vec<ResultFile> = of_it.cloned().collect();
        let model = fit(&of_it, &natives, &options)?;
        let prediction = match &events {
            Some(events) => Some(predict(&model, &events.counts, events.left_out.clone())?),
            None => None,
        };
        models.push(Modelled { model, prediction });
    }
    let models = Models::of(models);
    export(args.export_json.as_deref(), || Ok(models.to_json()?))?;
    output::data(&models.to_terminal(colours.stdout))
}

fn paging(kind: PagingKind) -> Paging {
    match kind {
        PagingKind::Nested => Paging::Nested,
        PagingKind::Shadow => Paging::Shadow,
        PagingKind::Software => Paging::Software,
    }
}

/// The workload's events, where one was given.
fn events(args: &ModelArgs) -> anyhow::Result<Option<HostEvents>> {
    if let Some(path) = &args.events {
        return Ok(Some(HostEvents {
            counts: read(path)?,
            left_out: Vec::new(),
        }));
    }
    let [spec, benchmark] = args.events_of.as_slice() else {
        return Ok(None);
    };
    let results = ws_results::load(spec)?;
    let [result] = results.as_slice() else {
        bail!(
            "{spec} holds {} results: name one, as FOLDER:PLATFORM",
            results.len()
        );
    };
    let row = result.rows.iter().find(|row| row.benchmark == *benchmark);
    let Some(row) = row else {
        bail!("{spec} has no benchmark {benchmark}")
    };
    if row.host.iter().all(|view| view.operations.is_none()) {
        bail!(
            "nothing was counted on the host while {benchmark} ran in {spec}: platform kvm counts"
        );
    }
    Ok(Some(host_events(&row.host)))
}

/// A file of events: how often each occurs, by the name of the benchmark that measures it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EventFile {
    events: BTreeMap<String, f64>,
}

/// A workload's events.
#[derive(Debug)]
pub struct Workload {
    /// What it is called.
    pub name: String,
    /// How often each event occurs, by the benchmark that measures it.
    pub counts: BTreeMap<String, f64>,
}

/// Reads a file of events.
///
/// # Errors
/// It can't be read, or is none.
pub fn read(path: &Path) -> anyhow::Result<BTreeMap<String, f64>> {
    let what = || format!("can't read the events in {}", path.display());
    let file = std::fs::File::open(path).with_context(what)?;
    let mut text = String::new();
    file.take(MAX_EVENT_BYTES)
        .read_to_string(&mut text)
        .with_context(what)?;
    let file: EventFile = toml::from_str(&text).map_err(|error| {
        anyhow::anyhow!(
            "{} is no file of events: {}",
            path.display(),
            error.to_string().trim_end()
        )
    })?;
    Ok(file.events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_text(text: &str) -> anyhow::Result<BTreeMap<String, f64>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.toml");
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn events_are_read() {
        let read = read_text("# a web server\n[events]\nin = 20\nhypercall = 1.5e3\n").unwrap();
        assert_eq!(
            read,
            BTreeMap::from([("in".into(), 20.0), ("hypercall".into(), 1500.0)])
        );
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
        assert!(error("[event").contains("is no file of events"));
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
