//! The command line of QEMU in a machine whose guest is a whole Linux: the VM with the same Linux.

use super::io::{IoVm, Placed, VM_CARD};
use super::network::{self, Network};
use super::virt;
use super::whole_memory::Root;
use ws_lab::architecture::{Architecture, Board};
use ws_lab::recipe::{DeviceKind, Served};

/// The engine that executes a VM's instructions, and the kind of its devices and clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executor<'a> {
    /// QEMU's accelerator and model of the CPU.
    pub accelerator: &'a str,
    pub cpu: &'a str,
    /// Whether the kernel's vhost serves the network card.
    pub vhost: bool,
    /// Whether each boot must be the same: the clock then begins at the same date.
    pub exact: bool,
}

/// The executor of a VM in a lab machine.
pub const LAB: Executor<'static> = Executor {
    accelerator: "kvm",
    cpu: "host",
    vhost: true,
    exact: true,
};

/// The VM of a machine whose guest is a whole Linux. Paths are those in the machine.
#[derive(Clone, Copy, Debug)]
pub struct Whole<'a> {
    pub architecture: Architecture,
    pub executor: Executor<'a>,
    /// The path of QEMU.
    pub program: &'a str,
    pub vcpus: u32,
    /// Number of queue pairs of the network card.
    pub queues: u32,
    /// Whether the agent puts the VM's threads on CPUs, and so must know them by name.
    pub has_placed_threads: bool,
    pub memory_mib: u64,
    /// The block device with the root file system, and its size.
    pub root: &'a str,
    pub root_bytes: u64,
    pub kernel: &'a str,
    pub initrd: &'a str,
    /// The kernel's command line.
    pub parameters: &'a str,
    /// The devices whose requests are measured.
    pub io: Option<&'a IoVm<'a>>,
    /// The network's back-end, on a machine with a CPU for it.
    pub network: Option<&'a Network<'a>>,
    /// A disk that a workload reads.
    pub disk: Option<&'a Disk>,
    /// Whether the VM is beside another one: it has no work of its own, and nobody talks to its agent.
    pub is_second: bool,
    /// More arguments of QEMU, from the recipe.
    pub settings: &'a [String],
}

impl Whole<'_> {
    /// Whether other programs map the VM's memory.
    fn is_shared(&self) -> bool {
        self.io.is_some() || self.network.is_some() && !self.has_card()
    }

    /// Whether the VM has a network card of the machine's. Its memory is then QEMU's own, which Linux makes of huge
    /// pages. The emulator's vmxnet3 drops a frame if a buffer spans two pages that are not contiguous.
    fn has_card(&self) -> bool {
        self.network
            .is_some_and(|network| network.served == Served::Assigned)
    }
}

/// A disk's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The path of the disk's file in the machine.
    pub path: String,
    /// Whether QEMU reads the file past the host's page cache.
    pub direct: bool,
}

/// The file of the memory that host and VM share, by which the agents compare the clocks of a host and its VM
/// (`lab/agent/host/pings.c`). An exact clock needs none: it is the host's clock and a constant.
const CLOCK_MEMORY: &str = "/run/clock";

