//! What machines are made from: the programs and images that were found, or why they were not.

use crate::emulator::Emulator;
use crate::machine::MachineError;
use crate::vmm::Kvm;
use std::path::PathBuf;
use std::sync::OnceLock;
use ws_lab::lab::Lab;
use ws_lab::sets::Architecture;
use ws_lab::store::Store;

/// What machines are made from.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// The emulator to use, where the user named one.
    pub qemu: Option<PathBuf>,
    /// The guest image of this host's architecture, or why there is none and the cure.
    pub guest: Option<Result<PathBuf, String>>,
    /// That of the lab's ARM machines: an ELF file, and beside it the arm64 Image that is booted.
    pub arm_guest: Option<Result<PathBuf, String>>,
    /// Somebody else's kernel, which a lab machine boots in the guest image's place.
    pub kernel: Option<PathBuf>,
    /// Its initramfs, if it has one.
    pub initrd: Option<PathBuf>,
    /// The monitor, or why there is none and the cure.
    pub vmm: Option<Result<PathBuf, String>>,
    /// That of the lab's ARM machines.
    pub arm_vmm: Option<Result<PathBuf, String>>,
    /// The first process of a lab machine whose monitor is not ours, or why there is none and the
    /// cure.
    pub init: Option<Result<PathBuf, String>>,
    /// The host CPU of each vCPU's thread where time is measured; empty: where the host likes.
    pub pins: Vec<u32>,
    /// The lab's recipes, and where the packages of its machines lie; or why they can't be had.
    pub lab: Option<Result<LabFiles, String>>,
    /// This host's KVM, once it was probed.
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
    ///
    /// # Errors
    /// They can't be read.
    pub fn lab(&self) -> Result<&Lab, MachineError> {
        self.lab_files().map(|files| &files.lab)
    }

    /// The lab's packages.
    ///
    /// # Errors
    /// It is not known where they lie.
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

    /// The guest's tool stack for Xen's dom0, which is made beside the guest image.
    ///
    /// # Errors
    /// There is none, and the cure.
    pub fn dom0(&self) -> Result<PathBuf, MachineError> {
        let path = self.guest()?.with_file_name("dom0.elf");
        match path.is_file() {
            true => Ok(path),
            false => Err(MachineError::Other(format!(
                "there is no {}, which starts the guest under Xen: make build makes it",
                path.display()
            ))),
        }
    }

    /// An image of the hypervisor neve, by its folder's name; they lie beside the folder of the
    /// guest for aarch64.
    ///
    /// # Errors
    /// There is none, and the cure.
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
                "there is no {}, a hypervisor of the lab's ARM machines: make build makes it",
                path.display()
            ))),
        }
    }

    /// This host's KVM: probed once, by running something in it.
    ///
    /// # Errors
    /// Why it can't be used, and the cure.
    pub fn kvm(&self) -> Result<Kvm, MachineError> {
        let probe = || {
            let kvm = self.monitor().and_then(|monitor| Kvm::probe(&monitor));
            kvm.map_err(|e| e.to_string())
        };
        let probed = self.probed.get_or_init(probe).clone();
        probed.map_err(MachineError::Other)
    }

    /// The monitor.
    ///
    /// # Errors
    /// There is none, and the cure.
    pub fn monitor(&self) -> Result<PathBuf, MachineError> {
        self.monitor_for(Architecture::X86_64)
    }

    /// The monitor for an architecture.
    ///
    /// # Errors
    /// There is none, and the cure.
    pub fn monitor_for(&self, architecture: Architecture) -> Result<PathBuf, MachineError> {
        match architecture {
            Architecture::X86_64 => found(&self.vmm, "monitor"),
            Architecture::Aarch64 => found(&self.arm_vmm, "monitor for aarch64"),
        }
    }

    /// The first process of a lab machine whose monitor is not ours.
    ///
    /// # Errors
    /// There is none, and the cure.
    pub fn init(&self) -> Result<PathBuf, MachineError> {
        found(&self.init, "first process of lab machines")
    }

    /// The guest image.
    ///
    /// # Errors
    /// There is none, and the cure.
    pub fn guest(&self) -> Result<PathBuf, MachineError> {
        self.guest_for(Architecture::X86_64)
    }

    /// The guest image for an architecture.
    ///
    /// # Errors
    /// There is none, and the cure.
    pub fn guest_for(&self, architecture: Architecture) -> Result<PathBuf, MachineError> {
        match architecture {
            Architecture::X86_64 => found(&self.guest, "guest image"),
            Architecture::Aarch64 => found(&self.arm_guest, "guest image for aarch64"),
        }
    }

    /// The QEMU.
    ///
    /// # Errors
    /// There is none, and the cure.
    pub fn emulator(&self) -> Result<Emulator, MachineError> {
        Emulator::find(self.qemu.as_deref())
    }

    /// A QEMU that was built with KVM.
    ///
    /// # Errors
    /// There is none, and the cure.
    pub fn emulator_with_kvm(&self) -> Result<Emulator, MachineError> {
        let emulator = self.emulator()?;
        emulator.needs_kvm()?;
        Ok(emulator)
    }
}

/// What was looked for.
fn found(place: &Option<Result<PathBuf, String>>, what: &str) -> Result<PathBuf, MachineError> {
    match place {
        Some(Ok(path)) => Ok(path.clone()),
        Some(Err(why)) => Err(MachineError::Other(why.clone())),
        None => Err(MachineError::Other(format!("no {what} was looked for"))),
    }
}
