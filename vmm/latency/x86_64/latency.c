/* I/O latency on x86; see ../latency_device.h: one TSC, and MSIs. */
#include "vmm/latency/latency_device.h"

#include <string.h>
#include <sys/ioctl.h>
#include <x86intrin.h>

#include "vmm/vmm_arch.h"

#define IO_APIC_PINS 24
#define PIC_PINS     16
#define LINES	     (PIC_PINS + IO_APIC_PINS + 1)
#define MESSAGE_LINE IO_APIC_PINS /* after KVM's default lines */

uint64_t latency_now(void)
{
	uint64_t now;

	_mm_mfence();
	_mm_lfence();
	now = __rdtsc();
	_mm_lfence();
	return now;
}

bool latency_one_clock(struct vcpu *vcpu)
{
	uint64_t offset = 0;
	struct kvm_device_attr attribute = { .group = KVM_VCPU_TSC_CTRL,
					     .attr = KVM_VCPU_TSC_OFFSET,
					     .addr = (uint64_t)&offset };

	if (ioctl(vcpu->fd, KVM_SET_DEVICE_ATTR, &attribute) < 0)
		return fail("KVM can't set the TSC's offset (Linux 5.16 or newer can): %m");
	offset = 1;
	return (ioctl(vcpu->fd, KVM_GET_DEVICE_ATTR, &attribute) == 0 && offset == 0) ||
	       fail("the TSC's offset is %ld, not the 0 that was set", (long)offset);
}

/* KVM takes only a whole routing table: its default one, plus the MSI. */
bool latency_route(struct vm *vm, uint64_t address, uint64_t data, uint32_t *line)
{
	union {
		struct kvm_irq_routing all;
		uint8_t room[sizeof(struct kvm_irq_routing) +
			     LINES * sizeof(struct kvm_irq_routing_entry)];
	} table = { .all.nr = LINES };
	struct kvm_irq_routing_entry *row = table.all.entries;

	for (unsigned i = 0; i < PIC_PINS; i++, row++) {
		row->gsi = i;
		row->type = KVM_IRQ_ROUTING_IRQCHIP;
		row->u.irqchip.irqchip = i < 8 ? KVM_IRQCHIP_PIC_MASTER : KVM_IRQCHIP_PIC_SLAVE;
		row->u.irqchip.pin = i % 8;
	}
	for (unsigned i = 0; i < IO_APIC_PINS; i++, row++) {
		row->gsi = i;
		row->type = KVM_IRQ_ROUTING_IRQCHIP;
		row->u.irqchip.irqchip = KVM_IRQCHIP_IOAPIC;
		row->u.irqchip.pin = i;
	}
	row->gsi = MESSAGE_LINE;
	row->type = KVM_IRQ_ROUTING_MSI;
	row->u.msi.address_lo = (uint32_t)address;
	row->u.msi.data = (uint32_t)data;
	*line = MESSAGE_LINE;
	return ioctl(vm->fd, KVM_SET_GSI_ROUTING, &table) == 0 ||
	       fail("KVM does not take a message as an interrupt: %m");
}

/* other.S */
extern const uint8_t other_program[], other_program_end[];

bool other_boot(struct vm *other, struct other_places *places)
{
	*places = (struct other_places){ .page = 0x10000000,
					 .kick = 0x80,
					 .interrupt_address = 0xfee00000,
					 .interrupt_data = 0x40 };
	return arch_boot_program(other, other_program, (size_t)(other_program_end - other_program));
}
