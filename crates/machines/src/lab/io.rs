//! Devices of a VM whose requests are measured: their back-ends on the host, the lines for the agents of host and
//! guest, and the benchmarks.

use super::network;
use crate::image::BenchmarkRow;
use sha2::{Digest, Sha256};
use ws_lab::recipe::{Device, DeviceKind, Served};
use ws_results::IoRow;

/// The devices of a machine.
#[derive(Clone, Debug)]
pub struct Io {
    /// Number of the machine's CPUs.
    pub cpus: u32,
    /// Numbers of requests that are outstanding at a time; a row for each.
    pub depths: Vec<u32>,
    /// Factor on a row's usual number of requests.
    pub repeat: u32,
    pub devices: Vec<Device>,
    /// elvis, or the reason why its devices are left out, and the cure.
    pub elvis: Result<Elvis, String>,
}

/// elvis, the back-end of some devices.
#[derive(Clone, Debug)]
pub struct Elvis {
    pub bytes: Vec<u8>,
    /// SHA-256, in hexadecimal.
    sha256: String,
}

impl Elvis {
    /// Makes the value from the program's bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        let sha256 = hex(&Sha256::digest(&bytes));
        Self { bytes, sha256 }
    }
}

/// Path of elvis in the initramfs.
pub const ELVIS: &str = "elvis";

/// The machine's CPU that runs the vCPU.
const VCPU_CPU: u32 = 1;

const DISK_BYTES: u64 = 16 << 20;

/// The slot of the first device on QEMU's PCI bus; QEMU itself chooses lower ones.
const FIRST_SLOT: usize = 0x10;

/// The MAC address of the host's end of all networks.
const HOST_MAC: &str = "52:54:00:00:02:01";

/// Network cards of a machine that gives its VM a card (`kvm-vfio-linux`). The VM's has a MAC address; the host's is at
/// the other end of the wire.
pub(super) const VM_CARD: &str = "0000:00:1e.0";
const VM_CARD_MAC: &str = network::MAC;
const HOST_CARD: &str = "0000:00:1d.0";

/// Number of echoes that touch all buffers of the card's driver, which has fewer (1024, `VMXNET3_DEF_RX_RING_SIZE` of
/// Linux).
const TOUCHING: u32 = 2048;

/// Number of requests that are measured at this depth: enough that the begin and end of the window are below 0.1 % of
/// it.
fn units(depth: u32) -> u64 {
    match depth {
        1 => 300,
        _ => 75 * u64::from(depth.max(8)),
    }
}

/// A device of a VM, with its index, which decides its slot and addresses.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a> {
    pub device: &'a Device,
    index: usize,
}

