//! The programs and images that machines are made from, or why each was not found.

use crate::emulator::Emulator;
use crate::machine::MachineError;
use crate::recording::Recording;
use crate::vmm::Kvm;
use std::path::PathBuf;
use std::sync::OnceLock;
use ws_lab::lab::Lab;
use ws_lab::sets::Architecture;
use ws_lab::store::Store;

/// The parts that machines are made from.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// The emulator that the user named, if any.
    pub qemu: Option<PathBuf>,
    /// The guest image of this host's architecture; or why there is none, and the cure.
    pub guest: Option<Result<PathBuf, String>>,
    /// The guest image of the lab's ARM machines: an ELF file, next to the arm64 Image that is
    /// booted.
    pub arm_guest: Option<Result<PathBuf, String>>,
    /// A user's kernel, which a lab machine boots instead of the guest image.
    pub kernel: Option<PathBuf>,
    /// The initramfs of that kernel, if it has one.
    pub initrd: Option<PathBuf>,
    /// The monitor; or why there is none, and the cure.
    pub vmm: Option<Result<PathBuf, String>>,
    /// The monitor of the lab's ARM machines.
    pub arm_vmm: Option<Result<PathBuf, String>>,
    /// The first process of a lab machine whose monitor is not vmm, or that prints its symbols; or
    /// why there is none, and the cure.
    pub init: Option<Result<PathBuf, String>>,
    /// The first process of the lab's ARM machines whose monitor is not vmm, or that print their symbols.
    pub arm_init: Option<Result<PathBuf, String>>,
    /// The first process of a lab machine whose guest is a whole Linux; or why there is none, and the
    /// cure.
    pub agent: Option<Result<PathBuf, String>>,
    /// The agent of a machine without a VM that has several CPUs.
    pub cpus_agent: Option<Result<PathBuf, String>>,
    /// The agent of the lab's ARM machines without a VM that have several CPUs.
    pub arm_cpus_agent: Option<Result<PathBuf, String>>,
    /// The agent of dom0 under Xen.
    pub xen_agent: Option<Result<PathBuf, String>>,
    /// The agent of dom0 under Xen on the lab's ARM machines.
    pub arm_xen_agent: Option<Result<PathBuf, String>>,
    /// The agent on this host, and the program that starts it in namespaces; or why there is none, and the cure.
    pub host_agent: Option<Result<PathBuf, String>>,
    pub enter: Option<Result<PathBuf, String>>,
    /// The agent of the lab's ARM machines.
    pub arm_agent: Option<Result<PathBuf, String>>,
    /// elvis, the project's own back-end, which serves devices of a VM in a lab machine; or why there is none, and the
    /// cure.
    pub elvis: Option<Result<PathBuf, String>>,
    /// The host CPU of each vCPU's thread where time is measured; empty if threads are not pinned.
    pub pins: Vec<u32>,
    /// The library that sets the timers of a lab machine that resumes (`plugin/timers.c`); or why there is none, and
    /// the cure.
    pub timers: Option<Result<PathBuf, String>>,
    /// Whether lab machines boot in each launch: no state of them is resumed or kept.
    pub boots_always: bool,
    /// The recording of a lab machine's instructions, if that is wanted.
    pub recording: Option<Recording>,
    /// The lab's recipes and the store of its packages; or why they can't be used.
    pub lab: Option<Result<LabFiles, String>>,
    /// The result of probing this host's KVM, once it was probed.
    pub probed: OnceLock<Result<Kvm, String>>,
}

/// The lab's recipes, and the packages that they name.
#[derive(Clone, Debug)]
pub struct LabFiles {
    pub lab: Lab,
    pub store: Store,
}

impl Resources {
    /// The lab's recipes.
    pub fn lab(&self) -> Result<&Lab, MachineError> {
        self.lab_files().map(|files| &files.lab)
    }

    /// The lab's packages.
    pub fn store(&self) -> Result<&Store, MachineError> {
        self.lab_files().map(|files| &files.store)
    }

    fn lab_files(&self) -> Result<&LabFiles, MachineError> {
        match &self.lab {
            Some(Ok(files)) => Ok(files),
            Some(Err(why)) => Err(MachineError::Other(why.clone())),
            None => Err(MachineError::Other("no lab was looked for".into())),
        }
    }

    /// The guest's tool stack for Xen's dom0, which is built next to the guest image.
    pub fn dom0(&self) -> Result<PathBuf, MachineError> {
        let path = self.guest()?.with_file_name("dom0.elf");
        match path.is_file() {
            true => Ok(path),
            false => Err(MachineError::Other(format!(
                "{} is missing, which starts the guest under Xen: run make build",
                path.display()
            ))),
        }
    }

