//! Servers of vhost-user devices: elvis in each of its modes, qemu-storage-daemon, DPDK's testpmd, and peers, which the
//! user has started.

use crate::cpus;
use crate::programs::{cannot, elvis, image, storage_daemon, testpmd};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::str::FromStr;

/// Bytes of each disk.
pub const DISK_BYTES: u64 = 64 << 20;

/// The kind of the disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// A null disk: writes are dropped (`driver=null-co` of qemu-storage-daemon).
    Null,
    /// A null disk of elvis that takes this many ns of CPU time for each request.
    Work(u64),
    /// Files on a tmpfs, the same for all servers.
    Tmpfs,
    /// Files of a file system on a block device, past the host's page cache (O_DIRECT), the same for all servers.
    File,
}

impl Disk {
    /// Name of the kind in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Work(_) => "work",
            Self::Tmpfs => "tmpfs",
            Self::File => "file",
        }
    }
}

/// A server to be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// elvis, the vhost-user back-end of this project.
    Elvis {
        /// Argument of elvis' option `--mode`.
        mode: &'static str,
        /// Constants of the policy that are not the defaults; the values are TOML.
        policy: BTreeMap<String, String>,
    },
    /// QEMU's server of disks.
    StorageDaemon {
        /// Whether an I/O thread that polls (`poll-max-ns`) serves the disks, instead of the main loop.
        polls: bool,
    },
    /// DPDK's testpmd, which forwards frames between two network devices.
    Testpmd,
    /// A server that the user has started.
    Peer {
        /// Name that the user gave to the server.
        name: String,
        /// Existing sockets, one for each device that the server serves.
        sockets: Vec<PathBuf>,
    },
}

const ELVIS: &str = "elvis";
/// Mode with one thread per device, none with a CPU of its own: the paper's Baseline.
const BASELINE: &str = "per-device";
const MODES: [&str; 4] = [ELVIS, "fine-grained", BASELINE, "per-device-pinned"];
/// The name of qemu-storage-daemon, and of its program.
pub const STORAGE_DAEMON: &str = "qemu-storage-daemon";
const POLLING_STORAGE_DAEMON: &str = "qemu-storage-daemon@polling";
const TESTPMD: &str = "testpmd";

impl fmt::Display for Server {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Elvis { mode, policy } => {
                to.write_str(ELVIS)?;
                if *mode != ELVIS {
                    write!(to, "@{mode}")?;
                }
                policy
                    .iter()
                    .try_for_each(|(key, value)| write!(to, "+{key}={value}"))
            }
            Self::StorageDaemon { polls: false } => to.write_str(STORAGE_DAEMON),
            Self::StorageDaemon { polls: true } => to.write_str(POLLING_STORAGE_DAEMON),
            Self::Testpmd => to.write_str(TESTPMD),
            Self::Peer { name, .. } => to.write_str(name),
        }
    }
}

/// Parses `elvis`, `elvis@MODE`, either with `+KEY=VALUE` for constants of the policy, `qemu-storage-daemon`,
/// `qemu-storage-daemon@polling` or `testpmd`.
impl FromStr for Server {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            STORAGE_DAEMON => return Ok(Self::StorageDaemon { polls: false }),
            POLLING_STORAGE_DAEMON => return Ok(Self::StorageDaemon { polls: true }),
            TESTPMD => return Ok(Self::Testpmd),
            _ => {}
        }
        let mut words = text.split('+');
        let mode = match words.next().unwrap_or_default() {
            ELVIS => ELVIS,
            word => word.strip_prefix("elvis@").unwrap_or_default(),
        };
        let mode = MODES.iter().find(|&&known| known == mode).ok_or_else(|| {
            let modes = MODES[1..].join(", elvis@");
            format!(
                "{text:?} is not a server: choose elvis, elvis@{modes}, {STORAGE_DAEMON}, {POLLING_STORAGE_DAEMON} or {TESTPMD}"
            )
        })?;
        let policy = words.map(option).collect::<Result<_, _>>()?;
        Ok(Self::Elvis { mode, policy })
    }
}

/// Parses `KEY=VALUE`, a constant of elvis' policy.
fn option(word: &str) -> Result<(String, String), String> {
    let (key, value) = word
        .split_once('=')
        .ok_or_else(|| format!("{word:?} is not KEY=VALUE, a constant of elvis' policy"))?;
    let json = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    let one = serde_json::Map::from_iter([(key.to_owned(), json)]);
    serde_json::from_value::<elvis_policy::Params>(one.into())
        .map_err(|error| format!("{word:?} is not a constant of elvis' policy: {error}"))?;
    Ok((key.to_owned(), value.to_owned()))
}

impl Server {
    /// Whether the server shares all CPUs with the clients, and the kernel's scheduler places the threads.
    pub fn shares_cpus(&self) -> bool {
        matches!(self, Self::Elvis { mode, .. } if *mode == BASELINE)
    }

