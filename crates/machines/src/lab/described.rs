//! The parts of a lab machine: for its result, and as the digest that decides whether two machines are the same.

use crate::machine::MachineError;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;
use ws_lab::architecture::Architecture;
use ws_lab::store::Unpacked;

/// The packages of a set that an identity names besides those of emulators, by the beginnings of their names.
const MAIN: [&str; 5] = [
    "bochs",
    "linux-binary",
    "linux-image",
    "xen-hypervisor",
    "xen-utils-4",
];

/// The parts of a machine, in readable form and as one digest.
#[derive(Default)]
pub struct Described {
    hash: Sha256,
    parts: Vec<(String, Value)>,
    packages: Vec<Value>,
    /// Whether a set has other packages than the lock file pins.
    unpinned: bool,
    /// Notes that a reader of the machine's results must know.
    pub notes: Vec<String>,
}

impl Described {
    /// Adds a part to the digest.
    pub fn sum(&mut self, what: &str, value: impl AsRef<[u8]>) {
        self.hash
            .update(format!("{what} {}\n", value.as_ref().len()));
        self.hash.update(value);
    }

    /// Adds the content of a file to the digest, but not its path.
    pub fn file(&mut self, what: &str, path: &Path) -> Result<(), MachineError> {
        let bytes = fs::read(path).map_err(|e| MachineError::io("read", path, e))?;
        self.sum(what, Sha256::digest(bytes));
        Ok(())
    }

    /// Adds a set of packages to the digest and to the identity.
    pub fn set(&mut self, set: &Unpacked) {
        self.sum(&set.set, set.digest());
        self.unpinned |= !set.pinned();
        // The identity names only the main packages; the digest covers the libraries, and the lock
        // file lists them.
        let of_emulators = Architecture::ALL.map(|one| one.facts().emulator_packages);
        let main = set.packages().iter().filter(|package| {
            let mut starts = MAIN.iter().chain(of_emulators.into_iter().flatten());
            starts.any(|start| package.name.starts_with(start))
        });
        self.packages
            .extend(main.map(|package| json!(format!("{} {}", package.name, package.version))));
    }

    pub fn part(&mut self, name: &str, value: Value) {
        self.parts.push((name.to_owned(), value));
    }

    pub fn digest(&self) -> String {
        let digest = self.hash.clone().finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub fn parts(self) -> Vec<(String, Value)> {
        let mut parts = self.parts;
        if !self.packages.is_empty() {
            parts.push(("packages".into(), json!(self.packages)));
            parts.push(("packages_pinned".into(), json!(!self.unpinned)));
        }
        parts
    }
}
