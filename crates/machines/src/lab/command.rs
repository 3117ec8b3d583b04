//! The command line of a lab machine's QEMU. No other file knows it.

use super::dom0_tree::Modules;
use super::multiboot;
use super::payload::Payload;
use super::tree::{MODULE, SECOND_MODULE};
use super::whole::Whole;
use super::whole_memory::Root;
use super::xl::Xen;
use crate::machine::MachineError;
use std::path::PathBuf;
use ws_lab::architecture::Board;
use ws_lab::recipe::{Hypervisor, Neve, Recipe};

/// Arguments with which QEMU traces who requested the machine's shutdown, and the line that proves a power-off. With
/// `-no-reboot` QEMU exits with status 0 after a triple fault as well. A reset requests no shutdown, and 6 is the
/// guest's own request (SHUTDOWN_CAUSE_GUEST_SHUTDOWN, include/sysemu/runstate.h).
pub const WITNESSED: [&str; 2] = ["-trace", "qemu_system_shutdown_request"];
pub const POWERED_OFF: &str = "qemu_system_shutdown_request reason=6";

/// Parts of the command line that differ from launch to launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    pub vcpus: u32,
    /// The CPUs of a machine whose guest is a whole Linux.
    pub host_cpus: u32,
    /// The memory of the whole machine.
    pub memory_mib: u64,
    /// The guest's part of the memory.
    pub guest_memory_mib: u64,
    /// The guest's command line, where the emulator passes it on.
    pub command_line: &'a str,
    /// The path of the guest image.
    pub guest: &'a str,
    /// Whether the guest has an initramfs of its own.
    pub has_initrd: bool,
    /// The path of the file made for this launch: the initramfs, or under Xen on ARM the device
    /// tree.
    pub made: &'a str,
    /// Size of `made`.
    pub made_bytes: u64,
    /// The path of the device tree of an ARM machine whose guest is a whole Linux.
    pub tree: &'a str,
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

/// The arguments of a QEMU that is the monitor: those of `qemu-kvm` on a host, but the same for every boot.
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

/// The arguments of the machine's QEMU. The console goes to standard output by file name, not by `-serial stdio`, which
/// would read standard input and change the terminal. The output of the serial port of the guest's Print is dropped.
pub fn arguments(
    recipe: &Recipe,
    payload: &Payload,
    launch: &Launch<'_>,
) -> Result<Vec<String>, MachineError> {
    let emulator = &recipe.emulator;
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|w| (*w).to_owned()));
    add(&["-machine", &emulator.machine]);
    for flag in &emulator.flags {
        let words: Vec<&str> = flag.words.iter().map(String::as_str).collect();
        add(&words);
    }
    add(&["-cpu", &emulator.cpu.to_argument()]);
    add(&["-smp", &cpus(recipe, payload, launch).to_string()]);
    if payload.whole().is_none() {
        add(&["-m", &launch.memory_mib.to_string()]);
    }
    add(&["-display", "none", "-monitor", "none", "-no-reboot"]);
    add(&["-serial", "file:/dev/stdout"]);
    arguments.extend(booted(recipe, payload, launch)?);
    Ok(arguments)
}

/// The arguments for the payload that is booted, and for the other serial ports.
fn booted(
    recipe: &Recipe,
    payload: &Payload,
    launch: &Launch<'_>,
) -> Result<Vec<String>, MachineError> {
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|w| (*w).to_owned()));
    match payload {
        Payload::Whole(whole) => {
            let words = self::whole(whole, launch)?;
            add(&words.iter().map(String::as_str).collect::<Vec<_>>());
        }
        Payload::Guest => {
            add(&["-serial", "null"]);
            arguments.extend(multiboot::guest_words(
                launch.command_line,
                launch.has_initrd,
            ));
        }
        Payload::Linux(linux) => {
            add(&["-serial", "null"]);
            add(&["-kernel", &linux.kernel.to_string_lossy()]);
            add(&["-initrd", launch.made, "-append", &linux.parameters]);
        }
        Payload::Dom0(dom0) => {
            // Xen's own output goes to standard error.
            add(&["-serial", "file:/dev/stderr"]);
            let (xen, linux) = (&dom0.xen, &dom0.linux);
            arguments.extend(multiboot::words(&xen.parameters, [&linux.parameters, ""]));
        }
        Payload::Xen { parameters, .. } => {
            // Xen's own output goes to standard error; the third port is for Print.
            add(&["-serial", "file:/dev/stderr", "-serial", "null"]);
            let (memory, cpus) = (launch.guest_memory_mib, launch.vcpus);
            let dom0 = format!("memory={memory} cpus={cpus}");
            arguments.extend(multiboot::words(parameters, [&dom0, launch.command_line]));
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
            let modules = [MODULE, SECOND_MODULE];
            arguments.extend(modules.into_iter().flat_map(|at| loaded(launch.guest, at)));
        }
    }
    Ok(arguments)
}

