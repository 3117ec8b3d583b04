/* Gives the guest a PCI device of the host, by VFIO (Linux, Documentation/driver-api/vfio.rst). The guest gets BAR 0 and the
 * interrupt. The device gets access to the guest's memory. */
#include <arch/board.h>

#include <fcntl.h>
#include <limits.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/gic_registers.h"
#include "vmm/latency/latency_device.h"

#define PCI_DEVICES    "/sys/bus/pci/devices/"
#define PCI_PROBE      "/sys/bus/pci/drivers_probe"
#define VFIO_CONTAINER "/dev/vfio/vfio"

#define GITS_TRANSLATER 0x10040 /* from the ITS on; a device writes the number of its event there */

#define SHARED_INTERRUPTS (INTERRUPTS - GIC_FIRST_SHARED)
#define MSI_LINE	  SHARED_INTERRUPTS /* of KVM's table, after the shared interrupts' */

/* The device. There is at most one. */
static struct assigned {
	struct vm *vm;
	int device;	 /* VFIO's */
	uint32_t pci_id; /* vendor, and the device above */
	int interrupt;	 /* the eventfd that VFIO signals and KVM delivers; -1: none */
} assigned = { .interrupt = -1 };

static bool write_text(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);
	bool done = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);

	if (file >= 0)
		close(file);
	return done;
}

/* The last part of the path to which a link of the device leads: its driver or IOMMU group. "": there is no such link. */
static const char *linked(const char *address, const char *link)
{
	static char target[PATH_MAX];
	char path[PATH_MAX];
	const char *name;
	ssize_t bytes;

	snprintf(path, sizeof(path), PCI_DEVICES "%s/%s", address, link);
	bytes = readlink(path, target, sizeof(target) - 1);
	target[bytes > 0 ? bytes : 0] = 0;
	name = strrchr(target, '/');
	return name ? name + 1 : target;
}

/* A device with another driver is refused: this host may be using it. The kernel's probe succeeds also when no driver takes
 * the device. */
static bool bind_driver(const char *address)
{
	char path[PATH_MAX];
	const char *driver;

	snprintf(path, sizeof(path), PCI_DEVICES "%s", address);
	if (strchr(address, '/') || address[0] == '.' || access(path, F_OK) < 0)
		return fail("assign=%s: there is no such PCI device: give a name of " PCI_DEVICES
			    ", as 0000:00:01.0",
			    address);
	driver = linked(address, "driver");
	if (driver[0])
		return strcmp(driver, "vfio-pci") == 0 ||
		       fail("assign=%s: the driver %s of this host has the device: unbind the "
			    "device first (docs/vmm.md)",
			    address, driver);
	snprintf(path, sizeof(path), PCI_DEVICES "%s/driver_override", address);
	if (!write_text(path, "vfio-pci") || !write_text(PCI_PROBE, address))
		return fail("assign=%s: can't bind the device to vfio-pci: run vmm as root: %m",
			    address);
	return linked(address, "driver")[0] ||
	       fail("assign=%s: vfio-pci does not take the device: load the module vfio-pci, and "
		    "boot with an IOMMU (dmesg has the cause)",
		    address);
}

/* The file of the device's IOMMU group. */
static int open_group(const char *address)
{
	const char *number = linked(address, "iommu_group");
	char path[64];

	snprintf(path, sizeof(path), "/dev/vfio/%.32s", number);
	return number[0] ? open(path, O_RDWR | O_CLOEXEC) : -1;
}

/* The device may access all of the guest's memory, at the guest's own addresses. */
static bool map_memory(int container, const struct memory *memory)
{
	for (unsigned i = 0; i < memory->count; i++) {
		const struct region *region = &memory->regions[i];
		struct vfio_iommu_type1_dma_map map = {
			.argsz = sizeof(map),
			.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
			.vaddr = (uint64_t)region->host,
			.iova = region->guest,
			.size = region->bytes,
		};

		if (ioctl(container, VFIO_IOMMU_MAP_DMA, &map) < 0)
			return fail("assign=: VFIO can't map the guest's memory for the device: "
				    "raise the limit of locked memory (ulimit -l), or lower "
				    "memory=: %m");
	}
	return true;
}

