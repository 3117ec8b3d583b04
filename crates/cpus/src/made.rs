//! Made-up hosts for tests.

use crate::facts::Cpus;
use std::collections::BTreeMap;

const CPU: &str = "/sys/devices/system/cpu";

/// The files of a host.
#[derive(Clone, Debug, Default)]
pub struct Made(BTreeMap<String, String>);

impl Made {
    pub fn new(online: &str) -> Self {
        Self::default().file(&format!("{CPU}/online"), online)
    }

    pub fn file(mut self, path: &str, text: &str) -> Self {
        self.0.insert(path.to_owned(), format!("{text}\n"));
        self
    }

    pub fn affinity(self, list: &str) -> Self {
        self.file(
            "/proc/self/status",
            &format!("Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t{list}"),
        )
    }

    pub fn present(self, list: &str) -> Self {
        self.file(&format!("{CPU}/present"), list)
    }

    pub fn isolated(self, list: &str) -> Self {
        self.file(&format!("{CPU}/isolated"), list)
    }

    pub fn smt_off(self) -> Self {
        self.file(&format!("{CPU}/smt/control"), "off")
    }

    /// Puts this process into `group` of version 2; the groups from `outermost` on have these CPUs.
    pub fn group(self, group: &str, outermost: &str, cpus: &str) -> Self {
        let mut made = self.file("/proc/self/cgroup", &format!("0::{group}"));
        let mut at = group;
        loop {
            made = made.file(&format!("/sys/fs/cgroup{at}/cpuset.cpus.effective"), cpus);
            if at == outermost {
                return made;
            }
            at = at.rsplit_once('/').map_or("", |(outer, _)| outer);
        }
    }

    pub fn cpus(&self) -> Cpus {
        Cpus::read(&|path| self.0.get(path).cloned())
    }
}

/// Host on which 0-7 are the threads of four fast cores, 8-11 are slow cores.
pub fn hybrid() -> Cpus {
    host(1).cpus()
}

/// Host on which 0-3 are small, 4-5 are big.
pub fn big_little() -> Cpus {
    host(2).cpus()
}

/// Host on which 0-3 are on one node, 4-7 on the other.
pub fn two_nodes() -> Cpus {
    host(3).cpus()
}

pub const ALL: usize = 5;

pub fn all(number: usize) -> Cpus {
    host(number).cpus()
}

pub fn host(number: usize) -> Made {
    let each = |made: Made, cpus: std::ops::Range<u32>, file: &str, text: fn(u32) -> String| {
        cpus.fold(made, |made, cpu| {
            made.file(&format!("{CPU}/cpu{cpu}/{file}"), &text(cpu))
        })
    };
    let pair = |cpu: u32| format!("{}-{}", cpu & !1, cpu | 1);
    match number {
        1 => {
            let made = Made::new("0-11")
                .file("/sys/devices/cpu_core/cpus", "0-7")
                .file("/sys/devices/cpu_atom/cpus", "8-11");
            each(made, 0..8, "topology/thread_siblings_list", pair)
        }
        2 => {
            let capacity = |cpu| if cpu < 4 { "430" } else { "1024" }.to_owned();
            each(Made::new("0-5"), 0..6, "cpu_capacity", capacity)
        }
        3 => Made::new("0-7")
            .file("/sys/devices/system/node/online", "0-1")
            .file("/sys/devices/system/node/node0/cpulist", "0-3")
            .file("/sys/devices/system/node/node1/cpulist", "4-7"),
        // The best cores of one kind get a few percent more: 0-3 are one kind, 4-5 another.
        4 => {
            let khz = |cpu| {
                [
                    "5100000", "5100000", "4900000", "4900000", "3300000", "3300000",
                ][cpu as usize]
                    .to_owned()
            };
            each(Made::new("0-5"), 0..6, "cpufreq/cpuinfo_max_freq", khz)
        }
        _ => Made::new("0-3"),
    }
}
