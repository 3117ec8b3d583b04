//! Comparisons as CSV.

use crate::Comparisons;
use crate::text::{Set, Sheet};
use ws_analysis::{RowComparison, SuiteComparison, Verdict};

use Set::{Number, Text};

/// The columns of the CSV.
pub(crate) const COLUMNS: [(&str, Set); 23] = [
    ("base_platform", Text),
    ("other_platform", Text),
    ("benchmark", Text),
    ("category", Text),
    ("unit", Text),
    ("base", Number),
    ("other", Number),
    ("base_boots", Number),
    ("other_boots", Number),
    ("verdict", Text),
    ("ratio", Number),
    ("ratio_low", Number),
    ("ratio_high", Number),
    ("scatter", Number),
    ("rank_sum_p", Number),
    ("more_boots", Number),
    ("added", Number),
    ("added_mean", Number),
    ("band_low", Number),
    ("band_high", Number),
    ("why", Text),
    ("base_host", Text),
    ("other_host", Text),
];

impl Comparisons {
    /// Renders a header and a line for each benchmark (RFC 4180, but with `\n`). Numbers are in full precision.
    pub fn to_csv(&self) -> String {
        let mut sheet = Sheet::new(COLUMNS);
        for one in &self.comparisons {
            sheet.extend(one.rows.iter().map(|row| csv_line(one, row)));
        }
        sheet.to_csv()
    }
}

fn csv_line(one: &SuiteComparison, row: &RowComparison) -> [String; COLUMNS.len()] {
    let number = |number: Option<f64>| number.map_or(String::new(), |n| n.to_string());
    let (time, counts) = (row.time.as_ref(), row.counts.as_ref());
    [
        one.base.platform.clone(),
        one.other.platform.clone(),
        row.benchmark.clone(),
        row.category.clone(),
        row.unit.clone().unwrap_or_default(),
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
        row.why.clone().unwrap_or_default(),
        one.base.host.clone().unwrap_or_default(),
        one.other.host.clone().unwrap_or_default(),
    ]
}
