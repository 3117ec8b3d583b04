//! The payload of a lab machine: what its emulator boots.

use super::below::{BelowHypervisor, NEVE_DOORBELL};
use super::command;
use super::resume::LaunchPoint;
use super::whole::Whole;
use super::xl::Dom0;
use crate::initramfs::{self, Content, Entry};
use crate::machine::{MachineError, Witness};
use std::path::{Path, PathBuf};
use std::time::Duration;
use ws_lab::recipe::EmulatorKind;

/// Paths in the initramfs of a machine whose `/init` is the monitor.
pub const GUEST: &str = "guest.elf";
pub const INITRD: &str = "initrd";
const INIT: &str = "init";
/// The kernel of a nested machine.
const KERNEL: &str = "vmlinuz";
/// Xen's Image of a nested machine.
pub const XEN: &str = "xen.img";

/// Under Xen the second serial port is Xen's console, so the guest prints to the third.
const XEN_WORDS: &[&str] = &["print=0x3e8"];

/// The test device of a VM of neve (neve/core/guest_tree.h).
const NEVE_WORDS: &[&str] = &["in=0xa000000"];

/// Time limit of a boot. A kernel and a hypervisor boot before the guest: about 6 s on an idle host. The limit must
/// hold on a loaded host too.
const BOOT_LIMIT: Duration = Duration::from_secs(180);

/// Time limit of two nested hypervisors, which take ten times as long. 180 s were not enough on a host with a load of seven
/// times its cores.
const NESTED_BOOT_LIMIT: Duration = Duration::from_secs(900);

/// Time limit of a whole Linux below whole Linuxes, or on Bochs: five minutes alone on a host, and one step as long as
/// that.
const NESTED_WHOLE_LIMIT: Duration = Duration::from_secs(3600);

/// The payload, by the hypervisor and its first VM. A new one needs a row in [`Payload::properties`], the emulator's
/// words (`command`), and the file that is made for a launch (`machine/made`).
#[derive(Clone, Debug)]
pub enum Payload {
    /// The guest itself, without a hypervisor.
    Guest,
    /// A kernel; its initramfs contains the monitor as `/init`, the kernel's modules and the guest.
    Linux(Linux),
    /// Xen, the project's tool stack as its dom0, and the guest, which the dom0 starts.
    Xen {
        hypervisor: PathBuf,
        dom0: PathBuf,
        /// Xen's command line.
        parameters: String,
    },
    /// Xen with its own tool stack in a Linux, which starts the guest.
    Dom0(Box<Dom0>),
    /// neve, the guest hypervisors above it if there are any, and the guest.
    Neve {
        /// The hypervisors' images, the host's first.
        hypervisors: Vec<PathBuf>,
    },
    /// A whole Linux with programs, the machine's own or that of a VM.
    Whole(Box<Whole>),
    /// Xen on ARM, which starts the guest by itself: no dom0.
    Dom0less {
        hypervisor: PathBuf,
        /// Xen's command line.
        parameters: String,
    },
}

/// Properties in which payloads differ.
#[derive(Clone, Copy, Debug)]
pub struct Properties<'a> {
    /// Xen's image.
    pub xen: Option<&'a Path>,
    /// The Linux that the emulator boots, or Xen as its dom0.
    pub linux: Option<Booted<'a>>,
    /// Words on the guest's command line in every launch.
    pub words: &'static [&'static str],
    /// The doorbell, where it is the hypervisor's and not the monitor's.
    pub doorbell: Option<u64>,
    pub boot_limit: Duration,
    /// The proof that a user's kernel powered the machine off, on QEMU.
    pub witness: Witness,
}

/// A Linux that is booted.
#[derive(Clone, Copy, Debug)]
pub struct Booted<'a> {
    pub kernel: &'a Path,
    /// The kernel's command line.
    pub parameters: &'a str,
    /// The files of its initramfs that are the same in every launch.
    pub files: &'a [Entry],
    /// The lines for its first process that are the same in every launch.
    pub lines: &'a [String],
}

