//! Applications in real time in a nested VM: the Linux with KVM and QEMU that `lab:kvm-linux` boots runs in a VM of
//! this host's QEMU. Its own VM is the nested one. The host needs only QEMU.

use super::{MEMORY_MIB, PARAMETERS, recipe};
use crate::child::Child;
use crate::emulator::{self, Emulator};
use crate::inherited::Inherited;
use crate::initramfs;
use crate::lab::{self, Applications, Executor, Launched};
use crate::machine::{Console, Control, Description, Engine, LaunchRequest, Machine, MachineError};
use crate::resources::Resources;
use crate::shipped::Shipped;
use crate::vmm::Kvm;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use ws_results::Identity;

/// The recipe of the VM.
const RECIPE: &str = "kvm-linux";
/// KVM's part for SVM, and for VMX.
const SVM: &str = "kvm-amd";
const VMX: &str = "kvm-intel";

/// The longest step of a workload, in a VM of an emulator's VM.
const SILENCE: Duration = Duration::from_secs(1800);

/// A nested VM.
#[derive(Debug)]
pub struct NestedMachine {
    description: Description,
    /// None: this host's QEMU emulates the processor.
    kvm: Option<Kvm>,
    emulator: Emulator,
    applications: Applications,
    /// The model of the VM's CPU.
    cpu: String,
    memory_beside_mib: u64,
    running: Option<Child>,
}

/// Whether this host's KVM is that of Intel's processors.
fn is_intel() -> bool {
    Path::new("/sys/module/kvm_intel").exists()
}

/// Whether this host's KVM lets its guests have VMs.
pub fn nests(kvm: &Kvm) -> Result<(), MachineError> {
    let other = |text: String| Err(MachineError::Other(text));
    if kvm.engine == Engine::SoftwareKvm {
        return other("/dev/kvm is a software KVM here, without VMX or SVM, which boots no Linux: qemu-tcg-nested has a nested VM in QEMU's emulator".into());
    }
    let module = if is_intel() { "kvm_intel" } else { "kvm_amd" };
    let path = format!("/sys/module/{module}/parameters/nested");
    let said = fs::read_to_string(&path).unwrap_or_default();
    match allows(&said) {
        true => Ok(()),
        false => other(format!(
            "this host's KVM does not let its guests have VMs ({path} does not say Y): sudo modprobe -r {module} && sudo modprobe {module} nested=1, while no VM runs; in a VM, its own host must do so first"
        )),
    }
}

/// Whether the module's parameter says so: Y or N on VMX, 1 or 0 on SVM and on older kernels.
fn allows(said: &str) -> bool {
    matches!(said.trim(), "Y" | "1")
}

/// Checks that the parts of a nested machine are there. An error names the missing part and the cure.
pub fn missing(resources: &Resources) -> Result<(), MachineError> {
    resources.find(Shipped::HostAgent)?;
    lab::missing(&recipe(RECIPE, resources)?, resources)
}

impl NestedMachine {
    /// Makes a machine, and starts nothing.
    pub fn new(kvm: Option<Kvm>, resources: &Resources) -> Result<Self, MachineError> {
        let mut recipe = recipe(RECIPE, resources)?;
        // An emulated processor is AMD's, as in the lab.
        if kvm.is_some() && is_intel() {
            let modules = recipe
                .kernel
                .iter_mut()
                .flat_map(|kernel| &mut kernel.modules);
            for module in modules.filter(|module| module.is(SVM)) {
                VMX.clone_into(&mut module.name);
                module.options.clear();
            }
        }
        let mut applications = lab::applications(&recipe, resources)?;
        let whole = &mut applications.whole;
        PARAMETERS.clone_into(&mut whole.parameters);
        if let Some(vm) = &mut whole.vm {
            PARAMETERS.clone_into(&mut vm.parameters);
        }
        let engine = kvm.as_ref().map_or(Engine::Emulator, |kvm| kvm.engine);
        let mut rows = applications.whole.rows();
        rows.retain(|row| row.vm.is_empty());
        Ok(Self {
            description: Description {
                workloads: Some(rows),
                boot_limit: Some(SILENCE),
                ..Description::new(Control::Launched, Some("ns"), engine)
            },
            cpu: match kvm {
                Some(_) => "host".into(),
                None => recipe.emulator.cpu.to_argument(),
            },
            emulator: lab::emulator(&recipe, resources)?,
            memory_beside_mib: recipe.emulator.memory_beside_mib,
            kvm,
            applications,
            running: None,
        })
    }

