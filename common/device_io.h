/* Access to device registers. Each program defines these functions. */
#ifndef COMMON_DEVICE_IO_H
#define COMMON_DEVICE_IO_H

#include <stdint.h>

/* One byte at a port: a port number on x86_64, an address elsewhere. */
uint8_t in8(uint64_t port);
void out8(uint64_t port, uint8_t value);
uint32_t mmio_read32(uint64_t address);
void mmio_write32(uint64_t address, uint32_t value);
/* Rings a monitor's doorbell (docs/guest.md) with a note, which is at its physical address. The monitor sees all that was
 * written before. Only programs with a doorbell define it. */
void ring_doorbell(uint64_t doorbell, const void *note);

#endif