/// The arguments that boot a whole Linux.
fn whole(whole: &Whole, launch: &Launch<'_>) -> Result<Vec<String>, MachineError> {
    if let Some(below) = &whole.below {
        return below.boot(
            &whole.nested(launch.memory_mib),
            launch.memory_mib + below.memory_beside_mib,
            (launch.made, launch.made_bytes),
        );
    }
    let path = whole.root.to_string_lossy();
    let root = Root::of(
        whole.architecture,
        launch.memory_mib,
        &path,
        whole.root_bytes,
    );
    let mut words = root.words();
    if !launch.tree.is_empty() {
        words.extend(["-dtb", launch.tree].map(str::to_owned));
    }
    if let Some(xen) = &whole.xen {
        // Xen's own output goes to standard error.
        words.extend(["-serial", "file:/dev/stderr"].map(str::to_owned));
        words.extend(match whole.architecture.facts().board {
            Board::Pc => multiboot::words(&xen.parameters, [&whole.parameters, ""]).to_vec(),
            Board::Virt => dom0_modules(whole, xen, launch)?,
        });
        return Ok(words);
    }
    let (kernel, parameters) = (whole.kernel.to_string_lossy(), root.parameters());
    let parameters = [&*whole.parameters, &parameters].concat();
    let boot = [
        "-kernel",
        &kernel,
        "-initrd",
        launch.made,
        "-append",
        &parameters,
    ];
    words.extend(boot.map(str::to_owned));
    Ok(words)
}

/// The words that boot Xen on ARM and put dom0's modules into memory, at the addresses of the device tree.
fn dom0_modules(
    whole: &Whole,
    xen: &Xen,
    launch: &Launch<'_>,
) -> Result<Vec<String>, MachineError> {
    let modules = Modules::of(whole, launch.made_bytes)?;
    let hypervisor = xen.hypervisor.to_string_lossy().into_owned();
    let mut words = vec!["-kernel".to_owned(), hypervisor];
    let kernel = whole.kernel.to_string_lossy();
    for (file, [address, _]) in [(&*kernel, modules.kernel), (launch.made, modules.initrd)] {
        words.extend(loaded(file, address));
    }
    Ok(words)
}

/// QEMU's words that put a file into memory as it is.
fn loaded(file: &str, address: u64) -> [String; 2] {
    // A comma in the path would begin another property of the device.
    let file = file.replace(',', ",,");
    let loader = format!("loader,file={file},addr={address:#x},force-raw=on");
    ["-device".to_owned(), loader]
}

/// The argument of `-smp`. A whole Linux has the CPUs of the machine, and its VM has its own; dom0 may have one beside
/// the guest's.
fn cpus(recipe: &Recipe, payload: &Payload, launch: &Launch<'_>) -> u32 {
    match payload {
        Payload::Whole(_) => launch.host_cpus,
        Payload::Dom0(_) => launch.vcpus + recipe.emulator.cpus - 1,
        _ => launch.vcpus,
    }
}

/// The base of the memory of QEMU's `virt`, and the memory of each hypervisor besides its guest's.
const MEMORY: u64 = 0x4000_0000;
const BESIDE_MIB: u64 = 64;
/// The room of an image. Images are loaded at the end of the memory, each into a piece of this size.
const PIECE: u64 = 16 << 20;

/// The arguments that start neve and the images above it. The first image is a kernel with its command line, then the
/// images that it gets as modules (docs/neve.md).
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