    /// Checks that a peer's sockets exist, before a client waits for them.
    pub fn check(&self) -> io::Result<()> {
        let Self::Peer { name, sockets } = self else {
            return Ok(());
        };
        for socket in sockets {
            let path = socket.display();
            let kind = std::fs::metadata(socket).map_err(|error| {
                io::Error::other(format!("{name}: can't use the socket {path}: {error}"))
            })?;
            if !kind.file_type().is_socket() {
                let why = format!("{name}: {path} is not a socket");
                return Err(io::Error::other(why));
            }
        }
        Ok(())
    }
}

/// Parses `NAME=SOCKET[,SOCKET]...`.
pub fn peer(text: &str) -> Result<Server, String> {
    let (name, sockets) = text
        .split_once('=')
        .ok_or_else(|| format!("{text:?} is not NAME=SOCKET[,SOCKET]..."))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(format!(
            "{name:?} is not a name; use 1 to 64 of a-z 0-9 - _ . @"
        ));
    }
    if name.parse::<Server>().is_ok() {
        return Err(format!(
            "{name} is the name of a built-in server; choose another name"
        ));
    }
    let sockets: Vec<PathBuf> = sockets.split(',').map(PathBuf::from).collect();
    if sockets.iter().any(|socket| socket.as_os_str().is_empty()) {
        return Err(format!("{text:?} has a socket without a path"));
    }
    if let Some(number) = (1..sockets.len()).find(|&n| sockets[..n].contains(&sockets[n])) {
        let socket = sockets[number].display();
        return Err(format!(
            "{socket} is named twice: each device needs its own socket"
        ));
    }
    Ok(Server::Peer {
        name: name.to_owned(),
        sockets,
    })
}

/// Kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A disk.
    Disk,
    /// A network device, and the number of the network that connects it to one other.
    Port(usize),
}

/// A device of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    pub kind: Kind,
    /// Share of the I/O core, relative to the other devices'.
    pub weight: u32,
}

/// testpmd of DPDK.
#[derive(Clone, Debug)]
pub struct Testpmd {
    /// Words that start testpmd.
    pub words: Vec<OsString>,
    /// Folder of testpmd's drivers, if testpmd does not find it by itself.
    pub drivers: Option<PathBuf>,
}

/// Programs, folders, CPUs and devices that a server is started with.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The elvis to be measured.
    pub elvis: &'a Path,
    /// The words that start the qemu-storage-daemon to be measured.
    pub storage_daemon: &'a [OsString],
    /// The testpmd to be measured, if there is one.
    pub testpmd: Option<&'a Testpmd>,
    /// A folder for sockets, disks and logs.
    pub folder: &'a Path,
    /// A folder for disks of the kind [`Disk::File`].
    pub files: &'a Path,
    /// CPUs of the server.
    pub cpus: &'a [u32],
    /// Kind of the disks.
    pub disk: Disk,
    /// Devices that the server serves.
    pub devices: &'a [Served],
    /// Whether frames may be segments to be split.
    pub splits: bool,
}

/// A running server; dropping it kills the server, unless it is a peer.
#[derive(Debug)]
pub struct Running {
    child: Option<Child>,
    log: PathBuf,
    /// The sockets that clients connect to.
    pub sockets: Vec<PathBuf>,
}

impl Server {
    /// Makes the command that starts the server with its devices at these sockets; None for a peer.
    fn command(&self, place: &Place, sockets: &[PathBuf]) -> io::Result<Option<Command>> {
        let weighted = place.devices.iter().any(|device| device.weight != 1);
        let is_disk = |device: &Served| device.kind == Kind::Disk;
        let with_disks = place.devices.iter().any(is_disk);
        let images = (0..)
            .zip(place.devices)
            .map(|(number, device)| match device.kind {
                Kind::Disk => image(place, number),
                Kind::Port(_) => Ok(None),
            });
        let images = images.collect::<io::Result<Vec<_>>>()?;
        Ok(Some(match self {
            Self::Elvis { mode, policy } => elvis(place, mode, policy, sockets, &images)?,
            _ if weighted => return Err(cannot("it does not support weights of devices")),
            _ if with_disks && matches!(place.disk, Disk::Work(_)) => {
                return Err(cannot("it has no disk with a fixed service time"));
            }
            Self::StorageDaemon { .. } if !place.devices.iter().all(is_disk) => {
                return Err(cannot("it serves no network devices"));
            }
            Self::StorageDaemon { polls } => storage_daemon(place, *polls, sockets, &images)?,
            Self::Testpmd if with_disks => return Err(cannot("it serves no disks")),
            // testpmd's mode `io` does not pass on a frame's virtio header.
            Self::Testpmd if place.splits => {
                return Err(cannot(
                    "it does not forward segments without splitting them",
                ));
            }
            Self::Testpmd => testpmd(place, sockets)?,
            Self::Peer {
                name,
                sockets: theirs,
            } if theirs.len() < sockets.len() => {
                let (has, wants) = (theirs.len(), sockets.len());
                let why = format!("{name} has {has} sockets, not {wants}");
                return Err(io::Error::other(why));
            }
            Self::Peer { .. } => return Ok(None),
        }))
    }

