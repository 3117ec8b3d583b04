//! A run on this host: finds programs, folders and CPUs, measures servers in alternating order, and keeps results.

use crate::experiments::{Asked, Part};
use crate::measure::{Setting, measure};
use crate::results::Run;
use crate::server::{Disk, STORAGE_DAEMON, Server, Testpmd};
use crate::turns::Turns;
use anyhow::{Context, bail};
use rustix::fs::OFlags;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use ws_cpus::Cpus;
use ws_results::{ResultFile, Status};
use ws_runner::parts::{self, Parts, Places};
use ws_runner::{Output, Session, doctor};
use ws_terminal::{Stop, Usage, output};

/// A run, as the user asks for it.
#[derive(Debug)]
pub struct Options {
    pub asked: Asked,
    /// Peers whose processes are stopped while another server is measured.
    pub stopped: Vec<Server>,
    /// Word that makes this program a client.
    pub client: &'static str,
    /// Folder for the files of disks of the type file.
    pub disk_folder: Option<PathBuf>,
    /// Number of starts of each server for each load.
    pub rounds: Option<u32>,
    /// Measured time of each load, and the time before that, in ms.
    pub measure: Option<u64>,
    pub warmup: Option<u64>,
    /// The CPU of servers.
    pub io_cpu: Option<u32>,
    /// The elvis to measure.
    pub elvis: Option<PathBuf>,
    pub output: Output,
}

/// Outcome of a run.
#[derive(Debug)]
pub struct Measured {
    pub results: Vec<ResultFile>,
    /// Folder of the results.
    pub folder: PathBuf,
    /// Whether all was measured and kept.
    pub is_whole: bool,
}

/// Measures all servers under all loads, and keeps the results.
pub fn run(options: &Options, session: &Session) -> anyhow::Result<Measured> {
    let created = SystemTime::now();
    let parts = options.asked.parts()?;
    let mut runs = runs(&parts)?;
    let working = working_folder(&parts)?;
    let files = folder_of_files(options.disk_folder.as_deref(), &parts)?;
    let files = files
        .as_ref()
        .map_or(working.path(), tempfile::TempDir::path);
    let setting = setting(options, &parts, working.path(), files)?;
    for server in parts.iter().flat_map(|part| &part.servers) {
        server.check()?;
    }
    // All checks come before the folder is made: a wrong option must not leave an empty one behind.
    let folder = options.output.make(created)?;
    let names: Vec<String> = runs.iter().map(Run::platform).collect();
    folder.must_take(names.iter().map(|name| &**name))?;
    // The doctor also examines programs of other platforms, but warns only about what matters here.
    let resources = parts::resources(&Parts::default());
    let doctor = doctor::warn(&resources, &[]);
    let rounds = options.or_quick(options.rounds, 2, 5);
    // `runs` has checked that each peer is named once.
    let turns = Turns::of(&options.stopped)?;
    measure_all(&setting, &parts, rounds, &mut runs, &turns, &session.stop);
    drop(turns);
    let interrupted = session.stop.requested();
    let finish = |(run, position): (Run, u32)| {
        let mut result = run.finish(&setting, session.tool.clone(), created, interrupted);
        result.position = Some(position);
        result.disturbances = Some(doctor::disturbances(&doctor, &result.platform));
        result
    };
    let results: Vec<_> = runs.into_iter().zip(1..).map(finish).collect();
    let lost = folder.write(&results);
    for error in &lost {
        let why = anyhow::anyhow!("results were not kept: {error}");
        output::error(&why);
    }
    let mut rows = results.iter().flat_map(|result| &result.rows);
    let is_whole = !interrupted && lost.is_empty() && rows.all(|row| row.status == Status::Ok);
    Ok(Measured {
        results,
        folder: folder.path().to_owned(),
        is_whole,
    })
}

impl Options {
    /// Returns the given value, else the one of a first look or of a full run.
    fn or_quick<T>(&self, given: Option<T>, quick: T, full: T) -> T {
        given.unwrap_or(if self.asked.quick { quick } else { full })
    }
}