impl Placed<'_> {
    /// The device's slot on QEMU's PCI bus, in hexadecimal.
    pub fn slot(&self) -> String {
        format!("{:x}", FIRST_SLOT + self.index)
    }

    /// The disk's file on the host.
    pub fn file(&self) -> String {
        format!("/run/io/{}", self.device.name)
    }

    /// The socket of the device's back-end by vhost-user.
    pub fn socket(&self) -> String {
        format!("/run/io/{}.socket", self.device.name)
    }

    /// The network's TAP device on the host.
    pub fn tap(&self) -> String {
        format!("io{}", self.index)
    }

    /// The MAC address of the guest's end.
    pub fn mac(&self) -> String {
        match self.device.served {
            Served::Assigned => VM_CARD_MAC.to_owned(),
            _ => format!("52:54:00:00:01:{:02x}", self.index),
        }
    }

    fn host_address(&self) -> String {
        format!("10.1.{}.1", self.index)
    }

    fn guest_address(&self) -> String {
        format!("10.1.{}.2", self.index)
    }

    /// The device's name for the guest's agent, in `requests=`.
    fn in_guest(&self) -> String {
        match self.device.kind {
            DeviceKind::Disk => format!("disk /run/{}", self.device.name),
            DeviceKind::Net => format!("net {}", self.host_address()),
        }
    }

    /// The line that makes the device ready in the guest.
    fn guest_line(&self) -> String {
        let of = match self.device.served {
            Served::Assigned => "",
            _ => "/virtio*",
        };
        // The echoes fill each buffer of the card's driver once. So the guest does not touch a buffer's memory for the
        // first time while it measures.
        let touched = match self.device.served {
            Served::Assigned => format!(
                "; busybox ping -A -q -c {TOUCHING} {} >/dev/null",
                self.host_address()
            ),
            _ => String::new(),
        };
        let folder = format!("/sys/bus/pci/devices/0000:00:{}.0{of}", self.slot());
        match self.device.kind {
            DeviceKind::Disk => format!(
                "setup=set -e; disk=$(ls {folder}/block); ln -s /dev/$disk /run/{}",
                self.device.name
            ),
            DeviceKind::Net => format!(
                "setup=set -e; nic=$(ls {folder}/net); {}{touched}",
                addressed(
                    "$nic",
                    &self.guest_address(),
                    &self.host_address(),
                    HOST_MAC
                )
            ),
        }
    }

    /// The line that makes the device ready on the host.
    fn setup_line(&self) -> String {
        match self.device.kind {
            DeviceKind::Disk => format!(
                "setup=set -e; mkdir -p /run/io; head -c {DISK_BYTES} /dev/zero >{}",
                self.file()
            ),
            DeviceKind::Net => {
                let (nic, made) = match self.device.served {
                    Served::Assigned => ("$nic".to_owned(), give_card()),
                    _ => (
                        self.tap(),
                        format!("ip tuntap add dev {} mode tap", self.tap()),
                    ),
                };
                let network = addressed(
                    &nic,
                    &self.host_address(),
                    &self.guest_address(),
                    &self.mac(),
                );
                format!(
                    "setup=set -e; mkdir -p /run/io; {made}; ip link set {nic} address {HOST_MAC}; {network}"
                )
            }
        }
    }

    /// The command of the device's own server; none for other back-ends.
    fn server(&self) -> Option<String> {
        let (file, socket) = (self.file(), self.socket());
        (self.device.served == Served::QemuStorageDaemon).then(|| format!(
            "qemu-storage-daemon --object iothread,id=io --blockdev driver=file,filename={file},node-name=disk,aio=threads --export type=vhost-user-blk,id=export,node-name=disk,writable=on,iothread=io,addr.type=unix,addr.path={socket}"
        ))
    }

    /// elvis' arguments for the device.
    fn in_elvis(&self) -> String {
        let socket = self.socket();
        match self.device.kind {
            DeviceKind::Disk => format!("--blk {socket}={}", self.file()),
            DeviceKind::Net => format!("--net {socket}=tap:{}", self.tap()),
        }
    }

    /// Whether the device's back-end makes a socket.
    fn has_socket(&self) -> bool {
        self.device.served.is_elvis() || self.device.served == Served::QemuStorageDaemon
    }
}

/// Gives the VM's card to VFIO, and sets `nic` to the host's.
pub(super) fn give_card() -> String {
    format!(
        "cd /sys/bus/pci; echo vfio-pci >devices/{VM_CARD}/driver_override; echo {VM_CARD} >devices/{VM_CARD}/driver/unbind; echo {VM_CARD} >drivers_probe; nic=$(ls devices/{HOST_CARD}/net)"
    )
}

/// The command of elvis on a CPU of its own, with these devices. None if `served` is not elvis.
pub(super) fn elvis_command(served: Served, cpu: u32, devices: &[String]) -> Option<String> {
    let (name, mode) = match served {
        Served::Elvis => ("elvis", ""),
        Served::ElvisFineGrained => ("elvis-fine-grained", " --mode fine-grained"),
        _ => return None,
    };
    let devices = devices.join(" ");
    Some(format!(
        "/lab/{ELVIS} serve --io-cores {cpu}{mode} --control /run/io/{name}.control {devices}"
    ))
}

