/* Device registers, and the clock as POSIH has it. */
#include "guest/core/guest_arch.h"
#include <arch/cpu.h>
#include "latency.h"

/* By assembly: a compiler may choose forms of a load or store whose emulation needs more than the
 * syndrome tells (write-back), which a hypervisor then cannot do. */
uint8_t in8(uint64_t port)
{
	uint32_t value;

	__asm__ volatile("ldrb %w0, [%1]" : "=r"(value) : "r"(port) : "memory");
	return (uint8_t)value;
}

void out8(uint64_t port, uint8_t value)
{
	__asm__ volatile("strb %w0, [%1]" : : "r"((uint32_t)value), "r"(port) : "memory");
}

/* One write of 64 bits: the note's physical address. */
void ring_doorbell(uint64_t doorbell, const void *note)
{
	data_barrier();
	__asm__ volatile("str %0, [%1]" : : "r"(note), "r"(doorbell) : "memory");
}

uint32_t mmio_read32(uint64_t address)
{
	uint32_t value;

	__asm__ volatile("ldr %w0, [%1]" : "=r"(value) : "r"(address) : "memory");
	return value;
}

void mmio_write32(uint64_t address, uint32_t value)
{
	__asm__ volatile("str %w0, [%1]" : : "r"(value), "r"(address) : "memory");
}

/* The physical counter: a hypervisor gives its guests the virtual one with an offset. */
uint64_t latency_clock(void)
{
	uint64_t ticks;

	__asm__ volatile("dsb sy\n\tisb\n\tmrs %0, cntpct_el0\n\tisb" : "=r"(ticks) : : "memory");
	return ticks;
}

/* Ordered as TIMED_NOW in arch/timed.h explains. */
uint64_t rdtimer(void)
{
	uint64_t ticks;

	__asm__ volatile("dsb sy\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
	return ticks;
}