/* Container and group stay open until vmm's end: closing them takes the device away. */
static bool open_device(const char *address, const struct memory *memory)
{
	struct vfio_group_status status = { .argsz = sizeof(status) };
	int container = open(VFIO_CONTAINER, O_RDWR | O_CLOEXEC), group = open_group(address);

	if (container < 0 || group < 0)
		return fail("assign=%s: can't open the device's IOMMU group: boot with an IOMMU, "
			    "and give this user access to /dev/vfio: %m",
			    address);
	if (ioctl(group, VFIO_GROUP_GET_STATUS, &status) < 0 ||
	    !(status.flags & VFIO_GROUP_FLAGS_VIABLE))
		return fail("assign=%s: a driver of this host has another device of the IOMMU "
			    "group: unbind that device first",
			    address);
	if (ioctl(group, VFIO_GROUP_SET_CONTAINER, &container) < 0 ||
	    ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) < 0)
		return fail("assign=%s: VFIO can't use the host's IOMMU: load the module "
			    "vfio_iommu_type1: %m",
			    address);
	if (!map_memory(container, memory))
		return false;
	assigned.device = ioctl(group, VFIO_GROUP_GET_DEVICE_FD, address);
	return assigned.device >= 0 ||
	       fail("assign=%s: VFIO can't open the device: see dmesg: %m", address);
}

static bool region_info(unsigned number, struct vfio_region_info *info)
{
	*info = (struct vfio_region_info){ .argsz = sizeof(*info), .index = number };
	return ioctl(assigned.device, VFIO_DEVICE_GET_REGION_INFO, info) == 0;
}

/* Reads which device it is, and lets it answer to its addresses and access memory. */
static bool configure(void)
{
	struct vfio_region_info space;
	uint16_t command;

	if (!region_info(VFIO_PCI_CONFIG_REGION_INDEX, &space) ||
	    pread(assigned.device, &assigned.pci_id, sizeof(assigned.pci_id),
		  (off_t)(space.offset + PCI_VENDOR_ID)) != sizeof(assigned.pci_id) ||
	    pread(assigned.device, &command, sizeof(command),
		  (off_t)(space.offset + PCI_COMMAND)) != sizeof(command))
		return false;
	command |= PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;
	return pwrite(assigned.device, &command, sizeof(command),
		      (off_t)(space.offset + PCI_COMMAND)) == sizeof(command);
}

/* For addresses of BAR 0 that another device has too. No access gets here: the guest's go to the device. */
static void no_access(void *context, struct access *access)
{
	(void)context;
	(void)access;
}

/* The guest's accesses to BAR 0 go to the device without an exit. */
static bool map_registers(struct vm *vm, const char *address)
{
	struct kvm_userspace_memory_region slot = { .slot = vm->memory.count + 1,
						    .guest_phys_addr = ASSIGNED };
	struct vfio_region_info registers;
	void *at;

	if (!region_info(VFIO_PCI_BAR0_REGION_INDEX, &registers) || !registers.size ||
	    !(registers.flags & VFIO_REGION_INFO_FLAG_MMAP) || registers.size > ASSIGNED_BYTES)
		return fail(
			"assign=%s: BAR 0 of the device can't be mapped (whole pages of memory, "
			"at most %llu MiB): choose another device",
			address, ASSIGNED_BYTES >> 20);
	at = mmap(NULL, registers.size, PROT_READ | PROT_WRITE, MAP_SHARED, assigned.device,
		  (off_t)registers.offset);
	slot.memory_size = registers.size;
	slot.userspace_addr = (uint64_t)at;
	if (!devices_add(&vm->devices, &(struct device){ "assign=", SPACE_MMIO, ASSIGNED,
							 registers.size, no_access, NULL }))
		return false;
	return (at != MAP_FAILED && ioctl(vm->fd, KVM_SET_USER_MEMORY_REGION, &slot) == 0) ||
	       fail("assign=%s: can't map BAR 0 of the device: see dmesg: %m", address);
}

