//! Architectures, and the facts of each on which machines and packages depend. Other files have only three things: an
//! architecture's instructions (`ws-explain`, `ws_machines::image`), the exits of its KVM (`ws_runner`), and what one
//! architecture alone has.

use object::elf::{EM_AARCH64, EM_RISCV, EM_X86_64};
use serde::{Deserialize, Serialize};

/// The architecture of a lab machine or of a set's packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    #[serde(rename = "x86_64")]
    X86_64,
    Aarch64,
    Riscv64,
}

/// QEMU's board of machines and of their VMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Board {
    /// A PC, which ACPI describes. It boots multiboot kernels.
    Pc,
    /// `virt`, which a device tree describes. It boots an Image.
    Virt,
}

/// A library that sets the timers of a machine that resumes (`plugin/`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timers {
    /// The library's name in messages.
    pub name: &'static str,
    /// The path in an installation.
    pub path: &'static str,
}

/// Facts of an architecture.
#[derive(Debug)]
pub struct Facts {
    /// Linux's name (`uname -m`).
    pub name: &'static str,
    /// Debian's name.
    pub debian: &'static str,
    /// A processor, in words.
    pub processor: &'static str,
    /// The instruction set, as messages about files name it.
    pub isa: &'static str,

    /// The board of its machines.
    pub board: Board,
    /// QEMU's `-machine` of a VM in which a whole Linux runs.
    pub vm_machine: &'static str,
    /// The device file of the second serial port.
    pub second_serial_port: &'static str,
    /// The library for timers that the emulator does not save.
    pub timers: Option<Timers>,
    /// Debian's packages of emulator and firmware that an identity names, by the beginnings of their names.
    pub emulator_packages: &'static [&'static str],
    /// Machines of the lab: one without a hypervisor, and one with KVM.
    pub examples: [&'static str; 2],
    /// Whether KVM is the only hypervisor of its machines.
    pub has_only_kvm: bool,
    /// Whether its machines boot whole Linuxes. They need agents, and a root file system.
    pub has_whole_linux: bool,

    /// The port or address to which the guest writes to tell vmm that a benchmark's samples begin or end. No device of
    /// vmm is there.
    pub doorbell: u64,
    /// The extension of the guest image that is not an ELF file: a multiboot kernel, or an Image.
    pub guest_extension: &'static str,

    /// Machine number (`e_machine`) of ELF files of 64 bits.
    pub elf_machine: u16,
    /// The format of a Linux that its machines boot, in words.
    pub linux: &'static str,
    /// Magic number in the header of an Image.
    pub image_magic: Option<&'static [u8]>,
    /// Paths of a Linux in its build tree. The first one that exists is taken.
    pub build_images: &'static [&'static str],

    /// Patterns of a kernel's files in Debian's packages.
    pub kernel_files: &'static [&'static str],
    /// Pattern of Xen's file in Debian's packages.
    pub xen_file: &'static str,
    /// The dynamic loader, below the root of Debian's packages.
    pub loader: &'static str,
    /// The folder of libraries there.
    pub libraries: &'static str,
}

/// The files of a kernel whose image has the name `vmlinuz`.
const VMLINUZ: [&str; 4] = [
    "boot/vmlinuz-*",
    "boot/config-*",
    "usr/lib/modules/*/vmlinuz",
    "usr/lib/modules/*/config",
];

static X86_64: Facts = Facts {
    name: "x86_64",
    debian: "amd64",
    processor: "an x86",
    isa: "x86",
    board: Board::Pc,
    vm_machine: "pc,nvdimm=on",
    second_serial_port: "ttyS1",
    timers: None,
    emulator_packages: &["qemu-system-x86"],
    examples: ["lab:native", "lab:kvm"],
    has_only_kvm: false,
    has_whole_linux: true,
    doorbell: 0x510,
    guest_extension: "mb",
    elf_machine: EM_X86_64,
    linux: "a Linux bzImage for x86",
    image_magic: None,
    build_images: &["arch/x86/boot/bzImage"],
    kernel_files: &VMLINUZ,
    xen_file: "boot/xen-*.gz",
    loader: "usr/lib64/ld-linux-x86-64.so.2",
    libraries: "usr/lib/x86_64-linux-gnu",
};

