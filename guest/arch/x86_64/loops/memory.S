/*
 * Timed loops that read memory or change page tables: cold-memory-access, hot-memory-access,
 * set-page-table-4k, set-page-table-2m, remap-page. Contract, operands: arch/timed.h, timed_shared.h.
 */
#include <arch/timed_macros.S>
#include <arch/timed_offsets.h>

/*
 * uint64_t hot_memory_access_run(uint64_t iterations, struct walk_operand *operand);    also _control
 * uint64_t cold_memory_access_run(uint64_t iterations, struct walk_operand *operand);   also _control
 *
 *   in        rdi = iterations, rsi = operand
 *   out       operand: at, value
 *   registers rax = at, rcx = start, rdx = end, r8 = stride, r9 = value
 *   clobbers  r11, flags
 *
 * The cursor is incremented first and wraps, so that the operation itself is one load. The previous load's
 * value is reduced to 0, in a way that the CPU cannot predict, and added: each load waits for the one
 * before, so page-table walks do not overlap.
 */
.macro walk is_run
	TIMED_COUNT
	mov WALK_AT(%rsi), %rax
	mov WALK_START(%rsi), %rcx
	mov WALK_END(%rsi), %rdx
	mov WALK_STRIDE(%rsi), %r8
1:
	and $0, %r9
	add %r9, %rax
	add %r8, %rax
	cmp %rdx, %rax
	cmovae %rcx, %rax
.if \is_run
	mov (%rax), %r9
.endif
	TIMED_NEXT 1b
	mov %rax, WALK_AT(%rsi)
	mov %r9, WALK_VALUE(%rsi)
.endm
	TIMED_PAIR hot_memory_access, walk
	TIMED_PAIR cold_memory_access, walk

/*
 * uint64_t set_page_table_4k_run(uint64_t iterations, struct set_pt_operand *operand);   also _control
 * uint64_t set_page_table_2m_run(uint64_t iterations, struct set_pt_operand *operand);   also _control
 *
 *   in        rdi = iterations, rsi = operand
 *   out       operand: va, pa, pool, failed
 *   registers r8 = root, r9 = va, r10 = pa, rcx = table, rax = slot, rdx = scratch
 *   clobbers  r11, flags
 */
#define PTE_PRESENT 0x1
#define PTE_TABLE   0x7			/* present, writable, user */
#define PTE_PAGE_4K 0x3			/* present, writable */
#define PTE_PAGE_2M 0x83		/* ... and page size */
#define PTE_ADDRESS 0x000ffffffffff000

/* The slot of va in the table at rcx: its index, to rax. */
.macro set_pt_index shift
	mov %r9, %rax
	shr $\shift, %rax
	and $511, %eax
.endm

/* From the table at rcx to the next one, which is inserted if it is missing. Jumps to 8 if the pool is empty.
 * Label 2. */
.macro set_pt_level shift
	set_pt_index \shift
	lea (%rcx,%rax,8), %rax
	mov (%rax), %rcx
	test $PTE_PRESENT, %cl
	jnz 2f
	mov SET_PT_POOL(%rsi), %rcx
	cmp SET_PT_POOL_END(%rsi), %rcx
	jae 8f
	addq $4096, SET_PT_POOL(%rsi)
	or $PTE_TABLE, %rcx
	mov %rcx, (%rax)
2:
	movabs $PTE_ADDRESS, %rdx
	and %rdx, %rcx
.endm

/* Writes the entry into the table at rcx. Labels 8, 9. */
.macro set_pt_leaf shift, bits
	set_pt_index \shift
	lea \bits(%r10), %rdx
	mov %rdx, (%rcx,%rax,8)
	jmp 9f
8:
	incq SET_PT_FAILED(%rsi)
9:
.endm

.macro set_page_table is_run, page_bytes
	TIMED_COUNT
	mov SET_PT_ROOT(%rsi), %r8
	mov SET_PT_VA(%rsi), %r9
	mov SET_PT_PA(%rsi), %r10
1:
	add $\page_bytes, %r9
	add $\page_bytes, %r10
	cmp SET_PT_PA_END(%rsi), %r10
	cmovae SET_PT_PA_START(%rsi), %r10
.if \is_run
	mov %r8, %rcx
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
	mov %r9, SET_PT_VA(%rsi)
	mov %r10, SET_PT_PA(%rsi)
.endm
	TIMED_PAIR set_page_table_4k, set_page_table, 4096
	TIMED_PAIR set_page_table_2m, set_page_table, 2097152

/*
 * uint64_t remap_page_run(uint64_t iterations, struct remap_operand *operand);   also _control
 *
 *   in        rdi = iterations, rsi = operand
 *   out       operand: value, sum
 *   registers r8 = entry, r9 = va, r10 = value, rcx = change, rdx = sum
 *   clobbers  r11, flags
 */
.macro remap is_run
	TIMED_COUNT
	mov REMAP_ENTRY(%rsi), %r8
	mov REMAP_VA(%rsi), %r9
	mov REMAP_VALUE(%rsi), %r10
	mov REMAP_CHANGE(%rsi), %rcx
	mov REMAP_SUM(%rsi), %rdx
1:
	xor %rcx, %r10
.if \is_run
	mov %r10, (%r8)
	invlpg (%r9)
	add (%r9), %rdx
.endif
	TIMED_NEXT 1b
	mov %r10, REMAP_VALUE(%rsi)
	mov %rdx, REMAP_SUM(%rsi)
.endm
	TIMED_PAIR remap_page, remap

	.section .note.GNU-stack, "", @progbits
