/*
 * The parts of the timed loops common to all architectures. Included by arch/'s timed.h, which defines
 * TIMED_BODY, TIMED_COUNT and TIMED_NEXT.
 */
#ifndef TIMED_SHARED_H
#define TIMED_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "timed_shared_offsets.h"

typedef uint64_t timed_loop(uint64_t iterations, void *operand);

/*
 * Timed code lies in [timed_start, timed_end) (image.ld). A loop has at most MAX_LOOP_BYTES, so that each page
 * of that code has the return of a loop, which the harness executes before the first pass. The runner refuses
 * an image with a longer loop (crates/machines/src/image.rs).
 */
#define MAX_LOOP_BYTES 512
extern const uint8_t timed_start[], timed_end[];
/* void timed_return(void): only a return instruction, to compare code with (timed_call.S). */
extern const uint8_t timed_return[], timed_return_end[];

struct timed {
	uint64_t batch_ticks; /* from before the first pass to after the last */
	uint64_t own_ticks;   /* what the loop returned */
};

/* Times one batch. In assembly (timed_call.S). A no-op used nowhere else marks both ends of the batch in a
 * log of executed instructions. */
struct timed timed_call(timed_loop *loop, uint64_t iterations, void *operand);

/* A loop that is in an assembly file (arch/ARCH/loops/). */
#define TIMED_DECLARE(name)    \
	timed_loop name##_run; \
	timed_loop name##_control

/*
 * A batch of passes, timed as a whole. `before` and `after` run once, `each` in every pass of both loops,
 * `op` in every pass of the run only.
 */
#define TIMED_PAIR(name, before, each, op, after)                                              \
	TIMED_BODY(#name "_run", TIMED_COUNT before "\n1:\t" each "\n\t" op TIMED_NEXT after); \
	TIMED_BODY(#name "_control", TIMED_COUNT before "\n1:\t" each TIMED_NEXT after);       \
	TIMED_DECLARE(name)

/* The simple case: one operation on the memory at the operand. */
#define TIMED_LOOP(name, op) TIMED_PAIR(name, "", "", op, "")

/* Reads that walk over a memory range. */
struct walk_operand {
	uint64_t at; /* address of the next pass's read */
	uint64_t start, end;
	uint64_t stride_bytes;
	uint64_t value; /* last value read */
};
TIMED_OFFSET(walk_operand, at, WALK_AT);
TIMED_OFFSET(walk_operand, start, WALK_START);
TIMED_OFFSET(walk_operand, end, WALK_END);
TIMED_OFFSET(walk_operand, stride_bytes, WALK_STRIDE);
TIMED_OFFSET(walk_operand, value, WALK_VALUE);

/*
 * Set Page Table: writes one entry, walking from the root and inserting missing tables, as an operating
 * system does to map memory. Tables come from a pool of zeroed pages.
 */
struct set_pt_operand {
	uint64_t root;	     /* virtual and physical address of the top-level table */
	uint64_t va;	     /* the next address to map */
	uint64_t pa, pa_end; /* what to map it to: cycles through [pa_start, pa_end) */
	uint64_t pa_start;
	uint64_t pool, pool_end; /* next free table, and the pool's end */
	uint64_t failed;	 /* passes that found the pool empty */
};
TIMED_OFFSET(set_pt_operand, root, SET_PT_ROOT);
TIMED_OFFSET(set_pt_operand, va, SET_PT_VA);
TIMED_OFFSET(set_pt_operand, pa, SET_PT_PA);
TIMED_OFFSET(set_pt_operand, pa_end, SET_PT_PA_END);
TIMED_OFFSET(set_pt_operand, pa_start, SET_PT_PA_START);
TIMED_OFFSET(set_pt_operand, pool, SET_PT_POOL);
TIMED_OFFSET(set_pt_operand, pool_end, SET_PT_POOL_END);
TIMED_OFFSET(set_pt_operand, failed, SET_PT_FAILED);

/* The cheapest call; `wanted` is set if the result is known beforehand. */
struct hypercall_operand;
enum hypercall_abi;
struct hypercall_operand hypercall_operand(enum hypercall_abi abi);

/* Fills an operand for interrupts to `cpu`, which waits for work. False: no such CPU runs. */
struct ipi_operand;
bool ipi_operand_fill(struct ipi_operand *operand, unsigned cpu, bool yield);

/* These fill operands. False: no interrupt controller. */
struct controller_operand;
bool controller_operand_fill(struct controller_operand *operand);
struct completion_operand;
bool completion_operand_fill(struct completion_operand *operand);
/* Is that row's interrupt active, according to the controller? */
bool completion_is_active(void);

/* Sends an interrupt to this CPU, which masks it: it stays pending. False: no interrupt controller. */
bool pending_send(void);
/* Takes and ends that interrupt. False: it is not pending. */
bool pending_take(void);

/*
 * I/O latency: a kick, then a wait for the other side's stamp or for an interrupt. Each pass reads the
 * clock, kicks and waits. The other side's stamp must lie between that read and the end; passes where it
 * does not are counted (`outside`) and not added. The control is two clock reads. latency.h has the page.
 */
struct latency_operand {
	struct latency_page *page;
	uint64_t kick;	/* port or address */
	uint64_t yield; /* as for IPIs */
	uint64_t outside;
	struct latency_handled *handled;
	uint64_t halts;
	uint64_t settle_ticks; /* from the start of a pass, not timed */
};
TIMED_OFFSET(latency_operand, page, LATENCY_OPERAND_PAGE);
TIMED_OFFSET(latency_operand, kick, LATENCY_OPERAND_KICK);
TIMED_OFFSET(latency_operand, yield, LATENCY_OPERAND_YIELD);
TIMED_OFFSET(latency_operand, outside, LATENCY_OPERAND_OUTSIDE);
TIMED_OFFSET(latency_operand, handled, LATENCY_OPERAND_HANDLED);
TIMED_OFFSET(latency_operand, halts, LATENCY_OPERAND_HALTS);
TIMED_OFFSET(latency_operand, settle_ticks, LATENCY_OPERAND_SETTLE);

#endif
