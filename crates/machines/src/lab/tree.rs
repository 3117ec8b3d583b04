//! The device tree of an ARM machine on which Xen starts the guest. It describes QEMU's `virt`, as
//! far as Xen and the guest need it, the guest's domain, and a second domain that answers the
//! guest's events.
//!
//! QEMU's own tree has no domains, so the machine is described here. Addresses and interrupts are those of QEMU's
//! `hw/arm/virt.c`. The bindings are those of Linux's `Documentation/devicetree` and of Xen's
//! `docs/misc/arm/device-tree/booting.txt`. QEMU itself adds the memory and PSCI.

use super::virt::{MEMORY, machine, two_cells};
use vm_fdt::{Error, FdtWriter};

/// The address of the guest's image: above Xen, which QEMU puts at the bottom, and the tree, at 128
/// MiB. Xen copies the image into the domain.
pub const MODULE: u64 = MEMORY + (192 << 20);
/// The address of the same image for the second domain: two modules may not overlap.
pub const SECOND_MODULE: u64 = MODULE + (16 << 20);

/// Ports of the event channels between the two domains (guest/include/event_channel.h). They are the same at both ends:
/// an answer, a timestamped answer, the timestamp's end and its bits. Xen does not let domains other than dom0 share
/// memory.
const PORTS: std::ops::Range<u32> = 10..12;
const STAMP_PORTS: std::ops::Range<u32> = 31..64;
/// Memory of the second domain: Xen puts the tree 128 MiB above the start of a domain's memory, and the guest's heap is
/// above that.
const SECOND_MEMORY_MIB: u64 = 160;

/// The guest's domain, and the machine, as the tree describes them.
#[derive(Clone, Copy, Debug)]
pub struct Domain<'a> {
    /// The number of CPUs of the machine and of the domain.
    pub cpus: u32,
    /// The domain's memory.
    pub memory_mib: u64,
    /// The size of the guest's image.
    pub image_bytes: u64,
    /// The guest's command line.
    pub command_line: &'a str,
    /// Xen's command line.
    pub parameters: &'a str,
}

/// Makes the tree.
///
/// # Errors
/// A text has a NUL in it.
pub fn tree(domain: &Domain<'_>) -> Result<Vec<u8>, Error> {
    let mut to = FdtWriter::new()?;
    let root = to.begin_node("")?;
    machine(&mut to, domain.cpus)?;
    chosen(&mut to, domain)?;
    to.end_node(root)?;
    to.finish()
}

/// Writes Xen's command line and both domains. The second domain has no serial port: its output would mix with the
/// guest's records.
fn chosen(to: &mut FdtWriter, domain: &Domain<'_>) -> Result<(), Error> {
    let chosen = to.begin_node("chosen")?;
    two_cells(to)?;
    to.property_string("stdout-path", "serial0")?;
    to.property_string("xen,xen-bootargs", domain.parameters)?;
    let channel = PORTS.start;
    let guest = Guest {
        number: 1,
        memory_mib: domain.memory_mib,
        cpus: domain.cpus,
        module: [MODULE, domain.image_bytes],
        command_line: &format!("{} channel={channel}", domain.command_line),
        has_console: true,
    };
    guest.write(to)?;
    let second = Guest {
        number: 2,
        memory_mib: SECOND_MEMORY_MIB,
        cpus: 1,
        module: [SECOND_MODULE, domain.image_bytes],
        command_line: &format!("hypercall=xen channel={channel} answer=1"),
        has_console: false,
    };
    second.write(to)?;
    to.end_node(chosen)
}

/// A domain that Xen starts.
struct Guest<'a> {
    /// Number of the domain: 1 is the guest's, 2 answers its events.
    number: u32,
    memory_mib: u64,
    cpus: u32,
    /// The address and size of the domain's image.
    module: [u64; 2],
    command_line: &'a str,
    has_console: bool,
}

/// The phandle of a domain's end of a channel.
fn end_of(number: u32, port: u32) -> u32 {
    number * 0x100 + port
}

impl Guest<'_> {
    fn write(&self, to: &mut FdtWriter) -> Result<(), Error> {
        let node = to.begin_node(&format!("domU{}", self.number))?;
        to.property_string("compatible", "xen,domain")?;
        two_cells(to)?;
        to.property_u64("memory", self.memory_mib << 10)?;
        to.property_u32("cpus", self.cpus)?;
        if self.has_console {
            to.property_null("vpl011")?;
        }
        // Event channels, without a Xenstore.
        to.property_string("xen,enhanced", "no-xenstore")?;
        let module = to.begin_node(&format!("module@{:x}", self.module[0]))?;
        to.property_string_list(
            "compatible",
            vec!["multiboot,kernel".into(), "multiboot,module".into()],
        )?;
        to.property_array_u64("reg", &self.module)?;
        to.property_string("bootargs", self.command_line)?;
        to.end_node(module)?;
        for port in PORTS.chain(STAMP_PORTS) {
            let channel = to.begin_node(&format!("evtchn@{port:x}"))?;
            to.property_string("compatible", "xen,evtchn-v1")?;
            to.property_array_u32("xen,evtchn", &[port, end_of(3 - self.number, port)])?;
            to.property_phandle(end_of(self.number, port))?;
            to.end_node(channel)?;
        }
        to.end_node(node)
    }
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

    /// Whether the tree's structure has a property with this value.
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
        assert!(has(&tree, b"bench=^(in)$ channel=10\0"));
        assert!(has(&tree, b"console=dtuart\0"));
        assert!(has(&tree, &(512u64 << 10).to_be_bytes()), "in KiB");
        let reg = [MODULE.to_be_bytes(), 0xf000u64.to_be_bytes()].concat();
        assert!(has(&tree, &reg));
        // Each end of a channel names its own port and the other end.
        for end in [[10, 0x20a], [10, 0x10a], [63, 0x23f], [63, 0x13f]] {
            assert!(has(&tree, end.map(u32::to_be_bytes).as_flattened()));
        }
        let second = [SECOND_MODULE.to_be_bytes(), 0xf000u64.to_be_bytes()].concat();
        assert!(has(&tree, &second));
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
