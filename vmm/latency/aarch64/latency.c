/* I/O latency on Arm; see ../latency.h: the guest reads the physical counter, which this host's programs see
 * as the virtual one. */
#include "../latency.h"

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

/* KVM starts with lines that are the shared interrupts. */
bool latency_route(struct vm *vm, uint64_t address, uint64_t data, uint32_t *line)
{
	(void)vm;
	(void)address;
	*line = (uint32_t)data;
	return true;
}

bool other_boot(struct vm *other, struct other_places *places)
{
	(void)other;
	(void)places;
	return fail("on aarch64 the monitor has no second machine yet");
}
