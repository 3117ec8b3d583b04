/* Decodes data aborts of device registers; see mmio.h. Pure. */
#include "vm/mmio.h"

#define ISS_WRITE	(1ull << 6)
#define ISS_MAINTENANCE (1ull << 8)
#define ISS_WIDE	(1ull << 15)
#define ISS_REGISTER	16 /* five bits */
#define ISS_SIGN_EXTEND (1ull << 21)
#define ISS_SIZE	22 /* two bits: log2 of bytes */
#define ISS_VALID	(1ull << 24)

bool mmio_decode(uint64_t esr, struct access *access, struct mmio_register *to)
{
	if (!(esr & ISS_VALID) || esr & ISS_MAINTENANCE)
		return false;
	*access = (struct access){ .bytes = 1u << (esr >> ISS_SIZE & 3), .write = esr & ISS_WRITE };
	*to = (struct mmio_register){ .number = (unsigned)(esr >> ISS_REGISTER & 31),
				      .sign_extend = esr & ISS_SIGN_EXTEND,
				      .wide = esr & ISS_WIDE };
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