fn setting(
    options: &Options,
    parts: &[Part],
    folder: &Path,
    files: &Path,
) -> anyhow::Result<Setting> {
    let (io_cpu, client_cpus) = split(&Cpus::here(), options.io_cpu)?;
    let measures = |asked: fn(&Server) -> bool| {
        let mut servers = parts.iter().flat_map(|part| &part.servers);
        servers.any(asked)
    };
    Ok(Setting {
        elvis: elvis(options.elvis.as_deref())?,
        testpmd: match measures(|server| *server == Server::Testpmd) {
            true => testpmd()?,
            false => None,
        },
        storage_daemon: match measures(|server| matches!(server, Server::StorageDaemon { .. })) {
            true => storage_daemon()?,
            false => Vec::new(),
        },
        folder: folder.to_owned(),
        files: files.to_owned(),
        client: (std::env::current_exe()?, vec![options.client.to_owned()]),
        io_cpu,
        client_cpus,
        warmup: Duration::from_millis(options.or_quick(options.warmup, 50, 300)),
        measure: Duration::from_millis(options.or_quick(options.measure, 100, 1000)),
    })
}

fn elvis(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = match named {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()?.with_file_name("elvis"),
    };
    if !path.is_file() {
        bail!(
            "there is no elvis at {}: run make build, or name it with --elvis FILE",
            path.display()
        );
    }
    Ok(path)
}

/// The lab's set of packages with DPDK, its program, and a file in the folder of its drivers.
const DPDK: &str = "dpdk";
const TESTPMD: &str = "dpdk-testpmd";
const DRIVER: &str = "/librte_net_vhost.so";

/// Finds DPDK's testpmd: the lab's if it was fetched, else the installed one.
fn testpmd() -> anyhow::Result<Option<Testpmd>> {
    if let Ok(set) = parts::store(&Places::default())?.find(DPDK) {
        let mut files = set.manifest().files.keys();
        let drivers = files.find_map(|path| Some(path.split_once(DRIVER)?.0));
        return Ok(Some(Testpmd {
            words: set.program(TESTPMD)?,
            drivers: drivers.map(|folder| set.root.join(folder)),
        }));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).any(|folder| folder.join(TESTPMD).is_file());
    Ok(installed.then(|| Testpmd {
        words: vec![TESTPMD.into()],
        drivers: None,
    }))
}

/// The lab's set of packages with qemu-storage-daemon.
const STORAGE_DAEMON_SET: &str = "storage-daemon";

/// Finds qemu-storage-daemon: the lab's if it was fetched, else the installed one.
fn storage_daemon() -> anyhow::Result<Vec<OsString>> {
    Ok(
        match parts::store(&Places::default())?.find(STORAGE_DAEMON_SET) {
            Ok(set) => set.program(STORAGE_DAEMON)?,
            Err(_) => vec![STORAGE_DAEMON.into()],
        },
    )
}

/// Makes a folder for disks that are files on a block device, if a load has such disks. The folder is below the one
/// that the user named.
///
/// # Errors
/// The folder can't be made, its file system rejects O_DIRECT, or the user named a folder and no load has such disks.
fn folder_of_files(
    named: Option<&Path>,
    parts: &[Part],
) -> anyhow::Result<Option<tempfile::TempDir>> {
    let mut loads = parts.iter().flat_map(|part| &part.loads);
    if !loads.any(|load| load.disk == Disk::File) {
        if named.is_some() {
            let why = "--disk-folder is for disks of the type file: add --disk file";
            bail!(Usage(why.to_owned()));
        }
        return Ok(None);
    }
    let parent = std::path::absolute(named.unwrap_or(Path::new(".")))?;
    let shown = parent.display();
    if parent.as_os_str().as_bytes().contains(&b',') {
        bail!(Usage(format!(
            "{shown} has a comma, which for servers ends a disk's path: name another folder with --disk-folder"
        )));
    }
    let folder = tempfile::Builder::new()
        .prefix("worldswitch-io-")
        .tempdir_in(&parent);
    let folder =
        folder.with_context(|| format!("disks of the type file need a folder: {shown}"))?;
    let mut options = std::fs::OpenOptions::new();
    options
        .write(true)
        .create_new(true)
        .custom_flags(OFlags::DIRECT.bits() as i32);
    options.open(folder.path().join("direct")).with_context(|| {
        format!("{shown} does not support O_DIRECT, which disks of the type file need: name a folder on a block device with --disk-folder")
    })?;
    Ok(Some(folder))
}

