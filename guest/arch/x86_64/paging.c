/*
 * Initial page tables (core/paging.c; Intel SDM vol. 3A, 4.5), which map all memory 1:1, and the registers
 * for them.
 */
#include "guest/core/guest_arch.h"
#include <arch/cpu.h>
#include <arch/page_entry.h>
#include "guest/core/paging.h"
#include <arch/timed.h>

#define CPUID_1G (1u << 26)
#define MAX_RAM	 (512 * GIB) /* one top-level entry; memory beyond is not mapped */

bool page_size_supported(uint64_t page_bytes)
{
	if (page_bytes == GIB)
		return cpuid(0x80000000, 0).a >= 0x80000001 && cpuid(0x80000001, 0).d & CPUID_1G;
	return page_bytes == 4 * KIB || page_bytes == 2 * MIB;
}

/* x86's walker sees earlier writes without a barrier. */
void paging_changed(void)
{
}

bool page_accessed_known(void)
{
	return true;
}

/* Accessed and dirty are preset, as operating systems do for entries about to be used: neither CPU nor
 * hypervisor has to set them. */
bool remap_operand_fill(struct remap_operand *operand, uint64_t va, uint64_t first, uint64_t second,
			uint64_t page_bytes)
{
	unsigned shift;

	if (!install_pte(va, first, page_bytes))
		return false;
	operand->entry = page_walk(va, &shift);
	*operand->entry |= ENTRY_ACCESSED | ENTRY_DIRTY;
	operand->va = va;
	operand->value = *operand->entry;
	operand->change = first ^ second;
	operand->sum = 0;
	return true;
}

bool setup_mmu(void)
{
	uint64_t page_bytes = page_size_supported(GIB) ? GIB : 2 * MIB, end = 4 * GIB;

	page_root = heap_alloc_page(4 * KIB);
	if (!page_root)
		return false;
	for (unsigned i = 0; i < boot_info.ram_count; i++)
		if (boot_info.ram[i].end > end)
			end = boot_info.ram[i].end;
	if (end > MAX_RAM)
		end = MAX_RAM;
	/* 2 MiB pages below 4 GiB, where devices lie between memory. */
	for (uint64_t at = 0; at < end;) {
		uint64_t bytes = at < 4 * GIB ? 2 * MIB : page_bytes;

		if (!install_pte(at, at, bytes))
			return false;
		at += bytes;
	}
	write_cr3((uint64_t)page_root);
	return true;
}

/*
 * CR3 is never read: under a hypervisor with shadow paging, QEMU 10's SVM returns the shadow's root instead
 * of the guest's.
 */
void mem_tlb_flush(void)
{
	write_cr3((uint64_t)page_root);
}

void cpu_load_root(uint64_t other)
{
	write_cr3(other);
}
