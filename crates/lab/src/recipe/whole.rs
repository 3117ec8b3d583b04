//! Machines whose guest is a whole Linux with programs: their root file system, and the VM that runs
//! it where it is not run by the machine itself.

use super::{Module, Word};
use serde::{Deserialize, Serialize};

/// The root file system of a machine's Linux: an image made from packages, which the machine has as
/// memory (an NVDIMM), so that no device of the host enters its clock.
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
    /// The set of its kernel; that of the machine if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// Words of QEMU's command line, or under Xen's tool stack lines of the domain's configuration (xl.cfg),
    /// besides those that the launch decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Word>,
    /// Its kernel's command line.
    pub parameters: Vec<Word>,
    /// In the order in which they are loaded.
    pub modules: Vec<Module>,
    /// The devices whose I/O is measured, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io: Option<Io>,
    /// What serves its network on the CPUs of `io`, if a choice says so. Otherwise the kernel's vhost does, on the
    /// machine's one CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Served>,
}

impl Vm {
    /// Whether it says nothing of a Linux.
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
    /// The machine's CPUs: the first has QEMU's main loop and all else, the second the vCPU, the third
    /// what serves the devices.
    pub cpus: u32,
    /// How many requests at a time: each is a row of its own for each device.
    #[serde(default = "usual_depths", skip_serializing_if = "are_usual")]
    pub depths: Vec<u32>,
    /// How many times its usual requests a row has: in a longer one it matters less where timers fall.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub repeat: u32,
    #[serde(default, rename = "device")]
    pub devices: Vec<Device>,
}

/// A request by itself, and so many that what serves them seldom sleeps.
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

/// One such device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// In the names of its benchmarks.
    pub name: String,
    pub kind: DeviceKind,
    pub served: Served,
    /// Why it is measured.
    pub why: String,
}

/// What a device is to the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// A virtio-blk disk.
    Disk,
    /// A virtio-net NIC.
    Net,
}

/// What serves a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Served {
    /// QEMU's main loop.
    MainLoop,
    /// An I/O thread of QEMU's.
    Iothread,
    /// qemu-storage-daemon, by vhost-user.
    QemuStorageDaemon,
    /// elvis, by vhost-user.
    Elvis,
    /// elvis without polling: it waits for each kick.
    ElvisFineGrained,
    /// The kernel's vhost-net.
    VhostNet,
    /// Nothing: the VM has a network card of the machine's for itself, by VFIO.
    Assigned,
}

impl Served {
    /// Whether it is elvis.
    pub fn is_elvis(self) -> bool {
        matches!(self, Self::Elvis | Self::ElvisFineGrained)
    }

    /// Whether such a server has devices of this kind.
    pub fn suits(self, kind: DeviceKind) -> bool {
        match self {
            Self::MainLoop | Self::Elvis | Self::ElvisFineGrained => true,
            Self::Iothread | Self::QemuStorageDaemon => kind == DeviceKind::Disk,
            Self::VhostNet | Self::Assigned => kind == DeviceKind::Net,
        }
    }
}
