//! Machines whose guest is a whole Linux with programs: their root file system, and the VM that runs it, where the
//! machine does not run it itself.

use super::{Module, Word};
use serde::{Deserialize, Serialize};

/// The root file system of a machine's Linux: an image made from packages. The machine has it as memory (an NVDIMM), so
/// that no device of the host enters its clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Root {
    /// The set of packages, of kind `root`.
    pub package: String,
    /// The set of the program that makes the image.
    pub mkfs: String,
}

/// The VM of a machine with a root file system: it boots the same root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Vm {
    /// The set of the VM's kernel; none for the machine's kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// Words of QEMU's command line, or under Xen's tool stack lines of the domain's configuration (xl.cfg),
    /// besides those that the launch decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Word>,
    /// Command line of the VM's kernel.
    pub parameters: Vec<Word>,
    /// Modules, in the order in which they are loaded.
    pub modules: Vec<Module>,
    /// The devices whose I/O is measured, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io: Option<Io>,
    /// The back-end of the VM's network on the CPUs of `io`, if a choice names one. Otherwise the kernel's vhost serves
    /// it, on the machine's one CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Served>,
}

impl Vm {
    /// Whether the VM has settings only, and nothing about a Linux.
    pub(crate) fn has_only_settings(&self) -> bool {
        self.package.is_none()
            && self.parameters.is_empty()
            && self.modules.is_empty()
            && self.io.is_none()
    }
}

/// Devices of the VM whose requests are measured, on a machine of several CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Io {
    /// Number of the machine's CPUs. The first runs QEMU's main loop and all else, the second the vCPU, the third the
    /// back-ends.
    pub cpus: u32,
    /// Numbers of requests that are outstanding at a time; each is a row of its own for each device.
    #[serde(default = "usual_depths", skip_serializing_if = "are_usual")]
    pub depths: Vec<u32>,
    /// Factor on a row's usual number of requests: in a longer row the place of timer interrupts matters less.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub repeat: u32,
    #[serde(default, rename = "device")]
    pub devices: Vec<Device>,
}

/// The usual depths: a request by itself, and enough requests that the back-end seldom sleeps.
fn usual_depths() -> Vec<u32> {
    vec![1, 8]
}

fn are_usual(depths: &[u32]) -> bool {
    depths == usual_depths()
}

fn once() -> u32 {
    1
}

fn is_once(repeat: &u32) -> bool {
    *repeat == once()
}

/// A device of the VM whose requests are measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// The device's name, which is part of the names of its benchmarks.
    pub name: String,
    pub kind: DeviceKind,
    pub served: Served,
    /// Reason why the device is measured.
    pub why: String,
}

/// Kind of a device, as the guest sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A virtio-blk disk.
    Disk,
    /// A virtio-net NIC.
    Net,
}

/// Back-end of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Served {
    /// QEMU's main loop.
    MainLoop,
    /// An I/O thread of QEMU.
    Iothread,
    /// qemu-storage-daemon, by vhost-user.
    QemuStorageDaemon,
    /// elvis, by vhost-user.
    Elvis,
    /// elvis without polling: it waits for each kick.
    ElvisFineGrained,
    /// The kernel's vhost-net.
    VhostNet,
    /// No back-end: the VM has a network card of the machine for itself, by VFIO.
    Assigned,
}

impl Served {
    /// Whether the back-end is elvis.
    pub fn is_elvis(self) -> bool {
        matches!(self, Self::Elvis | Self::ElvisFineGrained)
    }

    /// Whether the back-end serves devices of this kind.
    pub fn suits(self, kind: DeviceKind) -> bool {
        match self {
            Self::MainLoop | Self::Elvis | Self::ElvisFineGrained => true,
            Self::Iothread | Self::QemuStorageDaemon => kind == DeviceKind::Disk,
            Self::VhostNet | Self::Assigned => kind == DeviceKind::Net,
        }
    }
}
