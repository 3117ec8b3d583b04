/* Decodes data aborts of device registers; see mmio.h. Pure. */
#include "vm/mmio.h"

#include "cpu/bits.h"

bool mmio_decode(uint64_t esr, struct access *access, struct mmio_register *to)
{
	if (!(esr & ABORT_VALID) || esr & ABORT_MAINTENANCE)
		return false;
	*access = (struct access){ .bytes = 1u << (esr >> ABORT_SIZE_SHIFT & 3),
				   .write = esr & ABORT_WRITE };
	*to = (struct mmio_register){ .number = (unsigned)(esr >> ABORT_RT_SHIFT & 31),
				      .sign_extend = esr & ABORT_SIGN_EXTEND,
				      .wide = esr & ABORT_WIDE };
	return true;
}

static uint64_t low_bits(uint64_t value, unsigned bits)
{
	return bits < 64 ? value & ((1ull << bits) - 1) : value;
}

uint64_t mmio_loaded(const struct access *access, const struct mmio_register *to)
{
	unsigned bits = access->bytes * 8;
	uint64_t value = low_bits(access->value, bits);

	if (to->sign_extend && bits < 64 && value >> (bits - 1) & 1)
		value |= ~0ull << bits;
	return to->wide ? value : low_bits(value, 32);
}

uint64_t mmio_stored(const struct access *access, uint64_t from)
{
	return low_bits(from, access->bytes * 8);
}
