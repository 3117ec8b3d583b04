//! A machine whose guest is a whole Linux with programs: the files of its initramfs, and the lines for its agent
//! (`lab/agent`).

use super::below::{Below, Vm as Nested};
use super::cpus::Cpus;
use super::io::{ELVIS, Io, IoVm};
use super::network::Network;
use super::payload::Booted;
use super::vm::{self, VmTree, Whole as Inner};
use super::whole_memory::Root;
use super::xl::{self, Domain, Xen};
use crate::image::BenchmarkRow;
use crate::initramfs::{self, Entry};
use crate::machine::MachineError;
use std::collections::BTreeMap;
use std::path::PathBuf;
use ws_lab::recipe::{EmulatorKind, Served};
use ws_lab::sets::Architecture;
use ws_lab::workload::{Interrupted, Place, With, Workload};
use ws_results::{Application, Interrupts};

/// The block device that Linux makes of an NVDIMM with the root file system.
const NVDIMM: &str = "/dev/pmem0";
/// The block device of a machine of Bochs with the root file system: its second CD, as Bochs has no NVDIMM.
const CD: &str = "/dev/sr1";
/// Paths in the initramfs; in the root file system they are below /lab.
const KERNEL: &str = "vmlinuz";
const INITRD: &str = "guest-initrd";
const CONFIG: &str = "init.conf";
const LAUNCH: &str = "launch.conf";

/// Path of the initramfs of a second VM, and of the script that starts that VM.
const SECOND_INITRD: &str = "second-initrd";
const SECOND: &str = "second-vm";
/// The line for the second VM's agent, which has an address of its own, and serves every client.
const SECOND_SETUP: &str = "setup=ip address flush dev eth0 && ip address add 10.0.0.3/24 dev eth0 && netserver -4 -L 10.0.0.3";

/// The block device of a domain of Xen with the root file system.
const DOMAIN_ROOT: &str = "/dev/xvda";
/// The line that makes the domain's console the agents' port. Under Xen it takes the place of the second serial port,
/// which a PVH guest does not have.
fn domain_line(architecture: Architecture) -> String {
    let port = architecture.facts().second_serial_port;
    format!("setup=ln -sf hvc0 /dev/{port}")
}

/// The parts that the machine boots.
#[derive(Clone, Debug)]
pub struct Whole {
    pub architecture: Architecture,
    /// Xen, if it runs the kernel as its dom0.
    pub xen: Option<Xen>,
    pub kernel: PathBuf,
    /// The kernel's command line.
    pub parameters: String,
    /// The agent and the modules under their files' names.
    pub files: Vec<Entry>,
    /// The lines that load the modules.
    pub modules: Vec<String>,
    /// The image of the root file system, its size, and the emulator. The emulator decides whether the image is an
    /// NVDIMM or a CD.
    pub root: PathBuf,
    pub root_bytes: u64,
    pub emulator: EmulatorKind,
    pub workloads: Vec<Workload>,
    /// The CPUs of the measured system, if it has several for all workloads.
    pub cpus: Option<Cpus>,
    pub vm: Option<Vm>,
    /// The hypervisor below this Linux, which then runs in a VM itself.
    pub below: Option<Below>,
}

/// The VM in which the same Linux runs, if the machine has a hypervisor.
#[derive(Clone, Debug)]
pub struct Vm {
    pub runs: Runs,
    /// The bytes of the kernel's image.
    pub kernel: Vec<u8>,
    pub parameters: String,
    pub files: Vec<Entry>,
    pub modules: Vec<String>,
    /// The devices whose requests are measured. The VM has them in launches for them only.
    pub io: Option<Io>,
    /// The back-end of the workloads' network, on the CPUs of `io`; none if vhost serves it on the machine's one CPU.
    pub network: Option<Served>,
}

impl Vm {
    fn network(&self) -> Option<Network<'_>> {
        Some(Network::new(self.io.as_ref()?, self.network?))
    }
}

/// The program that runs a VM: QEMU, or Xen's tool stack.
#[derive(Clone, Debug)]
pub enum Runs {
    Qemu {
        /// QEMU's path in the root file system.
        program: String,
        /// More of QEMU's arguments.
        settings: Vec<String>,
    },
    /// Xen's tool stack.
    Xl {
        files: Vec<Entry>,
        /// Lines of the domain's configuration.
        settings: Vec<String>,
    },
}

/// The parameters of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Launched<'a> {
    /// The runner's words for the guest.
    pub words: &'a str,
    /// Name of the VM: empty for that of workloads, one of `io`, or the result of [`launch_with`].
    pub vm: &'a str,
    /// The VM's CPUs, and the machine's.
    pub vcpus: u32,
    pub host_cpus: u32,
    pub memory_mib: u64,
    /// The memory of the machine's Linux, of which the VM's is a part.
    pub host_memory_mib: u64,
    /// The executor of the VM, and the file or block device with the VM's root file system.
    pub executor: vm::Executor<'a>,
    pub root: &'a str,
    /// The VM's disk.
    pub disk: Option<&'a vm::Disk>,
}

