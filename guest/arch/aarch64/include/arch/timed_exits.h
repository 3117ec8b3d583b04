/* aarch64 operations that may require the hypervisor, and that kvm-unit-tests' `micro-bench` also times.
 * The contract is timed.h's. */
#ifndef TIMED_EXITS_H
#define TIMED_EXITS_H

#include "guest/include/its.h"
#include "latency.h"
#include <arch/timed.h>

/* Adds one command to the ring and waits a bounded time for the handler, which counts. */
struct lpi_operand {
	struct its_ring ring;
	struct latency_handled *handled;
};
TIMED_OFFSET(lpi_operand, ring.written, LPI_WRITTEN);
TIMED_OFFSET(lpi_operand, ring.offset, LPI_OFFSET);
TIMED_OFFSET(lpi_operand, handled, LPI_HANDLED);
_Static_assert(LPI_COMMAND_BYTES == ITS_COMMAND && LPI_RING_BYTES == ITS_RING,
	       "assembly uses them");
/* NULL, or why there are no LPIs. A second call gives the same ring, with the first offset. */
const char *lpi_operand_fill(struct lpi_operand *operand);

/* Makes a network card interrupt by its own registers, and waits a bounded time for the handler, which counts. A write of 1
 * to `set` is the interrupt, and a write of 1 to `clear` takes it back. Then the loop waits rest_ticks, as the card delays an
 * interrupt that follows another too soon. */
struct card_operand {
	uint64_t clear, set;
	struct latency_handled *handled;
	uint64_t rest_ticks;
};
TIMED_OFFSET(card_operand, clear, CARD_CLEAR);
TIMED_OFFSET(card_operand, set, CARD_SET);
TIMED_OFFSET(card_operand, handled, CARD_HANDLED);
TIMED_OFFSET(card_operand, rest_ticks, CARD_REST_TICKS);
/* `pci_id`: vendor, and device above. NULL, or why this card can't be told to interrupt. */
const char *card_operand_fill(struct card_operand *operand, uint64_t registers, uint64_t pci_id);

/* A deadline `ticks` ahead; gives up 32 times as many ticks later (a busy host may be late). The handler
 * stamps and disables the timer. */
struct timer_operand {
	uint64_t ticks;
	struct latency_handled *handled;
	uint64_t early;
};
TIMED_OFFSET(timer_operand, ticks, TIMER_TICKS);
TIMED_OFFSET(timer_operand, handled, TIMER_HANDLED);
TIMED_OFFSET(timer_operand, early, TIMER_EARLY);
/* Enables the current level's virtual timer interrupt; timer_stop() disables it. NULL, or why it is not
 * possible. */
const char *timer_operand_fill(struct timer_operand *operand);
void timer_stop(void);

#endif
