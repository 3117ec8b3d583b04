//! The memory of a machine of a whole Linux, or of its VM, and the root file system in it. The root is a file or a
//! block device that nobody writes.

use ws_lab::architecture::{Architecture, Board};

/// Room for an NVDIMM in the machine's address space.
const NVDIMM_MIB: u64 = 8192;

/// Memory, and a root file system beside it.
#[derive(Clone, Debug)]
pub struct Root {
    architecture: Architecture,
    memory_mib: u64,
    path: String,
    bytes: u64,
}

impl Root {
    /// Makes the value for a file or block device at `path`, of `bytes`, which are whole MiB.
    pub fn of(architecture: Architecture, memory_mib: u64, path: &str, bytes: u64) -> Self {
        Self {
            architecture,
            memory_mib,
            path: path.replace(',', ",,"),
            bytes,
        }
    }

    /// QEMU's arguments. On a PC the root is an NVDIMM. `virt` takes no NVDIMM without firmware. There the root is the
    /// second half of the memory, which a device tree calls persistent ([`super::virt::with_root`]).
    pub fn words(&self) -> Vec<String> {
        let (mib, path, bytes) = (self.memory_mib, &self.path, self.bytes);
        // A shared file is not part of the machine's saved state (resume).
        let file = format!(
            "memory-backend-file,id=root,mem-path={path},share=on,readonly=on,size={bytes}"
        );
        match self.architecture.facts().board {
            Board::Pc => vec![
                "-m".into(),
                format!("{mib}M,slots=1,maxmem={}M", mib + NVDIMM_MIB),
                "-object".into(),
                file,
                "-device".into(),
                "nvdimm,memdev=root,unarmed=on".into(),
            ],
            Board::Virt => vec![
                "-m".into(),
                format!("{}M", mib + (bytes >> 20)),
                "-object".into(),
                format!("memory-backend-ram,id=memory,size={mib}M"),
                "-object".into(),
                file,
                "-numa".into(),
                "node,memdev=memory".into(),
                "-numa".into(),
                "node,memdev=root".into(),
            ],
        }
    }

    /// Words of Linux' command line for the memory, with a blank before them. On `virt` they exclude the root, which
    /// QEMU's memory nodes contain.
    pub fn parameters(&self) -> String {
        match self.architecture.facts().board {
            Board::Pc => String::new(),
            Board::Virt => {
                format!(" mem={}M numa=off", self.memory_mib)
            }
        }
    }
}
