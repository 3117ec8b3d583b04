/* Device registers, and POSIH's clock. */
#include "guest/core/guest_arch.h"
#include <arch/cpu.h>
#include "latency.h"

/* In assembly: a compiler may choose forms of load and store (write-back) that a hypervisor cannot emulate
 * from the syndrome. */
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

/* One 64-bit write of the note's physical address. */
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

/* The physical counter: hypervisors give guests a virtual one with an offset. */
uint64_t latency_clock(void)
{
	uint64_t ticks;

	__asm__ volatile("dsb sy\n\tisb\n\tmrs %0, cntpct_el0\n\tisb" : "=r"(ticks) : : "memory");
	return ticks;
}

/* Ordered as explained at TIMED_CLOCK in arch/timed_macros.S. */
uint64_t rdtimer(void)
{
	uint64_t ticks;

	__asm__ volatile("dsb sy\n\tisb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
	return ticks;
}
