/*
 * Page tables (Intel SDM vol. 3A, 4.5): all memory 1:1, and a window for benchmarks. Mappings of
 * 4 KiB, 2 MiB and 1 GiB.
 */
#include "arch.h"
#include "cpu.h"
#include "timed.h"

#define PRESENT	 1ull
#define WRITABLE 2ull
#define USER	 4ull
#define ACCESSED (1ull << 5)
#define DIRTY	 (1ull << 6)
#define LARGE	 (1ull << 7)
#define ADDRESS	 0x000ffffffffff000ull

#define WINDOW_SLOT 128 /* of the top table: virtual addresses 64 TiB and up, below the hole */
#define CPUID_1G    (1u << 26)
#define MAX_RAM	    (512 * GIB) /* what one slot of the top table maps; more stays unmapped */

static uint64_t *root;

static unsigned leaf_shift(uint64_t page_bytes)
{
	return page_bytes == GIB ? 30 : page_bytes == 2 * MIB ? 21 : 12;
}

static uint64_t *slot(uint64_t *table, uint64_t va, unsigned shift)
{
	return &table[va >> shift & 511];
}

bool page_size_supported(uint64_t page_bytes)
{
	if (page_bytes == GIB)
		return cpuid(0x80000000, 0).a >= 0x80000001 && cpuid(0x80000001, 0).d & CPUID_1G;
	return page_bytes == 4 * KIB || page_bytes == 2 * MIB;
}

bool install_pte(uint64_t va, uint64_t pa, uint64_t page_bytes)
{
	unsigned last = leaf_shift(page_bytes);
	uint64_t *table = root;

	for (unsigned shift = 39; shift > last; shift -= 9) {
		uint64_t *entry = slot(table, va, shift);

		if (!(*entry & PRESENT)) {
			void *page = heap_alloc_page(4 * KIB);

			if (!page)
				return false;
			*entry = (uint64_t)page | PRESENT | WRITABLE | USER;
		}
		table = (uint64_t *)(*entry & ADDRESS);
	}
	*slot(table, va, last) = pa | PRESENT | WRITABLE | (last > 12 ? LARGE : 0);
	return true;
}

/* The last entry on the way to va, present; NULL where va is not mapped. */
static uint64_t *walk(uint64_t va, unsigned *shift)
{
	uint64_t *table = root;

	for (*shift = 39;; *shift -= 9) {
		uint64_t *entry = slot(table, va, *shift);

		if (!(*entry & PRESENT))
			return NULL;
		if (*shift == 12 || (*shift < 39 && *entry & LARGE))
			return entry;
		table = (uint64_t *)(*entry & ADDRESS);
	}
}

bool translate(uint64_t va, uint64_t *pa, uint64_t *page_bytes)
{
	unsigned shift;
	const uint64_t *entry = walk(va, &shift);

	if (!entry)
		return false;
	*page_bytes = 1ull << shift;
	*pa = (*entry & ADDRESS & ~(*page_bytes - 1)) | (va & (*page_bytes - 1));
	return true;
}

bool page_accessed_known(void)
{
	return true;
}

bool page_accessed(uint64_t va)
{
	unsigned shift;
	const uint64_t *entry = walk(va, &shift);

	return entry && *entry & ACCESSED;
}

/* Accessed and dirty from the start, as systems write entries that they are about to use: no
 * processor, and no hypervisor in its place, has to mark them. */
bool remap_operand_fill(struct remap_operand *operand, uint64_t va, uint64_t first, uint64_t second,
			uint64_t page_bytes)
{
	unsigned shift;

	if (!install_pte(va, first, page_bytes))
		return false;
	operand->entry = walk(va, &shift);
	*operand->entry |= ACCESSED | DIRTY;
	operand->va = va;
	operand->value = *operand->entry;
	operand->change = first ^ second;
	operand->sum = 0;
	return true;
}

bool setup_mmu(void)
{
	uint64_t page_bytes = page_size_supported(GIB) ? GIB : 2 * MIB, end = 4 * GIB;

	root = heap_alloc_page(4 * KIB);
	if (!root)
		return false;
	for (unsigned i = 0; i < boot_info.ram_count; i++)
		if (boot_info.ram[i].end > end)
			end = boot_info.ram[i].end;
	if (end > MAX_RAM)
		end = MAX_RAM;
	/* The low 4 GiB in pieces of 2 MiB: devices lie there beside memory. */
	for (uint64_t at = 0; at < end;) {
		uint64_t bytes = at < 4 * GIB ? 2 * MIB : page_bytes;

		if (!install_pte(at, at, bytes))
			return false;
		at += bytes;
	}
	write_cr3((uint64_t)root);
	return true;
}

uint64_t window_base(void)
{
	return (uint64_t)WINDOW_SLOT << 39;
}

void window_clear(void)
{
	root[WINDOW_SLOT] = 0;
	mem_tlb_flush();
}

/*
 * CR3 is written and never read: under a hypervisor with shadow paging QEMU 10's SVM lets a guest
 * read the shadow's root instead of its own.
 */
void mem_tlb_flush(void)
{
	write_cr3((uint64_t)root);
}

void cpu_load_root(uint64_t other)
{
	write_cr3(other);
}

uint64_t cpu_page_table_root(void)
{
	return (uint64_t)root;
}
