/* Decodes a data abort as a load or store of a device register (DDI 0487, ESR_ELx, ISS encoding for an
 * exception from a Data Abort). Pure. */
#ifndef MMIO_H
#define MMIO_H

#include "core/access.h"

/* Fields of the syndrome that are not in struct access. */
struct mmio_register {
	unsigned number; /* 31: xzr */
	bool sign_extend;
	bool wide; /* an X register */
};

/* Fills *access except offset and value. Returns false if the syndrome does not describe the instruction
 * (a pair, a write-back, a vector register, cache maintenance): it cannot be emulated. */
bool mmio_decode(uint64_t esr, struct access *access, struct mmio_register *to);

/* What the register holds after the load. */
uint64_t mmio_loaded(const struct access *access, const struct mmio_register *to);

/* The value that a store of `from` writes. */
uint64_t mmio_stored(const struct access *access, uint64_t from);

#endif
