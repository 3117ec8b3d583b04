/*
 * Timed loops that read memory or change page tables: cold-memory-access, hot-memory-access,
 * set-page-table-4k, set-page-table-2m. Contract, operands: arch/timed.h, timed_shared.h.
 */
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

/*
 * uint64_t hot_memory_access_run(uint64_t iterations, struct walk_operand *operand);    also _control
 * uint64_t cold_memory_access_run(uint64_t iterations, struct walk_operand *operand);   also _control
 *
 *   in        x0 = iterations, x1 = operand
 *   out       operand: at, value
 *   registers x2 = at, x3 = start, x4 = end, x5 = stride, x6 = value, x7 = 0
 *   clobbers  x17, flags
 *
 * The cursor is incremented first and wraps, so that the operation itself is one load. The previous load's
 * value is reduced to 0 and added: an address dependency (DDI 0487, B2.3), so each load waits for the one
 * before, and page-table walks do not overlap.
 */
.macro walk is_run
	TIMED_COUNT
	ldp x2, x3, [x1, #WALK_AT]		/* at, start */
	ldp x4, x5, [x1, #WALK_END]		/* end, stride */
1:
	eor x7, x6, x6
	add x2, x2, x7
	add x2, x2, x5
	cmp x2, x4
	csel x2, x3, x2, hs
.if \is_run
	ldr x6, [x2]
.endif
	TIMED_NEXT 1b
	str x2, [x1, #WALK_AT]
	str x6, [x1, #WALK_VALUE]
.endm
	TIMED_PAIR hot_memory_access, walk
	TIMED_PAIR cold_memory_access, walk

/*
 * uint64_t set_page_table_4k_run(uint64_t iterations, struct set_pt_operand *operand);   also _control
 * uint64_t set_page_table_2m_run(uint64_t iterations, struct set_pt_operand *operand);   also _control
 *
 *   in        x0 = iterations, x1 = operand
 *   out       operand: va, pa, pool, failed
 *   registers x8 = root, x9 = va, x10 = pa, x5 = table, x4 = slot, x6 and x7 = scratch
 *   clobbers  x17, flags
 *
 * Descriptors (DDI 0487, D8.3): valid, page or table, attributes 1 (paging.c), inner shareable, accessed.
 */
#define PTE_TABLE   3
#define PTE_PAGE_4K 0x707
#define PTE_PAGE_2M 0x705
#define PTE_ADDRESS 0x0000fffffffff000

/* From the table at x5 to the next one, which is inserted if it is missing. Jumps to 8 if the pool is empty.
 * Label 2. */
.macro set_pt_level shift
	ubfx x4, x9, #\shift, #9
	add x4, x5, x4, lsl #3
	ldr x5, [x4]
	tbnz x5, #0, 2f
	ldp x5, x6, [x1, #SET_PT_POOL]		/* pool, pool_end */
	cmp x5, x6
	b.hs 8f
	add x6, x5, #4096
	str x6, [x1, #SET_PT_POOL]
	orr x5, x5, #PTE_TABLE
	dmb ishst
	str x5, [x4]
2:
	and x5, x5, #PTE_ADDRESS
.endm

/* Writes the entry into the table at x5. The barriers make it visible to the walker. Labels 8, 9. */
.macro set_pt_leaf shift, bits
	ubfx x4, x9, #\shift, #9
	mov x6, #\bits
	orr x6, x6, x10
	str x6, [x5, x4, lsl #3]
	dsb ishst
	isb
	b 9f
8:
	ldr x6, [x1, #SET_PT_FAILED]
	add x6, x6, #1
	str x6, [x1, #SET_PT_FAILED]
9:
.endm

.macro set_page_table is_run, page_bytes
	TIMED_COUNT
	ldp x8, x9, [x1, #SET_PT_ROOT]		/* root, va */
	ldr x10, [x1, #SET_PT_PA]
1:
	add x9, x9, #\page_bytes
	add x10, x10, #\page_bytes
	ldp x6, x7, [x1, #SET_PT_PA_END]	/* pa_end, pa_start */
	cmp x10, x6
	csel x10, x7, x10, hs
.if \is_run
	mov x5, x8
	set_pt_level 39
	set_pt_level 30
.if \page_bytes == 4096
	set_pt_level 21
	set_pt_leaf 12, PTE_PAGE_4K
.else
	set_pt_leaf 21, PTE_PAGE_2M
.endif
.endif
	TIMED_NEXT 1b
	stp x9, x10, [x1, #SET_PT_VA]		/* va, pa */
.endm
	TIMED_PAIR set_page_table_4k, set_page_table, 4096
	TIMED_PAIR set_page_table_2m, set_page_table, 2097152
