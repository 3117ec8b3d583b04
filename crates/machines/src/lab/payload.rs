//! What a lab machine boots.

use crate::initramfs::{Entry, Initramfs};
use crate::machine::MachineError;
use std::path::PathBuf;

/// Where things lie in the initramfs of a machine whose `/init` is the monitor.
pub const GUEST: &str = "guest.elf";
pub const INITRD: &str = "initrd";
const INIT: &str = "init";

/// What the emulator boots.
#[derive(Clone, Debug)]
pub enum Payload {
    /// The guest itself: it has the machine for itself.
    Guest,
    /// A kernel, and in its initramfs the monitor as `/init`, the kernel's modules and the guest.
    Linux(Linux),
    /// Xen, the guest's tool stack as its dom0, and the guest for that to start.
    Xen {
        hypervisor: PathBuf,
        dom0: PathBuf,
        /// Xen's command line.
        parameters: String,
    },
}

/// A Linux that runs our monitor and nothing else.
#[derive(Clone, Debug)]
pub struct Linux {
    pub kernel: PathBuf,
    /// The kernel's command line.
    pub parameters: String,
    /// `/init`, the guest, and what else is needed: modules under their files' names.
    pub files: Vec<Entry>,
    /// What `/init` is.
    pub monitor: LinuxMonitor,
    /// The lines of its configuration that load the modules.
    pub modules: Vec<String>,
}

/// What creates the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinuxMonitor {
    /// Our own, which is `/init` itself.
    Vmm,
    /// QEMU, which `/init` starts by these words.
    Qemu(Vec<String>),
}

impl LinuxMonitor {
    /// Where `/init` reads what to do.
    fn config(&self) -> &'static str {
        match self {
            LinuxMonitor::Vmm => "vmm.conf",
            LinuxMonitor::Qemu(_) => "init.conf",
        }
    }
}

impl Linux {
    /// The initramfs of one launch: all files, and the configuration with `lines` behind those
    /// that every launch has.
    ///
    /// # Errors
    /// No memory for it.
    pub fn initramfs(&self, lines: &[String]) -> Result<Initramfs, MachineError> {
        let mut files = self.files.clone();
        let lines = self.modules.iter().chain(lines);
        let bytes: Vec<u8> = lines
            .flat_map(|line| [line, "\n"].concat().into_bytes())
            .collect();
        files.push(Entry::file(self.monitor.config(), bytes));
        Initramfs::pack(&files)
    }
}

/// The first process.
pub fn init(bytes: Vec<u8>) -> Entry {
    Entry::file(INIT, bytes)
}
