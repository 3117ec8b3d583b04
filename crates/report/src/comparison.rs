//! Renders comparisons with their verdicts for a terminal, as Markdown, CSV and JSON.

use crate::grid::reference;
use crate::hosts::on_terminal;
use crate::notes::Notes;
use crate::number;
use crate::over_hosts::{HostsOfSides, OverHosts, host_of, over_hosts};
use crate::text::{Ink, Set, Sheet, Style, terminal};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Borrow;
use ws_analysis::{
    CountFigures, Gap, HostKind, Outcome, RowComparison, SuiteComparison, TimeFigures, Unlike,
    Verdict,
};
use ws_explain::diff::Difference;

/// The schema of the JSON.
pub const COMPARISON_SCHEMA: &str = "worldswitch-comparison/2";

/// The output of `worldswitch compare`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparisons {
    /// Always `worldswitch-comparison/2`.
    #[schemars(extend("const" = COMPARISON_SCHEMA))]
    pub schema: &'static str,
    /// The overall outcome. The exit codes are 0 for `no-regression`, 4 for `inconclusive`, 1 for `refused` and 3
    /// for `regression`.
    pub outcome: Outcome,
    /// Parts of the base without a verdict, each with its reason.
    pub gaps: Vec<Gap>,
    /// Comparisons, one for each pair of results.
    pub comparisons: Vec<SuiteComparison>,
    /// The platforms that several hosts measured, each compared with its own base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over_hosts: Vec<OverHosts>,
    /// Hosts of these platforms, and which of them differ from others of their kind, on each side. Absent without such
    /// platforms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<HostsOfSides>,
    /// Explanations of the benchmarks that changed, with `--explain`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explained: Vec<ChangeExplained>,
}

/// Functions that changed in a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChangeExplained {
    /// The platform of the base.
    pub base: String,
    /// The other platform.
    pub other: String,
    pub benchmark: String,
    /// Difference between both sides, by function.
    pub difference: Option<Difference>,
    /// Why the difference is not known.
    pub why: Option<String>,
}

/// The JSON Schema of [`Comparisons::to_json`], the content of `docs/comparison-schema.json`.
pub fn comparison_schema() -> String {
    format!("{:#}\n", schemars::schema_for!(Comparisons).to_value())
}

/// The heads of the table, and the alignment of their columns.
pub(crate) const HEADS: [(&str, Set); 8] = [
    ("benchmark", Set::Text),
    ("base", Set::Number),
    ("other", Set::Number),
    ("ratio, added", Set::Number),
    ("", Set::Text),
    ("scatter", Set::Number),
    ("verdict", Set::Text),
    ("", Set::Text),
];

/// The column of verdicts.
const VERDICT: usize = 6;

/// The legend of tables over hosts.
pub(crate) const OVER_HOSTS: &str = "median host, least, greatest: of the hosts' changes. A change is the other time / the base time, or the added instructions.";

impl Comparisons {
    /// Makes the output of these comparisons, in their order.
    pub fn of(comparisons: Vec<SuiteComparison>) -> Self {
        let outcomes = comparisons.iter().map(SuiteComparison::outcome);
        Comparisons {
            schema: COMPARISON_SCHEMA,
            outcome: outcomes.max().unwrap_or(Outcome::NoRegression),
            gaps: comparisons.iter().flat_map(SuiteComparison::gaps).collect(),
            over_hosts: over_hosts(&comparisons),
            comparisons,
            hosts: None,
            explained: Vec::new(),
        }
    }

    /// Adds gaps that are in no comparison, and their outcomes.
    pub fn lacking(mut self, gaps: Vec<Gap>) -> Self {
        let outcomes = gaps.iter().map(|gap| gap.kind.outcome());
        self.outcome = outcomes.chain([self.outcome]).max().unwrap_or(self.outcome);
        self.gaps.extend(gaps);
        self
    }

