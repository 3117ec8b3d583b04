//! What servers did, as result files: a platform is a server, a boot a round, a row a group of devices.

use crate::time;
use serde_json::json;
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, SystemTime};
use ws_io::client::Replies;
use ws_io::measure::{Group, Outcome, Setting};
use ws_io::server::{Disk, Server};
use ws_results::{
    Boot, Identity, Launch, LaunchEnd, Metric, ResultFile, Row, SCHEMA, Samples, Status,
};

/// The result file of one server, while it grows.
pub struct Run {
    server: String,
    boots: Vec<Boot>,
    rows: Vec<Row>,
}

impl Run {
    /// With rows for all groups of all loads, and nothing in them.
    pub fn new(server: &Server, loads: &[Vec<Group>]) -> Self {
        let rows = loads.iter().flatten().map(|group| Row {
            benchmark: group.name.clone(),
            category: "io".to_owned(),
            status: Status::Unreached,
            reason: Some("the run was stopped before".to_owned()),
            outcomes: Vec::new(),
            conditions: conditions(group),
            exact: None,
            metrics: Vec::new(),
            host: Vec::new(),
        });
        Self {
            server: server.to_string(),
            boots: Vec::new(),
            rows: rows.collect(),
        }
    }

    /// Adds a round of the load with this number.
    pub fn add(
        &mut self,
        round: u32,
        load: usize,
        groups: &[Group],
        wall: Duration,
        got: anyhow::Result<Vec<Outcome>>,
    ) {
        if self.boots.last().is_none_or(|boot| boot.boot != round) {
            self.boots.push(Boot {
                boot: round,
                launches: Vec::new(),
                perturbed: None,
            });
        }
        let mut at = 0;
        if let Some(boot) = self.boots.last_mut() {
            at = u32::try_from(boot.launches.len()).unwrap_or(u32::MAX);
            boot.launches.push(launch(round, load, groups, wall, &got));
        }
        let got = got.map_err(|error| (status(&error), format!("{error:#}")));
        for (number, group) in groups.iter().enumerate() {
            let named = |row: &&mut Row| row.benchmark == group.name;
            let Some(row) = self.rows.iter_mut().find(named) else {
                continue;
            };
            let (status, reason) = match &got {
                Ok(outcomes) => {
                    add_samples(&mut row.metrics, round, at, &outcomes[number]);
                    (Status::Ok, None)
                }
                Err((status, reason)) => (*status, Some(reason.clone())),
            };
            // The first that is not ok stays.
            if matches!(row.status, Status::Unreached | Status::Ok) {
                (row.status, row.reason) = (status, reason.clone());
            }
            row.outcomes.push(ws_results::Outcome {
                boot: round,
                status,
                reason,
                check: None,
                external: None,
            });
        }
    }

    /// The whole file.
    pub fn finish(self, setting: &Setting, created: SystemTime, interrupted: bool) -> ResultFile {
        let subject = [
            ("platform", json!(self.server)),
            ("server", json!(self.server)),
        ];
        let host = ws_machines::host::Host::read();
        let conditions = [
            ("unit", json!("ns")),
            ("block_bytes", json!(ws_io::client::BLOCK)),
            ("disk", json!(setting.disk.name())),
            ("disk_bytes", json!(ws_io::server::DISK_BYTES)),
            ("io_cpu", json!(setting.place.io_cpu)),
            ("client_cpus", json!(setting.client_cpus)),
            (
                "work_ns",
                match setting.disk {
                    Disk::Work(ns) => json!(ns),
                    _ => json!(0),
                },
            ),
            ("think_ns", json!(setting.think.as_nanos() as u64)),
            ("write_percent", json!(setting.write_percent)),
            ("measure_ms", json!(time::millis(setting.measure))),
        ];
        let owned = |fields: &[(&str, serde_json::Value)]| -> BTreeMap<_, _> {
            let fields = fields.iter();
            fields
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect()
        };
        let mut identity = Identity {
            subject: owned(&subject),
            conditions: owned(&conditions),
        };
        host.describe(&mut identity);
        ResultFile {
            schema: SCHEMA.to_owned(),
            created: time::rfc3339(created),
            tool: concat!("worldswitch ", env!("CARGO_PKG_VERSION")).to_owned(),
            command: std::env::args().collect(),
            platform: self.server,
            identity,
            disturbances: None,
            interrupted,
            boots: self.boots,
            rows: self.rows,
        }
    }
}