impl Payload {
    /// The payload's properties: the table of all payloads.
    pub fn properties(&self) -> Properties<'_> {
        let guest = Properties {
            xen: None,
            linux: None,
            words: &[],
            doorbell: None,
            boot_limit: BOOT_LIMIT,
            witness: Witness::Complaint(command::POWERED_OFF),
        };
        match self {
            Payload::Guest => guest,
            Payload::Linux(linux) => Properties {
                xen: linux.nested_xen().map(|xen| &*xen.hypervisor),
                linux: Some(linux.booted()),
                boot_limit: match linux.nested {
                    Some(_) => NESTED_BOOT_LIMIT,
                    None => BOOT_LIMIT,
                },
                witness: match linux.monitor {
                    LinuxMonitor::Qemu(_) => Witness::Console(command::POWERED_OFF),
                    LinuxMonitor::Vmm { .. } => Witness::Bye,
                },
                ..guest
            },
            Payload::Xen { hypervisor, .. } => Properties {
                xen: Some(hypervisor),
                words: XEN_WORDS,
                witness: Witness::Bye,
                ..guest
            },
            Payload::Dom0(dom0) => Properties {
                xen: Some(&dom0.xen.hypervisor),
                linux: Some(dom0.linux.booted()),
                boot_limit: NESTED_BOOT_LIMIT,
                ..guest
            },
            Payload::Neve { .. } => Properties {
                words: NEVE_WORDS,
                doorbell: Some(NEVE_DOORBELL),
                witness: Witness::Bye,
                ..guest
            },
            Payload::Whole(whole) => Properties {
                xen: whole.xen.as_ref().map(|xen| &*xen.hypervisor),
                linux: Some(whole.booted()),
                boot_limit: match (&whole.below, whole.emulator) {
                    (Some(_), _) | (_, EmulatorKind::Bochs) => NESTED_WHOLE_LIMIT,
                    (None, EmulatorKind::Qemu) => NESTED_BOOT_LIMIT,
                },
                ..guest
            },
            Payload::Dom0less { hypervisor, .. } => Properties {
                xen: Some(hypervisor),
                ..guest
            },
        }
    }

    /// The whole Linux with programs, if that is the payload.
    pub fn whole(&self) -> Option<&Whole> {
        match self {
            Payload::Whole(whole) => Some(whole),
            _ => None,
        }
    }

    /// The point where the machine stops once it has booted, so that it can be resumed there; none if it does not.
    pub(super) fn launch_point(&self) -> Option<LaunchPoint> {
        let below = self.whole().and_then(|whole| whole.below.as_ref());
        match below.map(|below| &below.hypervisor) {
            Some(BelowHypervisor::Kvm(linux)) => first_process(&linux.files),
            // neve is no process, so the lab writes to the first process of its VM.
            Some(BelowHypervisor::Neve { .. }) | None => {
                first_process(self.properties().linux?.files)
            }
        }
    }
}

/// The launch point of the first process among `files`.
fn first_process(files: &[Entry]) -> Option<LaunchPoint> {
    let first = files.iter().find(|file| file.path == INIT)?;
    match &first.content {
        Content::Bytes(bytes) => LaunchPoint::of(bytes),
        Content::Link(_) | Content::Folder(_) => None,
    }
}

/// A Linux that runs only a monitor.
#[derive(Clone, Debug)]
pub struct Linux {
    pub kernel: PathBuf,
    /// The kernel's command line.
    pub parameters: String,
    /// `/init`, the guest, and the modules under their files' names.
    pub files: Vec<Entry>,
    /// The monitor that runs the guest.
    pub monitor: LinuxMonitor,
    /// The lines of the monitor's configuration in every launch: those that load the modules, and the recipe's own.
    pub lines: Vec<String>,
    /// A hypervisor between this Linux and the guest.
    pub nested: Option<Nested>,
}

/// A hypervisor in a nested machine, which runs the guest.
#[derive(Clone, Debug)]
pub enum Nested {
    /// Linux with KVM and vmm.
    Linux(NestedLinux),
    /// Xen, whose Image is among the machine's files, and whose domains are the monitor's to describe.
    Xen(NestedXen),
}

