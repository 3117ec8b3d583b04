//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use elvis::config::Endpoint;
use elvis::logs::Level;
use elvis_policy::simulation::Mode;
use std::ffi::OsString;
use std::path::PathBuf;

/// Serves the disks and networks of many virtual machines from a few I/O cores, over vhost-user.
#[derive(Debug, Parser)]
#[command(name = "elvis", version, about)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve devices until SIGINT, SIGTERM or `ctl drain`.
    Serve(ServeArgs),
    /// Control a running `elvis serve --control`.
    Ctl(CtlArgs),
    /// Simulate a load on I/O cores, with the daemon's policy.
    Simulate(SimulateArgs),
    /// Write the manual pages and completions of this command, for `make install`.
    #[command(hide = true)]
    Manual {
        /// The folder `share` of an installation.
        share: PathBuf,
    },
    /// Print the completions of a command line's last word.
    #[command(hide = true)]
    Complete {
        /// The program, and its arguments.
        #[arg(last = true)]
        words: Vec<OsString>,
    },
}

/// Mode by which devices are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// Thread per I/O core, which polls busy queues.
    Elvis,
    /// Thread per I/O core, without polling.
    FineGrained,
    /// Thread per device, on any of the I/O cores.
    PerDevice,
    /// Thread per device, bound to one I/O core.
    PerDevicePinned,
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Elvis => Self::Elvis,
            ModeArg::FineGrained => Self::FineGrained,
            ModeArg::PerDevice => Self::PerDevice,
            ModeArg::PerDevicePinned => Self::PerDevicePinned,
        }
    }
}

/// CPUs of `--io-cores`, in their order.
pub type Cores = Vec<usize>;

fn cores(text: &str) -> Result<Cores, String> {
    let cpus = ws_cpus::list::in_order(text);
    let cpus = cpus.ok_or("expected a list of CPUs, such as 2,3 or 0,4-7")?;
    Ok(cpus.into_iter().map(|cpu| cpu as usize).collect())
}

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Configuration file (TOML, see docs/elvis-config.md). Arguments override it.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Serve a disk; may be repeated. Front-ends (QEMU) connect to SOCKET. IMAGE is a raw file, a
    /// block device, ram:SIZE or null:SIZE (no data). WORDs: readonly, direct (O_DIRECT),
    /// registered_buffers, migratable, queues=N, spread (queues over all I/O threads), weight=N,
    /// requests_per_s=N, bytes_per_s=N, name=TEXT, serial=TEXT, service_ns=N (null only: time per request).
    #[arg(long, value_name = "SOCKET=IMAGE[,WORD]...")]
    pub blk: Vec<String>,
    /// Serve a network device; may be repeated. NETWORK is tap:NAME, interface:NAME (a packet socket), or switch:NAME.
    /// A switch connects all devices that name the same switch. WORDs: queues=N (pairs), spread, weight=N,
    /// packets_per_s=N, bytes_per_s=N, name=TEXT. WORDs for a switch: mac=ADDRESS (the guest's only address), isolated
    /// (reaches only devices that are not isolated), vlan=N (reaches only devices with the same N; its guest sees no
    /// tags).
    #[arg(long, value_name = "SOCKET=NETWORK[,WORD]...")]
    pub net: Vec<String>,
    /// Connect a switch to a network of the host; may be repeated. NETWORK is tap:NAME or interface:NAME (a packet
    /// socket). The uplink carries all VLANs: frames of devices with vlan=N have that tag, other frames have none. An
    /// uplink with vlan=N carries only that VLAN, without tags.
    #[arg(long, value_name = "SWITCH=NETWORK[,vlan=N]")]
    pub uplink: Vec<String>,
    /// CPUs for I/O threads, one thread on each. Ranges are allowed, as in 4-7. Default: one unpinned thread.
    #[arg(long, value_name = "CPU,...", value_parser = cores)]
    pub io_cores: Option<Cores>,
    /// Use only as many I/O cores as the load needs, and move devices between these cores.
    #[arg(long)]
    pub placement: bool,
    /// Mode by which devices are served. Default: elvis.
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,
    /// Socket to create for `elvis ctl`.
    #[arg(long, value_name = "SOCKET")]
    pub control: Option<PathBuf>,
    /// Folder in memory (on a tmpfs) for a file NAME.rings of each network device. The file keeps the positions of
    /// packed rings over a crash or a restart. Default: SOCKET.rings next to the socket. A device without such a file
    /// offers no packed rings.
    #[arg(long, value_name = "FOLDER")]
    pub state: Option<PathBuf>,
    /// Serve counters to Prometheus, on 127.0.0.1:PORT or a unix socket (a path).
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<Endpoint>,
    /// Become this user (a name or UID:GID) once disks, networks and sockets are open.
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Do not restrict system calls.
    #[arg(long)]
    pub no_seccomp: bool,
    /// Write messages of this level and above to standard error. Default: info.
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub log_level: Option<Level>,
    /// Use threads instead of io_uring for files.
    #[arg(long)]
    pub threads_only: bool,
}

