/* Walks a guest hypervisor's tables; see guest_table.h. Pure. */
#include "tables/guest_table.h"

#define ATTRIBUTES \
	(LEAF_MEMORY | LEAF_READ | LEAF_WRITE | LEAF_SHARED | LEAF_ACCESSED | LEAF_NO_EXECUTE)

#define LAST_LEVEL	  3
#define MAX_CONCATENATION 4 /* log2 of the number of tables */

struct format {
	unsigned granule; /* log2 of its bytes */
	unsigned level;	  /* start level */
	unsigned bits;	  /* of input */
	unsigned output_bits;
	bool stage1;
};

static const uint8_t granules[] = { 12, 16, 14, 0 };
static const uint8_t outputs[] = { 32, 36, 40, 42, 44, 48, 48, 48 };

static unsigned shift_of(const struct format *format, unsigned level)
{
	return format->granule + (LAST_LEVEL - level) * (format->granule - 3);
}

static bool read_format(uint64_t vtcr, struct format *format)
{
	static const uint8_t levels_4k[] = { 2, 1, 0, 3 }, levels[] = { 3, 2, 1, 0 };
	unsigned start = vtcr >> VTCR_SL0_SHIFT & 3, top;

	format->granule = granules[vtcr >> TCR_TG0_SHIFT & 3];
	if (!format->granule)
		return false;
	format->level = format->granule == 12 ? levels_4k[start] : levels[start];
	format->bits = 64 - (unsigned)(vtcr & TCR_TXSZ);
	format->output_bits = outputs[vtcr >> TCR_EL2_PS_SHIFT & 7];
	if (format->granule != 12 && !format->level)
		return false; /* 52-bit addresses */
	top = shift_of(format, format->level);
	return format->bits <= MAX_VA_BITS && format->bits > top &&
	       format->bits <= top + format->granule - 3 + MAX_CONCATENATION;
}

/* At stage 1 the number of levels follows from the input bits. */
static bool read_format1(uint64_t tcr, bool upper, struct format *format)
{
	static const uint8_t granules1[] = { 0, 14, 12, 16 };
	unsigned step;

	format->stage1 = true;
	format->granule = upper ? granules1[tcr >> TCR_TG1_SHIFT & 3]
				: granules[tcr >> TCR_TG0_SHIFT & 3];
	format->bits = 64 - (unsigned)(tcr >> (upper ? TCR_T1 : 0) & TCR_TXSZ);
	format->output_bits = outputs[tcr >> TCR_IPS_SHIFT & 7];
	if (!format->granule || format->bits > MAX_VA_BITS || format->bits <= format->granule)
		return false;
	step = format->granule - 3;
	format->level = LAST_LEVEL - (format->bits - format->granule - 1) / step;
	return true;
}

static struct guest_leaf fault(unsigned status)
{
	return (struct guest_leaf){ .faults = true, .status = status };
}

/* The leaf's status: 0 if it allows the access. */
static unsigned permission(const struct format *format, uint64_t leaf, enum guest_access access,
			   unsigned level)
{
	bool allowed = format->stage1 ? access != GUEST_WRITES || !(leaf & STAGE1_READ_ONLY)
		       : access == GUEST_WRITES ? leaf & LEAF_WRITE
		       : access == GUEST_READS	? leaf & LEAF_READ
						: (leaf & LEAF_READ) && !(leaf & LEAF_NO_EXECUTE);

	if (!(leaf & LEAF_ACCESSED))
		return STATUS_ACCESS_FLAG | level;
	return allowed ? 0 : STATUS_PERMISSION | level;
}

static struct guest_leaf walk(const struct format *format, uint64_t table, uint64_t at,
			      enum guest_access access, guest_entry *entry, void *context)
{
	/* The first table has an entry for each value of the input bits left. */
	uint64_t indices = 1ull << (format->bits - shift_of(format, format->level));
	uint64_t read_only = 0;

	table &= ENTRY_ADDRESS & ~(indices * 8 - 1);
	for (unsigned level = format->level;; level++) {
		unsigned shift = shift_of(format, level);
		uint64_t value, inside = (1ull << shift) - 1, mask = indices - 1;
		bool last = level == LAST_LEVEL;

		if (level != format->level)
			mask = (1ull << (format->granule - 3)) - 1;
		if (!entry(context, table + (at >> shift & mask) * 8, &value))
			return fault(STATUS_WALK_ABORT | level);
		if (!(value & ENTRY_VALID) || (last && !(value & ENTRY_TABLE)))
			return fault(STATUS_TRANSLATION | level);
		if ((value & ENTRY_ADDRESS) >> format->output_bits)
			return fault(STATUS_ADDRESS_SIZE | level);
		if (last || !(value & ENTRY_TABLE)) {
			unsigned status = permission(format, value | read_only, access, level);

			/* Blocks can be 1 GiB, 2, 32 and 512 MiB. */
			if (!last && (level == 0 || (level == 1 && format->granule != 12)))
				return fault(STATUS_TRANSLATION | level);

			return (struct guest_leaf){
				.faults = status,
				.status = status,
				.output = (value & ENTRY_ADDRESS & ~inside) | (at & inside),
				.bytes = inside + 1,
				.attributes = value & ATTRIBUTES,
			};
		}
		read_only |= format->stage1 && value & STAGE1_TABLE_READ_ONLY ? STAGE1_READ_ONLY
									      : 0;
		table = value & ENTRY_ADDRESS & ~((1ull << format->granule) - 1);
	}
}

struct guest_leaf guest_walk(uint64_t vttbr, uint64_t vtcr, uint64_t ipa, enum guest_access access,
			     guest_entry *entry, void *context)
{
	struct format format = { .stage1 = false };

	if (!read_format(vtcr, &format) || ipa >> format.bits)
		return fault(STATUS_TRANSLATION);
	return walk(&format, vttbr, ipa, access, entry, context);
}

struct guest_leaf guest_walk_stage1(const uint64_t ttbr[2], uint64_t tcr, uint64_t address,
				    enum guest_access access, guest_entry *entry, void *context)
{
	bool upper = address & VA_UPPER;
	struct format format;

	if (!read_format1(tcr, upper, &format) || (upper ? ~address : address) >> format.bits)
		return fault(STATUS_TRANSLATION);
	return walk(&format, ttbr[upper], address, access, entry, context);
}
