//! The hypervisor below a whole Linux that runs a VM: the hypervisor is L0, that Linux L1. L0 gives L1 the root file
//! system as memory, and has a doorbell by which L1's agent tells L0 which traps to count (docs/guest.md).

use super::payload::{Linux, with_config};
use super::virt;
use crate::initramfs::Entry;
use crate::machine::MachineError;
use std::fs;
use std::path::{Path, PathBuf};
use ws_lab::sets::Architecture;

/// Address of neve's test device, the same in each of its VMs (neve/core/guest_tree.h).
pub const NEVE_DOORBELL: u64 = 0xa00_0008;

/// Paths in the initramfs of L0.
const KERNEL: &str = "vmlinuz";
const INITRD: &str = "initrd";
const ROOT: &str = "root.img";

/// Alignment of neve's modules: each begins a multiple of this size before the end of the memory.
const PIECE: u64 = 2 << 20;

/// A hypervisor that runs the machine's Linux in a VM.
#[derive(Clone, Debug)]
pub struct Below {
    /// The machine's memory besides that of the VM.
    pub memory_beside_mib: u64,
    pub hypervisor: BelowHypervisor,
}

/// The hypervisor: KVM, or neve.
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
    /// Address of L1's doorbell.
    pub fn doorbell(&self, architecture: Architecture) -> u64 {
        match self.hypervisor {
            BelowHypervisor::Neve { .. } => NEVE_DOORBELL,
            BelowHypervisor::Kvm(_) => architecture.facts().doorbell,
        }
    }

    /// L1's command line. L0 finds the doorbell's address at its end.
    fn command_line(&self, vm: &Vm<'_>) -> String {
        let doorbell = self.doorbell(vm.architecture);
        format!("{} doorbell={doorbell:#x}", vm.parameters)
    }

    /// The machine's initramfs, made of L1's. neve gets L1's initramfs as it is. L0's Linux gets one with L1's kernel,
    /// initramfs and root file system in it.
    pub fn initramfs(&self, vm: &Vm<'_>, initrd: Vec<u8>) -> Result<Vec<u8>, MachineError> {
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
            format!("append={}", self.command_line(vm)),
            format!("memory={}", vm.memory_mib),
            "source=l0".to_owned(),
        ];
        with_config(&files, linux.monitor.config(), &linux.lines, &lines)
    }

    /// QEMU's arguments that boot L0, in a machine of `memory_mib`. `made` is the path of the file of
    /// [`Self::initramfs`], and its bytes.
    pub fn boot(
        &self,
        vm: &Vm<'_>,
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
                // The root file system follows the memory; the initramfs and the kernel are at the memory's end.
                let root = virt::MEMORY + (memory_mib << 20);
                let initrd = root - bytes.next_multiple_of(PIECE);
                let kernel = initrd - of_kernel.next_multiple_of(PIECE);
                let doubled = |text: &str| text.replace(',', ",,");
                let append = format!(
                    "{own} cpus=1 memory={} pmem={root:#x}+{:#x}",
                    vm.memory_mib, vm.root_bytes
                );
                let bootargs = doubled(&self.command_line(vm));
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

#[cfg(test)]
mod tests {
    use super::super::payload::{self, LinuxMonitor};
    use super::*;

    fn file(folder: &Path, name: &str, bytes: usize) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, vec![b'x'; bytes]).unwrap();
        path
    }

    fn vm<'a>(kernel: &'a Path, root: &'a Path) -> Vm<'a> {
        Vm {
            architecture: Architecture::Aarch64,
            kernel,
            parameters: "console=ttyAMA0 a=b,c",
            memory_mib: 1536,
            root,
            root_bytes: 4 << 20,
        }
    }

    #[test]
    fn neve_gets_the_root_behind_the_memory_and_modules_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let kernel = file(folder.path(), "vmlinuz", (2 << 20) + 1);
        let below = Below {
            memory_beside_mib: 384,
            hypervisor: BelowHypervisor::Neve {
                image: "/n/neve.img".into(),
                words: "vhe=1 nest=nv2".into(),
            },
        };
        let vm = vm(&kernel, Path::new("/r/image"));
        assert_eq!(below.initramfs(&vm, vec![7]).unwrap(), [7]);
        let line = below.boot(&vm, 1920, ("/dev/fd/9", 100)).unwrap().join(" ");
        for part in [
            "-m 1924M",
            "-append vhe=1 nest=nv2 cpus=1 memory=1536 pmem=0xb8000000+0x400000",
            "guest-loader,addr=0xb7a00000,kernel=",
            "bootargs=console=ttyAMA0 a=b,,c doorbell=0xa000008",
            "guest-loader,addr=0xb7e00000,initrd=/dev/fd/9",
        ] {
            assert!(line.contains(part), "{part}: {line}");
        }
        assert!(!line.contains("-dtb"), "{line}");
    }

    #[test]
    fn a_linux_below_has_kernel_initramfs_and_root_in_its_own_initramfs() {
        let folder = tempfile::tempdir().unwrap();
        let kernel = file(folder.path(), "vmlinuz", 10);
        let root = file(folder.path(), "image", 4096);
        let below = Below {
            memory_beside_mib: 1536,
            hypervisor: BelowHypervisor::Kvm(Box::new(Linux {
                kernel: "/k/vmlinuz".into(),
                parameters: "kvm-arm.mode=nested".into(),
                files: vec![payload::init(b"vmm".to_vec())],
                monitor: LinuxMonitor::Vmm { is_flat: false },
                lines: vec!["el2".into()],
                nested: None,
            })),
        };
        let vm = vm(&kernel, &root);
        let made = below.initramfs(&vm, b"L1's files".to_vec()).unwrap();
        let text = String::from_utf8_lossy(&made);
        for part in [
            "L1's files",
            "root.img",
            "el2\nkernel=/vmlinuz\ninitrd=/initrd\npmem=/root.img\n\
             append=console=ttyAMA0 a=b,c doorbell=0x9100000\n\
             memory=1536\nsource=l0\n",
        ] {
            assert!(text.contains(part), "{part}");
        }
        let line = below.boot(&vm, 3072, ("/dev/fd/9", 100)).unwrap().join(" ");
        assert_eq!(
            line,
            "-m 3072 -kernel /k/vmlinuz -initrd /dev/fd/9 -append kvm-arm.mode=nested"
        );
    }
}