#[derive(Debug, Args)]
pub struct CtlArgs {
    /// The control socket of the server (serve --control).
    #[arg(long, value_name = "SOCKET")]
    pub control: PathBuf,
    #[command(subcommand)]
    pub what: Ctl,
}

#[derive(Debug, Subcommand)]
pub enum Ctl {
    /// Add a device.
    Add {
        /// The device, as for `serve --blk` or `serve --net`.
        #[arg(value_name = "SOCKET=IMAGE|NETWORK[,WORD]...")]
        device: String,
    },
    /// Remove a device, after its requests in flight.
    Remove {
        /// The device's name, as `list` shows it.
        name: String,
    },
    /// Move a device to another I/O thread, after its requests in flight.
    Move {
        /// The device's name, as `list` shows it.
        name: String,
        /// The thread, from 0, in the order of --io-cores.
        thread: usize,
    },
    /// Grow a disk to the new size of its file or device, and notify the guest.
    ///
    /// Enlarge the file or the device first (truncate -s, lvextend). All disks on the same storage get the new size.
    /// Prints the sizes, and which guests are notified.
    ///
    /// A guest sees the new size at once if its front-end has a channel for notifications. QEMU has one while the
    /// guest's driver uses the disk. Otherwise the guest sees the new size at its next start with a new front-end.
    /// Partitions and file systems in the disk stay as they are: enlarge them in the guest. A file that has shrunk is
    /// refused, and nothing changes.
    Resize {
        /// The disk's name, as `list` shows it.
        #[arg(value_name = "DISK")]
        name: String,
    },
    /// Change a device's weight.
    ///
    /// The new weight applies from the next round of shares on, a few milliseconds later. The configuration file does
    /// not change: a restart sets the old weight again.
    Weight {
        /// The device's name, as `list` shows it.
        #[arg(value_name = "DEVICE")]
        name: String,
        /// The new weight, 1 to 10000.
        #[arg(value_name = "N")]
        weight: u64,
    },
    /// Change a device's limits.
    ///
    /// New limits apply at once. Limits that are not named do not change. The configuration file does not change: a
    /// restart sets the old limits again.
    Limit {
        /// The device's name, as `list` shows it.
        #[arg(value_name = "DEVICE")]
        name: String,
        /// requests_per_s (disks), packets_per_s (networks) or bytes_per_s; none removes a limit.
        #[arg(value_name = "LIMIT=N|none", required = true)]
        limits: Vec<String>,
    },
    /// List devices and uplinks.
    List,
    /// Show all counters as JSON.
    Stats {
        /// Show a table of changes repeatedly, instead of JSON.
        #[arg(long)]
        watch: bool,
        /// Time between two tables.
        #[arg(long, value_name = "SECONDS", default_value_t = 1, requires = "watch",
            value_parser = clap::value_parser!(u64).range(1..=3600))]
        every: u64,
        /// Exit after this many tables. Default: never.
        #[arg(long, value_name = "N", requires = "watch")]
        looks: Option<u64>,
    },
    /// Remove all devices and end the server, after the requests in flight.
    Drain,
}

#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// A group of equal devices; may be repeated. Load: depth=N,think_us=N (N outstanding requests, with pauses) or
    /// per_s=N (random arrivals). on_us=N,off_us=N makes arrivals come in bursts. most_per_s=N,period_ms=N makes
    /// arrivals rise and fall. Others: devices=N, service_ns=N (time on the I/O core), storage_us=N (time in storage
    /// after that), bytes=N, weight=N, limit_per_s=N, name=TEXT.
    #[arg(
        long,
        value_name = "KEY=VALUE,...",
        default_value = "devices=14,depth=8,think_us=50"
    )]
    pub group: Vec<String>,
    /// Simulate figures 4 to 9 of the ELVIS paper with a model of whole machines, next to the paper's statements.
    /// Takes minutes.
    #[arg(long, value_name = "N,...", value_delimiter = ',', group = "machines",
        value_parser = clap::value_parser!(u32).range(4..=9))]
    pub figure: Vec<u32>,
    /// Compare the model of whole machines with the lab's counts.
    #[arg(long, group = "machines")]
    pub lab: bool,
    /// Print the parameters of the model of whole machines, each with unit and source.
    #[arg(long, group = "machines")]
    pub parameters: bool,
    /// Modes to simulate.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "elvis,fine-grained,per-device,per-device-pinned"
    )]
    pub mode: Vec<ModeArg>,
    /// Number of I/O cores.
    #[arg(long, default_value_t = 1)]
    pub cores: u32,
    /// Use more or fewer I/O cores as the load changes, and move devices between cores (modes elvis and fine-grained).
    #[arg(long)]
    pub placement: bool,
    /// Simulated time that is counted, in ms.
    #[arg(long, default_value_t = 200)]
    pub duration_ms: u64,
    /// Simulated time before counting starts, in ms.
    #[arg(long, default_value_t = 20)]
    pub warmup_ms: u64,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Set a parameter of policy or placement, or a cost. docs/elvis-config.md has the names.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}