fn conditions(group: &Group) -> BTreeMap<String, serde_json::Value> {
    let replies = match group.replies {
        Replies::Eventfd => "eventfd",
        Replies::Poll => "poll",
    };
    [
        ("devices", json!(group.devices)),
        ("one_client", json!(group.together)),
        ("depth", json!(group.depth)),
        ("replies", json!(replies)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// What can't be started because it is not there is no failure of it.
fn status(error: &anyhow::Error) -> Status {
    let missing = |cause: &(dyn std::error::Error + 'static)| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|cause| cause.kind() == io::ErrorKind::NotFound)
    };
    if error.chain().any(missing) {
        Status::Skip
    } else {
        Status::Died
    }
}

fn launch(
    round: u32,
    load: usize,
    groups: &[Group],
    wall: Duration,
    got: &anyhow::Result<Vec<Outcome>>,
) -> Launch {
    let (end, end_detail) = match got {
        Ok(_) => (LaunchEnd::Bye, "all clients did their work".to_owned()),
        Err(error) => (LaunchEnd::Died, format!("{error:#}")),
    };
    Launch {
        nonce: format!("{:x}", u64::from(round) << 32 | load as u64),
        vcpus: 0,
        asked: groups.iter().map(|group| group.name.clone()).collect(),
        hello: None,
        first_record_ms: None,
        wall_ms: time::millis(wall),
        end,
        end_detail,
        bad_lines: 0,
        stale_records: 0,
        lost_records: 0,
        console_tail: String::new(),
    }
}

fn add_samples(metrics: &mut Vec<Metric>, boot: u32, launch: u32, outcome: &Outcome) {
    let devices = &outcome.devices;
    let requests: u64 = devices.iter().map(|device| device.requests).sum();
    let each = |what: fn(&ws_io::client::Counted) -> u64| devices.iter().map(what).collect();
    let all = |what: fn(&ws_io::client::Counted) -> u64| vec![devices.iter().map(what).sum()];
    let elapsed_ns = devices.iter().map(|device| device.elapsed_ns).max();
    let mut add = |name: &str, unit: &str, iterations: u64, run: Vec<u64>| {
        if run.is_empty() || iterations == 0 {
            return;
        }
        let at = metrics.iter().position(|metric| metric.name == name);
        let at = at.unwrap_or_else(|| {
            metrics.push(Metric {
                name: name.to_owned(),
                unit: unit.to_owned(),
                boots: Vec::new(),
            });
            metrics.len() - 1
        });
        metrics[at].boots.push(Samples {
            boot,
            launch,
            iterations,
            control: vec![0; run.len()],
            run,
            ..Samples::default()
        });
    };
    // Time for one request, all devices together: the inverse of throughput.
    add("cost", "ns", requests, elapsed_ns.into_iter().collect());
    add("latency_p50", "ns", 1, each(|device| device.latency_p50_ns));
    add("latency_p99", "ns", 1, each(|device| device.latency_p99_ns));
    add(
        "requests",
        "per_s",
        1,
        each(|device| {
            let per_s = u128::from(device.requests) * 1_000_000_000;
            (per_s / u128::from(device.elapsed_ns.max(1))) as u64
        }),
    );
    add("kicks", "count", requests, all(|device| device.kicks));
    add("calls", "count", requests, all(|device| device.calls));
    add(
        "server_cpu",
        "ns",
        1,
        outcome.server_ns.into_iter().collect(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use ws_io::client::Counted;

    fn group(name: &str, devices: usize) -> Group {
        Group {
            name: name.to_owned(),
            devices,
            together: false,
            depth: 1,
            replies: Replies::Poll,
        }
    }

    fn outcome(requests: &[u64]) -> Outcome {
        let device = |&requests: &u64| Counted {
            requests,
            elapsed_ns: 1_000_000,
            kicks: 1,
            ..Counted::default()
        };
        Outcome {
            devices: requests.iter().map(device).collect(),
            server_ns: Some(7),
        }
    }

    #[test]
    fn rounds_become_boots_and_failures_stay_seen() {
        let load = [group("a", 2), group("b", 1)];
        let mut run = Run::new(&"elvis".parse().unwrap(), &[load.to_vec()]);
        let wall = Duration::from_millis(5);
        run.add(
            1,
            0,
            &load,
            wall,
            Ok(vec![outcome(&[300, 100]), outcome(&[50])]),
        );
        run.add(2, 0, &load, wall, Err(anyhow::anyhow!("it hung")));
        run.add(
            3,
            0,
            &load,
            wall,
            Ok(vec![outcome(&[200, 200]), outcome(&[60])]),
        );
        assert_eq!(run.boots.len(), 3);
        let row = &run.rows[0];
        assert_eq!(
            (row.status, row.reason.as_deref()),
            (Status::Died, Some("it hung"))
        );
        let statuses: Vec<_> = row.outcomes.iter().map(|outcome| outcome.status).collect();
        assert_eq!(statuses, [Status::Ok, Status::Died, Status::Ok]);
        let metric = |name: &str| {
            row.metrics
                .iter()
                .find(|metric| metric.name == name)
                .unwrap()
        };
        let cost = &metric("cost").boots[0];
        assert_eq!((cost.iterations, &cost.run[..]), (400, &[1_000_000][..]));
        assert_eq!(metric("requests").boots[0].run, [300_000, 100_000]);
        assert_eq!(metric("kicks").boots[1].run, [2]);
        assert_eq!(metric("cost").boots.len(), 2);
    }
}
