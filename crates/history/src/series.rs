//! A benchmark over time or over kernels.

use crate::{Kernels, Point, line_of};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use ws_text::{Set, Sheet, terminal};

/// Order of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Date,
    /// By the kernel's version. A value is the median of all runs of a kernel.
    Kernel,
}

/// Length of the longest bar of a plot in the terminal, in columns.
const BAR: f64 = 40.0;

/// The format version of the JSON.
const SERIES: &str = "worldswitch-series/1";

/// A benchmark over time or over kernels, as JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Series<'a> {
    /// Always `worldswitch-series/1`.
    #[schemars(extend("const" = SERIES))]
    schema: &'static str,
    benchmark: &'a str,
    /// Lines: one for each platform and unit. By date, lines in time are also separate for each host.
    lines: &'a [Line],
}

/// Values of the benchmark on a platform.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SeriesLine")]
pub struct Line {
    platform: String,
    /// Host that measured, in a line by date and in time; else null.
    host: Option<String>,
    pub unit: String,
    pub values: Vec<SeriesValue>,
}

/// A value.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct SeriesValue {
    /// Date or kernel.
    pub at: String,
    /// Cost of one operation.
    pub value: f64,
}

impl<'a> Series<'a> {
    /// Makes the JSON of a benchmark's lines.
    pub fn of(benchmark: &'a str, lines: &'a [Line]) -> Self {
        Self {
            schema: SERIES,
            benchmark,
            lines,
        }
    }
}

impl Line {
    /// Formats the platform, with the host if the line has one.
    pub fn name(&self) -> String {
        match &self.host {
            None => self.platform.clone(),
            Some(host) => format!("{} on {host}", self.platform),
        }
    }
}

/// Makes a line for each platform and unit; by date and in time, also for each host. By kernel, a value is the median
/// of the kernel's runs, and a machine with all its kernels is one line.
pub fn lines(points: &[Point], by: By) -> Vec<Line> {
    let mut lines: BTreeMap<_, Vec<(&Point, String)>> = BTreeMap::new();
    for point in points {
        let run = &point.run;
        let (platform, host, at) = match by {
            By::Date => (run.platform.clone(), &*run.judged_on, run.created.clone()),
            By::Kernel => {
                let (machine, kernel) = line_of(&run.platform, version(point));
                (machine, "", kernel)
            }
        };
        let line = lines.entry((platform, host, &*point.unit));
        line.or_default().push((point, at));
    }
    lines
        .into_iter()
        .map(|((platform, host, unit), here)| Line {
            platform,
            host: Some(host.to_owned()).filter(|host| !host.is_empty()),
            unit: unit.to_owned(),
            values: match by {
                By::Date => {
                    let values = here.into_iter();
                    let of = |(point, at): (&Point, _)| SeriesValue {
                        at,
                        value: point.value,
                    };
                    values.map(of).collect()
                }
                By::Kernel => by_kernel(&here),
            },
        })
        .collect()
}

/// The kernel of a point's run.
fn version(point: &Point) -> &str {
    point.run.kernel.as_deref().unwrap_or("unknown")
}

fn by_kernel(points: &[(&Point, String)]) -> Vec<SeriesValue> {
    let mut kernels = Kernels::default();
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (point, kernel) in points {
        kernels.add(version(point), kernel, &point.run.created);
        values.entry(kernel).or_default().push(point.value);
    }
    let kernels = kernels.in_order().into_iter();
    let medians = kernels.filter_map(|kernel| {
        let value = ws_analysis::median(values.get(&*kernel)?)?;
        Some(SeriesValue { at: kernel, value })
    });
    medians.collect()
}

impl Line {
    /// Formats one line per value: its label, the value, and a bar from zero.
    pub fn to_text(&self, benchmark: &str) -> String {
        let values = self.values.iter();
        let greatest = values.map(|one| one.value.abs()).fold(0.0, f64::max);
        let mut sheet = Sheet::list([Set::Text, Set::Number, Set::Text]);
        sheet.extend(self.values.iter().map(|SeriesValue { at, value }| {
            // Without any cost, 0 / 0: such a bar is empty too.
            let share = value.max(0.0) / greatest;
            let bar = "#".repeat((share * BAR).round() as usize);
            [at.clone(), ws_report::value(*value, &self.unit), bar]
        }));
        format!(
            "{} on {}, {} for one operation\n{}",
            terminal(benchmark),
            terminal(&self.name()),
            terminal(&self.unit),
            sheet.to_terminal("  ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;

    fn value(at: &str, value: f64) -> SeriesValue {
        SeriesValue {
            at: at.into(),
            value,
        }
    }

    fn point(kernel: &str, value: f64) -> Point {
        Point {
            run: Run {
                id: 1,
                created: "2026-01-01T00:00:00Z".into(),
                platform: format!("lab:kvm@{kernel}"),
                host: String::new(),
                judged_on: String::new(),
                kernel: Some(kernel.into()),
                tool: String::new(),
                command: String::new(),
                pinned: false,
            },
            unit: "insns".into(),
            value,
            boots: 2,
            exact: Some(true),
        }
    }

    #[test]
    fn kernels_are_in_the_order_of_their_versions_and_variants_are_one_line() {
        let points = [point("6.12", 3.0), point("6.9", 1.0), point("6.12", 5.0)];
        let lines = lines(&points, By::Kernel);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].platform, "lab:kvm");
        assert_eq!(lines[0].values, [value("6.9", 1.0), value("6.12", 4.0)]);
    }

    #[test]
    fn commits_of_one_version_are_in_the_order_in_which_they_were_measured() {
        let commit = |name: &str, created: &str| {
            let mut point = point("6.12", 1.0);
            point.run.platform = format!("lab:kvm@/k/{name}");
            point.run.created = created.into();
            point
        };
        let points = [commit("bbb", "2026-03-01"), commit("aaa", "2026-03-02")];
        let lines = lines(&points, By::Kernel);
        let names: Vec<&str> = lines[0].values.iter().map(|one| &*one.at).collect();
        assert_eq!(names, ["6.12 bbb", "6.12 aaa"]);
    }

    #[test]
    fn a_bar_is_as_long_as_its_value() {
        let line = Line {
            platform: "x".into(),
            host: None,
            unit: "insns".into(),
            values: vec![value("a", 4.0), value("bb", 2.0), value("c", -1.0)],
        };
        let text = line.to_text("in");
        let bars: Vec<usize> = text
            .lines()
            .skip(1)
            .map(|line| line.matches('#').count())
            .collect();
        assert_eq!(bars, [40, 20, 0]);
    }
}