    /// Renders text for a terminal, with the rows that changed or `all`. Ends in a newline. For platforms over hosts,
    /// each host's table is shown only with `all`.
    pub fn to_terminal(&self, colour: bool, all: bool) -> String {
        let style = Style::new(colour);
        let over = self.over_hosts.iter();
        let mut out: String = over
            .map(|one| over_block(one, all, &style) + "\n")
            .collect();
        let blocks = self.comparisons.iter();
        let blocks = blocks.map(|one| (one, self.over_host(one)));
        let (blocks, shown): (Vec<_>, Vec<_>) = blocks
            .filter(|(_, host)| all || host.is_none())
            .map(|(one, host)| (block(one, host, all, &style) + "\n", one))
            .unzip();
        out.extend(blocks);
        for (side, kinds) in self.sides() {
            out += &format!("Hosts {side}:\n");
            out.extend(kinds.iter().map(|kind| on_terminal(kind, all, &style)));
            out.push('\n');
        }
        let over = (!self.over_hosts.is_empty()).then_some(OVER_HOSTS);
        for line in over.into_iter().chain(legend(&shown)) {
            out += &style.dim(line);
            out.push('\n');
        }
        out
    }

    /// The host of a comparison that is one of a platform over hosts.
    pub(crate) fn over_host<'a>(&self, one: &'a SuiteComparison) -> Option<&'a str> {
        let is_one = self.over_hosts.iter().any(|over| over.has(one));
        host_of(one).filter(|_| is_one)
    }

    /// The kinds with several hosts of each side.
    pub(crate) fn sides(&self) -> impl Iterator<Item = (&'static str, Vec<&HostKind>)> {
        let sides = self.hosts.iter();
        let sides =
            sides.flat_map(|hosts| [("of the base", &hosts.base), ("compared", &hosts.other)]);
        let several = sides.map(|(side, kinds)| {
            let several = kinds.iter().filter(|kind| kind.hosts.len() > 1);
            (side, several.collect::<Vec<_>>())
        });
        several.filter(|(_, kinds)| !kinds.is_empty())
    }

    /// Renders everything as JSON, pretty-printed.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// Returns the legend of the columns that occur in the comparisons.
pub(crate) fn legend<C: Borrow<SuiteComparison>>(comparisons: &[C]) -> Vec<&'static str> {
    let rows = || comparisons.iter().flat_map(|one| &one.borrow().rows);
    let mut legend = Vec::new();
    if rows().any(|row| row.time.is_some()) {
        legend.extend([
            "ratio: the other time / the base time, from the middle half of each side's boots. In brackets: the interval of the ratio. The intervals of all rows hold simultaneously.",
            "scatter: a robust standard deviation of the boots' values, the greater of both sides.",
        ]);
    }
    let counts = |unit| rows().any(|row| row.counts.is_some() && row.unit.as_deref() == Some(unit));
    if counts("insns") {
        legend.push(
            "added: instructions per operation, other minus base, of the modes. In brackets: of the means.",
        );
    }
    if counts("count") {
        legend.push("added: exits per operation, other minus base.");
    }
    legend
}

/// The rows that changed, may have changed, or could not be compared because their conditions differ: worse
/// ones first, then those that changed most.
pub(crate) fn changed(one: &SuiteComparison) -> Vec<&RowComparison> {
    let is_changed = |row: &&RowComparison| match row.verdict {
        Some(verdict) => verdict != Verdict::NoChange,
        None => row.refused,
    };
    let rank = |row: &RowComparison| match row.verdict {
        Some(Verdict::Worse) => 0,
        Some(Verdict::Better) => 1,
        Some(Verdict::Inconclusive | Verdict::NoChange) => 2,
        None => 3,
    };
    let size = |row: &RowComparison| match (&row.time, &row.counts) {
        (_, Some(counts)) => counts.added.abs(),
        (Some(time), None) => time.ratio.map_or(0.0, |ratio| ratio.ln().abs()),
        // The row cost nothing on one side: no ratio is greater.
        (None, None) => f64::INFINITY,
    };
    let mut rows: Vec<&RowComparison> = one.rows.iter().filter(is_changed).collect();
    rows.sort_by(|a, b| rank(a).cmp(&rank(b)).then(size(b).total_cmp(&size(a))));
    rows
}

