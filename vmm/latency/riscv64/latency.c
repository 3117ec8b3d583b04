/* I/O latency on RISC-V; see ../latency_device.h. KVM sets a guest's clock to a number, not to an offset from
 * the host's. Time passes before it does, so the two are never known to be equal, and only commands that
 * take no stamps work. */
#include "vmm/latency/latency_device.h"

uint64_t latency_now(void)
{
	uint64_t now;

	__asm__ volatile("fence\n\trdtime %0" : "=r"(now) : : "memory");
	return now;
}

bool latency_one_clock(struct vcpu *vcpu)
{
	(void)vcpu;
	return fail("KVM can't make the clock of a RISC-V guest equal to the host's");
}

/* Only commands with stamps come here, after latency_one_clock(). */
bool latency_route(struct vm *vm, uint64_t address, uint64_t data, uint32_t *line)
{
	(void)vm;
	(void)address;
	(void)data;
	(void)line;
	return false;
}

bool other_boot(struct vm *other, struct other_places *places)
{
	(void)other;
	(void)places;
	return false;
}
