/* Device registers, and POSIH's clock. */
#include "guest/core/guest_arch.h"
#include <arch/cpu.h>
#include "latency.h"

/* In assembly: a compiler may join accesses. */
uint8_t in8(uint64_t port)
{
	uint64_t value;

	__asm__ volatile("lbu %0, 0(%1)" : "=r"(value) : "r"(port) : "memory");
	return (uint8_t)value;
}

void out8(uint64_t port, uint8_t value)
{
	__asm__ volatile("sb %0, 0(%1)" : : "r"((uint64_t)value), "r"(port) : "memory");
}

/* One 64-bit write of the note's physical address. */
void ring_doorbell(uint64_t doorbell, const void *note)
{
	data_barrier();
	__asm__ volatile("sd %0, 0(%1)" : : "r"(note), "r"(doorbell) : "memory");
}

uint32_t mmio_read32(uint64_t address)
{
	uint64_t value;

	__asm__ volatile("lwu %0, 0(%1)" : "=r"(value) : "r"(address) : "memory");
	return (uint32_t)value;
}

void mmio_write32(uint64_t address, uint32_t value)
{
	__asm__ volatile("sw %0, 0(%1)" : : "r"((uint64_t)value), "r"(address) : "memory");
}

/* Ordered as explained at TIMED_NOW in arch/timed_macros.S. */
uint64_t rdtimer(void)
{
	uint64_t ticks;

	__asm__ volatile("fence iorw, iorw\n\trdtime %0\n\tfence iorw, iorw"
			 : "=r"(ticks)
			 :
			 : "memory");
	return ticks;
}

/* A monitor reads the same counter: hypervisors give guests one with an offset, which it can set. */
uint64_t latency_clock(void)
{
	return rdtimer();
}
