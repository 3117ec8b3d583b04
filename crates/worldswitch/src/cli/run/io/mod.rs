//! Options of `worldswitch run io`: of servers on this host, and ([`lab`]) of a VM's devices in the lab.

pub mod lab;
mod values;

use crate::cli::OutputArgs;
use crate::cli::help::OUTPUT;
use clap::Args;
use lab::LabArgs;
use std::path::PathBuf;
use std::time::Duration;
use ws_io::client::Replies;
use ws_io::experiments::{Asked, Experiment};
use ws_io::host::Options;
use ws_io::server::{Disk, Server};

/// The hidden command by which this program starts its clients.
pub const CLIENT: &str = "io-client";

const EXAMPLES: &str = "\
Examples:
  worldswitch run io                            elvis in all modes and qemu-storage-daemon, 1 to 14
                                                devices
  worldswitch run io scaling mixed ablation -o paper
                                                the paper's figures; worldswitch report draws them
  worldswitch run io stuck shares --quick       features of elvis that are not in the paper
  worldswitch run io rr stream mixed-net -o net
                                                network devices, next to DPDK's (worldswitch lab
                                                fetch dpdk)
  worldswitch lab fetch storage-daemon          once: the qemu-storage-daemon of Debian 13
  worldswitch run io peers --disk-folder /mnt/ssd -o ssd
                                                disks of elvis and qemu-storage-daemon, in turn
  worldswitch compare ssd:qemu-storage-daemon@polling ssd:elvis
                                                the same results, as verdicts
  worldswitch run io --server elvis --peer spdk=/run/spdk/0,/run/spdk/1 --stop-peers --devices 1,2
  worldswitch run io mixed --server elvis,elvis+max_work=16
  worldswitch lab fetch kvm-linux               once: the packages of the lab's machine
  worldswitch run io --on lab:kvm-linux -o devices
                                                exact exits and instructions of a request
  worldswitch run io --on lab:kvm-linux --device '^(qemu|elvis)$' --depth 1 --busy=no
  worldswitch run io --on lab:kvm-linux --device '^(vhost|elvis-net)$' --depth 8 --busy=no --explain
                                                which functions make the difference
  worldswitch show devices --export-markdown devices.md

