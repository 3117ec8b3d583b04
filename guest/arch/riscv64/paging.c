/*
 * Page tables (core/paging.c; Privileged Architecture, Sv48 and Sv39): MAPPED_END bytes are mapped 1:1 from the
 * start. What is memory and what is a device, is an attribute of the address (PMA), not of the mapping.
 */
#include "guest/core/guest_arch.h"
#include <arch/cpu.h>
#include "guest/arch/riscv64/machine.h"
#include <arch/page_entry.h>
#include "guest/core/paging.h"
#include <arch/timed.h>

#define ENTRY_ALL \
	(ENTRY_VALID | ENTRY_READ | ENTRY_WRITE | ENTRY_EXECUTE | ENTRY_ACCESSED | ENTRY_DIRTY)

static uint64_t first_tables[2][512] __attribute__((aligned(4096)));
static bool keeps_accessed; /* the hardware sets ENTRY_ACCESSED */

uint64_t boot_satp; /* boot.S loads it on every other CPU */
unsigned page_top_shift;

static uint64_t satp_of(uint64_t root)
{
	uint64_t mode = TOP_SHIFT == TOP_SHIFT_SV48 ? SATP_SV48 : SATP_SV39;

	return mode << SATP_MODE_SHIFT | root >> 12;
}

/* A CPU ignores a write to satp with a mode that it lacks, and runs on without paging. */
static bool is_paging(void)
{
	return READ_CSR(satp) == boot_satp;
}

static void turn_on(uint64_t *root, unsigned top_shift)
{
	page_root = root;
	page_top_shift = top_shift;
	boot_satp = satp_of((uint64_t)root);
	mem_tlb_flush(); /* the walker must see the tables */
	WRITE_CSR(satp, boot_satp);
}

void boot_map(void)
{
	uint64_t *top = first_tables[0], *gib_entries = first_tables[1];

	top[0] = entry_of_table((uint64_t)gib_entries);
	for (uint64_t i = 0; i < 512; i++)
		gib_entries[i] = i * GIB >> ENTRY_SHIFT | ENTRY_ALL;
	turn_on(top, TOP_SHIFT_SV48);
	if (is_paging())
		return;
	for (unsigned i = 256; i < 511; i++)
		gib_entries[i] = 0;
	/* The loop of set-page-table walks four levels. Bits 39 to 47 of an address in the window are ones: the first
	 * step leads back to this table. */
	gib_entries[511] = entry_of_table((uint64_t)gib_entries);
	turn_on(gib_entries, TOP_SHIFT_SV39);
}

static void read_one(void *at)
{
	(void)*(volatile uint64_t *)at;
}

/* A page without the bit is read: the hardware sets it, or a fault asks the guest to. */
static bool hardware_sets_accessed(void)
{
	void *page = heap_alloc_page(4 * KIB);
	struct fault fault;
	bool is_set;

	keeps_accessed = true;
	is_set = page && install_pte(window_base(), (uint64_t)page, 4 * KIB) &&
		 try_call(read_one, (void *)window_base(), &fault) && page_accessed(window_base());
	window_clear();
	return is_set;
}

bool setup_mmu(void)
{
	if (!is_paging()) {
		console_printf("worldswitch cannot run here: this CPU has no Sv48 and no Sv39\n");
		power_off(HYPERCALL_NONE);
	}
	keeps_accessed = hardware_sets_accessed();
	return true;
}

bool page_size_supported(uint64_t page_bytes)
{
	return page_bytes == 4 * KIB || page_bytes == 2 * MIB || page_bytes == GIB;
}

uint64_t entry_of_page(uint64_t pa, unsigned shift)
{
	(void)shift;
	return (pa >> ENTRY_SHIFT | ENTRY_ALL) & ~(keeps_accessed ? ENTRY_ACCESSED : 0);
}

void paging_changed(void)
{
	/* Also drops cached entries that were invalid before (Svvptc is optional). */
	mem_tlb_flush();
}

bool page_accessed_known(void)
{
	return keeps_accessed;
}

void mem_tlb_flush(void)
{
	__asm__ volatile("sfence.vma" : : : "memory");
}

struct root_operand cpu_root_operand(void)
{
	return (struct root_operand){ .root = satp_of(cpu_page_table_root()) };
}

void cpu_load_root(uint64_t other)
{
	WRITE_CSR(satp, satp_of(other));
	mem_tlb_flush(); /* both roots have the same ASID */
}
