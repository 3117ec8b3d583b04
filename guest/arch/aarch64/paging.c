/*
 * Initial page tables (core/paging.c; DDI 0487, D8), which map all memory 1:1, and the registers for them:
 * 48-bit virtual addresses, one set of tables at every exception level.
 *
 * At first 512 GiB are mapped as device memory, except the image and the device tree; setup_mmu() then
 * makes all memory in the device tree normal. Device memory is never read speculatively, so mapping absent
 * addresses is harmless.
 */
#include "guest/core/guest_arch.h"
#include <arch/cpu.h>
#include "common/fdt.h"
#include "guest/arch/aarch64/machine.h"
#include <arch/page_entry.h>
#include "guest/core/paging.h"
#include <arch/timed.h>

#define MAIR_ATTRIBUTES 0xff04ull /* 0: device nGnRE; 1: write-back, read and write allocate */

#define TCR_WALKS	 (16ull | 1 << 8 | 1 << 10 | 3 << 12) /* T0SZ; write-back, inner shareable */
#define TCR_NO_TTBR1	 (1ull << 23)
#define TCR_IPS_SHIFT	 32
#define TCR_HA		 (1ull << 39)
#define TCR_EL2_RES1	 (1ull << 31 | 1ull << 23)
#define TCR_EL2_PS_SHIFT 16
#define TCR_EL2_HA	 (1ull << 21)

/* MMU, data and instruction caches on, stack alignment check, and the bits that are RES1 in v8.0. */
#define SCTLR_ON       (1ull | 1 << 2 | 1 << 3 | 1 << 12)
#define SCTLR_EL1_RES1 (1ull << 11 | 1 << 20 | 1 << 22 | 1 << 23 | 1 << 28 | 1 << 29)
#define SCTLR_EL2_RES1 (0x30c50830ull)

#define POOL_PAGES 16

extern char image_start[], image_end[];

/* boot.S writes them to the registers of every CPU before enabling its MMU. */
struct {
	uint64_t mair, tcr, ttbr0, sctlr;
} mmu_registers __attribute__((aligned(64)));

/* The first tables: there is no heap yet. */
static uint64_t pool[POOL_PAGES][512] __attribute__((aligned(4096)));
static unsigned pool_used;
static bool keeps_accessed; /* the hardware sets ENTRY_ACCESSED */

static uint64_t *new_table(void)
{
	return pool_used < POOL_PAGES ? pool[pool_used++] : heap_alloc_page(4 * KIB);
}

/* Attributes of a mapping, with the access flag preset. */
static uint64_t attributes(bool normal)
{
	return ENTRY_VALID | ENTRY_ACCESSED | (cpu_level == LEVEL_EL2 ? ENTRY_EL2_RES1 : 0) |
	       (normal ? ENTRY_NORMAL | ENTRY_INNER : ENTRY_NO_EXEC);
}

/* Replaces an entry that may be in use: break-before-make (D8.16.1). */
static void replace(uint64_t *entry, uint64_t value)
{
	*entry = 0;
	mem_tlb_flush();
	*entry = value;
	mem_tlb_flush();
}

/* Returns the table of 2 MiB entries behind a 1 GiB entry; splits that entry if needed. */
static uint64_t *split(uint64_t *entry)
{
	uint64_t old = *entry, *table;

	if (old & ENTRY_TABLE)
		return (uint64_t *)(old & ENTRY_ADDRESS);
	table = new_table();
	for (unsigned i = 0; table && i < 512; i++)
		table[i] = old + i * 2 * MIB;
	if (table)
		replace(entry, entry_of_table((uint64_t)table));
	return table;
}