/// Xen without a dom0 in a nested machine.
#[derive(Clone, Debug)]
pub struct NestedXen {
    /// Xen's Image.
    pub hypervisor: PathBuf,
    /// Memory of Xen and its second domain.
    pub memory_beside_mib: u64,
}

/// A Linux in a nested machine: the same kernel with the same monitor.
#[derive(Clone, Debug)]
pub struct NestedLinux {
    /// The bytes of the kernel's image.
    pub kernel: Vec<u8>,
    /// The kernel's command line, from which the outer monitor takes its doorbell.
    pub parameters: String,
    /// The files of its own initramfs: `/init`, the guest and the modules.
    pub files: Vec<Entry>,
    /// The lines of its monitor's configuration in every launch: those that load the modules, and the address of the
    /// outer monitor's doorbell.
    pub lines: Vec<String>,
    /// Memory of this Linux besides the guest's.
    pub memory_beside_mib: u64,
}

/// The program that creates the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinuxMonitor {
    /// vmm, which is `/init` itself. `is_flat`: the guest has no header.
    Vmm { is_flat: bool },
    /// QEMU, which `/init` starts with these words.
    Qemu(Vec<String>),
}

impl LinuxMonitor {
    /// The file from which `/init` reads its configuration.
    pub(super) fn config(&self) -> &'static str {
        match self {
            LinuxMonitor::Vmm { .. } => "vmm.conf",
            LinuxMonitor::Qemu(_) => "init.conf",
        }
    }
}

impl Linux {
    /// Xen, if it is between this Linux and the guest.
    pub(super) fn nested_xen(&self) -> Option<&NestedXen> {
        match &self.nested {
            Some(Nested::Xen(xen)) => Some(xen),
            Some(Nested::Linux(_)) | None => None,
        }
    }

    fn booted(&self) -> Booted<'_> {
        Booted {
            kernel: &self.kernel,
            parameters: &self.parameters,
            files: &self.files,
            lines: &self.lines,
        }
    }

    /// The initramfs of one launch: all files, and the configuration, which is the lines of every
    /// launch, then `lines`.
    pub fn initramfs(&self, lines: &[String]) -> Result<Vec<u8>, MachineError> {
        with_config(&self.files, self.monitor.config(), &self.lines, lines)
    }

    /// The initramfs of one launch with another Linux between this one and the guest. `lines` are for that Linux'
    /// monitor; `cpus` and `memory_mib` are of its VM.
    pub fn nested_initramfs(
        &self,
        inner: &NestedLinux,
        lines: &[String],
        cpus: u32,
        memory_mib: u64,
    ) -> Result<Vec<u8>, MachineError> {
        let config = self.monitor.config();
        let initrd = with_config(&inner.files, config, &inner.lines, lines)?;
        let mut files = self.files.clone();
        files.push(Entry::file(KERNEL, &*inner.kernel));
        files.push(Entry::file(INITRD, initrd));
        let outer = [
            format!("kernel=/{KERNEL}"),
            format!("initrd=/{INITRD}"),
            format!("append={}", inner.parameters),
            format!("memory={memory_mib}"),
            format!("cpus={cpus}"),
            "source=l0".to_owned(),
        ];
        with_config(&files, config, &self.lines, &outer)
    }
}

/// An initramfs of these files and a configuration of these lines.
pub(super) fn with_config(
    files: &[Entry],
    config: &str,
    first: &[String],
    then: &[String],
) -> Result<Vec<u8>, MachineError> {
    let lines = first.iter().chain(then);
    let bytes: Vec<u8> = lines
        .flat_map(|line| [line, "\n"].concat().into_bytes())
        .collect();
    let mut files = files.to_vec();
    files.push(Entry::file(config, bytes));
    initramfs::pack(&files)
}

/// The file of the first process, of these bytes.
pub fn init(bytes: Vec<u8>) -> Entry {
    Entry::file(INIT, bytes)
}
