//! Comparisons as CSV.

use crate::Comparisons;
use crate::text::spreadsheet;
use ws_analysis::{RowComparison, SuiteComparison, Verdict};

/// The heads of the CSV.
pub(crate) const CSV: [&str; 23] = [
    "base_platform",
    "other_platform",
    "benchmark",
    "category",
    "unit",
    "base",
    "other",
    "base_boots",
    "other_boots",
    "verdict",
    "ratio",
    "ratio_low",
    "ratio_high",
    "scatter",
    "rank_sum_p",
    "more_boots",
    "added",
    "added_mean",
    "band_low",
    "band_high",
    "why",
    "base_host",
    "other_host",
];

impl Comparisons {
    /// Renders a header and a line for each benchmark (RFC 4180, but with `\n`). Numbers are in full precision.
    pub fn to_csv(&self) -> Result<String, csv::Error> {
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(CSV)?;
        for one in &self.comparisons {
            for row in &one.rows {
                csv.write_record(csv_line(one, row))?;
            }
        }
        let bytes = csv.into_inner().map_err(|error| error.into_error())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn csv_line(one: &SuiteComparison, row: &RowComparison) -> [String; CSV.len()] {
    let number = |number: Option<f64>| number.map_or(String::new(), |n| n.to_string());
    let (time, counts) = (row.time.as_ref(), row.counts.as_ref());
    [
        spreadsheet(&one.base.platform),
        spreadsheet(&one.other.platform),
        spreadsheet(&row.benchmark),
        spreadsheet(&row.category),
        spreadsheet(row.unit.as_deref().unwrap_or("")),
        number(row.base),
        number(row.other),
        row.boots[0].to_string(),
        row.boots[1].to_string(),
        row.verdict.map_or("not compared", Verdict::word).into(),
        number(time.and_then(|time| time.ratio)),
        number(time.and_then(|time| time.ratio_low)),
        number(time.and_then(|time| time.ratio_high)),
        number(time.map(|time| time.scatter)),
        number(time.and_then(|time| time.rank_sum_p)),
        time.and_then(|time| time.more_boots)
            .map_or(String::new(), |n| n.to_string()),
        number(counts.map(|counts| counts.added)),
        number(counts.map(|counts| counts.added_mean)),
        number(counts.map(|counts| counts.band_base.low.min(counts.band_other.low))),
        number(counts.map(|counts| counts.band_base.high.max(counts.band_other.high))),
        spreadsheet(row.why.as_deref().unwrap_or("")),
        spreadsheet(one.base.host.as_deref().unwrap_or("")),
        spreadsheet(one.other.host.as_deref().unwrap_or("")),
    ]
}
