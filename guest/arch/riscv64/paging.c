/*
 * Page tables (core/paging.c; Privileged Architecture, Sv48): 512 GiB are mapped 1:1 from the start. What is
 * memory and what is a device, is an attribute of the address (PMA), not of the mapping.
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

uint64_t boot_satp; /* boot.S loads it on every CPU */

static uint64_t satp_of(uint64_t root)
{
	return (uint64_t)SATP_SV48 << SATP_MODE_SHIFT | root >> 12;
}

uint64_t boot_map(void)
{
	page_root = first_tables[0];
	page_root[0] = entry_of_table((uint64_t)first_tables[1]);
	for (uint64_t i = 0; i < 512; i++)
		first_tables[1][i] = i * GIB >> ENTRY_SHIFT | ENTRY_ALL;
	boot_satp = satp_of((uint64_t)page_root);
	return boot_satp;
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
	/* A CPU without Sv48 ignores the write to satp, and runs on without paging. */
	if (READ_CSR(satp) != boot_satp) {
		console_printf("worldswitch cannot run here: this CPU has no Sv48\n");
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
