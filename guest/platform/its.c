/*
 * See its.h. All tables are in one large page of the heap. There is one device, 0, with two events, of
 * which only the first is mapped, and one collection, 0.
 */
#include "guest/include/its.h"
#include "posih.h"
#include "common/gic_registers.h"
#include "common/relax.h"

/* Registers of the ITS. */
#define GITS_CTLR    0x0000
#define GITS_TYPER   0x0008
#define GITS_CBASER  0x0080
#define GITS_CWRITER 0x0088
#define GITS_CREADR  0x0090
#define GITS_BASER   0x0100
#define TABLES	     8

#define ENABLED		 1u
#define BY_ADDRESS	 (1u << 19) /* GITS_TYPER.PTA */
#define VALID		 (1ull << 63)
#define ITS_CACHED	 (7ull << 59 | 1ull << 10) /* write-back, inner shareable */
#define REDIST_CACHED	 (7ull << 7 | 1ull << 10)
#define PENDING_ZERO	 (1ull << 62)
#define PAGES_64K	 (2ull << 8)
#define KIND(baser)	 ((baser) >> 56 & 7)
#define KIND_DEVICES	 1
#define KIND_COLLECTIONS 4
#define ID_BITS		 14   /* LPIs up to 16383 */
#define LPI_ON		 0xa3 /* priority, a reserved bit that is 1, enabled */
#define MAX_POLLS	 1000000

/* Offsets in the large page. */
#define PIECE	    (64 * KIB)
#define PROPERTIES  (0 * PIECE)
#define PENDING	    (1 * PIECE)
#define TRANSLATION (2 * PIECE) /* of the device */
#define RING	    (3 * PIECE)
#define FIRST_TABLE (4 * PIECE)

enum command { INT = 3, SYNC = 5, MAPD = 8, MAPC = 9, MAPTI = 10, INV = 12 };

static uint64_t read64(uint64_t address)
{
	return mmio_read32(address) | (uint64_t)mmio_read32(address + 4) << 32;
}

static void write64(uint64_t address, uint64_t value)
{
	mmio_write32(address, (uint32_t)value);
	mmio_write32(address + 4, (uint32_t)(value >> 32));
}

static void give_tables(uint64_t its, uint64_t memory)
{
	for (unsigned i = 0; i < TABLES; i++) {
		uint64_t at = its + GITS_BASER + i * 8, kind = KIND(read64(at));

		if (kind == KIND_DEVICES || kind == KIND_COLLECTIONS)
			write64(at, VALID | ITS_CACHED | kind << 56 |
					    (memory + FIRST_TABLE + i * PIECE) | PAGES_64K);
	}
}

static void put(uint64_t *ring, unsigned index, enum command command, uint64_t second,
		uint64_t third)
{
	uint64_t *words = ring + index * ITS_COMMAND / sizeof(*ring);

	words[0] = command;
	words[1] = second;
	words[2] = third;
	words[3] = 0;
}

/* Submits the commands before `offset`. False: the ITS did not execute them. */
static bool carry_out(uint64_t its, uint64_t offset)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	write64(its + GITS_CWRITER, offset);
	for (unsigned i = 0; i < MAX_POLLS; i++) {
		if (read64(its + GITS_CREADR) == offset)
			return true;
		relax();
	}
	return false;
}

const char *its_map_event(uint64_t its, uint64_t redistributor, uint32_t lpi, struct its_ring *ring)
{
	uint64_t memory = (uint64_t)heap_alloc_page(2 * MIB), *commands;
	uint64_t number = read64(redistributor + GICR_TYPER) >> 8 & 0xffff;
	uint64_t target = read64(its + GITS_TYPER) & BY_ADDRESS ? redistributor : number << 16;

	if (!memory)
		return "there is no memory for the tables of the ITS";
	((uint8_t *)(memory + PROPERTIES))[lpi - ITS_FIRST_LPI] = LPI_ON;
	write64(redistributor + GICR_PROPBASER,
		(memory + PROPERTIES) | REDIST_CACHED | (ID_BITS - 1));
	write64(redistributor + GICR_PENDBASER, (memory + PENDING) | REDIST_CACHED | PENDING_ZERO);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	mmio_write32(redistributor + GICR_CTLR, mmio_read32(redistributor + GICR_CTLR) | ENABLED);

	give_tables(its, memory);
	write64(its + GITS_CBASER, VALID | ITS_CACHED | (memory + RING));
	mmio_write32(its + GITS_CTLR, ENABLED);
	commands = (uint64_t *)(memory + RING);
	put(commands, 0, MAPD, 0, VALID | (memory + TRANSLATION));
	put(commands, 1, MAPC, 0, VALID | target);
	put(commands, 2, MAPTI, (uint64_t)lpi << 32, 0);
	put(commands, 3, INV, 0, 0);
	put(commands, 4, SYNC, 0, target);
	*ring = (struct its_ring){ .written = its + GITS_CWRITER, .offset = 5 * ITS_COMMAND };
	if (!carry_out(its, ring->offset))
		return "the ITS does not do what it is told";
	for (unsigned i = 0; i < ITS_RING / ITS_COMMAND; i++)
		put(commands, i, INT, 0, 0);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return NULL;
}
