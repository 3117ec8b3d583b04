//! One benchmark of a lab result as those need it who judge it: its figure, and the band around it.

use ws_analysis::{Band, Summary};
use ws_results::{COST, ResultFile, Status};

/// What a lab machine counted for one benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The mode over its operations, in instructions for one.
    pub insns: f64,
    /// The least and the greatest mode of all boots, perturbed ones with them. The same twice where
    /// none was perturbed.
    pub band: (f64, f64),
}

impl Figure {
    /// Of `benchmark` in a result.
    ///
    /// # Errors
    /// It has none that can be relied on, and why.
    pub fn of(result: &ResultFile, benchmark: &str) -> Result<Self, String> {
        let row = result.row(benchmark).ok_or("it was not measured")?;
        if row.status != Status::Ok {
            let word = ws_report::status_word(row.status);
            let reason = row.reason.as_ref();
            return Err(reason.map_or_else(|| word.into(), |reason| format!("{word}: {reason}")));
        }
        let metric = row.metric(COST).ok_or("it has no figures")?;
        if metric.unit != "insns" {
            return Err(format!("it is measured in {}", metric.unit));
        }
        if row.exact == Some(false) {
            return Err("not exact: boots gave different digits".into());
        }
        let summary = Summary::of(metric, &result.perturbed()).ok_or("it has no figures")?;
        let Band { low, high } = summary.range();
        Ok(Self {
            insns: summary.value,
            band: (low, high),
        })
    }

    /// The band for a reader; nothing where nothing in it moved.
    pub fn band_text(&self) -> String {
        let (low, high) = self.band;
        match low == high {
            true => String::new(),
            false => format!("{} to {}", number(low), number(high)),
        }
    }
}

/// A number of instructions for a table.
pub fn number(insns: f64) -> String {
    ws_report::value(insns, "insns")
}

/// What stands below every table of these figures: what they are, and what is said of the machines, the same words once.
pub fn legend<'a>(results: impl Iterator<Item = &'a ResultFile>) -> String {
    let unit = "executed instructions for one operation (the mode): path length, not time; a trap itself costs nothing";
    let mut lines = vec![unit];
    for caveat in results.filter_map(ResultFile::caveat) {
        if !lines.contains(&caveat) {
            lines.push(caveat);
        }
    }
    let lines = lines.into_iter();
    lines
        .map(|line| ws_report::text::terminal(line).into_owned() + "\n")
        .collect()
}