    /// An image of the hypervisor neve, by its folder's name. These folders lie next to that of the
    /// guest for aarch64.
    pub fn neve(&self, name: &str) -> Result<PathBuf, MachineError> {
        let guest = self.guest_for(Architecture::Aarch64)?;
        // PLACE/guest/aarch64/guest.elf and PLACE/neve/NAME/neve.img
        let place = guest.ancestors().nth(3).map(std::path::Path::to_owned);
        let path = place
            .unwrap_or_default()
            .join("neve")
            .join(name)
            .join("neve.img");
        match path.is_file() {
            true => Ok(path),
            false => Err(MachineError::Other(format!(
                "{} is missing, a hypervisor of the lab's ARM machines: run make build",
                path.display()
            ))),
        }
    }

    /// KVM of this host. The first call probes it, by running a guest in it.
    pub fn kvm(&self) -> Result<Kvm, MachineError> {
        let probe = || {
            let kvm = self.monitor().and_then(|monitor| Kvm::probe(&monitor));
            kvm.map_err(|e| e.to_string())
        };
        let probed = self.probed.get_or_init(probe).clone();
        probed.map_err(MachineError::Other)
    }

    /// The monitor.
    pub fn monitor(&self) -> Result<PathBuf, MachineError> {
        self.monitor_for(Architecture::X86_64)
    }

    /// The monitor for an architecture.
    pub fn monitor_for(&self, architecture: Architecture) -> Result<PathBuf, MachineError> {
        match architecture {
            Architecture::X86_64 => found(&self.vmm, "monitor"),
            Architecture::Aarch64 => found(&self.arm_vmm, "monitor for aarch64"),
        }
    }

    /// The first process of a lab machine whose monitor is not vmm, or that prints its symbols.
    pub fn init_for(&self, architecture: Architecture) -> Result<PathBuf, MachineError> {
        match architecture {
            Architecture::X86_64 => found(&self.init, "first process of lab machines"),
            Architecture::Aarch64 => {
                found(&self.arm_init, "first process of lab machines for aarch64")
            }
        }
    }

    /// The first process of a lab machine whose guest is a whole Linux.
    pub fn agent_for(&self, architecture: Architecture) -> Result<PathBuf, MachineError> {
        match architecture {
            Architecture::X86_64 => found(
                &self.agent,
                "first process of lab machines with applications",
            ),
            Architecture::Aarch64 => found(
                &self.arm_agent,
                "first process of lab machines with applications for aarch64",
            ),
        }
    }

    /// The first process of a lab machine of several CPUs whose guest is a whole Linux without a VM.
    pub fn cpus_agent_for(&self, architecture: Architecture) -> Result<PathBuf, MachineError> {
        match architecture {
            Architecture::X86_64 => found(
                &self.cpus_agent,
                "first process of lab machines of several CPUs with applications",
            ),
            Architecture::Aarch64 => found(
                &self.arm_cpus_agent,
                "first process of lab machines of several CPUs with applications for aarch64",
            ),
        }
    }

    /// The first process of a dom0 that is a whole Linux.
    pub fn xen_agent_for(&self, architecture: Architecture) -> Result<PathBuf, MachineError> {
        match architecture {
            Architecture::X86_64 => {
                found(&self.xen_agent, "first process of dom0 with applications")
            }
            Architecture::Aarch64 => found(
                &self.arm_xen_agent,
                "first process of dom0 with applications for aarch64",
            ),
        }
    }

    /// The first process of applications on this host, and of VMs there.
    pub fn host_agent(&self) -> Result<PathBuf, MachineError> {
        found(&self.host_agent, "agent for this host")
    }

    /// The program that starts the agent of this host in namespaces.
    pub fn enter(&self) -> Result<PathBuf, MachineError> {
        found(&self.enter, "program that enters namespaces")
    }

    /// elvis, for x86_64.
    pub fn elvis(&self) -> Result<PathBuf, MachineError> {
        found(&self.elvis, "elvis")
    }

    /// The library that sets the timers of a lab machine that resumes.
    pub fn timers(&self) -> Result<PathBuf, MachineError> {
        found(&self.timers, "library for timers")
    }

    /// The guest image.
    pub fn guest(&self) -> Result<PathBuf, MachineError> {
        self.guest_for(Architecture::X86_64)
    }

    /// The guest image for an architecture.
    pub fn guest_for(&self, architecture: Architecture) -> Result<PathBuf, MachineError> {
        match architecture {
            Architecture::X86_64 => found(&self.guest, "guest image"),
            Architecture::Aarch64 => found(&self.arm_guest, "guest image for aarch64"),
        }
    }

    /// The QEMU that the user named, or the one in the search path.
    pub fn emulator(&self) -> Result<Emulator, MachineError> {
        Emulator::find(self.qemu.as_deref())
    }

    /// A QEMU that was built with KVM.
    pub fn emulator_with_kvm(&self) -> Result<Emulator, MachineError> {
        let emulator = self.emulator()?;
        emulator.needs_kvm()?;
        Ok(emulator)
    }
}

/// The path of a part, or the error why there is none.
fn found(place: &Option<Result<PathBuf, String>>, what: &str) -> Result<PathBuf, MachineError> {
    match place {
        Some(Ok(path)) => Ok(path.clone()),
        Some(Err(why)) => Err(MachineError::Other(why.clone())),
        None => Err(MachineError::Other(format!("no {what} was looked for"))),
    }
}
