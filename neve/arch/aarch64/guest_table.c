/* Walks a guest hypervisor's stage 2; see guest_table.h. Pure. Called by nested.c. */
#include "guest_table.h"

#define VALID	1ull
#define TABLE	2ull /* at the last level: page */
#define ADDRESS 0x0000fffffffff000ull
#define ATTRIBUTES \
	(LEAF_MEMORY | LEAF_READ | LEAF_WRITE | LEAF_SHARED | LEAF_ACCESSED | LEAF_NO_EXECUTE)

#define VTCR_T0SZ 0x3f
#define VTCR_SL0  6
#define VTCR_TG0  14
#define VTCR_PS	  16

#define LAST_LEVEL	  3
#define MAX_CONCATENATION 4 /* as a power of two */
#define MAX_BITS	  48

struct format {
	unsigned granule; /* log2 of its bytes */
	unsigned level;	  /* the walk begins there */
	unsigned bits;	  /* of input */
	unsigned output_bits;
};

static unsigned shift_of(const struct format *format, unsigned level)
{
	return format->granule + (LAST_LEVEL - level) * (format->granule - 3);
}

static bool read_format(uint64_t vtcr, struct format *format)
{
	static const uint8_t granules[] = { 12, 16, 14, 0 };
	static const uint8_t outputs[] = { 32, 36, 40, 42, 44, 48, 48, 48 };
	static const uint8_t levels_4k[] = { 2, 1, 0, 3 }, levels[] = { 3, 2, 1, 0 };
	unsigned start = vtcr >> VTCR_SL0 & 3, top;

	format->granule = granules[vtcr >> VTCR_TG0 & 3];
	if (!format->granule)
		return false;
	format->level = format->granule == 12 ? levels_4k[start] : levels[start];
	format->bits = 64 - (unsigned)(vtcr & VTCR_T0SZ);
	format->output_bits = outputs[vtcr >> VTCR_PS & 7];
	if (format->granule != 12 && !format->level)
		return false; /* 52 bits */
	top = shift_of(format, format->level);
	return format->bits <= MAX_BITS && format->bits > top &&
	       format->bits <= top + format->granule - 3 + MAX_CONCATENATION;
}

static unsigned permission(uint64_t leaf, enum guest_access access, unsigned level)
{
	bool allowed = access == GUEST_WRITES  ? leaf & LEAF_WRITE
		       : access == GUEST_READS ? leaf & LEAF_READ
					       : (leaf & LEAF_READ) && !(leaf & LEAF_NO_EXECUTE);

	if (!(leaf & LEAF_ACCESSED))
		return STATUS_ACCESS_FLAG | level;
	return allowed ? 0 : STATUS_PERMISSION | level;
}

static struct guest_leaf fault(unsigned status)
{
	return (struct guest_leaf){ .status = status };
}

struct guest_leaf guest_walk(uint64_t vttbr, uint64_t vtcr, uint64_t ipa, enum guest_access access,
			     guest_entry *entry, void *context)
{
	struct format format;
	uint64_t table, indices, mask;

	if (!read_format(vtcr, &format) || ipa >> format.bits)
		return fault(STATUS_TRANSLATION);
	/* The first table has as many entries as the input has bits left. */
	indices = 1ull << (format.bits - shift_of(&format, format.level));
	table = vttbr & ADDRESS & ~(indices * 8 - 1);
	for (unsigned level = format.level;; level++) {
		unsigned shift = shift_of(&format, level);
		uint64_t value, inside = (1ull << shift) - 1;
		bool last = level == LAST_LEVEL;

		mask = level == format.level ? indices - 1 : (1ull << (format.granule - 3)) - 1;
		if (!entry(context, table + (ipa >> shift & mask) * 8, &value))
			return fault(STATUS_WALK_ABORT | level);
		if (!(value & VALID) || (last && !(value & TABLE)))
			return fault(STATUS_TRANSLATION | level);
		if ((value & ADDRESS) >> format.output_bits)
			return fault(STATUS_ADDRESS_SIZE | level);
		if (last || !(value & TABLE)) {
			/* Blocks are of 1 GiB, 2, 32 and 512 MiB. */
			if (!last && (level == 0 || (level == 1 && format.granule != 12)))
				return fault(STATUS_TRANSLATION | level);
			return (struct guest_leaf){
				.status = permission(value, access, level),
				.output = (value & ADDRESS & ~inside) | (ipa & inside),
				.bytes = inside + 1,
				.attributes = value & ATTRIBUTES,
			};
		}
		table = value & ADDRESS & ~((1ull << format.granule) - 1);
	}
}
