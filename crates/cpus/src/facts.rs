//! Facts of a host's CPUs and of this process, as the kernel reports them.

use crate::kinds::{self, Kind};
use crate::list::{self, Set};
use crate::{bind, groups};
use std::collections::BTreeMap;
use std::fs;

const CPU: &str = "/sys/devices/system/cpu";
const NODE: &str = "/sys/devices/system/node";

/// The CPUs of a host, as this process sees them.
#[derive(Clone, Debug, PartialEq)]
pub struct Cpus {
    /// CPUs that the machine has, also those that are offline.
    pub present: Set,
    /// CPUs that the kernel runs, at least one.
    pub online: Set,
    /// Online CPUs to which a thread of this process can be bound: those of its cpuset.
    pub bindable: Set,
    /// CPUs on which threads of this process run if they are not bound: its affinity mask. At least one.
    pub allowed: Set,
    /// CPUs that the scheduler leaves to threads that are bound to them (`isolcpus=`, isolated partitions of cgroups).
    pub isolated: Set,
    /// CPUs without a timer tick (`nohz_full=`).
    pub tickless: Set,
    /// The control group whose cpuset leaves out online CPUs.
    pub group: Option<String>,
    /// Most CPU time that control groups grant this process, in CPUs.
    pub quota: Option<f64>,
    /// Whether the second threads of cores were taken offline (`smt/control`).
    pub is_smt_off: bool,
    /// The kinds of the online CPUs, the fastest first.
    pub kinds: Vec<Kind>,
    /// The threads of the core of each online CPU, itself among them.
    pub(crate) cores: BTreeMap<u32, Set>,
    /// The NUMA node of each CPU, if known.
    pub(crate) nodes: BTreeMap<u32, u32>,
}

impl Cpus {
    /// Reads the CPUs of this host and this process.
    #[must_use]
    pub fn here() -> Self {
        // System calls, not files: control groups need not be mounted, or be where they are expected.
        let (bindable, allowed) = (bind::bindable().ok(), bind::allowed(None).ok());
        Self::of(&|path| fs::read_to_string(path).ok(), bindable, allowed)
    }

    /// Reads the CPUs of the host whose files these are, by absolute path. Any file may be missing or invalid.
    #[must_use]
    pub fn read(read: &dyn Fn(&str) -> Option<String>) -> Self {
        Self::of(read, None, allowed_list(read))
    }

    fn of(read: Read, bindable: Option<Set>, allowed: Option<Set>) -> Self {
        let set = |file: &str| listed(read, &format!("{CPU}/{file}")).unwrap_or_default();
        let online = listed(read, &format!("{CPU}/online"));
        let online = online
            .or_else(|| bindable.clone())
            .or_else(|| allowed.clone());
        let online = online.unwrap_or_else(|| [0].into());
        // A set that is not known falls back to the next wider one. No set of CPUs to run on may be empty.
        let there = |cpus: &Set| Some(cpus & &online).filter(|cpus| !cpus.is_empty());
        let (group, cpuset) = groups::cpuset(read).unzip();
        let bindable = bindable.as_ref().or(cpuset.as_ref()).and_then(there);
        let bindable = bindable.unwrap_or_else(|| online.clone());
        let isolated = isolated(read);
        let allowed = allowed.as_ref().and_then(there);
        let allowed = allowed.or_else(|| there(&(&bindable - &isolated)));
        let allowed = allowed.unwrap_or_else(|| bindable.clone());
        let bindable = &bindable | &allowed;
        Self {
            present: &set("present") | &online,
            group: group.filter(|_| bindable != online),
            quota: groups::quota(read),
            is_smt_off: read(&format!("{CPU}/smt/control"))
                .is_some_and(|word| matches!(word.trim(), "off" | "forceoff")),
            kinds: kinds::read(read, &online),
            cores: cores(read, &online),
            nodes: nodes(read),
            tickless: set("nohz_full"),
            isolated,
            bindable,
            allowed,
            online,
        }
    }

    /// Returns the CPUs on which unbound threads of this process run, and the isolated CPUs to which they may be bound.
    #[must_use]
    pub fn usable(&self) -> Set {
        let isolated = self.isolated.intersection(&self.bindable);
        self.allowed.iter().chain(isolated).copied().collect()
    }

    /// The threads of this CPU's core, itself among them.
    #[must_use]
    pub fn core_of(&self, cpu: u32) -> Set {
        self.cores
            .get(&cpu)
            .cloned()
            .unwrap_or_else(|| [cpu].into())
    }

    /// The NUMA node of this CPU, if known.
    #[must_use]
    pub fn node_of(&self, cpu: u32) -> Option<u32> {
        self.nodes.get(&cpu).copied()
    }
}

type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads a file's list of CPUs; none if the list is missing, invalid or empty.
fn listed(read: Read, path: &str) -> Option<Set> {
    list::parse(&read(path)?).filter(|cpus| !cpus.is_empty())
}

/// Reads the CPUs that the kernel's command line or control groups isolate.
fn isolated(read: Read) -> Set {
    // The last is the mount point in systemd's hybrid mode, beside cgroup v1.
    let files = [
        "/sys/devices/system/cpu/isolated",
        "/sys/fs/cgroup/cpuset.cpus.isolated",
        "/sys/fs/cgroup/unified/cpuset.cpus.isolated",
    ];
    let lists = files.into_iter().filter_map(|file| listed(read, file));
    lists.flatten().collect()
}

/// The affinity mask of this process (proc_pid_status(5)).
fn allowed_list(read: Read) -> Option<Set> {
    let status = read("/proc/self/status")?;
    let line = |line: &str| list::parse(line.strip_prefix("Cpus_allowed_list:")?);
    status.lines().find_map(line)
}

fn cores(read: Read, online: &Set) -> BTreeMap<u32, Set> {
    let core = |cpu: &u32| {
        let threads = listed(
            read,
            &format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"),
        );
        let mut threads = threads.unwrap_or_default();
        threads.retain(|thread| online.contains(thread));
        threads.insert(*cpu);
        (*cpu, threads)
    };
    online.iter().map(core).collect()
}

fn nodes(read: Read) -> BTreeMap<u32, u32> {
    let mut nodes = BTreeMap::new();
    for node in listed(read, &format!("{NODE}/online")).unwrap_or_default() {
        let cpus = listed(read, &format!("{NODE}/node{node}/cpulist")).unwrap_or_default();
        nodes.extend(cpus.into_iter().map(|cpu| (cpu, node)));
    }
    nodes
}
