//! Device trees of QEMU's `virt`, as far as the system that boots needs them. Addresses and interrupts are those of
//! QEMU's `hw/arm/virt.c`, the bindings those of Linux's `Documentation/devicetree`. QEMU itself adds the memory and
//! PSCI.

use vm_fdt::{Error, FdtWriter};

/// The base address of the memory.
pub const MEMORY: u64 = 0x4000_0000;

/// The phandles of the interrupt controller and of the serial port's clock.
const GIC: u32 = 1;
const CLOCK: u32 = 2;

/// The serial port's clock rate, in Hz: that of QEMU's own tree.
const CLOCK_HZ: u32 = 24_000_000;

/// The first cell of an interrupt: shared (a device's), or private to a CPU.
const SPI: u32 = 0;
const PPI: u32 = 1;
/// The third cell of an interrupt.
const LEVEL_HIGH: u32 = 4;

/// Writes the part of the machine that every tree has into the root node.
pub fn machine(to: &mut FdtWriter, count: u32) -> Result<(), Error> {
    to.property_string("compatible", "linux,dummy-virt")?;
    two_cells(to)?;
    to.property_u32("interrupt-parent", GIC)?;
    let aliases = to.begin_node("aliases")?;
    to.property_string("serial0", "/pl011@9000000")?;
    to.end_node(aliases)?;

    let cpus = to.begin_node("cpus")?;
    to.property_u32("#address-cells", 1)?;
    to.property_u32("#size-cells", 0)?;
    for cpu in 0..count {
        // Affinity as QEMU numbers it: sixteen CPUs a cluster with a GICv3.
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
    two_cells(to)?;
    to.property_array_u64("reg", &[0x0800_0000, 0x1_0000, 0x080a_0000, 0xf6_0000])?;
    to.property_array_u32("interrupts", &[PPI, 9, LEVEL_HIGH])?;
    to.property_phandle(GIC)?;
    to.end_node(gic)?;

    let timer = to.begin_node("timer")?;
    to.property_string_list(
        "compatible",
        vec!["arm,armv8-timer".into(), "arm,armv7-timer".into()],
    )?;
    // The secure, non-secure, virtual and EL2 timers.
    let interrupts = [13, 14, 11, 10].map(|number| [PPI, number, LEVEL_HIGH]);
    to.property_array_u32("interrupts", interrupts.as_flattened())?;
    to.property_null("always-on")?;
    to.end_node(timer)?;

    // Linux does not take a serial port without a clock.
    let clock = to.begin_node("apb-pclk")?;
    to.property_string("compatible", "fixed-clock")?;
    to.property_u32("#clock-cells", 0)?;
    to.property_u32("clock-frequency", CLOCK_HZ)?;
    to.property_phandle(CLOCK)?;
    to.end_node(clock)?;
    serial(to, 0x0900_0000, 1)
}

/// Writes the second serial port, which the machine has if QEMU is told where its output goes.
///
/// # Errors
/// The writer is not in the root node.
pub fn second_serial(to: &mut FdtWriter) -> Result<(), Error> {
    serial(to, 0x0904_0000, 8)
}

/// Writes a serial port.
fn serial(to: &mut FdtWriter, address: u64, interrupt: u32) -> Result<(), Error> {
    let uart = to.begin_node(&format!("pl011@{address:x}"))?;
    to.property_string_list(
        "compatible",
        vec!["arm,pl011".into(), "arm,primecell".into()],
    )?;
    to.property_array_u64("reg", &[address, 0x1000])?;
    to.property_array_u32("interrupts", &[SPI, interrupt, LEVEL_HIGH])?;
    to.property_array_u32("clocks", &[CLOCK, CLOCK])?;
    to.property_string_list("clock-names", vec!["uartclk".into(), "apb_pclk".into()])?;
    to.end_node(uart)
}

/// Makes the tree of a Linux whose root file system is in memory at `address`, of `bytes`. Linux takes that memory for
/// persistent.
pub fn with_root(cpus: u32, address: u64, bytes: u64) -> Result<Vec<u8>, Error> {
    let mut to = FdtWriter::new()?;
    let root = to.begin_node("")?;
    machine(&mut to, cpus)?;
    let chosen = to.begin_node("chosen")?;
    to.property_string("stdout-path", "serial0")?;
    to.end_node(chosen)?;
    persistent(&mut to, address, bytes)?;
    to.end_node(root)?;
    to.finish()
}

/// Writes memory that Linux takes for persistent.
///
/// # Errors
/// The writer is not in the root node.
pub fn persistent(to: &mut FdtWriter, address: u64, bytes: u64) -> Result<(), Error> {
    let pmem = to.begin_node(&format!("pmem@{address:x}"))?;
    to.property_string("compatible", "pmem-region")?;
    to.property_array_u64("reg", &[address, bytes])?;
    to.end_node(pmem)
}

/// Makes addresses and sizes 64 bits long.
///
/// # Errors
/// The writer is not in a node.
pub fn two_cells(to: &mut FdtWriter) -> Result<(), Error> {
    to.property_u32("#address-cells", 2)?;
    to.property_u32("#size-cells", 2)
}
