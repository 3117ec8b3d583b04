//! The device tree of an ARM machine on which Xen starts the guest: QEMU's `virt`, as far as Xen and
//! the guest need it, and the guest's domain.
//!
//! QEMU's own tree knows no domains, so the machine is described here: addresses and interrupts are
//! those of QEMU's `hw/arm/virt.c`, the bindings those of Linux' `Documentation/devicetree` and of
//! Xen's `docs/misc/arm/device-tree/booting.txt`. QEMU itself adds the memory and PSCI.

use vm_fdt::{Error, FdtWriter};

/// Where QEMU's `virt` has its memory.
const MEMORY: u64 = 0x4000_0000;

/// Where the guest's image is put: above Xen, which QEMU puts at the bottom, and the tree, at 128 MiB.
/// Xen copies it into the domain.
pub const MODULE: u64 = MEMORY + (192 << 20);

/// What the tree says of the guest's domain, and of the machine for Xen.
#[derive(Clone, Copy, Debug)]
pub struct Domain<'a> {
    /// The CPUs of the machine, and of the domain.
    pub cpus: u32,
    /// The domain's memory.
    pub memory_mib: u64,
    /// The size of the guest's image.
    pub image_bytes: u64,
    /// The guest's command line.
    pub command_line: &'a str,
    /// Xen's.
    pub parameters: &'a str,
}

/// The interrupt controller, as others refer to it.
const GIC: u32 = 1;

/// The first cell of an interrupt: of a device, of a CPU's own.
const SPI: u32 = 0;
const PPI: u32 = 1;
/// Its third.
const LEVEL_HIGH: u32 = 4;

/// The tree as bytes.
///
/// # Errors
/// A text has a NUL in it.
pub fn tree(domain: &Domain<'_>) -> Result<Vec<u8>, Error> {
    let mut to = FdtWriter::new()?;
    let root = to.begin_node("")?;
    to.property_string("compatible", "linux,dummy-virt")?;
    two_cells(&mut to)?;
    to.property_u32("interrupt-parent", GIC)?;
    chosen(&mut to, domain)?;

    let aliases = to.begin_node("aliases")?;
    to.property_string("serial0", "/pl011@9000000")?;
    to.end_node(aliases)?;

    let cpus = to.begin_node("cpus")?;
    to.property_u32("#address-cells", 1)?;
    to.property_u32("#size-cells", 0)?;
    for cpu in 0..domain.cpus {
        // Affinity as QEMU counts it: sixteen CPUs a cluster where the controller is a GICv3.
        let affinity = ((cpu / 16) << 8) | (cpu % 16);
        let node = to.begin_node(&format!("cpu@{affinity:x}"))?;
        to.property_string("device_type", "cpu")?;
        to.property_string("compatible", "arm,armv8")?;
        to.property_string("enable-method", "psci")?;
        to.property_u32("reg", affinity)?;
        to.end_node(node)?;
    }
    to.end_node(cpus)?;

    let gic = to.begin_node("intc@8000000")?;
    to.property_string("compatible", "arm,gic-v3")?;
    to.property_null("interrupt-controller")?;
    to.property_u32("#interrupt-cells", 3)?;
    to.property_u32("#redistributor-regions", 1)?;
    two_cells(&mut to)?;
    to.property_array_u64("reg", &[0x0800_0000, 0x1_0000, 0x080a_0000, 0xf6_0000])?;
    to.property_array_u32("interrupts", &[PPI, 9, LEVEL_HIGH])?;
    to.property_phandle(GIC)?;
    to.end_node(gic)?;

    let timer = to.begin_node("timer")?;
    to.property_string_list(
        "compatible",
        vec!["arm,armv8-timer".into(), "arm,armv7-timer".into()],
    )?;
    // Secure, non-secure, virtual, and EL2's.
    let interrupts = [13, 14, 11, 10].map(|number| [PPI, number, LEVEL_HIGH]);
    to.property_array_u32("interrupts", interrupts.as_flattened())?;
    to.property_null("always-on")?;
    to.end_node(timer)?;

    let uart = to.begin_node("pl011@9000000")?;
    to.property_string_list(
        "compatible",
        vec!["arm,pl011".into(), "arm,primecell".into()],
    )?;
    to.property_array_u64("reg", &[0x0900_0000, 0x1000])?;
    to.property_array_u32("interrupts", &[SPI, 1, LEVEL_HIGH])?;
    to.end_node(uart)?;

    to.end_node(root)?;
    to.finish()
}

fn chosen(to: &mut FdtWriter, domain: &Domain<'_>) -> Result<(), Error> {
    let chosen = to.begin_node("chosen")?;
    two_cells(to)?;
    to.property_string("stdout-path", "serial0")?;
    to.property_string("xen,xen-bootargs", domain.parameters)?;
    let node = to.begin_node("domU1")?;
    to.property_string("compatible", "xen,domain")?;
    two_cells(to)?;
    to.property_u64("memory", domain.memory_mib << 10)?;
    to.property_u32("cpus", domain.cpus)?;
    to.property_null("vpl011")?;
    let module = to.begin_node(&format!("module@{MODULE:x}"))?;
    to.property_string_list(
        "compatible",
        vec!["multiboot,kernel".into(), "multiboot,module".into()],
    )?;
    to.property_array_u64("reg", &[MODULE, domain.image_bytes])?;
    to.property_string("bootargs", domain.command_line)?;
    to.end_node(module)?;
    to.end_node(node)?;
    to.end_node(chosen)
}

/// Addresses and sizes have 64 bits.
fn two_cells(to: &mut FdtWriter) -> Result<(), Error> {
    to.property_u32("#address-cells", 2)?;
    to.property_u32("#size-cells", 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOMAIN: Domain<'_> = Domain {
        cpus: 18,
        memory_mib: 512,
        image_bytes: 0xf000,
        command_line: "bench=^(in)$",
        parameters: "console=dtuart",
    };

    /// Whether a property of this name's length and value is in the tree's structure.
    fn has(tree: &[u8], value: &[u8]) -> bool {
        let length = u32::try_from(value.len()).unwrap().to_be_bytes();
        let at = |start: usize| {
            tree.get(start..start + 4) == Some(&length)
                && tree.get(start + 8..start + 8 + value.len()) == Some(value)
        };
        (0..tree.len()).step_by(4).any(at)
    }

    #[test]
    fn the_domain_is_as_asked() {
        let tree = tree(&DOMAIN).unwrap();
        assert_eq!(tree[..4], [0xd0, 0x0d, 0xfe, 0xed]);
        assert!(has(&tree, b"bench=^(in)$\0"));
        assert!(has(&tree, b"console=dtuart\0"));
        assert!(has(&tree, &(512u64 << 10).to_be_bytes()), "in KiB");
        let reg = [MODULE.to_be_bytes(), 0xf000u64.to_be_bytes()].concat();
        assert!(has(&tree, &reg));
        // The 18th CPU is the second of the second cluster.
        assert!(has(&tree, &0x101u32.to_be_bytes()));
        assert!(!has(&tree, &0x102u32.to_be_bytes()));
    }

    #[test]
    fn a_text_that_no_tree_can_have_is_an_error() {
        let command_line = "a\0b";
        assert!(
            tree(&Domain {
                command_line,
                ..DOMAIN
            })
            .is_err()
        );
    }
}
