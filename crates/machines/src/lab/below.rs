//! The hypervisor below a whole Linux that runs a VM: it is L0, that Linux L1. It gives L1 the root file system
//! as memory, and has a doorbell by which L1's agent tells it which traps to count (docs/guest.md).

use super::payload::{Linux, with_config};
use super::virt;
use crate::initramfs::Entry;
use crate::machine::MachineError;
use crate::vmm::{DOORBELL, DOORBELL_ARM};
use std::fs;
use std::path::{Path, PathBuf};
use ws_lab::sets::Architecture;

/// neve's test device is at the same address in each of its VMs (neve/core/guest_tree.h).
pub const NEVE_DOORBELL: u64 = 0xa00_0008;

/// Paths in the initramfs of L0.
const KERNEL: &str = "vmlinuz";
const INITRD: &str = "initrd";
const ROOT: &str = "root.img";

/// What neve's modules are aligned to: pieces of this size at the end of the memory.
const PIECE: u64 = 2 << 20;

/// A hypervisor that runs the machine's Linux in a VM.
#[derive(Clone, Debug)]
pub struct Below {
    /// The machine's memory besides that of the VM.
    pub memory_beside_mib: u64,
    pub hypervisor: BelowHypervisor,
}

/// Which one.
#[derive(Clone, Debug)]
pub enum BelowHypervisor {
    /// KVM of another Linux, with vmm as its `/init`.
    Kvm(Box<Linux>),
    /// neve's image, and the words of its command line.
    Neve { image: PathBuf, words: String },
}

/// L1, as L0 starts it.
#[derive(Clone, Copy, Debug)]
pub struct Vm<'a> {
    pub architecture: Architecture,
    pub kernel: &'a Path,
    pub parameters: &'a str,
    pub memory_mib: u64,
    /// The image of the root file system.
    pub root: &'a Path,
    pub root_bytes: u64,
}

impl Below {
    /// Where L1 finds the doorbell.
    pub fn doorbell(&self, architecture: Architecture) -> u64 {
        match (&self.hypervisor, architecture) {
            (BelowHypervisor::Neve { .. }, _) => NEVE_DOORBELL,
            (BelowHypervisor::Kvm(_), Architecture::Aarch64) => DOORBELL_ARM,
            (BelowHypervisor::Kvm(_), Architecture::X86_64) => DOORBELL,
        }
    }

    /// What L0 takes from the end of L1's command line: the launch's nonce and unit, for its records, and
    /// where the doorbell is.
    pub fn words(&self, architecture: Architecture, command_line: &str) -> String {
        let taken = command_line
            .split(' ')
            .filter(|word| word.starts_with("nonce=") || word.starts_with("unit="));
        let doorbell = format!("doorbell={:#x}", self.doorbell(architecture));
        let words: Vec<&str> = taken.chain([&*doorbell]).collect();
        words.join(" ")
    }

    /// The machine's initramfs, of L1's. neve gets that as it is; L0's Linux one with L1 and its root in it.
    ///
    /// # Errors
    /// A file can't be read, or is too large.
    pub fn initramfs(
        &self,
        vm: &Vm<'_>,
        words: &str,
        initrd: Vec<u8>,
    ) -> Result<Vec<u8>, MachineError> {
        let BelowHypervisor::Kvm(linux) = &self.hypervisor else {
            return Ok(initrd);
        };
        let read = |path: &Path| fs::read(path).map_err(|e| MachineError::io("read", path, e));
        let mut files = linux.files.clone();
        files.push(Entry::file(KERNEL, read(vm.kernel)?));
        files.push(Entry::file(INITRD, initrd));
        files.push(Entry::file(ROOT, read(vm.root)?));
        let lines = [
            format!("kernel=/{KERNEL}"),
            format!("initrd=/{INITRD}"),
            format!("pmem=/{ROOT}"),
            format!("append={} {words}", vm.parameters),
            format!("memory={}", vm.memory_mib),
            "source=l0".to_owned(),
        ];
        with_config(&files, linux.monitor.config(), &linux.lines, &lines)
    }

    /// QEMU's words that boot it, in a machine of `memory_mib`; `made` is the file of [`Self::initramfs`],
    /// of that many bytes.
    pub fn boot(
        &self,
        vm: &Vm<'_>,
        words: &str,
        memory_mib: u64,
        made: (&str, u64),
    ) -> Result<Vec<String>, MachineError> {
        let (path, bytes) = made;
        match &self.hypervisor {
            BelowHypervisor::Kvm(linux) => Ok(vec![
                "-m".into(),
                memory_mib.to_string(),
                "-kernel".into(),
                linux.kernel.to_string_lossy().into_owned(),
                "-initrd".into(),
                path.to_owned(),
                "-append".into(),
                linux.parameters.clone(),
            ]),
            BelowHypervisor::Neve { image, words: own } => {
                let of_kernel = fs::metadata(vm.kernel)
                    .map_err(|e| MachineError::io("read", vm.kernel, e))?
                    .len();
                let root = virt::MEMORY + (memory_mib << 20);
                let initrd = root - bytes.next_multiple_of(PIECE);
                let kernel = initrd - of_kernel.next_multiple_of(PIECE);
                let doubled = |text: &str| text.replace(',', ",,");
                let append = format!(
                    "{own} cpus=1 memory={} pmem={root:#x}+{:#x}",
                    vm.memory_mib, vm.root_bytes
                );
                let bootargs = doubled(&format!("{} {words}", vm.parameters));
                let file = doubled(&vm.kernel.to_string_lossy());
                let mut boot = super::whole_memory::Root::of(
                    vm.architecture,
                    memory_mib,
                    &vm.root.to_string_lossy(),
                    vm.root_bytes,
                )
                .words();
                boot.extend([
                    "-kernel".into(),
                    image.to_string_lossy().into_owned(),
                    "-append".into(),
                    append,
                    "-device".into(),
                    format!("guest-loader,addr={kernel:#x},kernel={file},bootargs={bootargs}"),
                    "-device".into(),
                    format!("guest-loader,addr={initrd:#x},initrd={path}"),
                ]);
                Ok(boot)
            }
        }
    }
}
