/*
 * What the timed loops of all architectures have alike; each one's timed.h includes it, and says what
 * TIMED_BODY, TIMED_COUNT, TIMED_NEXT, TIMED_EACH_BODY and LATENCY_BODY are.
 */
#ifndef TIMED_SHARED_H
#define TIMED_SHARED_H

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t timed_loop(uint64_t iterations, void *operand);

/* No loop has more: so much of its code is there before its first pass. Whoever reads an image's table
 * of benchmarks refuses one with a longer loop (crates/machines/src/image.rs). */
#define MAX_LOOP_BYTES 512

struct timed {
	uint64_t batch_ticks; /* from before the first pass to behind the last */
	uint64_t own_ticks;   /* what the loop returned */
};

/* Times one batch. Assembly (timed_call.S). A no-operation that stands nowhere else
 * marks both ends of the batch in a log of executed instructions. */
struct timed timed_call(timed_loop *loop, uint64_t iterations, void *operand);

#define TIMED_DECLARE(name)    \
	timed_loop name##_run; \
	timed_loop name##_control

/*
 * A batch of passes, timed as a whole. `before` runs once, `each` in every pass of both loops,
 * `op` in every pass of the run alone, `after` once.
 */
#define TIMED_PAIR(name, before, each, op, after)                                              \
	TIMED_BODY(#name "_run", TIMED_COUNT before "\n1:\t" each "\n\t" op TIMED_NEXT after); \
	TIMED_BODY(#name "_control", TIMED_COUNT before "\n1:\t" each TIMED_NEXT after);       \
	TIMED_DECLARE(name)

/* The plain case: one operation on the memory at the operand. */
#define TIMED_LOOP(name, op) TIMED_PAIR(name, "", "", op, "")

/*
 * Passes timed one by one and added up, for operations that need a settling time between them
 * (`settle`, in both loops, not timed).
 */
#define TIMED_EACH(name, op, settle)                       \
	TIMED_EACH_BODY(#name "_run", "", op, settle);     \
	TIMED_EACH_BODY(#name "_control", "", "", settle); \
	TIMED_DECLARE(name)

/* The same, for operations that use something up: `before` makes it, in both loops and not timed, and
 * the control uses it up not timed. */
#define TIMED_EACH_AFTER(name, before, op)                 \
	TIMED_EACH_BODY(#name "_run", before, op, "");     \
	TIMED_EACH_BODY(#name "_control", before, "", op); \
	TIMED_DECLARE(name)

/* Reads that walk over a range of memory. */
struct walk_operand {
	uint64_t at; /* the address that the next pass reads */
	uint64_t start, end;
	uint64_t stride_bytes;
	uint64_t value; /* last read */
};

/*
 * Set Page Table: writes one entry, walking from the root and hanging in a table where there is
 * none yet, as an operating system does that maps memory. Tables come from a pool of zeroed pages.
 */
struct set_pt_operand {
	uint64_t root;	     /* virtual = physical address of the top table */
	uint64_t va;	     /* the next address to map */
	uint64_t pa, pa_end; /* what to map it to: goes round in [pa_start, pa_end) */
	uint64_t pa_start;
	uint64_t pool, pool_end; /* the next free table, and where there are no more */
	uint64_t failed;	 /* passes that found the pool empty */
};

/* A call that does next to nothing; `wanted` is filled where the answer is known beforehand. */
struct hypercall_operand;
enum hypercall_abi;
struct hypercall_operand hypercall_operand(enum hypercall_abi abi);

/* Fills an operand for interrupts to `cpu`, which rests. False: no such CPU runs. */
struct ipi_operand;
bool ipi_operand_fill(struct ipi_operand *operand, unsigned cpu, bool yield);

/* Fill them. False: there is no interrupt controller. */
struct controller_operand;
bool controller_operand_fill(struct controller_operand *operand);
struct completion_operand;
bool completion_operand_fill(struct completion_operand *operand);
/* Is the interrupt of that row in service, by the controller's own word? */
bool completion_is_active(void);

/*
 * I/O latency: a kick, until the other side's stamp of it is there, or until an interrupt came. Each pass
 * looks at the clock, kicks and waits; the stamp of the other side must lie between that look and the end:
 * passes where it does not are counted and not added. The control is two looks. latency.h has the page.
 */
struct latency_operand {
	struct latency_page *page;
	uint64_t kick;	/* a port or an address */
	uint64_t yield; /* as for IPIs */
	uint64_t outside;
	struct latency_handled *handled;
	uint64_t halts;
	uint64_t settle_ticks; /* from the start of a pass on, not timed */
};
#define LATENCY_PAIR(name, before, wait, end, value)          \
	LATENCY_BODY(#name "_run", before, wait, end, value); \
	TIMED_EACH_BODY(#name "_control", "", "", "");        \
	TIMED_DECLARE(name)
/* From the kick to the stamp; from the stamp to the handler; from the kick to the stamp, and then there is
 * an interrupt. */
#define TIMED_LATENCY_OUT(name) \
	LATENCY_PAIR(name, LATENCY_BEFORE, LATENCY_STAMPED, LATENCY_END, LATENCY_TO_STAMP)
#define TIMED_LATENCY_IN(name)                                                                 \
	LATENCY_PAIR(name, LATENCY_BEFORE_INTERRUPT, LATENCY_INTERRUPTED, LATENCY_END_HANDLED, \
		     LATENCY_FROM_STAMP)
#define TIMED_LATENCY_SWITCH(name)                                                             \
	LATENCY_PAIR(name, LATENCY_BEFORE_INTERRUPT, LATENCY_INTERRUPTED, LATENCY_END_HANDLED, \
		     LATENCY_TO_STAMP)

#endif
