//! A file in memory (memfd) that a child process inherits.

use crate::machine::MachineError;
use crate::process::Handed;
use rustix::fs::{MemfdFlags, SealFlags};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};

/// A sealed memfd.
#[derive(Debug)]
pub struct Inherited(OwnedFd);

impl Inherited {
    /// Makes a file with these bytes. `what` names it in errors, as in "an initramfs".
    pub fn of(what: &str, bytes: &[u8]) -> Result<Self, MachineError> {
        let failed = |e: io::Error| MachineError::Other(format!("can't make {what}: {e}"));
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = rustix::fs::memfd_create("worldswitch", flags).map_err(|e| failed(e.into()))?;
        let mut file = File::from(file);
        file.write_all(bytes).map_err(failed)?;
        // The seals guarantee that every reader gets these bytes.
        let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW;
        rustix::fs::fcntl_add_seals(&file, seals).map_err(|e| failed(e.into()))?;
        Ok(Self(file.into()))
    }

    /// The path by which a child that inherits the file opens it.
    pub fn path(&self) -> String {
        format!("/dev/fd/{}", self.0.as_raw_fd())
    }

    /// The file, for the child to inherit.
    pub fn into_handed(self) -> Handed {
        self.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_read_by_its_path_and_can_t_be_changed() {
        let file = Inherited::of("a file", b"bytes").unwrap();
        assert_eq!(std::fs::read(file.path()).unwrap(), b"bytes");
        assert!(std::fs::write(file.path(), "others").is_err());
        assert_eq!(std::fs::read(file.path()).unwrap(), b"bytes");
    }
}