impl Whole {
    /// The machine's own Linux.
    pub fn booted(&self) -> Booted<'_> {
        Booted {
            kernel: &self.kernel,
            parameters: &self.parameters,
            files: &self.files,
            lines: &self.modules,
        }
    }

    /// The block device with the root file system.
    pub fn root_device(&self) -> &'static str {
        match self.emulator {
            EmulatorKind::Qemu => NVDIMM,
            EmulatorKind::Bochs => CD,
        }
    }

    /// QEMU's arguments for the memory, with the root file system as an NVDIMM.
    pub fn root_words(&self, memory_mib: u64) -> Vec<String> {
        let path = self.root.to_string_lossy();
        Root::of(self.architecture, memory_mib, &path, self.root_bytes).words()
    }

    /// The VM that the hypervisor below starts, if there is one: the machine's Linux.
    pub fn nested(&self, host_memory_mib: u64) -> Nested<'_> {
        Nested {
            architecture: self.architecture,
            kernel: &self.kernel,
            parameters: &self.parameters,
            memory_mib: host_memory_mib,
            root: &self.root,
            root_bytes: self.root_bytes,
        }
    }

    /// Makes the machine's initramfs from the files of its Linux: those of [`Self::machine`] if it gets the launch's
    /// lines later, else those of [`Self::files`].
    pub fn initramfs(
        &self,
        files: &[Entry],
        host_memory_mib: u64,
    ) -> Result<Vec<u8>, MachineError> {
        let own = initramfs::pack(files)?;
        match &self.below {
            None => Ok(own),
            Some(below) => below.initramfs(&self.nested(host_memory_mib), own),
        }
    }

    /// The files of the machine's Linux, with the launch's lines in one of them.
    pub fn files(&self, launched: Launched<'_>) -> Result<Vec<Entry>, MachineError> {
        let mut files = self.machine(launched)?;
        files.push(Entry::file(LAUNCH, self.asked(launched)));
        Ok(files)
    }

    /// The lines of a launch: its words, the workloads that they select, and the files of those workloads.
    pub fn asked(&self, launched: Launched<'_>) -> String {
        let mut lines = vec![format!("append={}", launched.words)];
        let io = self.vm.as_ref().and_then(|vm| vm.io.as_ref());
        if let Some(io) = io.and_then(|io| io.of(launched.vm)) {
            lines.extend(io.benchmark_lines());
        } else {
            let selected = selected(launched.words);
            let is_selected =
                |workload: &&Workload| selected.is_empty() || selected.contains(&&*workload.name);
            let workloads: Vec<&Workload> = self.workloads.iter().filter(is_selected).collect();
            // Workloads may share files: each is sent once.
            let files: BTreeMap<&String, &String> = workloads
                .iter()
                .flat_map(|workload| &workload.files)
                .collect();
            for (name, text) in files {
                lines.push(format!("file={name}"));
                lines.extend(text.lines().map(|line| format!("text={line}")));
            }
            lines.extend(
                workloads
                    .into_iter()
                    .flat_map(|workload| told(workload, self.architecture, launched.executor)),
            );
        }
        lines.iter().flat_map(|line| [line, "\n"]).collect()
    }

    /// The files of the machine's Linux that depend on the machine, and not on the launch's lines.
    pub fn machine(&self, launched: Launched<'_>) -> Result<Vec<Entry>, MachineError> {
        let Some(vm) = &self.vm else {
            let mut lines = vec!["role=native".to_owned()];
            lines.extend(self.placed(launched));
            return Ok(self.own(&self.files, &lines));
        };
        let (program, settings) = match &vm.runs {
            Runs::Qemu { program, settings } => (program, settings),
            Runs::Xl { files, settings } => return self.dom0(vm, files, settings, launched),
        };
        let io = vm.io.as_ref().and_then(|io| io.of(launched.vm));
        let io = io.as_ref();
        let network = vm.network().filter(|_| launched.vm.is_empty());
        let network = network.as_ref();
        let placed = self.placed(launched);
        let mut lines = vec!["role=guest".to_owned()];
        lines.extend(io.map(IoVm::guest_lines).unwrap_or_default());
        let guest = with(&vm.files, &vm.modules, NVDIMM, &lines);
        let mut files = self.files.clone();
        files.push(Entry::file(KERNEL, &*vm.kernel));
        files.push(Entry::file(INITRD, initramfs::pack(&guest)?));
        let elvis = io.and_then(IoVm::elvis);
        if let Some(elvis) = elvis.or_else(|| network.and_then(Network::elvis)) {
            files.push(Entry::file(ELVIS, &*elvis.bytes));
        }
        let inner = Inner {
            architecture: self.architecture,
            executor: launched.executor,
            program,
            vcpus: launched.vcpus,
            // One pair, as in the paper, and not one for each vCPU.
            queues: if placed.is_empty() { launched.vcpus } else { 1 },
            has_placed_threads: !placed.is_empty() || io.is_some() || network.is_some(),
            memory_mib: launched.memory_mib,
            io,
            network,
            disk: launched.disk,
            is_second: false,
            root: launched.root,
            root_bytes: self.root_bytes,
            kernel: &format!("/lab/{KERNEL}"),
            initrd: &format!("/lab/{INITRD}"),
            parameters: &vm.parameters,
            settings,
        };
        let mut lines = self.host_lines(&inner);
        lines.extend(placed);
        if launched.vm == launch_with(With::SecondVm) {
            let second = Inner {
                disk: None,
                is_second: true,
                initrd: &format!("/lab/{SECOND_INITRD}"),
                ..inner
            };
            files.extend(second_files(vm, &second)?);
            lines.extend(second_lines());
        }
        Ok(self.own(&files, &lines))
    }

    /// The lines that place threads of a system of several CPUs. A VM of devices has none.
    fn placed(&self, launched: Launched<'_>) -> Vec<String> {
        match self.cpus {
            Some(cpus) if launched.vm.is_empty() => cpus.lines(launched.host_cpus),
            _ => Vec::new(),
        }
    }

    /// The lines for the host's agent about a VM of QEMU.
    fn host_lines(&self, vm: &Inner<'_>) -> Vec<String> {
        let mut lines = vec!["role=host".to_owned(), format!("queues={}", vm.queues)];
        let doorbell = self.below.iter();
        let doorbell = doorbell.map(|below| below.doorbell(self.architecture));
        lines.extend(doorbell.map(|address| format!("doorbell={address:#x}")));
        lines.extend(VmTree::of(vm).map(|tree| format!("setup={}", tree.command())));
        lines.extend(vm::vm(vm).iter().map(|word| format!("word={word}")));
        lines.extend(vm.io.map(IoVm::host_lines).unwrap_or_default());
        lines.extend(vm.network.map(Network::host_lines).unwrap_or_default());
        lines
    }

    /// The files of dom0, in which xl starts the VM.
    fn dom0(
        &self,
        vm: &Vm,
        tools: &[Entry],
        settings: &[String],
        launched: Launched<'_>,
    ) -> Result<Vec<Entry>, MachineError> {
        let lines = ["role=guest".to_owned(), domain_line(self.architecture)];
        let guest = with(&vm.files, &vm.modules, DOMAIN_ROOT, &lines);
        let mut settings = settings.to_vec();
        settings.extend(self.cpus.map(Cpus::domain_line));
        let domain = Domain {
            vcpus: launched.vcpus,
            memory_mib: launched.memory_mib,
            kernel: KERNEL,
            parameters: Some(&vm.parameters),
            linux: Some(xl::Of {
                initrd: INITRD,
                root: self.root_device(),
            }),
            settings: &settings,
        };
        let mut files = self.files.clone();
        files.extend_from_slice(tools);
        files.push(Entry::file(KERNEL, &*vm.kernel));
        files.push(Entry::file(INITRD, initramfs::pack(&guest)?));
        files.push(domain.configuration());
        let mut lines = vec!["role=host".to_owned()];
        lines.extend(xl::STARTS.map(|word| format!("word={word}")));
        lines.extend(self.placed(launched));
        Ok(self.own(&files, &lines))
    }

    /// The files of the machine's own Linux, with its agent's configuration.
    fn own(&self, files: &[Entry], lines: &[String]) -> Vec<Entry> {
        with(files, &self.modules, self.root_device(), lines)
    }

    /// The workloads, and requests to devices, as benchmarks. Workloads of several CPUs need a VM: instructions that
    /// the machine's own CPUs execute at the same time can't be told apart.
    pub fn rows(&self) -> Vec<BenchmarkRow> {
        let io = self.vm.as_ref().and_then(|vm| vm.io.as_ref());
        let network = self.vm.as_ref().and_then(Vm::network);
        let usual = self.cpus.map_or(1, |cpus| cpus.count);
        let can = |workload: &&Workload| workload.vcpus == usual || self.vm.is_some();
        let row = |workload: &Workload| {
            let row = row(workload, network.as_ref());
            match self.cpus {
                Some(cpus) => cpus.row(row, workload.place),
                None => row,
            }
        };
        let workloads = self.workloads.iter().filter(can).map(row);
        workloads.chain(io.into_iter().flat_map(Io::rows)).collect()
    }
}

