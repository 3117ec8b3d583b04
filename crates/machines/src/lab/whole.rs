//! A machine whose guest is a whole Linux with programs: what its initramfs has, and what the agent
//! there (`lab/agent`) is told.

use super::command::{self, Whole as Inner};
use crate::image::BenchmarkRow;
use crate::initramfs::{self, Entry};
use crate::machine::MachineError;
use std::path::PathBuf;
use ws_lab::workload::Workload;

/// The block device that Linux makes of the NVDIMM with the root file system.
pub const ROOT_DEVICE: &str = "/dev/pmem0";
/// Paths in the initramfs; in the root file system they are below /lab.
const KERNEL: &str = "vmlinuz";
const INITRD: &str = "guest-initrd";
const CONFIG: &str = "init.conf";

/// Everything that the machine boots.
#[derive(Clone, Debug)]
pub struct Whole {
    pub kernel: PathBuf,
    /// The kernel's command line.
    pub parameters: String,
    /// The agent and the modules under their files' names.
    pub files: Vec<Entry>,
    /// The lines that load the modules.
    pub modules: Vec<String>,
    /// The image of the root file system, and its size.
    pub root: PathBuf,
    pub root_bytes: u64,
    pub workloads: Vec<Workload>,
    pub vm: Option<Vm>,
}

/// The VM in which the same Linux runs, if the machine has a hypervisor.
#[derive(Clone, Debug)]
pub struct Vm {
    /// The path of QEMU in the root file system.
    pub program: String,
    /// The bytes of its kernel.
    pub kernel: Vec<u8>,
    pub parameters: String,
    pub files: Vec<Entry>,
    pub modules: Vec<String>,
}

impl Whole {
    /// The initramfs of a launch. `words` are the runner's for the guest, `vcpus` and `memory_mib` are
    /// the VM's.
    ///
    /// # Errors
    /// A file is too large for one.
    pub fn initramfs(
        &self,
        words: &str,
        vcpus: u32,
        memory_mib: u64,
    ) -> Result<Vec<u8>, MachineError> {
        let Some(vm) = &self.vm else {
            return self.packed(&self.files, &self.modules, words, &["role=native".into()]);
        };
        let guest = self.packed(&vm.files, &vm.modules, words, &["role=guest".into()])?;
        let mut files = self.files.clone();
        files.push(Entry::file(KERNEL, &*vm.kernel));
        files.push(Entry::file(INITRD, guest));
        let qemu = command::vm(&Inner {
            program: &vm.program,
            vcpus,
            memory_mib,
            root: ROOT_DEVICE,
            root_bytes: self.root_bytes,
            kernel: &format!("/lab/{KERNEL}"),
            initrd: &format!("/lab/{INITRD}"),
            parameters: &vm.parameters,
        });
        let lines: Vec<String> = ["role=host".to_owned(), format!("queues={vcpus}")]
            .into_iter()
            .chain(qemu.iter().map(|word| format!("word={word}")))
            .collect();
        self.packed(&files, &self.modules, words, &lines)
    }

    fn packed(
        &self,
        files: &[Entry],
        modules: &[String],
        words: &str,
        role: &[String],
    ) -> Result<Vec<u8>, MachineError> {
        let mut lines = modules.to_vec();
        lines.push(format!("root={ROOT_DEVICE}"));
        lines.push(format!("append={words}"));
        lines.extend_from_slice(role);
        lines.extend(self.workloads.iter().flat_map(told));
        let mut files = files.to_vec();
        files.push(Entry::file(CONFIG, lines.join("\n") + "\n"));
        initramfs::pack(&files)
    }

    /// The workloads as benchmarks. Those of several CPUs need a VM: what the CPUs of the machine itself
    /// execute at the same time can't be told apart.
    pub fn rows(&self) -> Vec<BenchmarkRow> {
        let can = |workload: &&Workload| workload.vcpus == 1 || self.vm.is_some();
        self.workloads.iter().filter(can).map(row).collect()
    }
}

/// A workload's lines of the agent's configuration.
fn told(workload: &Workload) -> Vec<String> {
    let mut lines = vec![
        format!("workload={}", workload.name),
        format!("units={}", workload.units),
        format!("place={}", workload.place.word()),
    ];
    lines.extend(workload.steps.then(|| "steps=yes".to_owned()));
    let commands = [
        ("prepare", workload.prepare.as_ref()),
        ("serve", workload.serve.as_ref()),
        ("run", Some(&workload.run)),
        ("proof", workload.proof.as_ref()),
    ];
    let commands = commands
        .into_iter()
        .filter_map(|(key, command)| Some(format!("{key}={}", command?)));
    lines.extend(commands);
    lines
}

fn row(workload: &Workload) -> BenchmarkRow {
    BenchmarkRow {
        name: workload.name.clone(),
        category: "application".into(),
        summary: workload.summary.clone(),
        requires: String::new(),
        work: Some(workload.unit.clone()),
        cpus: workload.vcpus,
        host_cpus: 1,
        min_iterations: workload.units,
        max_iterations: workload.units,
        insns_iterations: workload.units,
        insns_samples: 1,
        parameters: Vec::new(),
        has_hypercall: false,
        digest: workload.digest(),
    }
}