Keep other work off the I/O CPU and the clients' CPUs: a polling thread that shares its CPU measures
the scheduler. N clients and the server need N + 1 CPUs. With fewer CPUs, a note appears below the
table and in the report.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_args = lab::where_it_belongs)]
pub struct IoArgs {
    /// Experiments, each with its own servers and loads. Options override these. Default: identical devices with the
    /// loads of --devices, --depth and --replies.
    #[arg(value_name = "EXPERIMENT", value_parser = values::experiment())]
    pub experiment: Vec<Experiment>,
    /// The servers to start. elvis and elvis@MODE serve disks and networks. qemu-storage-daemon serves disks; with
    /// @polling, its I/O thread polls. testpmd serves networks. elvis+NAME=VALUE sets a policy parameter of elvis,
    /// such as stuck_rule=false. Default: the servers of the experiment, else elvis in all modes and
    /// qemu-storage-daemon.
    #[arg(long, value_name = "SERVER,...", value_delimiter = ',')]
    pub server: Vec<Server>,
    /// A running server, with a socket for each of its devices; may be repeated.
    #[arg(long, value_name = "NAME=SOCKET[,SOCKET]...", value_parser = ws_io::server::peer)]
    pub peer: Vec<Server>,
    /// Stop the processes of peers (SIGSTOP) while another server is measured. Use this option for peers that poll on
    /// the I/O CPU. The peers continue at the end. If this command is killed (kill -9, a second Ctrl-C), kill -CONT
    /// resumes the peers.
    #[arg(long, requires = "peer")]
    pub stop_peers: bool,
    /// Numbers of devices. Default: the numbers of the experiment, else 1,4,14.
    #[arg(long, value_name = "N,...", value_delimiter = ',',
        value_parser = clap::value_parser!(u16).range(1..=256))]
    pub devices: Option<Vec<u16>>,
    /// Outstanding requests on each device; experiments have their own. Default: 1,32; in the lab, all of its depths
    /// (1,8).
    #[arg(long, value_name = "N,...", value_delimiter = ',', conflicts_with = "experiment",
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub depth: Option<Vec<u16>>,
    /// Ways in which clients detect replies. Default: the experiment's, else both.
    #[arg(long, value_name = "HOW,...", value_delimiter = ',', value_parser = values::replies())]
    pub replies: Option<Vec<Replies>>,
    /// Drive all devices of a load with one client process instead of one for each device. For loads with more polling
    /// clients than CPUs.
    #[arg(long)]
    pub one_client: bool,
    /// Mean pause of a client between a reply and the next request in its place, in us. Needs polling clients
    /// (--replies poll).
    #[arg(long, value_name = "US", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub think: u64,
    /// Time that elvis spends on each request of a null disk, in ns. Makes the I/O CPU the only bottleneck.
    #[arg(long, value_name = "NS", value_parser = clap::value_parser!(u64).range(1..=1_000_000),
        conflicts_with = "disk")]
    pub work: Option<u64>,
    /// Percentage of requests that write, chosen at random; the others read. Default: the
    /// experiment's, else 30.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub write: Option<u8>,
    /// Type of the disks. Default: the experiment's, else null.
    #[arg(long, value_parser = values::disk())]
    pub disk: Option<Disk>,
    /// The folder for the files of --disk file, on the measured block device. The files are removed at the end.
    /// Default: the current folder.
    #[arg(long, value_name = "FOLDER")]
    pub disk_folder: Option<PathBuf>,
    /// Verify the data: clients compare each read block with the written data, and read every written block again at
    /// the end. Verifying slows the clients down.
    #[arg(long, conflicts_with = "work")]
    pub verify: bool,
    /// Number of starts of each server for each load, in alternating order. Default: 5.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// Measured time of each load, in ms. Default: 1000.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(10..=3_600_000))]
    pub measure: Option<u64>,
    /// Time that each load runs before the measurement, in ms. Default: 300.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(0..=3_600_000))]
    pub warmup: Option<u64>,
    /// Take a first look: fewer steps of experiments, 2 rounds, 100 ms measured after 50 ms.
    #[arg(long)]
    pub quick: bool,
    /// The CPU of I/O threads. Default: the last usable CPU of the fastest kind. Clients get the other CPUs of that
    /// kind.
    #[arg(long, value_name = "CPU")]
    pub io_cpu: Option<u32>,
    /// The elvis program to measure. Default: elvis in the folder of worldswitch.
    #[arg(long, value_name = "FILE")]
    pub elvis: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Options of devices in the lab")]
    pub lab: LabArgs,
    #[command(flatten, next_help_heading = OUTPUT)]
    pub output: OutputArgs,
}

impl IoArgs {
    /// The run on this host that is asked for.
    pub fn options(&self) -> Options {
        Options {
            asked: Asked {
                experiments: self.experiment.clone(),
                servers: self.server.iter().chain(&self.peer).cloned().collect(),
                devices: self.devices.clone(),
                depths: self.depth.clone(),
                replies: self.replies.clone(),
                one_client: self.one_client,
                think: Duration::from_micros(self.think),
                write: self.write,
                disk: self.work.map(Disk::Work).or(self.disk),
                verify: self.verify,
                quick: self.quick,
            },
            stopped: match self.stop_peers {
                true => self.peer.clone(),
                false => Vec::new(),
            },
            client: CLIENT,
            disk_folder: self.disk_folder.clone(),
            rounds: self.rounds,
            measure: self.measure,
            warmup: self.warmup,
            io_cpu: self.io_cpu,
            elvis: self.elvis.clone(),
            output: self.output.to_output(),
        }
    }
}
