/* A spinlock. The hypervisor runs with interrupts masked: a holder is never interrupted. */
#ifndef LOCK_H
#define LOCK_H

#include <stdint.h>

#include "common/relax.h"

struct lock {
	uint32_t taken;
};

static inline void lock_take(struct lock *lock)
{
	while (__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE))
		relax();
}

static inline void lock_release(struct lock *lock)
{
	__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}

#endif
