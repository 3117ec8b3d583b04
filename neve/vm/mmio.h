/* A data abort as a load or store of a device's register (DDI 0487, ESR_ELx, ISS encoding for an
 * exception from a Data Abort). Pure. */
#ifndef MMIO_H
#define MMIO_H

#include "core/access.h"

/* What the syndrome says of the instruction beside what is in struct access. */
struct mmio_register {
	unsigned number; /* 31: xzr */
	bool sign_extend;
	bool wide; /* an X register */
};

/* Fills *access but for offset and value. False: the syndrome does not describe the instruction (a pair,
 * a write-back, a vector register, maintenance of a cache): nobody can emulate it from that. */
bool mmio_decode(uint64_t esr, struct access *access, struct mmio_register *to);

/* What the register holds after the load. */
uint64_t mmio_loaded(const struct access *access, const struct mmio_register *to);

/* The value that a store of `from` writes. */
uint64_t mmio_stored(const struct access *access, uint64_t from);

#endif