bool assigned_add(struct vm *vm)
{
	const char *address = vm->config->assign;

	if (!address[0])
		return true;
	assigned.vm = vm;
	return bind_driver(address) && open_device(address, &vm->memory) &&
	       (configure() ||
		fail("assign=%s: can't configure the device: see dmesg: %m", address)) &&
	       map_registers(vm, address);
}

/* The device's MSI becomes event 0 of device 0 of the guest's ITS. The table is replaced as a whole, so it also has the
 * shared interrupts, which KVM's own table begins with. */
static bool route_msi(const struct vm *vm)
{
	static struct kvm_irq_routing *table;

	if (!table)
		table = calloc(1, sizeof(*table) +
					  (SHARED_INTERRUPTS + 1) * sizeof(table->entries[0]));
	if (!table)
		return false;
	table->nr = SHARED_INTERRUPTS + 1;
	for (uint32_t i = 0; i < SHARED_INTERRUPTS; i++)
		table->entries[i] = (struct kvm_irq_routing_entry){ .gsi = i,
								    .type = KVM_IRQ_ROUTING_IRQCHIP,
								    .u.irqchip.pin = i };
	table->entries[MSI_LINE] = (struct kvm_irq_routing_entry){
		.gsi = MSI_LINE,
		.type = KVM_IRQ_ROUTING_MSI,
		.flags = KVM_MSI_VALID_DEVID,
		.u.msi.address_lo = (uint32_t)(GIC_ITS + GITS_TRANSLATER),
	};
	return ioctl(vm->fd, KVM_SET_GSI_ROUTING, table) == 0;
}

/* Makes VFIO signal the eventfd at each interrupt; -1: at none. */
static bool signal_interrupt(int event)
{
	union {
		struct vfio_irq_set set;
		uint8_t bytes[sizeof(struct vfio_irq_set) + sizeof(event)];
	} irqs = { .set = { .argsz = sizeof(irqs.bytes),
			    .flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
			    .index = VFIO_PCI_MSI_IRQ_INDEX,
			    .count = 1 } };

	memcpy(irqs.set.data, &event, sizeof(event));
	return ioctl(assigned.device, VFIO_DEVICE_SET_IRQS, &irqs) == 0;
}

/* KVM and VFIO find each other by the eventfd: with a GICv4 KVM makes the device's interrupt the guest's own, for which the
 * guest's ITS must have the event already (kvm_vgic_v4_set_forwarding()). */
bool assigned_start(struct latency_page *page)
{
	if (!assigned.vm)
		return fail("this VM has no PCI device of the host: use lab:kvm-assigned, or vmm's "
			    "option assign=");
	if (!route_msi(assigned.vm))
		return fail("KVM can't route the device's MSI: the VM needs an ITS (GICv3): %m");
	assigned.interrupt = eventfd(0, EFD_CLOEXEC);
	if (assigned.interrupt < 0 ||
	    !latency_raise(assigned.vm, MSI_LINE, assigned.interrupt, true) ||
	    !signal_interrupt(assigned.interrupt))
		return fail("the device gives no MSI that KVM can deliver: choose a device with "
			    "MSI: %m");
	page->interrupt_address = ASSIGNED;
	page->interrupt_data = assigned.pci_id;
	return true;
}

void assigned_stop(void)
{
	if (assigned.interrupt < 0)
		return;
	(void)signal_interrupt(-1);
	(void)latency_raise(assigned.vm, MSI_LINE, assigned.interrupt, false);
	close(assigned.interrupt);
	assigned.interrupt = -1;
}