/// Chooses the CPU of I/O threads and the CPUs of clients. All are of one kind, unless the user chose the I/O CPU.
fn split(host: &Cpus, io_cpu: Option<u32>) -> anyhow::Result<(u32, Vec<u32>)> {
    let alike = host.alike(&host.allowed, 2);
    let Some(io_cpu) = io_cpu.or_else(|| alike.last().copied()) else {
        bail!("this process can use no CPU")
    };
    if let Err(why) = host.check(io_cpu) {
        bail!(Usage(format!(
            "--io-cpu: CPU {io_cpu} can't be used here: {why}"
        )));
    }
    let clients: Vec<u32> = alike.into_iter().filter(|&cpu| cpu != io_cpu).collect();
    if clients.is_empty() {
        let why = host.too_few(2).unwrap_or_default();
        bail!("two CPUs are needed, one for the server and one for clients: {why}");
    }
    Ok((io_cpu, clients))
}

/// Makes a folder for sockets and disks; on a tmpfs if a disk needs it.
fn working_folder(parts: &[Part]) -> anyhow::Result<tempfile::TempDir> {
    let mut folder = tempfile::Builder::new();
    folder.prefix("worldswitch-io-");
    let mut loads = parts.iter().flat_map(|part| &part.loads);
    if loads.any(|load| load.disk == Disk::Tmpfs) {
        let made = folder.tempdir_in("/dev/shm");
        return made.context("disks on a tmpfs need /dev/shm");
    }
    Ok(folder.tempdir()?)
}

/// Makes a run for each server of all parts, without rows.
fn runs(parts: &[Part]) -> anyhow::Result<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    for part in parts {
        for (number, server) in part.servers.iter().enumerate() {
            let alike = |other: &Server| other.to_string() == server.to_string();
            if part.servers[..number].iter().any(alike) {
                return Err(Usage(format!("{server} is named twice")).into());
            }
            match runs.iter_mut().find(|run| run.is_of(server)) {
                Some(run) => run.expect(&part.loads),
                None => {
                    let mut run = Run::new(server);
                    run.expect(&part.loads);
                    runs.push(run);
                }
            }
        }
    }
    Ok(runs)
}

/// Measures all servers under all loads, round by round, until the user stops it.
fn measure_all(
    setting: &Setting,
    parts: &[Part],
    rounds: u32,
    runs: &mut [Run],
    turns: &Turns,
    stop: &Stop,
) {
    for round in 1..=rounds {
        for part in parts {
            for load in &part.loads {
                // Every second round reverses the order, so that no server is always first.
                let mut order: Vec<&Server> = part.servers.iter().collect();
                if round % 2 == 0 {
                    order.reverse();
                }
                for server in order {
                    if stop.requested() {
                        return;
                    }
                    let start = Instant::now();
                    let got = {
                        let _turn = turns.begin(server);
                        measure(setting, server, load)
                    };
                    if let Some(run) = runs.iter_mut().find(|run| run.is_of(server)) {
                        run.add(round, load, start.elapsed(), got);
                    }
                }
            }
        }
        output::progress("io", &format!("round {round} of {rounds}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(affinity: &'static str) -> Cpus {
        Cpus::read(&|path| {
            let text = match path {
                "/sys/devices/system/cpu/online" => "0-7",
                "/sys/devices/cpu_core/cpus" => "0-3",
                "/sys/devices/cpu_atom/cpus" => "4-7",
                "/proc/self/status" => return Some(format!("Cpus_allowed_list:\t{affinity}")),
                _ => return None,
            };
            Some(text.to_owned())
        })
    }

    #[test]
    fn server_and_clients_have_cpus_of_one_kind() {
        let cpus = |affinity, io_cpu| split(&host(affinity), io_cpu).unwrap();
        assert_eq!(cpus("0-7", None), (3, vec![0, 1, 2]));
        assert_eq!(cpus("0-7", Some(0)), (0, vec![1, 2, 3]));
        assert_eq!(cpus("0-7", Some(7)), (7, vec![0, 1, 2, 3]));
        assert_eq!(cpus("3-6", None), (6, vec![4, 5]));
        assert_eq!(cpus("3-4", None), (4, vec![3]));
        // A thread may be bound outside of the affinity mask, as to an isolated CPU.
        assert_eq!(cpus("0", Some(1)), (1, vec![0]));
        let why = |affinity, io_cpu| split(&host(affinity), io_cpu).unwrap_err().to_string();
        assert!(why("0-7", Some(99)).contains("there is no such CPU; use one of 0-7"));
        assert!(why("0", None).contains("this program can use one CPU (0): the affinity mask"));
    }
}
