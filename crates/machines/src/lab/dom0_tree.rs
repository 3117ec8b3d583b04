//! The device tree of an ARM machine on which Xen starts a Linux as dom0. It describes QEMU's `virt`, the root file
//! system in memory, and dom0's kernel and initramfs, by Xen's `docs/misc/arm/device-tree/booting.txt`. QEMU itself
//! adds the memory and PSCI.

use super::tree::MODULE;
use super::virt::{machine, persistent, second_serial, two_cells};
use super::whole::Whole;
use super::xl::Xen;
use crate::machine::MachineError;
use std::fs;
use vm_fdt::{Error, FdtReserveEntry, FdtWriter};

/// Alignment of the initramfs after the kernel.
const BOUNDARY: u64 = 2 << 20;

/// The address and size of dom0's kernel and of its initramfs. QEMU loads them there, and Xen copies them into dom0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modules {
    pub kernel: [u64; 2],
    pub initrd: [u64; 2],
}

impl Modules {
    pub fn of(whole: &Whole, initrd_bytes: u64) -> Result<Self, MachineError> {
        let kernel = &whole.kernel;
        let kernel_bytes = fs::metadata(kernel)
            .map_err(|e| MachineError::io("read the kernel", kernel, e))?
            .len();
        Ok(Self::at(kernel_bytes, initrd_bytes))
    }

    fn at(kernel_bytes: u64, initrd_bytes: u64) -> Self {
        let initrd = MODULE + kernel_bytes.next_multiple_of(BOUNDARY);
        Self {
            kernel: [MODULE, kernel_bytes],
            initrd: [initrd, initrd_bytes],
        }
    }
}

/// The root file system's address and size.
pub type Root = [u64; 2];

/// Makes the tree. Its reservation keeps the root file system out of the memory that Xen takes for itself or gives to
/// dom0. It is no memory to dom0, which has the root file system as a device.
///
/// # Errors
/// A text has a NUL in it.
pub fn tree(
    xen: &Xen,
    dom0_parameters: &str,
    modules: Modules,
    cpus: u32,
    [address, bytes]: Root,
) -> Result<Vec<u8>, Error> {
    let mut to = FdtWriter::new_with_mem_reserv(&[FdtReserveEntry::new(address, bytes)?])?;
    let root = to.begin_node("")?;
    machine(&mut to, cpus)?;
    second_serial(&mut to)?;
    let chosen = to.begin_node("chosen")?;
    two_cells(&mut to)?;
    to.property_string("stdout-path", "serial0")?;
    to.property_string("xen,xen-bootargs", &xen.parameters)?;
    module(&mut to, "multiboot,kernel", modules.kernel, dom0_parameters)?;
    module(&mut to, "multiboot,ramdisk", modules.initrd, "")?;
    to.end_node(chosen)?;
    persistent(&mut to, address, bytes)?;
    to.end_node(root)?;
    to.finish()
}

/// Writes a module. Only a kernel has a command line.
fn module(
    to: &mut FdtWriter,
    kind: &str,
    [address, bytes]: [u64; 2],
    parameters: &str,
) -> Result<(), Error> {
    let module = to.begin_node(&format!("module@{address:x}"))?;
    let kinds = vec![kind.to_owned(), "multiboot,module".to_owned()];
    to.property_string_list("compatible", kinds)?;
    to.property_array_u64("reg", &[address, bytes])?;
    if !parameters.is_empty() {
        to.property_string("bootargs", parameters)?;
    }
    to.end_node(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(tree: &[u8], part: &[u8]) -> bool {
        tree.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn dom0_gets_its_modules_and_the_root_that_xen_leaves_alone() {
        let xen = Xen {
            hypervisor: "/x/xen.img".into(),
            parameters: "dom0_mem=1024M".into(),
        };
        let modules = Modules::at((34 << 20) + 1, 0x1234);
        assert_eq!(modules.kernel, [MODULE, (34 << 20) + 1]);
        assert_eq!(modules.initrd, [MODULE + (36 << 20), 0x1234]);
        let root = [0x1_0000_0000, 0x1880_0000];
        let tree = tree(&xen, "console=ttyAMA0", modules, 1, root).unwrap();
        let cells = |values: [u64; 2]| values.map(u64::to_be_bytes).concat();
        // The memory reservation block follows the header, and is a list that ends with zeros.
        assert_eq!(&tree[40..72], &[cells(root), cells([0, 0])].concat());
        for part in [
            &b"dom0_mem=1024M\0"[..],
            b"console=ttyAMA0\0",
            b"multiboot,ramdisk\0multiboot,module\0",
            b"pmem-region\0",
            &cells(modules.kernel),
            &cells(modules.initrd),
        ] {
            assert!(contains(&tree, part), "{}", String::from_utf8_lossy(part));
        }
    }
}
