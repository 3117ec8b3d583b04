/* I/O latency on Arm; see ../latency_device.h. The guest reads the physical counter, which equals the
 * virtual counter that programs on this host read. */
#include "vmm/latency/latency_device.h"

#include "vmm/vmm_arch.h"

uint64_t latency_now(void)
{
	uint64_t now;

	__asm__ volatile("dsb sy\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now) : : "memory");
	return now;
}

bool latency_one_clock(struct vcpu *vcpu)
{
	(void)vcpu;
	return true;
}

/* By default KVM's lines are the shared interrupts. */
bool latency_route(struct vm *vm, uint64_t address, uint64_t data, uint32_t *line)
{
	(void)vm;
	(void)address;
	*line = (uint32_t)data;
	return true;
}

/* other.S */
extern const uint8_t other_program[], other_program_end[];

bool other_boot(struct vm *other, struct other_places *places)
{
	*places = (struct other_places){ .page = 0x50000000,
					 .kick = 0x0a000000,
					 .interrupt_data = 8 };
	return arch_boot_program(other, other_program, (size_t)(other_program_end - other_program));
}
