//! Result files of measured servers: a platform is a server, a boot a round, a row a group of devices.

use crate::client::{Replies, Writes};
use crate::load::{Group, Load, Work};
use crate::measure::{Outcome, Setting};
use crate::pair::Traffic;
use crate::server::{Disk, Server};
use serde_json::json;
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, SystemTime};
use ws_results::{
    Boot, Check, Identity, Launch, LaunchEnd, ResultFile, Row, SCHEMA, Samples, Status, Verdict,
};
use ws_terminal::time;

/// The result file of one server, while it is being filled.
pub struct Run {
    server: Server,
    boots: Vec<Boot>,
    rows: Vec<Row>,
}

impl Run {
    /// A run without rows.
    pub fn new(server: &Server) -> Self {
        Self {
            server: server.clone(),
            boots: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Whether this is the run of this server.
    pub fn is_of(&self, server: &Server) -> bool {
        self.server == *server
    }

    /// The platform's name in its result file.
    pub fn platform(&self) -> String {
        self.server.to_string()
    }

    /// Adds empty rows for all groups of these loads.
    pub fn expect(&mut self, loads: &[Load]) {
        for load in loads {
            self.rows.extend(load.groups.iter().map(|group| Row {
                reason: Some("the run was stopped before it began".to_owned()),
                conditions: conditions(load, group),
                ..Row::new(&group.name, "io")
            }));
        }
    }

    /// Adds one round of a load.
    pub fn add(
        &mut self,
        round: u32,
        load: &Load,
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
        // A round that failed is a launch too: the file shows that it was tried.
        let mut at = 0;
        if let Some(boot) = self.boots.last_mut() {
            at = u32::try_from(boot.launches.len()).unwrap_or(u32::MAX);
            boot.launches.push(launch(round, at, load, wall, &got));
        }
        let got = got.map_err(|error| (status(&error), format!("{error:#}")));
        for (number, group) in load.groups.iter().enumerate() {
            let named = |row: &&mut Row| row.benchmark == group.name;
            let Some(row) = self.rows.iter_mut().find(named) else {
                continue;
            };
            let (status, reason, check) = match &got {
                Ok(outcomes) => {
                    let outcome = &outcomes[number];
                    add_samples(row, round, at, outcome, load.verify);
                    if let Work::Pair(Traffic::Stream, bytes) = group.work {
                        add_bytes(row, round, at, outcome, bytes);
                    }
                    (Status::Ok, None, load.verify.then(|| check(outcome)))
                }
                Err((status, reason)) => (*status, Some(reason.clone()), None),
            };
            // The first status that is not ok stays.
            if matches!(row.status, Status::Unreached | Status::Ok) {
                (row.status, row.reason) = (status, reason.clone());
            }
            row.outcomes.push(ws_results::Outcome {
                boot: round,
                status,
                reason,
                check,
                external: None,
            });
        }
    }

    /// Finishes the result file; `tool` wrote it.
    pub fn finish(
        self,
        setting: &Setting,
        tool: String,
        created: SystemTime,
        interrupted: bool,
    ) -> ResultFile {
        let (server_cpus, client_cpus) = setting.cpus(&self.server);
        let server = self.platform();
        let pinning = format!("server on CPUs {server_cpus:?}, clients on CPUs {client_cpus:?}");
        let subject = [
            ("platform", json!(server)),
            ("server", json!(server)),
            ("pinning", json!(pinning)),
        ];
        let host = ws_machines::host::Host::read();
        let conditions = [
            ("unit", json!("ns")),
            ("block_bytes", json!(crate::client::BLOCK)),
            ("disk_bytes", json!(crate::server::DISK_BYTES)),
            ("io_cpu", json!(setting.io_cpu)),
            ("client_cpus", json!(setting.client_cpus)),
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
            ..Identity::default()
        };
        host.describe(&mut identity);
        let name = ws_machines::host::name();
        identity
            .subject
            .extend(name.map(|name| ("host".into(), name.into())));
        ResultFile {
            schema: SCHEMA.to_owned(),
            created: time::rfc3339(created),
            tool,
            command: std::env::args().collect(),
            platform: server,
            position: None,
            identity,
            disturbances: None,
            interrupted,
            boots: self.boots,
            rows: self.rows,
        }
    }
}

/// Name of a way in which clients detect replies.
pub(crate) fn word(replies: Replies) -> &'static str {
    match replies {
        Replies::Eventfd => "eventfd",
        Replies::Poll => "poll",
    }
}

/// Conditions that must agree between two compared rows. The report finds a row's place by `experiment`, `step` and
/// `role`.
fn conditions(load: &Load, group: &Group) -> BTreeMap<String, serde_json::Value> {
    let work = match group.work {
        Work::Disk(Writes::Percent(percent)) => vec![("writes", json!(format!("{percent} %")))],
        Work::Disk(Writes::Slots(writers)) => {
            vec![("writes", json!(format!("{writers} of {}", group.depth)))]
        }
        Work::Pair(traffic, bytes) => {
            let traffic = match traffic {
                Traffic::Echo => "echo",
                Traffic::Stream => "stream",
            };
            vec![("traffic", json!(traffic)), ("frame_bytes", json!(bytes))]
        }
    };
    let work_ns = match load.disk {
        Disk::Work(ns) => ns,
        Disk::Null | Disk::Tmpfs | Disk::File => 0,
    };
    let all = [
        ("experiment", json!(load.experiment)),
        ("step", json!(load.step)),
        ("role", json!(group.role)),
        ("devices", json!(group.devices)),
        ("one_client", json!(load.one_client)),
        ("depth", json!(group.depth)),
        ("replies", json!(word(load.replies))),
        ("disk", json!(load.disk.name())),
        ("work_ns", json!(work_ns)),
        ("think_ns", json!(group.think.as_nanos() as u64)),
        ("weight", json!(group.weight)),
        ("verify", json!(load.verify)),
    ];
    let all = all.into_iter().chain(work);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Makes the check of clients that verify what they read.
fn check(outcome: &Outcome) -> Check {
    let compared: u64 = outcome.devices.iter().map(|device| device.compared).sum();
    let verdict = if compared > 0 {
        Verdict::Proved
    } else {
        Verdict::Unproven
    };
    Check {
        verdict,
        note: format!("{compared} blocks were read back unchanged"),
    }
}

/// Status of a failed measurement. A server that is not installed is skipped; any other error is a failure.
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
    number: u32,
    load: &Load,
    wall: Duration,
    got: &anyhow::Result<Vec<Outcome>>,
) -> Launch {
    let (end, end_detail) = match got {
        Ok(_) => (LaunchEnd::Bye, "all clients finished".to_owned()),
        Err(error) => (LaunchEnd::Died, format!("{error:#}")),
    };
    Launch {
        vcpus: 0,
        wall_ms: time::millis(wall),
        end,
        end_detail,
        ..Launch::ended(
            format!("{:x}", u64::from(round) << 32 | u64::from(number)),
            load.groups.iter().map(|group| group.name.clone()).collect(),
        )
    }
}

fn add_samples(row: &mut Row, boot: u32, launch: u32, outcome: &Outcome, verify: bool) {
    let devices = &outcome.devices;
    let requests: u64 = devices.iter().map(|device| device.requests).sum();
    let each = |what: fn(&crate::client::Counted) -> u64| devices.iter().map(what).collect();
    let all = |what: fn(&crate::client::Counted) -> u64| vec![devices.iter().map(what).sum()];
    let elapsed_ns = devices.iter().map(|device| device.elapsed_ns).max();
    let mut add = |name: &str, unit: &str, iterations: u64, run: Vec<u64>| {
        if run.is_empty() || iterations == 0 {
            return;
        }
        let samples = Samples {
            boot,
            launch,
            iterations,
            control: vec![0; run.len()],
            run,
            ..Samples::default()
        };
        row.add(name, unit, samples);
    };
    // Time per request over all devices: the inverse of throughput.
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
    if verify {
        add("compared", "count", 1, each(|device| device.compared));
    }
    add(
        "server_cpu",
        "ns",
        1,
        outcome.server_ns.into_iter().collect(),
    );
}

/// Adds the bytes of frames a second, of each pair.
fn add_bytes(row: &mut Row, boot: u32, launch: u32, outcome: &Outcome, frame_bytes: u32) {
    let per_s = |counted: &crate::client::Counted| {
        let bytes = u128::from(counted.requests) * u128::from(frame_bytes);
        (bytes * 1_000_000_000 / u128::from(counted.elapsed_ns.max(1))) as u64
    };
    let run: Vec<u64> = outcome.devices.iter().map(per_s).collect();
    let samples = Samples {
        boot,
        launch,
        iterations: 1,
        control: vec![0; run.len()],
        run,
        ..Samples::default()
    };
    row.add("bytes", "bytes_per_s", samples);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Counted;

    fn group(name: &str, devices: usize) -> Group {
        Group {
            name: name.to_owned(),
            role: name.to_owned(),
            devices,
            depth: 1,
            work: Work::Disk(Writes::Slots(1)),
            think: Duration::ZERO,
            weight: 1,
        }
    }

    fn outcome(requests: &[u64]) -> Outcome {
        let device = |&requests: &u64| Counted {
            requests,
            elapsed_ns: 1_000_000,
            kicks: 1,
            compared: requests,
            ..Counted::default()
        };
        Outcome {
            devices: requests.iter().map(device).collect(),
            server_ns: Some(7),
        }
    }

    #[test]
    fn rounds_become_boots_and_failures_stay_visible() {
        let load = Load {
            experiment: "mixed".to_owned(),
            step: 2,
            groups: vec![group("a", 2), group("b", 1)],
            replies: Replies::Poll,
            one_client: false,
            disk: Disk::Tmpfs,
            verify: true,
        };
        let mut run = Run::new(&"elvis".parse().unwrap());
        run.expect(std::slice::from_ref(&load));
        let wall = Duration::from_millis(5);
        run.add(
            1,
            &load,
            wall,
            Ok(vec![outcome(&[300, 100]), outcome(&[50])]),
        );
        run.add(2, &load, wall, Err(anyhow::anyhow!("it hung")));
        run.add(
            3,
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
        let check = row.outcomes[0].check.as_ref().unwrap();
        assert_eq!(check.note, "400 blocks were read back unchanged");
        assert_eq!(metric("compared").boots[1].run, [200, 200]);
        assert_eq!(row.conditions["experiment"], "mixed");
        assert_eq!(row.conditions["writes"], "1 of 1");
    }

    #[test]
    fn a_stream_has_bytes() {
        let stream = Group {
            work: Work::Pair(Traffic::Stream, 64),
            ..group("stream", 1)
        };
        let load = Load {
            experiment: "stream".to_owned(),
            step: 64,
            groups: vec![stream],
            replies: Replies::Poll,
            one_client: false,
            disk: Disk::Null,
            verify: false,
        };
        let mut run = Run::new(&"testpmd".parse().unwrap());
        run.expect(std::slice::from_ref(&load));
        run.add(1, &load, Duration::ZERO, Ok(vec![outcome(&[300])]));
        let row = &run.rows[0];
        let bytes = row.metrics.iter().find(|metric| metric.name == "bytes");
        assert_eq!(bytes.unwrap().boots[0].run, [64 * 300_000]);
        assert_eq!(row.conditions["traffic"], "stream");
        assert_eq!(row.conditions.get("writes"), None);
    }
}
