//! What a lab machine boots.

use crate::initramfs::{Entry, Initramfs};
use crate::machine::MachineError;
use std::path::PathBuf;

/// Where things lie in the initramfs of a machine whose `/init` is the monitor.
pub const GUEST: &str = "guest.elf";
pub const INITRD: &str = "initrd";
const INIT: &str = "init";
const CONFIG: &str = "vmm.conf";

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
    /// The monitor, the guest, and what else `/init` needs: modules under their file's names.
    pub files: Vec<Entry>,
    /// Lines of the monitor's configuration that every launch has.
    pub config: Vec<String>,
}

impl Linux {
    /// The initramfs of one launch: all files, and the configuration with `lines` behind those
    /// that every launch has.
    ///
    /// # Errors
    /// No memory for it.
    pub fn initramfs(&self, lines: &[String]) -> Result<Initramfs, MachineError> {
        let mut files = self.files.clone();
        let lines = self.config.iter().chain(lines);
        files.push(Entry {
            path: CONFIG.into(),
            bytes: lines
                .flat_map(|line| [line, "\n"].concat().into_bytes())
                .collect(),
        });
        Initramfs::pack(&files)
    }
}

/// The monitor as the first process.
pub fn init(bytes: Vec<u8>) -> Entry {
    Entry {
        path: INIT.into(),
        bytes,
    }
}
