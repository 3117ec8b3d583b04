//! The programs and images that machines are made from, or why each was not found.

use crate::emulator::Emulator;
use crate::machine::MachineError;
use crate::recording::Recording;
use crate::shipped::Shipped;
use crate::vmm::Kvm;
use std::collections::BTreeMap;
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
    /// The files of this program that were looked for, or why each was not found, and the cure.
    pub shipped: BTreeMap<Shipped, Result<PathBuf, String>>,
    /// A user's kernel, which a lab machine boots instead of the guest image.
    pub kernel: Option<PathBuf>,
    /// The initramfs of that kernel, if it has one.
    pub initrd: Option<PathBuf>,
    /// The host CPU of each vCPU's thread where time is measured; empty if threads are not pinned.
    pub pins: Vec<u32>,
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
        found(self.lab.as_ref(), || "lab".to_owned())
    }

    /// A file of this program.
    pub fn find(&self, file: Shipped) -> Result<PathBuf, MachineError> {
        found(self.shipped.get(&file), || file.name()).cloned()
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
        self.find(Shipped::Monitor(Architecture::X86_64))
    }

    /// The guest image.
    pub fn guest(&self) -> Result<PathBuf, MachineError> {
        self.guest_for(Architecture::X86_64)
    }

    /// The guest image for an architecture.
    pub fn guest_for(&self, architecture: Architecture) -> Result<PathBuf, MachineError> {
        self.find(Shipped::Guest(architecture))
    }

    /// The ELF file of the guest image for an architecture, or of the image of this name beside it.
    pub fn guest_elf(
        &self,
        architecture: Architecture,
        image: Option<&str>,
    ) -> Result<PathBuf, MachineError> {
        let guest = self.guest_for(architecture)?;
        Ok(match image {
            Some(image) => guest.with_file_name(image).with_extension("elf"),
            None => guest,
        })
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

/// A part that was looked for, or the error why there is none.
fn found<T>(
    place: Option<&Result<T, String>>,
    name: impl Fn() -> String,
) -> Result<&T, MachineError> {
    match place {
        Some(found) => found
            .as_ref()
            .map_err(|why| MachineError::Other(why.clone())),
        None => Err(MachineError::Other(format!("no {} was looked for", name()))),
    }
}
