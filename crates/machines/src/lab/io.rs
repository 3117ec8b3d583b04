//! Devices of a VM whose requests are measured: what serves them on the host, what the agents of host
//! and guest are told, and the benchmarks.

use crate::image::BenchmarkRow;
use sha2::{Digest, Sha256};
use ws_lab::recipe::{Device, DeviceKind, Served};

/// The devices of a machine.
#[derive(Clone, Debug)]
pub struct Io {
    /// The machine's CPUs.
    pub cpus: u32,
    /// How many requests at a time.
    pub depths: Vec<u32>,
    pub devices: Vec<Device>,
    /// Or why devices that it serves are left out, and the cure.
    pub elvis: Result<Elvis, String>,
}

/// The program that serves some of them.
#[derive(Clone, Debug)]
pub struct Elvis {
    pub bytes: Vec<u8>,
    /// SHA-256, in hexadecimal.
    sha256: String,
}

impl Elvis {
    /// Of the program's bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        let sha256 = hex(&Sha256::digest(&bytes));
        Self { bytes, sha256 }
    }
}

/// The program's path in the initramfs.
pub const ELVIS: &str = "elvis";

/// The CPU of the vCPU.
const VCPU_CPU: u32 = 1;

const DISK_BYTES: u64 = 16 << 20;

/// The address of the first device on QEMU's PCI bus; those below are QEMU's choice.
const FIRST_SLOT: usize = 0x10;

/// The MAC address of the host's end of all networks.
const HOST_MAC: &str = "52:54:00:00:02:01";

/// How many requests are measured of so many at a time: so many that what begins and ends the window
/// is below 0.1 % of it.
fn units(depth: u32) -> u64 {
    match depth {
        1 => 300,
        _ => 75 * u64::from(depth.max(8)),
    }
}

/// A device of a VM, with what its place among the others decides.
#[derive(Clone, Copy, Debug)]
pub struct Placed<'a> {
    pub device: &'a Device,
    index: usize,
}

impl Placed<'_> {
    /// Its slot on QEMU's PCI bus, in hexadecimal.
    pub fn slot(&self) -> String {
        format!("{:x}", FIRST_SLOT + self.index)
    }

    /// The disk's file on the host.
    pub fn file(&self) -> String {
        format!("/run/io/{}", self.device.name)
    }

    /// The socket of what serves the disk by vhost-user.
    pub fn socket(&self) -> String {
        format!("/run/io/{}.socket", self.device.name)
    }

    /// The network's TAP device on the host.
    pub fn tap(&self) -> String {
        format!("io{}", self.index)
    }

    /// The MAC address of the guest's end.
    pub fn mac(&self) -> String {
        format!("52:54:00:00:01:{:02x}", self.index)
    }

    fn host_address(&self) -> String {
        format!("10.1.{}.1", self.index)
    }

    fn guest_address(&self) -> String {
        format!("10.1.{}.2", self.index)
    }

    /// What the guest's agent calls it in `requests=`.
    fn in_guest(&self) -> String {
        match self.device.kind {
            DeviceKind::Disk => format!("disk /run/{}", self.device.name),
            DeviceKind::Net => format!("net {}", self.host_address()),
        }
    }

    /// The line that makes it ready in the guest.
    fn guest_line(&self) -> String {
        let virtio = format!("/sys/bus/pci/devices/0000:00:{}.0/virtio*", self.slot());
        match self.device.kind {
            DeviceKind::Disk => format!(
                "setup=set -e; disk=$(ls {virtio}/block); ln -s /dev/$disk /run/{}",
                self.device.name
            ),
            DeviceKind::Net => format!(
                "setup=set -e; nic=$(ls {virtio}/net); {}",
                network(
                    "$nic",
                    &self.guest_address(),
                    &self.host_address(),
                    HOST_MAC
                )
            ),
        }
    }

    /// The line that makes it ready on the host.
    fn setup_line(&self) -> String {
        match self.device.kind {
            DeviceKind::Disk => format!(
                "setup=set -e; mkdir -p /run/io; head -c {DISK_BYTES} /dev/zero >{}",
                self.file()
            ),
            DeviceKind::Net => {
                let tap = self.tap();
                let network = network(
                    &tap,
                    &self.host_address(),
                    &self.guest_address(),
                    &self.mac(),
                );
                format!(
                    "setup=set -e; mkdir -p /run/io; ip tuntap add dev {tap} mode tap; ip link set {tap} address {HOST_MAC}; {network}"
                )
            }
        }
    }

    /// The command of a server of its own.
    fn server(&self) -> Option<String> {
        let (file, socket) = (self.file(), self.socket());
        (self.device.served == Served::QemuStorageDaemon).then(|| format!(
            "qemu-storage-daemon --object iothread,id=io --blockdev driver=file,filename={file},node-name=disk,aio=threads --export type=vhost-user-blk,id=export,node-name=disk,writable=on,iothread=io,addr.type=unix,addr.path={socket}"
        ))
    }

    /// What elvis is told of it.
    fn in_elvis(&self) -> String {
        let socket = self.socket();
        match self.device.kind {
            DeviceKind::Disk => format!("--blk {socket}={}", self.file()),
            DeviceKind::Net => format!("--net {socket}=tap:{}", self.tap()),
        }
    }

    /// Whether what serves it makes a socket.
    fn has_socket(&self) -> bool {
        matches!(
            self.device.served,
            Served::QemuStorageDaemon | Served::Elvis
        )
    }
}