/// Length of a reason, in bytes, that fits into a line of the table.
const SHORT: usize = 40;

/// Returns notes and the texts of rows. A long reason of several rows becomes a note, to which they refer.
pub(crate) fn noted(rows: &[&RowComparison]) -> (Vec<String>, Vec<[String; 8]>) {
    let mut notes = Notes::default();
    let of = |why: &str| {
        rows.iter()
            .filter(|row| row.why.as_deref() == Some(why))
            .count()
    };
    let several = |why: &str| why.len() > SHORT && of(why) > 1;
    let texts = rows.iter().map(|row| {
        let mut cells = cells(row);
        if let Some(why) = row.why.as_ref().filter(|why| several(why.as_str())) {
            cells[7] = reference(notes.add(why.clone()));
        }
        cells
    });
    let texts = texts.collect();
    (notes.into_texts(), texts)
}

/// Renders a platform over hosts.
fn over_block(one: &OverHosts, all: bool, style: &Style) -> String {
    let mut out = style.bold(&terminal(&one.heading())) + "\n";
    let shown = one.shown(all);
    if shown.is_empty() {
        return out + &one.nothing() + "\n";
    }
    out += &one.sheet(&shown).to_terminal("  ");
    match all {
        true => out,
        false => out + "  (--all shows all benchmarks, and each host's table)\n",
    }
}

/// Renders a comparison, with its host if it is one of a platform over hosts.
fn block(one: &SuiteComparison, host: Option<&str>, all: bool, style: &Style) -> String {
    let on = host.map_or(String::new(), |host| format!(" on {host}"));
    let head = format!(
        "{}{on} against {} (base)",
        one.other.platform, one.base.platform
    );
    let mut out = style.bold(&terminal(&head)) + "\n";
    for remark in remarks(one) {
        out += &format!("  {}\n", terminal(&remark));
    }
    let shown: Vec<&RowComparison> = match all {
        true => one.rows.iter().collect(),
        false => changed(one),
    };
    if shown.is_empty() {
        return out + &tally(one) + "\n";
    }
    out += &drawn(&shown, style);
    let hidden = match one.rows.len() - shown.len() {
        0 => "",
        _ => " (--all shows them all)",
    };
    out + &tally(one) + hidden + "\n"
}

/// Renders rows for a terminal, between their heads and their notes.
fn drawn(shown: &[&RowComparison], style: &Style) -> String {
    let timed = shown.iter().any(|row| row.time.is_some());
    let (notes, rows) = noted(shown);
    let is_shown = |head| head != "scatter" || timed;
    let mut sheet =
        Sheet::new(HEADS.map(|(head, set)| (if is_shown(head) { head } else { "" }, set)));
    sheet.extend(rows);
    for (line, row) in shown.iter().enumerate() {
        if let Some(verdict) = row.verdict {
            sheet.ink(line, VERDICT, ink(verdict));
        }
    }
    let mut out = sheet.without_empty_columns().to_coloured("", style);
    for (index, note) in (0..).zip(&notes) {
        out += &style.dim(&format!("  {} {}\n", reference(index), terminal(note)));
    }
    out
}

fn ink(verdict: Verdict) -> Ink {
    match verdict {
        Verdict::Worse => Ink::Red,
        Verdict::Better => Ink::Green,
        Verdict::NoChange => Ink::Dim,
        Verdict::Inconclusive => Ink::Bold,
    }
}

