//! `worldswitch io`: block I/O of many devices, served by elvis, its baselines and its peers by turns.

pub mod cli;
mod results;
mod table;

use crate::output::{self, Colours};
use crate::run::{Done, Folder};
use crate::stop::Stop;
use anyhow::{Context, bail};
use cli::{IoArgs, RepliesArg};
use results::Run;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use ws_io::client::Replies;
use ws_io::cpus;
use ws_io::measure::{Group, Setting, measure};
use ws_io::server::{Disk, Place, Server};

/// The hidden command by which this program starts its clients.
pub const CLIENT: &str = "io-client";

/// The loads, each a list of groups that run together.
fn loads(args: &IoArgs) -> Vec<Vec<Group>> {
    let group = |name: &str, devices: usize, depth, replies| Group {
        name: name.to_owned(),
        devices,
        together: args.one_client,
        depth,
        replies,
    };
    if args.mixed {
        let eventfd = Replies::Eventfd;
        return vec![vec![
            group("mixed-throughput", 1, 32, eventfd),
            group("mixed-latency", 6, 1, eventfd),
        ]];
    }
    let mut loads: Vec<Vec<Group>> = Vec::new();
    for &devices in &args.devices {
        for &depth in &args.depth {
            for &replies in &args.replies {
                let (replies, how) = match Replies::from(replies) {
                    Replies::Eventfd => (Replies::Eventfd, "eventfd"),
                    Replies::Poll => (Replies::Poll, "poll"),
                };
                let name = format!("{devices}-devices-depth-{depth}-{how}");
                let load = vec![group(&name, devices.into(), depth, replies)];
                // A number that was given twice is one row.
                if !loads.contains(&load) {
                    loads.push(load);
                }
            }
        }
    }
    loads
}

fn elvis(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()?.with_file_name("elvis"),
    };
    if !path.is_file() {
        bail!(
            "there is no elvis at {}; make build makes it, and --elvis FILE names another",
            path.display()
        );
    }
    Ok(path)
}

fn setting(args: &IoArgs, folder: &Path) -> anyhow::Result<Setting> {
    let usable = cpus::usable()?;
    let io_cpu = match (args.io_cpu, usable.last()) {
        (Some(cpu), _) if !usable.contains(&cpu) => {
            bail!("this process may not use CPU {cpu}, only {usable:?}")
        }
        (Some(cpu), _) | (None, Some(&cpu)) => cpu,
        (None, None) => bail!("this process may use no CPU"),
    };
    let client_cpus: Vec<usize> = usable.into_iter().filter(|&cpu| cpu != io_cpu).collect();
    if client_cpus.is_empty() {
        bail!("the server takes CPU {io_cpu}, and there is no other for its clients");
    }
    Ok(Setting {
        place: Place {
            elvis: elvis(args.elvis.as_deref())?,
            folder: folder.to_owned(),
            io_cpu,
        },
        disk: disk(args),
        think: Duration::from_micros(args.think),
        client: (std::env::current_exe()?, vec![CLIENT.to_owned()]),
        client_cpus,
        write_percent: args.write,
        warmup: Duration::from_millis(args.warmup),
        measure: Duration::from_millis(args.measure),
    })
}

fn disk(args: &IoArgs) -> Disk {
    args.work.map_or(args.disk.into(), Disk::Work)
}

/// A folder for sockets and disks, where disks are in memory if they are to be.
fn working_folder(disk: Disk) -> anyhow::Result<tempfile::TempDir> {
    let mut folder = tempfile::Builder::new();
    folder.prefix("worldswitch-io-");
    match disk {
        Disk::Null | Disk::Work(_) => Ok(folder.tempdir()?),
        Disk::Tmpfs => folder
            .tempdir_in("/dev/shm")
            .context("disks on a tmpfs need /dev/shm"),
    }
}

/// Measures, shows the table, keeps the results.
///
/// # Errors
/// Wrong usage, nothing could be measured, or the results can't be written.
pub fn io(args: &IoArgs, colours: Colours) -> anyhow::Result<Done> {
    let created = SystemTime::now();
    let mut servers: Vec<Server> = Vec::new();
    for server in args.server.iter().chain(&args.peer) {
        if servers
            .iter()
            .any(|other| other.to_string() == server.to_string())
        {
            return Err(crate::Usage(format!("{server} is named twice")).into());
        }
        servers.push(server.clone());
    }
    if args.think > 0 && args.replies.contains(&RepliesArg::Eventfd) {
        let why = "with --think clients look for replies: --replies poll";
        return Err(crate::Usage(why.to_owned()).into());
    }
    let working = working_folder(disk(args))?;
    let setting = setting(args, working.path())?;
    let loads = loads(args);
    let folder = Folder::make(args.output.as_deref(), created)?;
    let stop = Stop::listen()?;
    let mut runs: Vec<Run> = servers
        .iter()
        .map(|server| Run::new(server, &loads))
        .collect();
    'rounds: for round in 1..=args.rounds {
        for (number, groups) in loads.iter().enumerate() {
            // Forth and back, so that none is always the first.
            let mut order: Vec<usize> = (0..servers.len()).collect();
            if round % 2 == 0 {
                order.reverse();
            }
            for server in order {
                if stop.requested() {
                    break 'rounds;
                }
                let start = Instant::now();
                let got = measure(&setting, &servers[server], groups);
                runs[server].add(round, number, groups, start.elapsed(), got);
            }
        }
        eprintln!("round {round} of {}", args.rounds);
    }
    let interrupted = stop.requested();
    let results: Vec<_> = runs
        .into_iter()
        .map(|run| run.finish(&setting, created, interrupted))
        .collect();
    for result in &results {
        ws_results::write_into(folder.path(), result)?;
    }
    output::data(&table::table(&results))?;
    output::remark(
        &format!("results are in {}", folder.path().display()),
        colours,
    );
    let bad = |result: &ws_results::ResultFile| {
        let bad = |row: &ws_results::Row| row.status != ws_results::Status::Ok;
        result.rows.iter().any(bad)
    };
    Ok(if interrupted || results.iter().any(bad) {
        Done::InPart
    } else {
        Done::Whole
    })
}
