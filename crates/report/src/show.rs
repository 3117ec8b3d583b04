//! Renders one result file: the run and its identity, the ends of its boots, and the distribution of each benchmark's
//! costs.

use crate::number::{self, percent};
use crate::table::{SOFTWARE_KVM, verdict_word};
use crate::text::{Column, Set, Sheet, Style, console, terminal};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use ws_analysis::{Band, BootEstimate, Histogram, Summary};
use ws_results::{Boot, HostView, Launch, LaunchEnd, Perturbed, ResultFile, Row, Status, Verdict};

/// The most bars of a histogram (the most frequent costs), and the width of the longest, in columns.
const MAX_BARS: usize = 12;
const BAR_COLUMNS: u64 = 30;

/// A result file as text for a terminal. Ends in a newline.
pub fn show(result: &ResultFile, colour: bool) -> String {
    let mut page = Page {
        out: String::new(),
        style: Style::new(colour),
    };
    page.head(result);
    page.title("Subject (may differ between compared results)");
    page.fields(&result.identity.subject);
    page.title("Conditions (must agree)");
    page.fields(&result.identity.conditions);
    let facts = serde_json::to_value(&result.identity.facts).unwrap_or_default();
    if let Some(facts) = facts.as_object().filter(|facts| !facts.is_empty()) {
        page.title("Facts (these choose tables and pages)");
        page.fields(&facts.clone().into_iter().collect());
    }
    page.title("Boots");
    for boot in &result.boots {
        page.boot(boot);
    }
    page.title("Benchmarks");
    let perturbed = result.perturbed();
    for row in &result.rows {
        page.row(row, &perturbed);
    }
    page.out
}

struct Page {
    out: String,
    style: Style,
}

