//! The command line of a lab machine's QEMU: the only file that knows it.

use super::io::{IoVm, Placed};
use super::payload::Payload;
use super::tree::{MODULE, SECOND_MODULE};
use std::path::{Path, PathBuf};
use ws_lab::recipe::{DeviceKind, Hypervisor, Neve, Recipe, Served};

/// With these words QEMU traces who requested the machine's shutdown, which tells a power-off from
/// a reset: with `-no-reboot` QEMU exits with status 0 after a triple fault as well. A reset
/// requests no shutdown, and 6 is the guest's own request (SHUTDOWN_CAUSE_GUEST_SHUTDOWN,
/// include/sysemu/runstate.h).
pub const WITNESSED: [&str; 2] = ["-trace", "qemu_system_shutdown_request"];
pub const POWERED_OFF: &str = "qemu_system_shutdown_request reason=6";

/// What differs from launch to launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    pub vcpus: u32,
    /// The CPUs of a machine whose guest is a whole Linux.
    pub host_cpus: u32,
    /// The memory of the whole machine.
    pub memory_mib: u64,
    /// The guest's part of it.
    pub guest_memory_mib: u64,
    /// The guest's command line, where the emulator passes it on.
    pub command_line: &'a str,
    /// The path of the guest image.
    pub guest: &'a str,
    /// The path of the guest's own initramfs.
    pub initrd: Option<&'a str>,
    /// The path of the file made for this launch: the initramfs, or under Xen on ARM the device
    /// tree.
    pub made: &'a str,
}

/// The guest of a QEMU that is the monitor inside a lab machine.
#[derive(Clone, Debug)]
pub struct Inner<'a> {
    pub vcpus: u32,
    pub memory_mib: u64,
    pub command_line: &'a str,
    /// Paths inside the machine.
    pub guest: &'a str,
    pub initrd: Option<String>,
}

/// The arguments of such a QEMU: as those of `qemu-kvm` on a host, but the same for every boot.
pub fn monitor(inner: &Inner<'_>) -> Vec<String> {
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|w| (*w).to_owned()));
    add(&["-no-user-config", "-nodefaults", "-machine", "pc"]);
    add(&["-accel", "kvm", "-cpu", "host"]);
    add(&["-smp", &inner.vcpus.to_string()]);
    add(&["-m", &inner.memory_mib.to_string()]);
    add(&["-seed", "1", "-rtc", "base=2024-01-01T00:00:00,clock=vm"]);
    add(&["-display", "none", "-monitor", "none", "-no-reboot"]);
    add(&["-serial", "file:/proc/self/fd/1", "-serial", "null"]);
    add(&["-kernel", inner.guest, "-append", inner.command_line]);
    if let Some(initrd) = &inner.initrd {
        add(&["-initrd", initrd]);
    }
    arguments
}

/// The VM of a machine whose guest is a whole Linux. Paths are those in the machine.
#[derive(Clone, Copy, Debug)]
pub struct Whole<'a> {
    /// QEMU.
    pub program: &'a str,
    pub vcpus: u32,
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
}

/// The words that start such a VM. Its second serial port is how the two agents talk, by FIFOs that
/// the host's agent makes (`lab/agent`).
pub fn vm(vm: &Whole<'_>) -> Vec<String> {
    let memory = format!(
        "{}M,slots=1,maxmem={}M",
        vm.memory_mib,
        vm.memory_mib + NVDIMM_MIB
    );
    let mut arguments = vec![vm.program.to_owned()];
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|w| (*w).to_owned()));
    let machine = match vm.io {
        None => "pc,nvdimm=on",
        Some(_) => "pc,nvdimm=on,memory-backend=ram",
    };
    add(&["-no-user-config", "-nodefaults", "-machine", machine]);
    add(&["-accel", "kvm", "-cpu", "host"]);
    add(&["-smp", &vm.vcpus.to_string(), "-m", &memory]);
    add(&["-seed", "1", "-rtc", "base=2024-01-01T00:00:00,clock=vm"]);
    add(&["-display", "none", "-monitor", "none", "-no-reboot"]);
    add(&["-serial", "file:/tmp/guest.log"]);
    add(&[
        "-chardev",
        "pipe,id=marks,path=/tmp/marks",
        "-serial",
        "chardev:marks",
    ]);
    let mut tap = "tap,id=net,ifname=tap0,script=no,downscript=no,vhost=on".to_owned();
    let mut card = "virtio-net-pci,netdev=net,mac=52:54:00:00:00:01,romfile=".to_owned();
    if vm.vcpus > 1 {
        // A pair of queues for each vCPU, and an interrupt for each queue, the control queue and changes
        // of the configuration.
        tap += &format!(",queues={}", vm.vcpus);
        card += &format!(",mq=on,vectors={}", 2 * vm.vcpus + 2);
    }
    add(&["-netdev", &tap, "-device", &card]);
    let root = nvdimm(vm.root, vm.root_bytes);
    add(&["-object", &root, "-device", "nvdimm,memdev=root,unarmed=on"]);
    add(&[
        "-kernel",
        vm.kernel,
        "-initrd",
        vm.initrd,
        "-append",
        vm.parameters,
    ]);
    if let Some(io) = vm.io {
        let size = vm.memory_mib;
        let memory = format!("memory-backend-memfd,id=ram,size={size}M,share=on");
        // What serves by vhost-user maps the memory; the agent knows threads by their names.
        add(&["-object", &memory, "-name", "vm,debug-threads=on"]);
        arguments.extend(io.placed().flat_map(|placed| io_device(&placed)));
    }
    arguments
}