/// The arguments of a VM's QEMU, with its program. The agents of host and guest talk over the VM's second serial port,
/// by FIFOs that the host's agent makes (`lab/agent`).
pub fn vm(vm: &Whole<'_>) -> Vec<String> {
    let root = Root::of(vm.architecture, vm.memory_mib, vm.root, vm.root_bytes);
    let mut arguments = vec![vm.program.to_owned()];
    arguments.extend(machine(vm, &root));
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|w| (*w).to_owned()));
    if vm.executor.exact {
        add(&["-seed", "1", "-rtc", "base=2024-01-01T00:00:00,clock=vm"]);
    }
    add(&["-monitor", "none", "-no-reboot"]);
    add(lines(vm));
    arguments.extend(card(vm).words(""));
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|w| (*w).to_owned()));
    let board = vm.architecture.facts().board;
    if board == Board::Virt {
        // The agent knows vCPUs by their threads' names: KVM does not show them on ARM.
        add(&["-dtb", VM_TREE, "-name", "vm,debug-threads=on"]);
    }
    let parameters = [vm.parameters, &root.parameters()].concat();
    add(&[
        "-kernel",
        vm.kernel,
        "-initrd",
        vm.initrd,
        "-append",
        &parameters,
    ]);
    if !vm.executor.exact {
        // Workloads put the VM's threads on CPUs, and know them by their names.
        let file = format!("/run/vm{}.pid", 1 + u32::from(vm.is_second));
        add(&["-pidfile", &file, "-name", "vm,debug-threads=on"]);
    }
    if !vm.executor.exact && !vm.is_second {
        let memory =
            format!("memory-backend-file,id=clock,size=4096,share=on,mem-path={CLOCK_MEMORY}");
        add(&["-object", &memory, "-device", "ivshmem-plain,memdev=clock"]);
    }
    if let Some(Disk { path, direct }) = vm.disk {
        let direct = if *direct { "on" } else { "off" };
        let file = format!(
            "driver=file,filename={path},node-name=disk,read-only=on,aio=threads,cache.direct={direct}"
        );
        add(&["-object", "iothread,id=io0", "-blockdev", &file]);
        add(&["-device", "virtio-blk-pci,drive=disk,iothread=io0"]);
    }
    if vm.is_shared() {
        let size = vm.memory_mib;
        let memory = format!("memory-backend-memfd,id=ram,size={size}M,share=on");
        // Back-ends by vhost-user map the memory.
        add(&["-object", &memory]);
    }
    if vm.has_placed_threads && board == Board::Pc {
        // The agent knows threads by their names.
        add(&["-name", "vm,debug-threads=on"]);
    }
    let devices = vm.io.iter().flat_map(|io| io.placed());
    arguments.extend(devices.flat_map(|placed| io_device(&placed)));
    arguments.extend_from_slice(vm.settings);
    arguments
}

/// The VM's serial ports: the console, and the port by which the agents talk.
fn lines(vm: &Whole<'_>) -> &'static [&'static str] {
    match vm.is_second {
        true => &["-serial", "file:/run/second-vm.log", "-serial", "null"],
        false => &[
            "-serial",
            "file:/tmp/guest.log",
            "-chardev",
            "pipe,id=marks,path=/tmp/marks",
            "-serial",
            "chardev:marks",
        ],
    }
}

/// The VM's network card.
fn card<'a>(vm: &Whole<'a>) -> Card<'a> {
    let usual = match vm.executor.vhost {
        true => Served::VhostNet,
        false => Served::MainLoop,
    };
    let (tap, mac) = match vm.is_second {
        false => (network::TAP, network::MAC),
        true => (SECOND_TAP, SECOND_MAC),
    };
    Card {
        id: "net",
        served: vm.network.map_or(usual, |network| network.served),
        tap,
        socket: network::SOCKET,
        mac,
        queues: vm.queues,
    }
}

/// The TAP device of a second VM.
pub const SECOND_TAP: &str = "tap1";
/// The MAC address of a second VM's network card.
const SECOND_MAC: &str = "52:54:00:00:00:03";

/// The arguments on which the VM's device tree depends.
fn machine(vm: &Whole<'_>, root: &Root) -> Vec<String> {
    let facts = vm.architecture.facts();
    let memory = match (facts.board, vm.is_shared()) {
        (Board::Pc, true) => ",memory-backend=ram",
        _ => "",
    };
    let machine = [facts.vm_machine, memory].concat();
    let cpus = vm.vcpus.to_string();
    let words = ["-no-user-config", "-nodefaults", "-machine", &machine]
        .into_iter()
        .chain(["-accel", vm.executor.accelerator, "-cpu", vm.executor.cpu])
        .chain(["-smp", &cpus, "-display", "none"]);
    words.map(str::to_owned).chain(root.words()).collect()
}

/// The path of the device tree of a VM on `virt`, which the agent makes: QEMU's own, with the root file system in it.
const VM_TREE: &str = "/run/vm.dtb";

/// The command that makes the device tree of a VM on `virt`.
pub struct VmTree(String);