/// Returns the remarks before the table: differences in the subject and conditions, caveats, and results over the whole
/// suite.
pub(crate) fn remarks(one: &SuiteComparison) -> Vec<String> {
    let mut remarks = Vec::new();
    let named = |fields: &[Unlike]| {
        let fields: Vec<String> = fields.iter().map(Unlike::describe).collect();
        fields.join(", ")
    };
    remarks.push(match one.subject.is_empty() {
        true => "the subject is the same on both sides".into(),
        false => format!("differs in the subject: {}", named(&one.subject)),
    });
    if !one.allowed.is_empty() {
        remarks.push(format!(
            "differs in conditions, allowed by --allow: {}",
            named(&one.allowed)
        ));
    }
    remarks.extend(one.caveats.iter().cloned());
    let timed = one.rows.iter().any(|row| row.time.is_some());
    if timed && !one.interleaved {
        remarks.push(
            "not from one run: any change on the host in between counts as a difference. worldswitch run --on A,B measures both in turn"
                .into(),
        );
    }
    if let Some(together) = one.together {
        remarks.push(format!(
            "the suite's median row: {:.3}x [{:.3}, {:.3}]",
            together.ratio, together.ratio_low, together.ratio_high
        ));
    }
    remarks.extend(paper_says(one));
    remarks
}

/// The result of HyperBench's method (HPT) over the suite. It counts rows and not how much each moved,
/// so it is shown only if no row's verdict contradicts it.
fn paper_says(one: &SuiteComparison) -> Option<String> {
    let found = one.reliability.filter(|found| found.differing > 1)?;
    let (word, confidence, contrary) = match found.better >= found.worse {
        true => ("less", found.better, Verdict::Worse),
        false => ("more", found.worse, Verdict::Better),
    };
    let contradicted = one.rows.iter().any(|row| row.verdict == Some(contrary));
    (!contradicted).then(|| {
        format!(
            "HPT, which counts rows, not the size of their changes: {} of {} rows differ; the suite costs \
             {word} with reliability {}",
            found.differing,
            found.benchmarks,
            rounded_down(confidence)
        )
    })
}

/// A confidence to three digits, rounded down so that it never overstates.
fn rounded_down(confidence: f64) -> String {
    format!("{:.3}", (confidence * 1000.0).floor() / 1000.0)
}

/// The texts of a row, not escaped.
pub(crate) fn cells(row: &RowComparison) -> [String; 8] {
    let value = |value: Option<f64>| match (value, &row.unit) {
        (Some(value), Some(unit)) => number::value(value, unit),
        (Some(value), None) => number::value(value, ""),
        (None, _) => "-".into(),
    };
    let (change, interval, scatter) = match (&row.time, &row.counts) {
        (Some(time), _) => time_cells(time),
        (None, Some(counts)) => count_cells(counts),
        (None, None) => Default::default(),
    };
    [
        row.benchmark.clone(),
        value(row.base),
        value(row.other),
        change,
        interval,
        scatter,
        row.verdict.map_or("not compared", Verdict::word).into(),
        row.why.clone().unwrap_or_default(),
    ]
}

fn time_cells(time: &TimeFigures) -> (String, String, String) {
    let interval = match (time.ratio_low, time.ratio_high) {
        (Some(low), Some(high)) => format!("[{low:.3}, {high:.3}]"),
        _ => String::new(),
    };
    let ratio = time.ratio.map(|ratio| format!("{ratio:.3}x"));
    let scatter = format!("{:.1} %", 100.0 * time.scatter);
    (ratio.unwrap_or_default(), interval, scatter)
}

fn count_cells(counts: &CountFigures) -> (String, String, String) {
    let mean = format!("[{}]", number::added(counts.added_mean));
    (number::added(counts.added), mean, String::new())
}

/// `2 worse, 1 better, 9 no change, 1 inconclusive, 3 not compared`.
pub(crate) fn tally(one: &SuiteComparison) -> String {
    let verdicts = [
        Some(Verdict::Worse),
        Some(Verdict::Better),
        Some(Verdict::NoChange),
        Some(Verdict::Inconclusive),
        None,
    ];
    let counted = verdicts.iter().filter_map(|verdict| {
        let count = one
            .rows
            .iter()
            .filter(|row| row.verdict == *verdict)
            .count();
        let word = verdict.map_or("not compared", Verdict::word);
        (count > 0).then(|| format!("{count} {word}"))
    });
    let counted: Vec<String> = counted.collect();
    if counted.is_empty() {
        return "no benchmarks".into();
    }
    counted.join(", ")
}

#[cfg(test)]
#[path = "comparison_tests.rs"]
mod tests;
