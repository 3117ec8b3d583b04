/* Port and memory-mapped I/O, and POSIH's clock. */
#include "guest/core/guest_arch.h"
#include <arch/cpu.h>
#include "latency.h"
#include "posih.h"

uint8_t in8(uint64_t port)
{
	uint8_t value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"((uint16_t)port) : "memory");
	return value;
}

void out8(uint64_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"((uint16_t)port) : "memory");
}

/* One port write of the note's physical address: the image lies below 4 GiB, mapped 1:1. */
void ring_doorbell(uint64_t doorbell, const void *note)
{
	__asm__ volatile("outl %0, %1"
			 :
			 : "a"((uint32_t)(uint64_t)note), "Nd"((uint16_t)doorbell)
			 : "memory");
}

uint32_t mmio_read32(uint64_t address)
{
	return *(volatile uint32_t *)address;
}

void mmio_write32(uint64_t address, uint32_t value)
{
	*(volatile uint32_t *)address = value;
}

uint64_t latency_clock(void)
{
	return rdtimer();
}

/* Ordered as explained at TIMED_CLOCK in arch/timed_macros.S. */
uint64_t rdtimer(void)
{
	uint32_t low, high;

	__asm__ volatile("mfence; lfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}
