//! The table of `worldswitch io`.

use std::fmt::Write;
use ws_report::page::{Crowd, crowd};
use ws_results::{ResultFile, Row, Samples};

/// Minimum, median and maximum over boots, one value per boot.
struct Over {
    least: f64,
    median: f64,
    most: f64,
}

/// Applies `of` to each boot's samples of one metric.
fn over(row: &Row, metric: &str, of: impl Fn(&Samples) -> f64) -> Option<Over> {
    let metric = row.metrics.iter().find(|other| other.name == metric)?;
    let mut values: Vec<f64> = metric.boots.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    Some(Over {
        least: *values.first()?,
        median: ws_analysis::statistics::median(&values)?,
        most: *values.last()?,
    })
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

/// One line per load and server: medians over rounds.
pub fn table(results: &[ResultFile]) -> String {
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = writeln!(
        text,
        "{:<28} {:<24} {:>10} {:>21} {:>9} {:>9} {:>9} {:>9} {:>10} {:>6}",
        "load",
        "server",
        "requests/s",
        "least to greatest",
        "p50 us",
        "p99 us",
        "kicks/req",
        "calls/req",
        "cpu us/req",
        "Jain"
    );
    let mut loads: Vec<&str> = Vec::new();
    for row in results.iter().flat_map(|result| &result.rows) {
        if !loads.contains(&row.benchmark.as_str()) {
            loads.push(&row.benchmark);
        }
    }
    for load in loads {
        let mut head = load;
        for result in results {
            let Some(row) = result.row(load) else {
                continue;
            };
            let _ = write!(text, "{head:<28} {:<24} ", result.platform);
            head = "";
            let _ = writeln!(text, "{}", line(row));
        }
    }
    text
}

/// The columns after load and server.
fn line(row: &Row) -> String {
    // Time per request is a ratio of sums; its inverse is throughput.
    let rate = over(row, "cost", |samples| 1e9 / ratio(samples));
    let Some(rate) = rate else {
        let reason = row.reason.as_deref().unwrap_or("nothing was measured");
        return ws_report::text::terminal(reason).into_owned();
    };
    let median = |metric: &str, of: fn(&Samples) -> f64| {
        over(row, metric, of).map_or(f64::NAN, |over| over.median)
    };
    let range = format!("{:.0} to {:.0}", rate.least, rate.most);
    let cpu = over(row, "server_cpu", mean)
        .map_or("-".to_owned(), |cpu| format!("{:.2}", cpu.median / 1e3));
    let compared = over(row, "compared", |samples| {
        samples.run.iter().sum::<u64>() as f64
    });
    let compared = compared.map_or(String::new(), |compared| {
        format!("  {:.0} or more blocks compared", compared.least)
    });
    format!(
        "{:>10.0} {range:>21} {:>9.1} {:>9.1} {:>9.4} {:>9.4} {cpu:>10} {:>6.3}{compared}",
        rate.median,
        median("latency_p50", mean) / 1e3,
        median("latency_p99", mean) / 1e3,
        median("kicks", ratio),
        median("calls", ratio),
        median("requests", jain),
    )
}

/// The remark on clients that shared CPUs; `None` if each had its own.
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
    use crate::commands::io::results::Run;
    use std::time::{Duration, SystemTime};
    use ws_io::client::{Replies, Writes};
    use ws_io::load::{Group, Load};
    use ws_io::measure::Setting;
    use ws_io::server::Disk;

    #[test]
    fn clients_that_share_cpus_are_reported() {
        let group = |name: &str, devices| Group {
            name: name.to_owned(),
            role: name.to_owned(),
            devices,
            depth: 1,
            writes: Writes::Percent(0),
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
        let told = |load: &Load, cpus: &[usize]| {
            let mut run = Run::new(&"elvis".parse().unwrap());
            run.expect(std::slice::from_ref(load));
            let setting = Setting {
                elvis: "elvis".into(),
                folder: "/tmp".into(),
                client: ("client".into(), Vec::new()),
                io_cpu: 9,
                client_cpus: cpus.to_vec(),
                warmup: Duration::ZERO,
                measure: Duration::ZERO,
            };
            crowded(&[run.finish(&setting, SystemTime::UNIX_EPOCH, false)])
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
