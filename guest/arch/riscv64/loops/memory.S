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
 *   in        a0 = iterations, a1 = operand
 *   out       operand: at, value
 *   registers a2 = at, a3 = start, a4 = end, a5 = stride, a6 = value, a7 = 0, t0 = a mask
 *   clobbers  t6
 *
 * The cursor is incremented first and wraps, so that the operation itself is one load. The previous load's
 * value is reduced to 0 and added: a syntactic address dependency (Unprivileged Architecture, RVWMO), so each
 * load waits for the one before, and page-table walks do not overlap.
 */
.macro walk is_run
	TIMED_COUNT
	ld a2, WALK_AT(a1)
	ld a3, WALK_START(a1)
	ld a4, WALK_END(a1)
	ld a5, WALK_STRIDE(a1)
	li a6, 0
1:
	xor a7, a6, a6
	add a2, a2, a7
	add a2, a2, a5
	sltu t0, a2, a4			/* 1: before the end */
	neg t0, t0
	xor a2, a2, a3			/* without a branch: at or start */
	and a2, a2, t0
	xor a2, a2, a3
.if \is_run
	ld a6, 0(a2)
.endif
	TIMED_NEXT 1b
	sd a2, WALK_AT(a1)
	sd a6, WALK_VALUE(a1)
.endm
	TIMED_PAIR hot_memory_access, walk
	TIMED_PAIR cold_memory_access, walk

/*
 * uint64_t set_page_table_4k_run(uint64_t iterations, struct set_pt_operand *operand);   also _control
 * uint64_t set_page_table_2m_run(uint64_t iterations, struct set_pt_operand *operand);   also _control
 *
 *   in        a0 = iterations, a1 = operand
 *   out       operand: va, pa, pool, failed
 *   registers a0 = root, a2 = va, a3 = pa, a4 = table, a5 = slot, a6 and a7 = scratch, t0 = page bytes
 *   clobbers  t6
 *
 * Entries (Privileged Architecture, Sv48 and Sv39): valid; a page is also readable, writable, executable, accessed
 * and dirty. With Sv39 the root stands for the level above it too (paging.c), so the loop is the same.
 */
#define PTE_VALID 1
#define PTE_PAGE  0xcf

/* From the table at a4 to the next one, which is inserted if it is missing. Jumps to 8 if the pool is empty.
 * Label 2. */
.macro set_pt_level shift
	li a6, 0xff8			/* a slot's offset in a table */
	srli a5, a2, \shift - 3
	and a5, a5, a6
	add a5, a4, a5
	ld a4, 0(a5)
	andi a6, a4, PTE_VALID
	bnez a6, 2f
	ld a4, SET_PT_POOL(a1)
	ld a6, SET_PT_POOL_END(a1)
	bgeu a4, a6, 8f
	li a6, 4096
	add a6, a4, a6
	sd a6, SET_PT_POOL(a1)
	srli a4, a4, 2
	ori a4, a4, PTE_VALID
	fence w, w
	sd a4, 0(a5)
2:
	srli a4, a4, 10
	slli a4, a4, 12
.endm

/* Writes the entry into the table at a4. The fence orders the entry before later stores; without SFENCE.VMA the walker
 * may see it late. Labels 8, 9. */
.macro set_pt_leaf shift
	li a6, 0xff8
	srli a5, a2, \shift - 3
	and a5, a5, a6
	add a5, a4, a5
	srli a6, a3, 2
	ori a6, a6, PTE_PAGE
	sd a6, 0(a5)
	fence w, w
	j 9f
8:
	ld a6, SET_PT_FAILED(a1)
	addi a6, a6, 1
	sd a6, SET_PT_FAILED(a1)
9:
.endm

.macro set_page_table is_run, page_bytes
	TIMED_COUNT
	ld a0, SET_PT_ROOT(a1)
	ld a2, SET_PT_VA(a1)
	ld a3, SET_PT_PA(a1)
	li t0, \page_bytes
1:
	add a2, a2, t0
	add a3, a3, t0
	ld a6, SET_PT_PA_END(a1)
	ld a7, SET_PT_PA_START(a1)
	sltu a6, a3, a6			/* 1: before the end */
	neg a6, a6
	xor a3, a3, a7
	and a3, a3, a6
	xor a3, a3, a7
.if \is_run
	mv a4, a0
	set_pt_level 39
	set_pt_level 30
.if \page_bytes == 4096
	set_pt_level 21
	set_pt_leaf 12
.else
	set_pt_leaf 21
.endif
.endif
	TIMED_NEXT 1b
	sd a2, SET_PT_VA(a1)
	sd a3, SET_PT_PA(a1)
.endm
	TIMED_PAIR set_page_table_4k, set_page_table, 4096
	TIMED_PAIR set_page_table_2m, set_page_table, 2097152