impl VmTree {
    /// Makes the command; none on a PC, where ACPI describes the NVDIMM.
    pub fn of(vm: &Whole<'_>) -> Option<Self> {
        let (address, bytes) = match vm.architecture.facts().board {
            Board::Pc => return None,
            Board::Virt => (virt::MEMORY + (vm.memory_mib << 20), vm.root_bytes),
        };
        let root = Root::of(vm.architecture, vm.memory_mib, vm.root, vm.root_bytes);
        let words = machine(vm, &root).join(" ");
        let (program, node) = (vm.program, format!("{VM_TREE} /pmem@{address:x}"));
        let cells =
            [address, bytes].map(|value| format!("{:x} {:x}", value >> 32, value & 0xffff_ffff));
        Some(Self(format!(
            "{program} {words} -machine dumpdtb={VM_TREE} -serial null -serial null -monitor none && \
             fdtput -c {node} && fdtput -t s {node} compatible pmem-region && \
             fdtput -t x {node} reg {}",
            cells.join(" ")
        )))
    }

    /// The command, as a line for a shell.
    pub fn command(&self) -> &str {
        &self.0
    }
}

/// A network card of a VM, and its back-end.
struct Card<'a> {
    id: &'a str,
    served: Served,
    tap: &'a str,
    /// The socket of a back-end by vhost-user.
    socket: &'a str,
    mac: &'a str,
    /// Number of queue pairs.
    queues: u32,
}

impl Card<'_> {
    /// QEMU's arguments; `more` are further properties of the card.
    fn words(&self, more: &str) -> Vec<String> {
        if self.served == Served::Assigned {
            // A card of the machine's that the VM has for itself.
            let device = format!("vfio-pci,host={VM_CARD},rombar=0{more}");
            return vec!["-device".to_owned(), device];
        }
        let (id, tap, mac) = (self.id, self.tap, self.mac);
        let mut words = Vec::new();
        let mut back_end = if self.served.is_elvis() {
            words.extend([
                "-chardev".to_owned(),
                format!("socket,id={id},path={}", self.socket),
            ]);
            format!("vhost-user,id={id},chardev={id}")
        } else {
            let vhost = match self.served {
                Served::VhostNet => "on",
                _ => "off",
            };
            format!("tap,id={id},ifname={tap},script=no,downscript=no,vhost={vhost}")
        };
        let mut card = format!("virtio-net-pci,netdev={id},mac={mac},romfile={more}");
        if self.queues > 1 {
            // An interrupt for each queue, the control queue and changes of the configuration.
            back_end += &format!(",queues={}", self.queues);
            card += &format!(",mq=on,vectors={}", 2 * self.queues + 2);
        }
        words.extend(["-netdev".to_owned(), back_end, "-device".to_owned(), card]);
        words
    }
}

/// QEMU's arguments for a device whose requests are measured.
fn io_device(placed: &Placed<'_>) -> Vec<String> {
    let (id, slot) = (format!("io-{}", placed.device.name), placed.slot());
    let (file, socket) = (placed.file(), placed.socket());
    let on_disk = format!("driver=file,filename={file},node-name={id},aio=threads");
    let disk = format!("num-queues=1,addr={slot}");
    if placed.device.kind == DeviceKind::Net {
        let card = Card {
            id: &id,
            served: placed.device.served,
            tap: &placed.tap(),
            socket: &socket,
            mac: &placed.mac(),
            queues: 1,
        };
        return card.words(&format!(",addr={slot}"));
    }
    let (back_end, device) = match placed.device.served {
        Served::QemuStorageDaemon | Served::Elvis | Served::ElvisFineGrained => (
            vec![
                "-chardev".to_owned(),
                format!("socket,id={id},path={socket}"),
            ],
            format!("vhost-user-blk-pci,chardev={id},{disk}"),
        ),
        Served::Iothread => (
            ["-object", "iothread,id=io0", "-blockdev", &on_disk]
                .map(str::to_owned)
                .to_vec(),
            format!("virtio-blk-pci,drive={id},iothread=io0,{disk}"),
        ),
        Served::MainLoop | Served::VhostNet | Served::Assigned => (
            vec!["-blockdev".to_owned(), on_disk],
            format!("virtio-blk-pci,drive={id},{disk}"),
        ),
    };
    back_end
        .into_iter()
        .chain(["-device".to_owned(), device])
        .collect()
}