/// Adds the agent's configuration to these files.
fn with(files: &[Entry], modules: &[String], root: &str, more: &[String]) -> Vec<Entry> {
    let mut lines = modules.to_vec();
    lines.push(format!("root={root}"));
    lines.extend_from_slice(more);
    let mut files = files.to_vec();
    files.push(Entry::file(CONFIG, lines.join("\n") + "\n"));
    files
}

/// The files of a second VM: its initramfs, and the script that starts it.
fn second_files(vm: &Vm, second: &Inner<'_>) -> Result<[Entry; 2], MachineError> {
    let lines = ["role=guest".to_owned(), SECOND_SETUP.to_owned()];
    let guest = with(&vm.files, &vm.modules, NVDIMM, &lines);
    let words = vm::vm(second);
    let quoted = words.iter();
    let quoted = quoted.map(|word| format!(" '{}'", word.replace('\'', r"'\''")));
    let script = format!("exec{}\n", quoted.collect::<String>());
    Ok([
        Entry::file(SECOND_INITRD, initramfs::pack(&guest)?),
        Entry::file(SECOND, script),
    ])
}

/// The names of the workloads that a launch's words select (`bench=^(a|b)$` or `rows=a,b`); all if there are none.
fn selected(words: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for word in words.split(' ') {
        if let Some(list) = word.strip_prefix("rows=") {
            names.extend(list.split(','));
        } else if let Some(list) = word.strip_prefix("bench=^(") {
            names.extend(list.trim_end_matches(")$").split('|'));
        }
    }
    names
}

