/* Device registers (common/device_io.h). */
#include "common/device_io.h"

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

void ring_doorbell(uint64_t doorbell, const void *note)
{
	__asm__ volatile("dsb sy\n\tstr %0, [%1]" : : "r"(note), "r"(doorbell) : "memory");
}