static AARCH64: Facts = Facts {
    name: "aarch64",
    debian: "arm64",
    processor: "an ARM",
    isa: "aarch64",
    board: Board::Virt,
    vm_machine: "virt,gic-version=3,dtb-randomness=off",
    second_serial_port: "ttyAMA1",
    timers: Some(Timers {
        name: "library that sets the timers of a machine that resumes",
        path: "plugin/timers.so",
    }),
    emulator_packages: &["qemu-system-arm"],
    examples: ["lab:arm-native", "lab:kvm-vhe"],
    has_only_kvm: false,
    has_whole_linux: true,
    doorbell: 0x0910_0000,
    guest_extension: "img",
    elf_machine: EM_AARCH64,
    linux: "an arm64 Image",
    image_magic: Some(b"ARM\x64"),
    build_images: &[
        "arch/arm64/boot/Image",
        "arch/arm64/boot/vmlinuz.efi",
        "arch/arm64/boot/Image.gz",
        "arch/arm64/boot/Image.xz",
        "arch/arm64/boot/Image.zst",
    ],
    kernel_files: &VMLINUZ,
    xen_file: "boot/xen-*-arm64",
    loader: "usr/lib/ld-linux-aarch64.so.1",
    libraries: "usr/lib/aarch64-linux-gnu",
};

static RISCV64: Facts = Facts {
    name: "riscv64",
    debian: "riscv64",
    processor: "a RISC-V",
    isa: "RISC-V",
    board: Board::Virt,
    vm_machine: "virt",
    second_serial_port: "ttyS1",
    timers: Some(Timers {
        name: "library that sets the timers of a RISC-V machine that resumes",
        path: "plugin/timers_riscv64.so",
    }),
    emulator_packages: &["qemu-system-riscv", "opensbi"],
    examples: ["lab:riscv-native", "lab:kvm-riscv"],
    has_only_kvm: true,
    has_whole_linux: false,
    // On `virt` nothing is there.
    doorbell: 0x0910_0000,
    guest_extension: "img",
    elf_machine: EM_RISCV,
    linux: "a RISC-V Image",
    image_magic: Some(b"RSC\x05"),
    build_images: &[
        "arch/riscv/boot/Image",
        "arch/riscv/boot/vmlinuz.efi",
        "arch/riscv/boot/Image.gz",
        "arch/riscv/boot/Image.xz",
        "arch/riscv/boot/Image.zst",
    ],
    // Debian 13 names the Image boot/vmlinux-RELEASE; newer packages have modules/RELEASE/vmlinuz.
    kernel_files: &[
        "boot/vmlinux-*",
        "boot/vmlinuz-*",
        "boot/config-*",
        "usr/lib/modules/*/vmlinux",
        "usr/lib/modules/*/vmlinuz",
        "usr/lib/modules/*/config",
    ],
    xen_file: "boot/xen-*-riscv64",
    loader: "usr/lib/ld-linux-riscv64-lp64d.so.1",
    libraries: "usr/lib/riscv64-linux-gnu",
};

impl Architecture {
    /// All architectures, the usual host's first.
    pub const ALL: [Self; 3] = [Self::X86_64, Self::Aarch64, Self::Riscv64];

    pub fn facts(self) -> &'static Facts {
        match self {
            Self::X86_64 => &X86_64,
            Self::Aarch64 => &AARCH64,
            Self::Riscv64 => &RISCV64,
        }
    }

    /// Linux's name of the architecture.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Architectures of machines that boot whole Linuxes.
    pub fn with_whole_linux() -> impl Iterator<Item = Self> {
        let all = Self::ALL.into_iter();
        all.filter(|one| one.facts().has_whole_linux)
    }
}