/// The lines of a workload in the agent's configuration. Transactions are not split into steps on ARM: KVM does not
/// report there how far the clocks of host and VM are apart.
fn told(
    workload: &Workload,
    architecture: Architecture,
    executor: vm::Executor<'_>,
) -> Vec<String> {
    let mut lines = vec![
        format!("workload={}", workload.name),
        format!("units={}", workload.units),
        format!("place={}", workload.place.word()),
    ];
    // On time the difference of two runs would be noisier than one run.
    let shorter = workload.shorter();
    let has_shorter = shorter > 0 && executor == vm::LAB;
    lines.extend(has_shorter.then(|| format!("shorter={shorter}")));
    let has_steps = workload.steps && architecture == Architecture::X86_64;
    lines.extend(has_steps.then(|| "steps=yes".to_owned()));
    let commands = [
        ("prepare", workload.prepare.as_ref()),
        ("serve", workload.serve.as_ref()),
        ("beside", workload.beside.as_ref()),
        ("run", Some(&workload.run)),
        ("proof", workload.proof.as_ref()),
    ];
    let commands = commands
        .into_iter()
        .filter_map(|(key, command)| Some(format!("{key}={}", command?)));
    lines.extend(commands);
    lines
}

/// The lines that make a second VM's network, and start the VM. Workloads put it on other CPUs.
fn second_lines() -> [String; 2] {
    let tap = vm::SECOND_TAP;
    [
        format!("setup=ip tuntap add dev {tap} mode tap && ip link set {tap} master br0 up"),
        format!("server=0 sh /lab/{SECOND}"),
    ]
}

/// Name of the VM of launches for workloads that need this beside the VM.
pub fn launch_with(with: With) -> String {
    format!("with-{}", with.word())
}

fn row(workload: &Workload, network: Option<&Network<'_>>) -> BenchmarkRow {
    let uses_network = workload.place == Place::Client && workload.vcpus == 1;
    let only_there = |with: With| {
        let (with, there) = (
            with.word(),
            "worldswitch run apps --on qemu-kvm or qemu-tcg",
        );
        format!("with = \"{with}\" is only for VMs of a host: {there}")
    };
    BenchmarkRow {
        name: workload.name.clone(),
        category: "application".into(),
        summary: workload.summary.clone(),
        requires: String::new(),
        work: Some(workload.unit.clone()),
        facts: application(workload).into(),
        cpus: workload.vcpus,
        host_cpus: network.map_or(1, Network::cpus),
        vm: workload.with.map(launch_with).unwrap_or_default(),
        missing: (workload.with.map(only_there))
            .or_else(|| network.and_then(|network| network.missing(uses_network))),
        min_iterations: workload.units,
        max_iterations: workload.units,
        insns_iterations: workload.units - workload.shorter(),
        insns_samples: 1,
        parameters: Vec::new(),
        has_hypercall: false,
        digest: workload.digest(),
    }
}

/// Returns the facts in a workload's file.
fn application(workload: &Workload) -> Application {
    let interrupts = workload.interrupts.as_ref().map(|said| Interrupts {
        of: said.of.clone(),
        on: match said.on {
            Interrupted::One => ws_results::Interrupted::One,
            Interrupted::Spread => ws_results::Interrupted::Spread,
        },
    });
    Application {
        primitive: workload.primitive,
        interrupts,
    }
}

#[cfg(test)]
#[path = "whole_tests.rs"]
mod tests;
