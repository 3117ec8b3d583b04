//! What machines are made from: the programs and images that were found, or why they were not.

use crate::emulator::Emulator;
use crate::machine::MachineError;
use crate::vmm::Kvm;
use std::path::PathBuf;
use std::sync::OnceLock;

/// What machines are made from.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// The emulator to use, where the user named one.
    pub qemu: Option<PathBuf>,
    /// The guest image, or why there is none and the cure.
    pub guest: Option<Result<PathBuf, String>>,
    /// The monitor, or why there is none and the cure.
    pub vmm: Option<Result<PathBuf, String>>,
    /// The host CPU of each vCPU's thread where time is measured; empty: where the host likes.
    pub pins: Vec<u32>,
    /// This host's KVM, once it was probed.
    pub probed: OnceLock<Result<Kvm, String>>,
}

impl Resources {
    /// This host's KVM: probed once, by running something in it.
    ///
    /// # Errors
    /// Why it can't be used, and the cure.
    pub fn kvm(&self) -> Result<Kvm, MachineError> {
        let probe = || {
            let monitor = self.monitor()?;
            Kvm::probe(&monitor)
        };
        let probe = || probe().map_err(|e: MachineError| e.to_string());
        let probed = self.probed.get_or_init(probe).clone();
        probed.map_err(MachineError::Other)
    }

    /// The monitor.
    ///
    /// # Errors
    /// There is none, and the cure.
    pub fn monitor(&self) -> Result<PathBuf, MachineError> {
        found(&self.vmm, "monitor")
    }

    /// The guest image.
    ///
    /// # Errors
    /// There is none, and the cure.
    pub fn guest(&self) -> Result<PathBuf, MachineError> {
        found(&self.guest, "guest image")
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
