//! The table of measured servers.

use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;
use ws_report::page::{Crowd, crowd};
use ws_results::{ResultFile, Row, Samples};

/// The format version of the JSON.
const SCHEMA: &str = "worldswitch-io-servers/1";

/// The table as data. Medians are over rounds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Servers {
    /// Always `worldswitch-io-servers/1`.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// Rows: one for each load and server.
    rows: Vec<Line>,
}

/// A server under a load.
#[derive(Debug, Serialize, JsonSchema)]
struct Line {
    load: String,
    server: String,
    /// Absent if nothing was measured, with the reason in `why`.
    requests_per_s: Option<Over>,
    /// Requests a second of the load's first server divided by those of this one, in the same round. Absent for the
    /// first.
    of_first: Option<Over>,
    latency_p50_ns: Option<f64>,
    latency_p99_ns: Option<f64>,
    /// Kicks of one request.
    kicks: Option<f64>,
    /// Calls of one request.
    calls: Option<f64>,
    /// The server's processor time for one request; absent if it is not known.
    server_cpu_ns: Option<f64>,
    /// Fairness among devices (Jain's index): 1 if all got the same.
    jain: Option<f64>,
    /// Blocks that were compared with the written data; a lower bound.
    compared: Option<f64>,
    /// Bytes a second of a stream of frames, without virtio headers.
    bytes_per_s: Option<f64>,
    why: Option<String>,
}

/// Statistics over rounds.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct Over {
    least: f64,
    median: f64,
    most: f64,
}

impl Over {
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        Some(Self {
            least: *values.first()?,
            median: ws_analysis::median(&values)?,
            most: *values.last()?,
        })
    }
}

/// Samples of one metric in each boot.
fn boots<'a>(row: &'a Row, metric: &str) -> &'a [Samples] {
    let metric = row.metrics.iter().find(|other| other.name == metric);
    metric.map_or(&[], |metric| &metric.boots)
}

/// Applies `of` to each boot's samples of one metric.
fn over(row: &Row, metric: &str, of: impl Fn(&Samples) -> f64) -> Option<Over> {
    Over::of(boots(row, metric).iter().map(of).collect())
}

/// Requests a second of the first server divided by those of this one. Time per request is the inverse.
fn of_first(first: &Row, row: &Row) -> Option<Over> {
    let pairs = boots(row, "cost").iter().filter_map(|its| {
        let firsts = boots(first, "cost")
            .iter()
            .find(|firsts| firsts.boot == its.boot)?;
        Some(ratio(its) / ratio(firsts))
    });
    Over::of(pairs.collect())
}

fn mean(samples: &Samples) -> f64 {
    samples.run.iter().sum::<u64>() as f64 / samples.run.len() as f64
}

fn ratio(samples: &Samples) -> f64 {
    samples.run.iter().sum::<u64>() as f64 / samples.iterations as f64
}

/// Jain's fairness index: 1 if all devices got the same (Jain, Chiu, Hawe; DEC-TR-301, 1984).
fn jain(samples: &Samples) -> f64 {
    let sum: f64 = samples.run.iter().map(|&n| n as f64).sum();
    let squares: f64 = samples.run.iter().map(|&n| (n as f64).powi(2)).sum();
    sum * sum / (samples.run.len() as f64 * squares)
}

impl Line {
    /// Makes a line. `first`: the row of the load's first server, if that is another server.
    fn of(server: &str, row: &Row, first: Option<&Row>) -> Self {
        let median = |metric: &str, of: fn(&Samples) -> f64| Some(over(row, metric, of)?.median);
        // Time per request is a ratio of sums; its inverse is throughput.
        let rate = over(row, "cost", |samples| 1e9 / ratio(samples));
        let compared = over(row, "compared", |samples| {
            samples.run.iter().sum::<u64>() as f64
        });
        let why = || {
            row.reason
                .as_deref()
                .unwrap_or("nothing was measured")
                .to_owned()
        };
        Self {
            load: row.benchmark.clone(),
            server: server.to_owned(),
            latency_p50_ns: median("latency_p50", mean),
            latency_p99_ns: median("latency_p99", mean),
            kicks: median("kicks", ratio),
            calls: median("calls", ratio),
            server_cpu_ns: median("server_cpu", mean),
            jain: median("requests", jain),
            compared: compared.map(|compared| compared.least),
            bytes_per_s: median("bytes", |samples| samples.run.iter().sum::<u64>() as f64),
            why: rate.is_none().then(why),
            requests_per_s: rate,
            of_first: first.and_then(|first| of_first(first, row)),
        }
    }

    /// Cells of the columns after load and server.
    fn cells(&self) -> String {
        let Some(rate) = self.requests_per_s else {
            let why = self.why.as_deref().unwrap_or_default();
            return ws_text::terminal(why).into_owned();
        };
        let times = self.of_first.map_or(String::new(), |of| {
            format!("{:.2} ({:.2} to {:.2})", of.median, of.least, of.most)
        });
        let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let range = format!("{:.0} to {:.0}", rate.least, rate.most);
        let cpu = self.server_cpu_ns;
        let cpu = cpu.map_or("-".to_owned(), |cpu| format!("{:.2}", cpu / 1e3));
        let compared = self.compared.map_or(String::new(), |compared| {
            format!("  {compared:.0} or more blocks compared")
        });
        let bytes = self
            .bytes_per_s
            .map_or(String::new(), |bytes| format!("  {:.2} GB/s", bytes / 1e9));
        format!(
            "{:>10.0} {range:>21} {times:>22} {:>9.1} {:>9.1} {:>9.4} {:>9.4} {cpu:>10} {:>6.3}{compared}{bytes}",
            rate.median,
            or_nan(self.latency_p50_ns) / 1e3,
            or_nan(self.latency_p99_ns) / 1e3,
            or_nan(self.kicks),
            or_nan(self.calls),
            or_nan(self.jain),
        )
    }
}