    /// Number of the VM's CPUs: the nested VM's, and with hardware one more for the threads that serve the nested VM.
    fn cpus(&self, request: &LaunchRequest) -> u32 {
        request.vcpus + u32::from(self.kvm.is_some())
    }

    /// Arguments of QEMU.
    fn words(&self, request: &LaunchRequest, files: &str) -> Vec<String> {
        let whole = &self.applications.whole;
        let accelerator = if self.kvm.is_some() { "kvm" } else { "tcg" };
        let cpus = self.cpus(request).to_string();
        let mut words = ["-no-user-config", "-nodefaults", "-machine", "pc,nvdimm=on"].to_vec();
        words.extend(["-accel", accelerator, "-cpu", &self.cpu, "-smp", &cpus]);
        words.extend(["-display", "none", "-monitor", "none", "-no-reboot"]);
        words.extend(["-serial", "file:/dev/stdout"]);
        let kernel = whole.kernel.to_string_lossy();
        words.extend([
            "-kernel",
            &kernel,
            "-initrd",
            files,
            "-append",
            &whole.parameters,
        ]);
        let words = words.into_iter().map(str::to_owned);
        words
            .chain(whole.root_words(MEMORY_MIB + self.memory_beside_mib))
            .collect()
    }
}

impl Machine for NestedMachine {
    fn description(&self) -> &Description {
        &self.description
    }

    fn child(&mut self) -> Option<&mut Child> {
        self.running.as_mut()
    }

    fn prepare(&mut self) -> Result<(), MachineError> {
        self.kvm.as_ref().map_or(Ok(()), nests)
    }

    fn launch(&mut self, request: &LaunchRequest) -> Result<(), MachineError> {
        self.kill();
        let whole = &self.applications.whole;
        let files = whole.files(Launched {
            words: &request.command_line,
            vm: "",
            vcpus: request.vcpus,
            host_cpus: 1,
            memory_mib: MEMORY_MIB,
            host_memory_mib: 0,
            executor: Executor {
                accelerator: "kvm",
                cpu: "host",
                vhost: true,
                exact: false,
            },
            root: whole.root_device(),
            disk: None,
        })?;
        let files = Inherited::of("the VM's files", &initramfs::pack(&files)?)?;
        let mut command = Command::new(&self.emulator.program);
        command.args(&self.emulator.leading);
        command.args(self.words(request, &files.path()));
        let child = Child::start(command, request.timed, u64::MAX, vec![files.into_handed()])?;
        self.running = Some(child);
        Ok(())
    }

    fn console(&mut self, buffer: &mut Vec<u8>) -> Result<Console, MachineError> {
        Child::console(self.running.as_mut(), buffer, |_, status| {
            emulator::how(status)
        })
    }

    fn identity(&self) -> Identity {
        let (platform, runs) = match &self.kvm {
            Some(_) => (
                "qemu-kvm-nested",
                "in a VM of KVM and QEMU, in a VM of KVM and QEMU",
            ),
            None => (
                "qemu-tcg-nested",
                "in a VM of KVM and QEMU, in a VM of QEMU's emulator",
            ),
        };
        let mut identity = super::identity(&self.applications, platform, runs, self.kvm.as_ref());
        let subject = &mut identity.subject;
        subject.insert("monitor_cpu".into(), self.cpu.clone().into());
        subject.insert("vm_memory_mib".into(), MEMORY_MIB.into());
        identity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_says_whether_it_nests() {
        assert!(allows("Y\n") && allows("1\n"));
        assert!(!allows("N\n") && !allows("0\n") && !allows(""));
    }

    #[test]
    fn a_software_kvm_has_no_nested_vms() {
        let kvm = Kvm {
            engine: Engine::SoftwareKvm,
            exit_ns: 0,
            monitor: "vmm".into(),
            monitor_version: String::new(),
        };
        let why = nests(&kvm).unwrap_err().to_string();
        assert!(why.contains("qemu-tcg-nested"), "{why}");
    }
}