/// A device whose requests are measured.
fn io_device(placed: &Placed<'_>) -> Vec<String> {
    let (id, slot) = (format!("io-{}", placed.device.name), placed.slot());
    let (tap, file, socket) = (placed.tap(), placed.file(), placed.socket());
    let on_disk = format!("driver=file,filename={file},node-name={id},aio=threads");
    let disk = format!("num-queues=1,addr={slot}");
    let (back_end, device) = match (placed.device.kind, placed.device.served) {
        (DeviceKind::Net, served) => (
            vec!["-netdev".to_owned(), {
                let vhost = if served == Served::VhostNet {
                    "on"
                } else {
                    "off"
                };
                format!("tap,id={id},ifname={tap},script=no,downscript=no,vhost={vhost}")
            }],
            format!(
                "virtio-net-pci,netdev={id},mac={},romfile=,addr={slot}",
                placed.mac()
            ),
        ),
        (_, Served::QemuStorageDaemon | Served::Elvis) => (
            vec![
                "-chardev".to_owned(),
                format!("socket,id={id},path={socket}"),
            ],
            format!("vhost-user-blk-pci,chardev={id},{disk}"),
        ),
        (_, Served::Iothread) => (
            ["-object", "iothread,id=io0", "-blockdev", &on_disk]
                .map(str::to_owned)
                .to_vec(),
            format!("virtio-blk-pci,drive={id},iothread=io0,{disk}"),
        ),
        (_, Served::MainLoop | Served::VhostNet) => (
            vec!["-blockdev".to_owned(), on_disk],
            format!("virtio-blk-pci,drive={id},{disk}"),
        ),
    };
    back_end
        .into_iter()
        .chain(["-device".to_owned(), device])
        .collect()
}

/// Room for the NVDIMM in the machine's addresses.
const NVDIMM_MIB: u64 = 8192;

/// The memory of an NVDIMM that is a file or a block device, which nobody writes.
fn nvdimm(path: &str, bytes: u64) -> String {
    let path = path.replace(',', ",,");
    format!("memory-backend-file,id=root,mem-path={path},share=off,readonly=on,size={bytes}")
}

/// QEMU's arguments. The console goes to standard output by file name, not by `-serial stdio`,
/// which would read standard input and change the terminal. The output of the serial port of the
/// guest's Print is dropped.
pub fn arguments(recipe: &Recipe, payload: &Payload, launch: &Launch<'_>) -> Vec<String> {
    let emulator = &recipe.emulator;
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|w| (*w).to_owned()));
    add(&["-machine", &emulator.machine]);
    for flag in &emulator.flags {
        let words: Vec<&str> = flag.words.iter().map(String::as_str).collect();
        add(&words);
    }
    add(&["-cpu", &emulator.cpu.to_argument()]);
    add(&["-smp", &cpus(payload, launch).to_string()]);
    add(&["-m", &memory(payload, launch.memory_mib)]);
    add(&["-display", "none", "-monitor", "none", "-no-reboot"]);
    add(&["-serial", "file:/dev/stdout"]);
    match payload {
        Payload::Whole(whole) => {
            let root = nvdimm(&whole.root.to_string_lossy(), whole.root_bytes);
            add(&["-object", &root, "-device", "nvdimm,memdev=root,unarmed=on"]);
            add(&["-kernel", &whole.kernel.to_string_lossy()]);
            add(&["-initrd", launch.made, "-append", &whole.parameters]);
        }
        Payload::Guest => {
            add(&["-serial", "null"]);
            add(&["-kernel", launch.guest, "-append", launch.command_line]);
            if let Some(initrd) = launch.initrd {
                add(&["-initrd", initrd]);
            }
        }
        Payload::Linux(linux) => {
            add(&["-serial", "null"]);
            add(&["-kernel", &linux.kernel.to_string_lossy()]);
            add(&["-initrd", launch.made, "-append", &linux.parameters]);
        }
        Payload::Xen {
            hypervisor,
            dom0,
            parameters,
        } => {
            // Xen's own output goes to standard error; the third port is for Print.
            add(&["-serial", "file:/dev/stderr", "-serial", "null"]);
            let modules = multiboot(dom0, launch);
            add(&["-kernel", &hypervisor.to_string_lossy()]);
            add(&["-append", parameters, "-initrd", &modules]);
        }
        Payload::Neve { hypervisors } => {
            add(&["-serial", "null"]);
            let arguments = neve(recipe, hypervisors, launch);
            let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
            add(&words);
        }
        Payload::Dom0less { hypervisor, .. } => {
            add(&["-serial", "null"]);
            add(&["-kernel", &hypervisor.to_string_lossy()]);
            add(&["-dtb", launch.made]);
            // A comma in the path would begin another property of the device.
            let file = launch.guest.replace(',', ",,");
            for address in [MODULE, SECOND_MODULE] {
                let loader = format!("loader,file={file},addr={address:#x},force-raw=on");
                add(&["-device", &loader]);
            }
        }
    }
    arguments
}