impl Servers {
    /// Makes the table of these results, by load.
    pub fn of(results: &[ResultFile]) -> Self {
        let mut loads: Vec<&str> = Vec::new();
        for row in results.iter().flat_map(|result| &result.rows) {
            if !loads.contains(&row.benchmark.as_str()) {
                loads.push(&row.benchmark);
            }
        }
        let mut rows = Vec::new();
        for load in loads {
            let mut of_load = results
                .iter()
                .filter_map(|result| Some((result, result.row(load)?)));
            let Some((result, first)) = of_load.next() else {
                continue;
            };
            rows.push(Line::of(&result.platform, first, None));
            rows.extend(of_load.map(|(result, row)| Line::of(&result.platform, row, Some(first))));
        }
        Self {
            schema: SCHEMA,
            rows,
        }
    }

    /// Formats a line for each load and server.
    pub fn to_terminal(&self) -> String {
        let mut text = String::new();
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "{:<28} {:<27} {:>10} {:>21} {:>22} {:>9} {:>9} {:>9} {:>9} {:>10} {:>6}",
            "load",
            "server",
            "requests/s",
            "least to greatest",
            "first server's / it",
            "p50 us",
            "p99 us",
            "kicks/req",
            "calls/req",
            "cpu us/req",
            "Jain"
        );
        let mut before = "";
        for row in &self.rows {
            let load = if row.load == before { "" } else { &row.load };
            let _ = writeln!(text, "{load:<28} {:<27} {}", row.server, row.cells());
            before = &row.load;
        }
        text
    }
}

/// Returns the remark on clients that shared CPUs; `None` if each had its own.
pub fn crowded(results: &[ResultFile]) -> Option<String> {
    let Crowd { clients, cpus } = crowd(results)?;
    let those = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    let cpus: Vec<String> = cpus.iter().map(u64::to_string).collect();
    Some(format!(
        "up to {clients} clients shared {those} {}: when these are saturated, they limit all servers, and curves \
         over devices differ from those of a machine with {} CPUs, such as the paper's",
        cpus.join(", "),
        clients + 1
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Replies, Writes};
    use crate::load::{Group, Load, Work};
    use crate::measure::Setting;
    use crate::results::Run;
    use crate::server::Disk;
    use std::time::{Duration, SystemTime};

    #[test]
    fn clients_that_share_cpus_are_reported() {
        let group = |name: &str, devices| Group {
            name: name.to_owned(),
            role: name.to_owned(),
            devices,
            depth: 1,
            work: Work::Disk(Writes::Percent(0)),
            think: Duration::ZERO,
            weight: 1,
        };
        let mut load = Load {
            experiment: "mixed".to_owned(),
            step: 1,
            groups: vec![group("a", 2), group("b", 1)],
            replies: Replies::Eventfd,
            one_client: false,
            disk: Disk::Null,
            verify: false,
        };
        let told = |load: &Load, cpus: &[u32]| {
            let mut run = Run::new(&"elvis".parse().unwrap());
            run.expect(std::slice::from_ref(load));
            let setting = Setting {
                elvis: "elvis".into(),
                storage_daemon: Vec::new(),
                files: "/".into(),
                testpmd: None,
                folder: "/tmp".into(),
                client: ("client".into(), Vec::new()),
                io_cpu: 9,
                client_cpus: cpus.to_vec(),
                warmup: Duration::ZERO,
                measure: Duration::ZERO,
            };
            let result = run.finish(
                &setting,
                "worldswitch".into(),
                SystemTime::UNIX_EPOCH,
                false,
            );
            let servers = Servers::of(std::slice::from_ref(&result));
            let json = serde_json::to_string(&servers).unwrap();
            ws_results::schema_check::valid(&json, "io-servers");
            crowded(&[result])
        };
        assert_eq!(told(&load, &[0, 1, 2]), None);
        let text = told(&load, &[0, 2]).unwrap();
        assert!(
            text.starts_with("up to 3 clients shared CPUs 0, 2: "),
            "{text}"
        );
        assert!(text.contains("with 4 CPUs"), "{text}");
        load.one_client = true;
        assert_eq!(told(&load, &[0]), None);
    }

    #[test]
    fn the_first_server_is_compared_in_rounds_that_both_have() {
        let row = |costs: &[(u32, u64)]| {
            let mut row = Row::new("load", "io");
            for &(boot, cost) in costs {
                let samples = Samples {
                    boot,
                    iterations: 10,
                    run: vec![cost],
                    ..Samples::default()
                };
                row.add("cost", "ns", samples);
            }
            row
        };
        let first = row(&[(1, 100), (2, 200), (3, 100)]);
        let of = of_first(&first, &row(&[(3, 400), (2, 400), (4, 1)])).unwrap();
        assert_eq!((of.least, of.median, of.most), (2.0, 3.0, 4.0));
        assert!(of_first(&first, &row(&[(4, 1)])).is_none());
    }

    #[test]
    fn fairness() {
        let of = |run: &[u64]| {
            jain(&Samples {
                run: run.to_vec(),
                ..Samples::default()
            })
        };
        assert!((of(&[5, 5, 5]) - 1.0).abs() < 1e-12);
        assert!((of(&[1, 0, 0]) - 1.0 / 3.0).abs() < 1e-12);
    }
}