    /// Starts the server without waiting for its sockets; clients do that.
    ///
    /// # Errors
    /// [`NotFound`](io::ErrorKind::NotFound) if the server is not installed or lacks a required feature: callers skip
    /// it. Any other kind if it can't be started, or is a peer with too few devices.
    pub fn start(&self, place: &Place) -> io::Result<Running> {
        let socket = |number| place.folder.join(format!("{number}.sock"));
        let sockets: Vec<PathBuf> = (0..place.devices.len()).map(socket).collect();
        for socket in &sockets {
            let _ = std::fs::remove_file(socket);
        }
        let log = place.folder.join("server.log");
        let command = self.command(place, &sockets)?;
        let sockets = match self {
            Self::Peer { sockets, .. } => sockets[..place.devices.len()].to_vec(),
            _ => sockets,
        };
        let child = command.map(|mut command| {
            let program = command.get_program().to_string_lossy().into_owned();
            let named = |error: io::Error| {
                let package = match self {
                    Self::StorageDaemon { .. } if error.kind() == io::ErrorKind::NotFound => {
                        " (worldswitch lab fetch storage-daemon, or install Debian's qemu-system-common or qemu-utils)"
                    }
                    _ => "",
                };
                let why = format!("can't start {program}: {error}{package}");
                io::Error::new(error.kind(), why)
            };
            let log = File::create(&log)?;
            // A pipe, as testpmd ends when it can read there; it writes errors to the standard output.
            let output = match self {
                Self::Testpmd => log.try_clone()?.into(),
                _ => Stdio::null(),
            };
            command.stdin(Stdio::piped()).stdout(output).stderr(log);
            cpus::on(place.cpus, || command.spawn()).map_err(named)
        });
        Ok(Running {
            child: child.transpose()?,
            log,
            sockets,
        })
    }
}

impl Running {
    /// CPU time that all threads of the server have used, in ns; None for a peer.
    pub fn cpu_ns(&self) -> Option<u64> {
        let child = self.child.as_ref()?;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
        // utime and stime, fields 14 and 15 (proc(5)), counted from the end of the name, which may
        // contain blanks and brackets.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |field: usize| fields.get(field)?.parse::<u64>().ok();
        let second = rustix::param::clock_ticks_per_second();
        Some((ticks(11)? + ticks(12)?) * 1_000_000_000 / second)
    }

    /// Exit status of the server; None while it runs, and for a peer.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.try_wait().ok()?
    }

    /// Last lines of the server's log. Several, as testpmd's last ones complain of its own cleaning up, after the
    /// reason of its end.
    pub fn said(&self) -> String {
        const LINES: usize = 6;
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(LINES)..].join("; ")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_said_even_if_other_lines_follow_it() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let running = Running {
            child: None,
            log: log.clone(),
            sockets: Vec::new(),
        };
        assert_eq!(running.said(), "", "no log");
        std::fs::write(&log, "1\n2\n3\n4\n\nthe reason\n5\ncleaned up\n").unwrap();
        assert_eq!(running.said(), "2; 3; 4; the reason; 5; cleaned up");
    }

    #[test]
    fn names_of_servers() {
        for name in [
            "elvis",
            "elvis@fine-grained",
            "elvis@per-device-pinned",
            "elvis+max_work=32+stuck_rule=false",
            "elvis@fine-grained+stuck_ns=1000",
            STORAGE_DAEMON,
            POLLING_STORAGE_DAEMON,
            TESTPMD,
        ] {
            assert_eq!(name.parse::<Server>().unwrap().to_string(), name);
        }
        let wrong = [
            "",
            "spdk",
            "elvis@",
            "elvis@polled",
            "elvis+",
            "elvis+stuck_rule",
            "elvis+stuck=1",
            "elvis+max_work=many",
            "elvis+stuck_rule=1",
            "qemu-storage-daemon+max_work=1",
        ];
        for wrong in wrong {
            assert!(wrong.parse::<Server>().is_err(), "{wrong}");
        }
        let shares = |name: &str| name.parse::<Server>().unwrap().shares_cpus();
        assert!(shares("elvis@per-device") && !shares("elvis@per-device-pinned"));
        let spdk = peer("spdk=/run/a,/run/b").unwrap();
        assert_eq!(spdk.to_string(), "spdk");
        assert!(matches!(spdk, Server::Peer { sockets, .. } if sockets.len() == 2));
        for wrong in [
            "spdk",
            "=/a",
            "a b=/a",
            "spdk=/a,",
            "spdk=/a,/a",
            "elvis=/a",
        ] {
            assert!(peer(wrong).is_err(), "{wrong}");
        }
    }
}
