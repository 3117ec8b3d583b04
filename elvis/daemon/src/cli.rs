//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use elvis::config::Endpoint;
use elvis_policy::simulation::Mode;
use std::path::PathBuf;

/// Serves the block devices of many machines from few I/O cores, over vhost-user.
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
    /// Talk to an `elvis serve --control` that runs.
    Ctl(CtlArgs),
    /// Play a load on simulated I/O cores, with the daemon's own policy.
    Simulate(SimulateArgs),
}

/// How devices are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// One thread an I/O core, which polls busy queues.
    Elvis,
    /// One thread an I/O core, notified of requests.
    FineGrained,
    /// A thread a device, on any of the I/O cores.
    PerDevice,
    /// A thread a device, each bound to one I/O core.
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

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Configuration file (TOML); arguments win over it.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// A device. IMAGE is a raw file or block device, ram:SIZE, or null:SIZE; more words:
    /// readonly, direct, registered_buffers, migratable, queues=N, weight=N, requests_per_s=N,
    /// bytes_per_s=N, name=TEXT, serial=TEXT; service_ns=N, the time that null spends on each request.
    #[arg(long, value_name = "SOCKET=IMAGE[,WORD]...")]
    pub blk: Vec<String>,
    /// CPUs for I/O threads; without, one thread that is bound to none.
    #[arg(long, value_name = "CPU,...", value_delimiter = ',')]
    pub io_cores: Vec<usize>,
    /// Use as many of the I/O cores as the load takes, and move devices between them.
    #[arg(long)]
    pub placement: bool,
    /// How devices are served.
    #[arg(long, value_enum)]
    pub mode: Option<ModeArg>,
    /// Where `elvis ctl` connects.
    #[arg(long, value_name = "SOCKET")]
    pub control: Option<PathBuf>,
    /// Where Prometheus may read the counters: 127.0.0.1:PORT, or the path of a socket.
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<Endpoint>,
    /// Become this user, by name or as UID:GID, once disks and sockets are open.
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Allow all system calls.
    #[arg(long)]
    pub no_seccomp: bool,
    /// Use threads for files even where io_uring is allowed.
    #[arg(long)]
    pub threads_only: bool,
}

#[derive(Debug, Args)]
pub struct CtlArgs {
    /// The control socket of the server.
    #[arg(long, value_name = "SOCKET")]
    pub control: PathBuf,
    #[command(subcommand)]
    pub what: Ctl,
}

#[derive(Debug, Subcommand)]
pub enum Ctl {
    /// Add a device.
    Add {
        /// As for `serve --blk`.
        #[arg(value_name = "SOCKET=IMAGE[,WORD]...")]
        device: String,
    },
    /// Remove a device, when its requests in flight have ended.
    Remove {
        /// Its name.
        name: String,
    },
    /// Have a device served by another I/O thread, when its requests in flight have ended.
    Move {
        /// Its name.
        name: String,
        /// The thread, counted from 0 in the order of --io-cores.
        thread: usize,
    },
    /// List devices.
    List,
    /// Show all counters, as JSON.
    Stats {
        /// Instead, show what happened since the last look as a table, again and again.
        #[arg(long)]
        watch: bool,
        /// Time between two looks.
        #[arg(long, value_name = "SECONDS", default_value_t = 1, requires = "watch",
            value_parser = clap::value_parser!(u64).range(1..=3600))]
        every: u64,
        /// Looks after which it ends; without, none.
        #[arg(long, value_name = "N", requires = "watch")]
        looks: Option<u64>,
    },
    /// End the server, when all requests in flight have ended.
    Drain,
}

#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// Devices that are alike: devices=N,depth=N,think_us=N (closed loop) or per_s=N (open; with
    /// on_us=N,off_us=N in bursts; with most_per_s=N,period_ms=N rising and falling), service_ns=N, storage_us=N, bytes=N, weight=N, limit_per_s=N,
    /// name=TEXT.
    #[arg(
        long,
        value_name = "KEY=VALUE,...",
        default_value = "devices=14,depth=8,think_us=50"
    )]
    pub group: Vec<String>,
    /// Modes to play, one after another.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "elvis,fine-grained,per-device,per-device-pinned"
    )]
    pub mode: Vec<ModeArg>,
    /// I/O cores.
    #[arg(long, default_value_t = 1)]
    pub cores: u32,
    /// Open and release cores with load, and move devices between them (modes elvis and fine-grained).
    #[arg(long)]
    pub placement: bool,
    /// Time that is counted.
    #[arg(long, default_value_t = 200)]
    pub duration_ms: u64,
    /// Time before it.
    #[arg(long, default_value_t = 20)]
    pub warmup_ms: u64,
    /// Seed of all that is random.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Set a constant of the policy or a cost, by its name in docs/elvis.md.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}