/* Maps [start, end) as normal memory, in 1 GiB entries where possible. */
static bool make_normal(uint64_t start, uint64_t end)
{
	uint64_t *gib_entries = (uint64_t *)(page_root[0] & ENTRY_ADDRESS);

	for (uint64_t at = start & ~(2 * MIB - 1); at < end && at < MAPPED_END;) {
		uint64_t *entry = page_slot(gib_entries, at, 30), *table, *piece;

		if (!(at & (GIB - 1)) && end - at >= GIB && !(*entry & ENTRY_TABLE)) {
			replace(entry, at | attributes(true));
			at += GIB;
			continue;
		}
		table = split(entry);
		if (!table)
			return false;
		piece = page_slot(table, at, 21);
		if (!(*piece & ENTRY_NORMAL))
			replace(piece, at | attributes(true));
		at += 2 * MIB;
	}
	return true;
}

static void fill_registers(void)
{
	uint64_t bits = READ_REGISTER(id_aa64mmfr0_el1) & 15;

	keeps_accessed = READ_REGISTER(id_aa64mmfr1_el1) & 15;
	if (bits > 5)
		bits = 5; /* 48: the most that these tables can hold */
	mmu_registers.mair = MAIR_ATTRIBUTES;
	mmu_registers.ttbr0 = (uint64_t)page_root;
	if (cpu_level == LEVEL_EL2) {
		mmu_registers.tcr = TCR_WALKS | TCR_EL2_RES1 | bits << TCR_EL2_PS_SHIFT |
				    (keeps_accessed ? TCR_EL2_HA : 0);
		mmu_registers.sctlr = SCTLR_ON | SCTLR_EL2_RES1;
	} else {
		mmu_registers.tcr = TCR_WALKS | TCR_NO_TTBR1 | bits << TCR_IPS_SHIFT |
				    (keeps_accessed ? TCR_HA : 0);
		mmu_registers.sctlr = SCTLR_ON | SCTLR_EL1_RES1;
	}
}

void boot_map(uint64_t tree)
{
	uint64_t *gib_entries;

	page_root = new_table();
	gib_entries = new_table();
	page_root[0] = entry_of_table((uint64_t)gib_entries);
	for (uint64_t i = 0; i < 512; i++)
		gib_entries[i] = i * GIB | attributes(false);
	fill_registers();
	make_normal((uint64_t)image_start, (uint64_t)image_end);
	make_normal(tree, tree + FDT_MAX_BYTES);
}

bool setup_mmu(void)
{
	const struct tree *tree = machine_tree();

	for (unsigned i = 0; i < tree->ram_count; i++)
		if (!make_normal(tree->ram[i].start, tree->ram[i].end))
			return false;
	return true;
}

bool page_size_supported(uint64_t page_bytes)
{
	return page_bytes == 4 * KIB || page_bytes == 2 * MIB || page_bytes == GIB;
}

uint64_t entry_of_page(uint64_t pa, unsigned shift)
{
	return (pa | attributes(true) | (shift == 12 ? ENTRY_TABLE : 0)) &
	       ~(keeps_accessed ? ENTRY_ACCESSED : 0);
}

void paging_changed(void)
{
	__asm__ volatile("dsb ishst\n\tisb" : : : "memory");
}

bool page_accessed_known(void)
{
	return keeps_accessed;
}

void mem_tlb_flush(void)
{
	if (cpu_level == LEVEL_EL2)
		__asm__ volatile("dsb ishst\n\ttlbi alle2\n\tdsb nsh\n\tisb" : : : "memory");
	else
		__asm__ volatile("dsb ishst\n\ttlbi vmalle1\n\tdsb nsh\n\tisb" : : : "memory");
}

void cpu_load_root(uint64_t other)
{
	data_barrier(); /* the new tables must be visible to the walker */
	WRITE_OWN(ttbr0, other);
	instruction_barrier();
	mem_tlb_flush(); /* both roots have the same ASID */
}

void clean_to_memory(const void *from, uint64_t bytes)
{
	uint64_t line = 4ull << (READ_REGISTER(ctr_el0) >> 16 & 15);
	uint64_t at = (uint64_t)from & ~(line - 1), end = (uint64_t)from + bytes;

	for (; at < end; at += line)
		__asm__ volatile("dc cvac, %0" : : "r"(at) : "memory");
	data_barrier();
}