impl Page {
    /// Writes a line of escaped text, indented by `indent` steps.
    fn line(&mut self, indent: usize, text: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.out, "{}{}", "  ".repeat(indent), text.trim_end());
    }

    fn title(&mut self, text: &str) {
        let text = self.style.bold(text);
        self.out.push('\n');
        self.line(0, &text);
    }

    fn head(&mut self, result: &ResultFile) {
        let platform = self.style.bold(&terminal(&result.platform));
        self.line(0, &platform);
        if result.is_software_kvm() {
            self.line(1, &self.style.red(SOFTWARE_KVM));
        }
        self.line(1, &format!("begun    {}", terminal(&result.created)));
        self.line(1, &format!("by       {}", terminal(&result.tool)));
        self.line(
            1,
            &format!("command  {}", terminal(&result.command.join(" "))),
        );
        if result.interrupted {
            let text = self
                .style
                .red("interrupted: stopped before its last boot was done");
            self.line(1, &text);
        }
    }

    fn fields(&mut self, fields: &BTreeMap<String, Value>) {
        let mut sheet = Sheet::list([Set::Text; 2]);
        let lines = fields.iter();
        sheet.extend(lines.map(|(key, value)| [key.clone(), plain(value)]));
        self.out.push_str(&sheet.to_terminal("  "));
        if fields.is_empty() {
            self.line(1, "none recorded");
        }
    }

    fn boot(&mut self, boot: &Boot) {
        if let Some(change) = &boot.perturbed {
            let pad = change.pad.map(|pad| format!("pad {pad}"));
            let memory = change.memory_mib.map(|mib| format!("{mib} MiB of memory"));
            let changes: Vec<String> = [pad, memory].into_iter().flatten().collect();
            let text = format!(
                "boot {} was perturbed on purpose and counts in no figure but the band: {}",
                boot.boot,
                changes.join(", ")
            );
            self.line(1, &text);
        }
        for (index, launch) in boot.launches.iter().enumerate() {
            self.launch(&format!("boot {}, launch {}", boot.boot, index + 1), launch);
        }
    }

    /// Writes a launch: its end, faults on the line, and the last console text if it did not end well.
    fn launch(&mut self, name: &str, launch: &Launch) {
        let first = match launch.first_record_ms {
            Some(ms) => format!("first record after {}", milliseconds(ms)),
            None => "no record".into(),
        };
        let text = format!(
            "{name}: {}, {}, {first}, {} in all: {}",
            plural(launch.vcpus.into(), "vCPU"),
            plural(launch.asked.len() as u64, "benchmark"),
            milliseconds(launch.wall_ms),
            terminal(&launch.end_detail),
        );
        let well = launch.end == LaunchEnd::Bye;
        let text = if well { text } else { self.style.red(&text) };
        self.line(1, &text);
        for (count, what) in [
            (launch.bad_lines, "damaged line"),
            (launch.stale_records, "record of another launch"),
            (launch.lost_records, "lost record"),
        ] {
            if count > 0 {
                self.line(2, &plural(count, what));
            }
        }
        if !well && !launch.console_tail.trim().is_empty() {
            self.line(2, "the end of its console:");
            for line in console(launch.console_tail.as_bytes()).lines() {
                let line = self.style.dim(&format!("| {line}"));
                self.line(2, &line);
            }
        }
    }

    fn row(&mut self, row: &Row, perturbed: &Perturbed) {
        self.out.push('\n');
        let name = self.style.bold(&terminal(&row.benchmark));
        self.line(1, &format!("{name}  {}", terminal(&row.category)));
        if row.status != Status::Ok {
            self.outcomes(row);
        }
        self.checks(row);
        self.untimed(row);
        let fields: Vec<String> = row
            .conditions
            .iter()
            .map(|(key, v)| format!("{} {}", terminal(key), plain(v)))
            .collect();
        if !fields.is_empty() {
            self.line(2, &self.style.dim(&fields.join(", ")));
        }
        for metric in &row.metrics {
            if row.status == Status::Failed {
                self.line(2, "its samples mean nothing, so they are not shown");
            } else if let Some(summary) = Summary::of(metric, perturbed) {
                self.summary(&metric.name, &summary);
                self.band(&summary);
            }
        }
        for view in &row.host {
            self.host(view);
        }
    }

    /// The host's view of one boot: vCPUs that left their CPU, and the host's counts by reason.
    fn host(&mut self, view: &HostView) {
        for how in &view.strayed {
            let text = format!(
                "boot {}: pinning did not hold: {}",
                view.boot,
                terminal(how)
            );
            self.line(2, &self.style.red(&text));
        }
        let Some(operations) = view.operations else {
            return;
        };
        let mut parts = vec![plural(operations, "operation")];
        let mut counts = |name: &str, counts: &BTreeMap<String, u64>| {
            if !counts.is_empty() {
                let counts = counts.iter().map(|(reason, n)| {
                    let n = number::value(*n as f64, "count");
                    format!("{} {n}", terminal(reason))
                });
                parts.push(format!("{name} {}", counts.collect::<Vec<_>>().join(", ")));
            }
        };
        counts("returns to the monitor:", &view.returns);
        if let Some(kvm) = &view.kvm {
            counts("KVM's counters:", kvm);
        }
        if let (Some(before), Some(after)) = (view.pages_before, view.pages_after) {
            parts.push(format!("the host's pages: {before} before, {after} after"));
        }
        let text = format!("boot {} on the host: {}", view.boot, parts.join("; "));
        self.line(2, &self.style.dim(&text));
    }

    /// The boots of the row without external time, and why.
    fn untimed(&mut self, row: &Row) {
        for outcome in &row.outcomes {
            if let Some(why) = &outcome.external {
                let text = format!("boot {}, from outside: {}", outcome.boot, terminal(why));
                self.line(2, &text);
            }
        }
    }

    /// Writes a line for each verdict. Notes with a measured number differ from boot to boot, so only the first is
    /// shown.
    fn checks(&mut self, row: &Row) {
        for verdict in [Verdict::Proved, Verdict::Unproven, Verdict::Failed] {
            let mut notes: Vec<&str> = Vec::new();
            for check in row.outcomes.iter().filter_map(|o| o.check.as_ref()) {
                if check.verdict == verdict && !notes.contains(&check.note.as_str()) {
                    notes.push(&check.note);
                }
            }
            let Some((first, others)) = notes.split_first() else {
                continue;
            };
            let mut text = format!("check {}: {}", verdict_word(verdict), terminal(first));
            if !others.is_empty() {
                text.push_str(" (worded differently in other boots)");
            }
            self.line(2, &text);
        }
    }

    fn outcomes(&mut self, row: &Row) {
        let word = row.status.word();
        let reason = terminal(row.reason.as_deref().unwrap_or("no reason is given")).into_owned();
        let text = format!("{word}: {reason}");
        let text = if row.status == Status::Skip {
            text
        } else {
            self.style.red(&text)
        };
        self.line(2, &text);
        let unlike = row
            .outcomes
            .iter()
            .any(|outcome| outcome.status != row.status);
        for outcome in row.outcomes.iter().filter(|_| unlike) {
            let reason = outcome
                .reason
                .as_deref()
                .map_or(String::new(), |r| format!(": {}", terminal(r)));
            self.line(
                3,
                &format!("boot {} {}{reason}", outcome.boot, outcome.status.word()),
            );
        }
    }

    /// Writes the figure of a metric and its boots. Boots that agree are one line.
    fn summary(&mut self, name: &str, summary: &Summary) {
        let unit = terminal(&summary.unit).into_owned();
        let value = number::value(summary.value, &summary.unit);
        let agreement = match (summary.exact, summary.spread) {
            (Some(true), _) => format!(", exact over {} boots", summary.boots.len()),
            (exact, Some(spread)) => {
                let inexact = if exact == Some(false) {
                    "not exact, "
                } else {
                    ""
                };
                let boots = summary.boots.len();
                format!(", {inexact}spread {} over {boots} boots", percent(spread))
            }
            (_, None) => String::new(),
        };
        let agreement = match summary.is_near_zero() {
            true => format!("{agreement}; the cost cannot be told from zero"),
            false => agreement,
        };
        self.line(2, &format!("{} {value} {unit}{agreement}", terminal(name)));
        self.dispersion(summary);
        let exact = summary.exact == Some(true);
        for boot in summary
            .boots
            .iter()
            .take(if exact { 1 } else { usize::MAX })
        {
            let which = if exact {
                "each boot".into()
            } else {
                format!("boot {}", boot.boot)
            };
            self.estimate(&which, boot, &summary.unit);
        }
    }

    /// The interval of the value, the scatter of boots and samples, and outliers.
    fn dispersion(&mut self, summary: &Summary) {
        let value = |v: f64| number::value(v, &summary.unit);
        let mut parts = Vec::new();
        if let Some(interval) = summary.interval() {
            let confidence = percent(ws_analysis::CONFIDENCE);
            let (low, high) = (value(interval.low), value(interval.high));
            parts.push(format!("{confidence} interval over boots [{low}, {high}]"));
        }
        // A fraction of a value near zero means nothing.
        let scatter = |fraction: Option<f64>| fraction.filter(|_| !summary.is_near_zero());
        if let Some(between) = scatter(summary.scatter_between()) {
            parts.push(format!("boots scatter by {}", percent(between)));
        }
        if let Some(within) = scatter(summary.scatter_within()) {
            parts.push(format!("samples within a boot by {}", percent(within)));
        }
        if !parts.is_empty() {
            self.line(3, &parts.join(", "));
        }
        let far = summary.outlying_boots();
        if !far.is_empty() && summary.exact.is_none() {
            let far: Vec<String> = far.iter().map(u32::to_string).collect();
            self.line(3, &format!("far from the others: boot {}", far.join(", ")));
        }
    }

    /// The band of the value over perturbed boots.
    fn band(&mut self, summary: &Summary) {
        let Some(Band { low, high }) = summary.band() else {
            return;
        };
        let value = |v: f64| number::value(v, &summary.unit);
        let perturbed = summary.perturbed.len();
        let text = match low == high {
            true => format!("invariant: {perturbed} perturbed boots give the same"),
            false => format!(
                "not invariant: with {perturbed} perturbed boots it ranges from {} to {}",
                value(low),
                value(high)
            ),
        };
        self.line(3, &text);
    }

    fn estimate(&mut self, which: &str, boot: &BootEstimate, unit: &str) {
        let [min, median, mean, max] =
            [boot.min, boot.median, boot.mean, boot.max].map(|value| number::value(value, unit));
        let samples = plural(boot.samples as u64, "sample");
        let operations = plural(boot.iterations, "operation");
        self.line(
            3,
            &format!("{which}: {samples} of {operations}: min {min}, median {median}, mean {mean}, max {max}"),
        );
        if !boot.outliers.is_empty() {
            let far = plural(boot.outliers.len() as u64, "sample");
            self.line(
                4,
                &format!("{far} far from the others, but included in all figures"),
            );
        }
        if let Some(histogram) = boot.histogram.as_ref().filter(|h| h.bars.len() > 1) {
            self.histogram(histogram);
        }
    }

    fn histogram(&mut self, histogram: &Histogram) {
        let mut bars = histogram.bars.clone();
        // By count first, so that the limit drops the rarest costs; the bars that remain are shown by cost.
        bars.sort_by_key(|&(cost, count)| (std::cmp::Reverse(count), cost));
        let left_out: u64 = bars.iter().skip(MAX_BARS).map(|&(_, count)| count).sum();
        bars.truncate(MAX_BARS);
        let longest = bars.first().map_or(1, |&(_, count)| count);
        bars.sort();
        let mut sheet = Sheet::new([
            Column::number(""),
            Column::text("").after(1),
            Column::number("").after(1),
            Column::text("").after(1),
        ]);
        sheet.extend(bars.iter().map(|(cost, count)| {
            let columns = (count * BAR_COLUMNS).div_ceil(longest);
            let bar = "#".repeat(usize::try_from(columns).unwrap_or(0));
            [cost.to_string(), "x".to_owned(), count.to_string(), bar]
        }));
        self.out += &sheet.to_terminal(&"  ".repeat(4));
        if left_out > 0 {
            let costs = histogram.bars.len() - MAX_BARS;
            self.line(
                4,
                &format!(
                    "and {} of {} other costs",
                    plural(left_out, "sample"),
                    costs
                ),
            );
        }
    }
}

/// A JSON value without the quotes of a string, escaped.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => terminal(text).into_owned(),
        other => terminal(&other.to_string()).into_owned(),
    }
}

/// `1 sample`, `20,000 operations`, `2 records of another launch`.
fn plural(count: u64, what: &str) -> String {
    let (noun, rest) = what
        .split_once(' ')
        .filter(|_| what.starts_with("record "))
        .unwrap_or((what, ""));
    let ending = if count == 1 { "" } else { "s" };
    let space = if rest.is_empty() { "" } else { " " };
    let count = number::value(count as f64, "count");
    format!("{count} {noun}{ending}{space}{rest}")
}

fn milliseconds(ms: u64) -> String {
    if ms < 1000 {
        format!("{ms} ms")
    } else {
        format!("{:.1} s", ms as f64 / 1000.0)
    }
}
