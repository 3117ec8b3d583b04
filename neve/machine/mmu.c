/*
 * The hypervisor's own translation at EL2, and cache maintenance. All memory and the devices that we use
 * are mapped 1:1, and nothing else. Writable memory is not executable.
 */
#include <stddef.h>

#include "core/config.h"
#include "core/main.h"
#include "cpu/accessors.h"
#include "machine/machine.h"
#include "tables/table.h"

#if VHE /* EL1's format: AP[1] would allow EL0's accesses */
#define AP1	   0
#define NO_EXECUTE STAGE1_NO_EXECUTE
#define TCR_FORMAT TCR_EPD1
#define TCR_PS	   TCR_IPS_SHIFT
#define SCTLR_RES1 SCTLR_EL1_RES1
#else
#define AP1	   STAGE1_AP1
#define NO_EXECUTE LEAF_NO_EXECUTE
#define TCR_FORMAT TCR_EL2_RES1
#define TCR_PS	   TCR_EL2_PS_SHIFT
#define SCTLR_RES1 SCTLR_EL2_RES1
#endif

#define MAIR_ATTRIBUTES 0xff04ull /* 0: device nGnRE; 1: write-back, read and write allocate */

#define ATTRIBUTES_MEMORY (LEAF_ACCESSED | LEAF_SHARED | AP1 | STAGE1_ATTRIBUTES(1) | NO_EXECUTE)
#define ATTRIBUTES_DEVICE (LEAF_ACCESSED | AP1 | STAGE1_ATTRIBUTES(0) | NO_EXECUTE)

#define TCR_WALKS \
	((64 - STAGE1_INPUT_BITS) | TCR_IRGN0_WB | TCR_ORGN0_WB | TCR_SH0_INNER | TCR_FORMAT)
#define SCTLR_ON (SCTLR_RES1 | SCTLR_M | SCTLR_C | SCTLR_SA | SCTLR_I)

#define POOL_PAGES 32
#define GICD_BYTES 0x10000 /* of the distributor */

/* For mmu_on() on every CPU. */
static struct {
	uint64_t mair, tcr, ttbr0, sctlr;
} mmu_registers __attribute__((aligned(64)));

void mmu_on(void);

static uint8_t pool_pages[POOL_PAGES][PAGE_BYTES] __attribute__((aligned(4096)));

static void map(struct table *table, uint64_t start, uint64_t end, uint64_t attributes)
{
	start &= ~(PAGE_BYTES - 1);
	end = (end + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
	if (start < end)
		table_map(table, start, start, end - start, attributes, LARGE_BYTES);
}

/* Maps a range of RAM; if the image is in it, its code, constants and data with their own permissions. */
static void map_memory(struct table *table, const struct memory_range *ram)
{
	uint64_t image = (uint64_t)image_start, behind = (uint64_t)image_end;
	uint64_t code = (uint64_t)code_end, data = (uint64_t)data_start;

	if (ram->start > image || ram->end < behind) {
		map(table, ram->start, ram->end, ATTRIBUTES_MEMORY);
		return;
	}
	map(table, ram->start, image, ATTRIBUTES_MEMORY);
	map(table, image, code, (ATTRIBUTES_MEMORY | STAGE1_READ_ONLY) & ~NO_EXECUTE);
	map(table, code, data, ATTRIBUTES_MEMORY | STAGE1_READ_ONLY);
	map(table, data, behind, ATTRIBUTES_MEMORY);
	map(table, behind, ram->end, ATTRIBUTES_MEMORY);
}

/* Maps what the device tree names; the tree itself is in RAM. If it cannot be read, maps only the image. */
void map_ourselves(const struct tree *tree)
{
	struct table_pool pool = { .next = (uint64_t)pool_pages,
				   .end = (uint64_t)pool_pages + sizeof(pool_pages) };
	struct memory_range image = { (uint64_t)image_start, (uint64_t)image_end };
	uint64_t bits = READ_REGISTER(id_aa64mmfr0_el1) & 15;
	struct table table;
	uint64_t bell;

	table_init(&table, &pool);
	for (unsigned i = 0; i < tree->ram_count; i++)
		map_memory(&table, &tree->ram[i]);
	if (!tree->ram_count)
		map_memory(&table, &image);
	for (unsigned i = 0; i < tree->uart_count; i++)
		map(&table, tree->uarts[i].base, tree->uarts[i].base + uart_bytes(&tree->uarts[i]),
		    ATTRIBUTES_DEVICE);
	if (outer_bell(tree->bootargs, &bell))
		map(&table, bell, bell + 8, ATTRIBUTES_DEVICE);
	if (tree->gic_version)
		map(&table, tree->gic_distributor, tree->gic_distributor + GICD_BYTES,
		    ATTRIBUTES_DEVICE);
	for (unsigned i = 0; i < tree->redistributor_count; i++)
		map(&table, tree->redistributors[i].start, tree->redistributors[i].end,
		    ATTRIBUTES_DEVICE);
	mmu_registers.mair = MAIR_ATTRIBUTES;
	mmu_registers.tcr = TCR_WALKS | (bits > PARANGE_48 ? PARANGE_48 : bits) << TCR_PS;
	mmu_registers.ttbr0 = (uint64_t)table.root;
	mmu_registers.sctlr = SCTLR_ON;
}

/* Sets EL2's translation and vectors. Runs with the MMU off and must not use the stack: a leaf function
 * that keeps everything in registers. */
void mmu_on(void)
{
#if VHE && PARAVIRT != PARAVIRT_neve /* neve has no deferred page yet */
	WRITE(HCR_EL2, HCR_E2H | HCR_RW);
	instruction_barrier();
#endif
	WRITE(VBAR_EL2, (uint64_t)vectors);
	WRITE(MAIR_EL2, mmu_registers.mair);
	WRITE(TCR_EL2, mmu_registers.tcr);
	WRITE(TTBR0_EL2, mmu_registers.ttbr0);
	instruction_barrier();
	TLBI(TLBI_ALLE2);
	TLBI(TLBI_ALLE1);
	__asm__ volatile("dsb nsh\n\tic iallu\n\tdsb nsh\n\tisb" : : : "memory");
	WRITE(SCTLR_EL2, mmu_registers.sctlr);
	instruction_barrier();
}

static uint64_t line_bytes(void)
{
	return 4ull << (READ_REGISTER(ctr_el0) >> CTR_DMINLINE_SHIFT & 15);
}

void clean_and_drop(const void *from, uint64_t bytes)
{
	uint64_t line = line_bytes();
	uint64_t at = (uint64_t)from & ~(line - 1), end = (uint64_t)from + bytes;

	for (; at < end; at += line)
		__asm__ volatile("dc civac, %0" : : "r"(at) : "memory");
	data_barrier();
}
