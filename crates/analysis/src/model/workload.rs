//! A workload's events, which the model prices: written by hand, or counted by a host.

use super::{Model, PredictError, Prediction, predict};
use serde::Deserialize;
use std::collections::BTreeMap;

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
    /// The unit of both times, one that results have.
    unit: String,
    /// Native time: T_direct.
    direct: f64,
    /// Time as measured in the guest, for eta.
    guest: Option<f64>,
}

/// Source of a workload's time.
#[derive(Clone, Debug, PartialEq)]
pub enum Time {
    /// Time that the events file states.
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
    pub name: String,
    /// How often each event occurs, by the benchmark that measures it.
    pub counts: BTreeMap<String, f64>,
    /// Events that could not be counted, in words.
    pub left_out: Vec<String>,
    /// Total time of the workload.
    pub time: Option<Time>,
}

impl Workload {
    /// Reads the events from the text of a file of this name. The error is for people.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        let file: EventFile = toml::from_str(text).map_err(|error| {
            let error = error.to_string();
            format!("{name} is not an events file: {}", error.trim_end())
        })?;
        let times = file.time.iter();
        let mut times = times
            .flat_map(|given| [Some(given.direct), given.guest])
            .flatten();
        if !times.all(|time| time.is_finite() && time >= 0.0) {
            return Err(format!("{name}: a time must be 0 or more"));
        }
        Ok(Self {
            name: name.to_owned(),
            counts: file.events,
            left_out: Vec::new(),
            time: file.time.map(Time::Given),
        })
    }

    /// Predicts the workload's cost on a platform, with its total time if that is known in the model's unit.
    pub fn predict(&self, model: &Model) -> Result<Prediction, PredictError> {
        let prediction = predict(model, &self.counts, self.left_out.clone())?;
        Ok(match self.times(model) {
            Some((direct, measured)) => prediction.with_times(direct, measured),
            None => prediction,
        })
    }

    /// Returns T_direct, and T_guest as measured.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_text(text: &str) -> Result<Workload, String> {
        Workload::parse("events.toml", text)
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
        let error = |text: &str| read_text(text).unwrap_err();
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
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
            let _ = read_text(&text);
            let _ = read_text(&format!("[events]\n{text}"));
        }
    }
}