/// The lines that put the vCPU, and the threads of back-ends, on their CPUs.
pub(super) fn pins(serving_cpu: u32, has: impl Fn(Served) -> bool) -> Vec<String> {
    let vcpu = format!("pin={VCPU_CPU} CPU 0/KVM");
    let iothread = has(Served::Iothread).then(|| format!("pin={serving_cpu} IO io0"));
    let vhost = has(Served::VhostNet).then(|| format!("pin={serving_cpu} vhost-"));
    [vcpu].into_iter().chain(iothread).chain(vhost).collect()
}

/// Commands that give an end of a network its address. The entry for the other end is permanent: no address resolution
/// may happen while something is measured.
fn addressed(nic: &str, own: &str, other: &str, mac_of_other: &str) -> String {
    format!(
        "ip address add {own}/24 dev {nic}; ip link set {nic} up; ip neighbour add {other} lladdr {mac_of_other} dev {nic} nud permanent"
    )
}

/// Name of a device's VM. QEMU's main loop looks at the descriptors of all devices in each round, so a device that it
/// serves has a VM of its own. An assigned card has one too, as it keeps all of the VM's memory in place. Other
/// back-ends do not see what else a VM has, so their devices share one.
fn vm_of(device: &Device) -> &str {
    match device.served {
        Served::MainLoop | Served::Assigned => &device.name,
        _ => "shared",
    }
}

/// A VM with some of the devices.
#[derive(Clone, Copy, Debug)]
pub struct IoVm<'a> {
    io: &'a Io,
    name: &'a str,
}

impl Io {
    /// The CPU of the back-ends: the third, or the first on a machine of two.
    pub(super) fn serving_cpu(&self) -> u32 {
        if self.cpus > 2 { 2 } else { 0 }
    }

    /// The VM of this name.
    pub fn of<'a>(&'a self, name: &'a str) -> Option<IoVm<'a>> {
        let has = self.devices.iter().any(|device| vm_of(device) == name);
        has.then_some(IoVm { io: self, name })
    }

    /// Reason why a device can't be served.
    fn missing(&self, device: &Device) -> Option<String> {
        self.missing_for(device.served)
    }

    /// Reason why elvis can't serve; none for other back-ends.
    pub(super) fn missing_for(&self, served: Served) -> Option<String> {
        let why = self.elvis.as_ref().err();
        why.filter(|_| served.is_elvis()).cloned()
    }

    /// The benchmarks, also those that can't be measured.
    pub fn rows(&self) -> Vec<BenchmarkRow> {
        let of = |device| self.loads().map(move |load| self.row(device, load));
        self.devices.iter().flat_map(of).collect()
    }

    /// All loads of a device.
    fn loads(&self) -> impl Iterator<Item = Load> {
        let with = |busy| {
            let repeat = u64::from(self.repeat);
            self.depths.iter().map(move |&depth| Load {
                depth,
                units: units(depth) * repeat,
                busy,
            })
        };
        [false, true].into_iter().flat_map(with)
    }

    fn row(&self, device: &Device, load: Load) -> BenchmarkRow {
        let mut digest = Sha256::new();
        digest.update(format!("{device:?} {load:?}"));
        if let (Ok(elvis), true) = (&self.elvis, device.served.is_elvis()) {
            digest.update(&elvis.sha256);
        }
        let of_device = load.row(device);
        BenchmarkRow {
            name: of_device.name(),
            category: "io".into(),
            summary: summary(device, load),
            requires: String::new(),
            work: Some("request".into()),
            facts: of_device.into(),
            cpus: 1,
            host_cpus: self.cpus,
            vm: vm_of(device).to_owned(),
            missing: self.missing(device),
            min_iterations: load.units,
            max_iterations: load.units,
            insns_iterations: load.units,
            insns_samples: 1,
            parameters: Vec::new(),
            has_hypercall: false,
            digest: hex(&digest.finalize()),
        }
    }
}