/// Gives an end of a network its address. Nothing in it may act by itself while something is
/// measured, so the other end is known for good.
fn network(nic: &str, own: &str, other: &str, mac_of_other: &str) -> String {
    format!(
        "ip address add {own}/24 dev {nic}; ip link set {nic} up; ip neighbour add {other} lladdr {mac_of_other} dev {nic} nud permanent"
    )
}

/// The VM of a device. QEMU's main loop looks at all devices' descriptors in each round, so one that it
/// serves has a VM of its own; other servers do not see what else a VM has, so their devices share one.
fn vm_of(device: &Device) -> &str {
    match device.served {
        Served::MainLoop => &device.name,
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
    /// The CPU of what serves devices: the third, or the first on a machine of two.
    fn serving_cpu(&self) -> u32 {
        if self.cpus > 2 { 2 } else { 0 }
    }

    /// The VM of this name.
    pub fn of<'a>(&'a self, name: &'a str) -> Option<IoVm<'a>> {
        let has = self.devices.iter().any(|device| vm_of(device) == name);
        has.then_some(IoVm { io: self, name })
    }

    /// Why a device can't be served.
    fn missing(&self, device: &Device) -> Option<String> {
        match (&self.elvis, device.served) {
            (Err(why), Served::Elvis) => Some(why.clone()),
            _ => None,
        }
    }

    /// The benchmarks, those that can't be measured among them.
    pub fn rows(&self) -> Vec<BenchmarkRow> {
        let of = |device| self.loads().map(move |load| self.row(device, load));
        self.devices.iter().flat_map(of).collect()
    }

    /// All loads of a device.
    fn loads(&self) -> impl Iterator<Item = Load> {
        let with = |busy| {
            self.depths.iter().map(move |&depth| Load {
                depth,
                units: units(depth),
                busy,
            })
        };
        [false, true].into_iter().flat_map(with)
    }

    fn row(&self, device: &Device, load: Load) -> BenchmarkRow {
        let mut digest = Sha256::new();
        digest.update(format!("{device:?} {load:?}"));
        if let (Ok(elvis), Served::Elvis) = (&self.elvis, device.served) {
            digest.update(&elvis.sha256);
        }
        BenchmarkRow {
            name: load.name(device),
            category: "io".into(),
            summary: summary(device, load),
            requires: String::new(),
            work: Some("request".into()),
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
    /// Its devices that can be served.
    pub fn placed(&self) -> impl Iterator<Item = Placed<'a>> + use<'a> {
        let (io, name) = (self.io, self.name);
        let devices = io.devices.iter().enumerate();
        devices
            .filter(move |(_, device)| vm_of(device) == name && io.missing(device).is_none())
            .map(|(index, device)| Placed { device, index })
    }

    /// The program, if it serves one of them.
    pub fn elvis(&self) -> Option<&'a Elvis> {
        let mut devices = self.placed();
        devices.find(|placed| placed.device.served == Served::Elvis)?;
        self.io.elvis.as_ref().ok()
    }

    /// One process of it serves all of its devices, as on a real host.
    fn elvis_command(&self) -> Option<String> {
        let own = self.placed().filter(|it| it.device.served == Served::Elvis);
        let devices: Vec<String> = own.map(|it| it.in_elvis()).collect();
        (!devices.is_empty()).then(|| {
            format!(
                "/lab/{ELVIS} serve --io-cores {} --control /run/io/elvis.control {}",
                self.io.serving_cpu(),
                devices.join(" ")
            )
        })
    }

    /// The lines of the host's agent.
    pub fn host_lines(&self) -> Vec<String> {
        let serving_cpu = self.io.serving_cpu();
        let mut lines: Vec<String> = self.placed().map(|it| it.setup_line()).collect();
        let servers = self.placed().filter_map(|it| it.server());
        let server = |command| format!("server={serving_cpu} {command}");
        lines.extend(servers.chain(self.elvis_command()).map(server));
        let sockets = self.placed().filter(Placed::has_socket);
        lines.extend(sockets.map(|it| format!("socket={}", it.socket())));
        lines.push(format!("pin={VCPU_CPU} CPU 0/KVM"));
        let has = |served| self.placed().any(|it| it.device.served == served);
        if has(Served::Iothread) {
            lines.push(format!("pin={serving_cpu} IO io0"));
        }
        if has(Served::VhostNet) {
            lines.push(format!("pin={serving_cpu} vhost-"));
        }
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
                    format!("workload={}", load.name(it.device)),
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

/// How a device is used.
#[derive(Clone, Copy, Debug)]
struct Load {
    depth: u32,
    units: u64,
    /// A process beside keeps the vCPU from ever being idle.
    busy: bool,
}

impl Load {
    fn name(self, device: &Device) -> String {
        format!("io-{}-d{}{}", device.name, self.depth, self.suffix("-busy"))
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
        Served::VhostNet => "the kernel's vhost-net",
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