/// The argument of `-smp`. The guest of a whole Linux is a VM with CPUs of its own.
fn cpus(payload: &Payload, launch: &Launch<'_>) -> u32 {
    match payload {
        Payload::Whole(_) => launch.host_cpus,
        _ => launch.vcpus,
    }
}

/// The argument of `-m`.
fn memory(payload: &Payload, mib: u64) -> String {
    match payload {
        Payload::Whole(_) => format!("{mib}M,slots=1,maxmem={}M", mib + NVDIMM_MIB),
        _ => mib.to_string(),
    }
}

/// Xen's multiboot modules, separated by commas: each a path and its words. A comma in the words is
/// doubled.
fn multiboot(dom0: &Path, launch: &Launch<'_>) -> String {
    let words = launch.command_line.replace(',', ",,");
    let (memory, cpus) = (launch.guest_memory_mib, launch.vcpus);
    let dom0 = format!("{} memory={memory} cpus={cpus}", dom0.display());
    format!("{dom0},{} {words}", launch.guest)
}

/// The base of the memory of QEMU's `virt`, and the memory that each hypervisor needs besides its
/// guest's.
const MEMORY: u64 = 0x4000_0000;
const BESIDE_MIB: u64 = 64;
/// The images are loaded at the end of the memory, each into a piece of this size.
const PIECE: u64 = 16 << 20;

/// The words that start neve and the images above it: the first image as a kernel with its command
/// line, then the images that it gets as modules (docs/neve.md).
fn neve(recipe: &Recipe, hypervisors: &[PathBuf], launch: &Launch<'_>) -> Vec<String> {
    let Hypervisor::Neve(neve) = &recipe.hypervisor else {
        return Vec::new();
    };
    let mut images: Vec<String> = hypervisors
        .iter()
        .map(|image| image.to_string_lossy().into_owned())
        .collect();
    images.push(launch.guest.to_owned());
    let (Some(host), Some(first)) = (images.first(), images.get(1)) else {
        return Vec::new();
    };
    let above: Vec<String> = (1..hypervisors.len())
        .map(|level| level_words(neve, level, hypervisors.len(), launch))
        .chain([launch.command_line.to_owned()])
        .collect();
    let append = level_words(neve, 0, hypervisors.len(), launch);
    let mut words = vec!["-kernel".into(), host.clone(), "-append".into(), append];
    let doubled = |text: &str| text.replace(',', ",,");
    let end = MEMORY + (launch.memory_mib << 20);
    let pieces = images.len() as u64;
    let mut add = |index: u64, what: String| {
        let address = end - (pieces - index) * PIECE;
        words.push("-device".into());
        words.push(format!("guest-loader,addr={address:#x},{what}"));
    };
    let bootargs = doubled(&above.join(" -- "));
    add(0, format!("kernel={},bootargs={bootargs}", doubled(first)));
    for (index, image) in (1..).zip(images.iter().skip(2)) {
        add(index, format!("initrd={}", doubled(image)));
    }
    words
}

/// The command line of the hypervisor with `level` others below it, of `depth` in all.
fn level_words(neve: &Neve, level: usize, depth: usize, launch: &Launch<'_>) -> String {
    let above = (depth - 1 - level) as u64;
    let mut words: Vec<String> = neve
        .parameters
        .iter()
        .map(|word| word.word.clone())
        .collect();
    let memory_mib = launch.guest_memory_mib + BESIDE_MIB * above;
    words.push(format!("cpus={} memory={memory_mib}", launch.vcpus));
    match neve.nest {
        Some(nest) if above > 0 => {
            words.push(format!("nest={} vhe={}", nest.word(), u8::from(neve.vhe)));
        }
        _ => words.push(format!("policy={}", neve.policy)),
    }
    if level > 0 {
        words.push(format!("level={level} doorbell=0xa000008"));
    }
    words.join(" ")
}
