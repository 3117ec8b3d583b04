//! One benchmark of a lab result for `lab check` and `bisect`: its figure and the figure's band.

use ws_analysis::{Band, Summary};
use ws_results::{COST, ResultFile, Status};

/// What a lab machine counted for one benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The mode of its samples, in instructions per operation.
    pub insns: f64,
    /// The lowest and the highest mode of all boots, perturbed ones included. Both are equal if no
    /// boot was perturbed.
    pub band: (f64, f64),
}

impl Figure {
    /// The figure of `benchmark` in a result.
    ///
    /// # Errors
    /// Why it has no reliable figure.
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
            return Err("not exact: boots gave different counts".into());
        }
        let summary = Summary::of(metric, &result.perturbed()).ok_or("it has no figures")?;
        let Band { low, high } = summary.range();
        Ok(Self {
            insns: summary.value,
            band: (low, high),
        })
    }

    /// The band as text; empty if its ends are equal.
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

/// The legend below a table of these figures: their unit, and each caveat of the machines once.
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
        .map(|line| ws_text::terminal(line).into_owned() + "\n")
        .collect()
}
