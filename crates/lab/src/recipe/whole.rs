//! Machines whose guest is a whole Linux with programs: their root file system, and the VM that runs
//! it where it is not run by the machine itself.

use super::{Module, Word};
use serde::Serialize;

/// The root file system of a machine's Linux: an image made from packages, which the machine has as
/// memory (an NVDIMM), so that no device of the host enters its clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Root {
    /// The set of packages, of kind `root`.
    pub package: String,
    /// The set of the program that makes the image.
    pub mkfs: String,
}

/// The VM of a machine with a root file system: it boots the machine's kernel and the same root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Vm {
    /// Its kernel's command line.
    pub parameters: Vec<Word>,
    /// In the order in which they are loaded.
    pub modules: Vec<Module>,
}
