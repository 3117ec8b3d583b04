//! The command line of a lab machine's emulator: the one place that knows which emulator it is.

use super::payload::Payload;
use super::tree::MODULE;
use ws_lab::recipe::{EmulatorKind, Recipe};

/// What differs from launch to launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    pub vcpus: u32,
    /// What the whole machine has.
    pub memory_mib: u64,
    /// What of it is the guest's.
    pub guest_memory_mib: u64,
    /// The guest's own command line, where the emulator hands it over.
    pub command_line: &'a str,
    /// The path of the guest image.
    pub guest: &'a str,
    /// The path of the guest's own initramfs.
    pub initrd: Option<&'a str>,
    /// The path of what was made for this launch: the initramfs, under Xen on ARM the device tree.
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

/// The arguments of such a QEMU: as `qemu-kvm` on a host, and nothing that differs from boot to
/// boot.
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

/// The emulator's arguments. Its console is its standard output.
pub fn arguments(recipe: &Recipe, payload: &Payload, launch: &Launch<'_>) -> Vec<String> {
    match recipe.emulator.kind {
        EmulatorKind::Qemu => qemu(recipe, payload, launch),
    }
}

/// QEMU's. The console goes there by name, not by `-serial stdio`: that one would read standard
/// input and change the terminal. Nobody listens at the serial port to which the guest's Print goes.
fn qemu(recipe: &Recipe, payload: &Payload, launch: &Launch<'_>) -> Vec<String> {
    let emulator = &recipe.emulator;
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|w| (*w).to_owned()));
    add(&["-machine", &emulator.machine]);
    for flag in &emulator.flags {
        let words: Vec<&str> = flag.words.iter().map(String::as_str).collect();
        add(&words);
    }
    add(&["-cpu", &emulator.cpu.to_argument()]);
    add(&["-smp", &launch.vcpus.to_string()]);
    add(&["-m", &launch.memory_mib.to_string()]);
    add(&["-display", "none", "-monitor", "none", "-no-reboot"]);
    add(&["-serial", "file:/dev/stdout"]);
    match payload {
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
            // What Xen itself says goes where complaints go; the third port is for Print.
            add(&["-serial", "file:/dev/stderr", "-serial", "null"]);
            // Multiboot modules: each a path and its words; a comma begins the next, and one in
            // the words is written twice.
            let words = launch.command_line.replace(',', ",,");
            let (memory, cpus) = (launch.guest_memory_mib, launch.vcpus);
            let dom0 = format!("{} memory={memory} cpus={cpus}", dom0.display());
            let modules = format!("{dom0},{} {words}", launch.guest);
            add(&["-kernel", &hypervisor.to_string_lossy()]);
            add(&["-append", parameters, "-initrd", &modules]);
        }
        Payload::Dom0less { hypervisor, .. } => {
            add(&["-serial", "null"]);
            add(&["-kernel", &hypervisor.to_string_lossy()]);
            add(&["-dtb", launch.made]);
            // A comma in the path would begin another word of the device's.
            let file = launch.guest.replace(',', ",,");
            let loader = format!("loader,file={file},addr={MODULE:#x},force-raw=on");
            add(&["-device", &loader]);
        }
    }
    arguments
}