impl<'a> IoVm<'a> {
    /// The VM's devices that can be served.
    pub fn placed(&self) -> impl Iterator<Item = Placed<'a>> + use<'a> {
        let (io, name) = (self.io, self.name);
        let devices = io.devices.iter().enumerate();
        devices
            .filter(move |(_, device)| vm_of(device) == name && io.missing(device).is_none())
            .map(|(index, device)| Placed { device, index })
    }

    /// elvis, if it serves one of the devices.
    pub fn elvis(&self) -> Option<&'a Elvis> {
        let mut devices = self.placed();
        devices.find(|placed| placed.device.served.is_elvis())?;
        self.io.elvis.as_ref().ok()
    }

    /// The command of the elvis process that serves all of the VM's devices, as on a real host; none without devices.
    fn elvis_command(&self, served: Served) -> Option<String> {
        let own = self.placed().filter(|it| it.device.served == served);
        let devices: Vec<String> = own.map(|it| it.in_elvis()).collect();
        let command = elvis_command(served, self.io.serving_cpu(), &devices);
        command.filter(|_| !devices.is_empty())
    }

    /// The lines of the host's agent.
    pub fn host_lines(&self) -> Vec<String> {
        let serving_cpu = self.io.serving_cpu();
        let mut lines: Vec<String> = self.placed().map(|it| it.setup_line()).collect();
        let servers = self.placed().filter_map(|it| it.server());
        let server = |command| format!("server={serving_cpu} {command}");
        let elvis = [Served::Elvis, Served::ElvisFineGrained];
        let elvis = elvis.into_iter().filter_map(|it| self.elvis_command(it));
        lines.extend(servers.chain(elvis).map(server));
        let sockets = self.placed().filter(Placed::has_socket);
        lines.extend(sockets.map(|it| format!("socket={}", it.socket())));
        let has = |served| self.placed().any(|it| it.device.served == served);
        lines.extend(pins(serving_cpu, has));
        lines
    }

    /// The lines of the guest's agent.
    pub fn guest_lines(&self) -> Vec<String> {
        self.placed().map(|it| it.guest_line()).collect()
    }

    /// Both agents' lines about the benchmarks.
    pub fn benchmark_lines(&self) -> Vec<String> {
        let told = |it: Placed<'_>| {
            let asked = it.in_guest();
            let loads = self.io.loads().map(move |load| {
                vec![
                    format!("workload={}", load.row(it.device).name()),
                    format!("units={}", load.units),
                    "place=inside".to_owned(),
                    format!("requests={asked} {}{}", load.depth, load.suffix(" busy")),
                ]
            });
            loads.flatten().collect::<Vec<_>>()
        };
        self.placed().flat_map(told).collect()
    }
}

/// The load on a device.
#[derive(Clone, Copy, Debug)]
struct Load {
    depth: u32,
    units: u64,
    /// A process beside keeps the vCPU from ever being idle.
    busy: bool,
}

impl Load {
    /// Returns the row of a device with this load.
    fn row(self, device: &Device) -> IoRow {
        IoRow {
            device: device.name.clone(),
            depth: self.depth,
            busy: self.busy,
        }
    }

    /// `word` if the vCPU is never idle.
    fn suffix(self, word: &'static str) -> &'static str {
        if self.busy { word } else { "" }
    }
}

fn summary(device: &Device, load: Load) -> String {
    let request = match device.kind {
        DeviceKind::Disk => "4 KiB reads of a disk",
        DeviceKind::Net => "ICMP echoes of 64 bytes to the host by a NIC",
    };
    let served = match device.served {
        Served::MainLoop => "QEMU's main loop",
        Served::Iothread => "an I/O thread of QEMU",
        Served::QemuStorageDaemon => "qemu-storage-daemon",
        Served::Elvis => "elvis",
        Served::ElvisFineGrained => "elvis without polling",
        Served::VhostNet => "the kernel's vhost-net",
        Served::Assigned => "nobody (the VM has the card)",
    };
    let busy = load.suffix(", beside a process that keeps the vCPU busy");
    format!(
        "{request} that {served} serves, {} at a time{busy}",
        load.depth
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "io_tests.rs"]
mod tests;
