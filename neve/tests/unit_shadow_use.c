/* Unit test of which shadow is in use when two CPUs look for one (nested/memory.c), in an order that the
 * lock allows; on the host, under ASan and UBSan (make -C neve test). Hardware registers are stubs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ACCESSORS_H
#define READ(name)	   (0ull)
#define WRITE(name, value) ((void)(value))
#define TLBI(operation)	   ((void)0)

#include "core/lock.h"
#include "cpu/cpu.h"

/* What another CPU does as soon as the lock is free. */
static void (*when_released)(void);

static void release(struct lock *lock)
{
	void (*then)(void) = when_released;

	lock_release(lock);
	when_released = NULL;
	if (then)
		then();
}

#define lock_release	      release
#define data_barrier()	      ((void)0)
#define instruction_barrier() ((void)0)
#include "nested/memory.c"
#undef lock_release

static struct vm_config config = { .nest = MECHANISM_NV };
static struct vm vm = { .config = &config, .vcpu_count = 2 };
static uint64_t deferred[2][PAGE_BYTES / 8];

uint8_t *arch_guest_memory(struct vm *of, uint64_t ipa, uint64_t *bytes)
{
	(void)of, (void)ipa, (void)bytes;
	return NULL;
}

void arch_kick(const struct cpu *cpu)
{
	(void)cpu;
}

void nested_save_l1(struct vcpu *vcpu)
{
	(void)vcpu;
}

uint64_t nested_tcr(const struct vcpu *vcpu)
{
	(void)vcpu;
	return 0;
}

#define CONTEXT(number) (0x40000000 + (number)*PAGE_BYTES)

/* The second CPU's hypervisor runs more VMs, one after the other, than there are shadows. */
static void run_many(void)
{
	for (uint64_t i = 1; i <= SHADOWS + 1; i++)
		nested_find_shadow(&vm.vcpus[1], CONTEXT(i));
}

static void a_shadow_that_was_found_is_in_use_before_another_looks(void **state)
{
	uint8_t *pages = aligned_alloc(PAGE_BYTES, SHADOWS * SHADOW_PAGES * PAGE_BYTES);
	struct shadow *found;

	(void)state;
	memset(pages, 0, SHADOWS * SHADOW_PAGES * PAGE_BYTES);
	shadows_init(&vm.arch.shadows, (uintptr_t)pages, SHADOW_PAGES, 3);
	for (unsigned i = 0; i < 2; i++) {
		vm.vcpus[i].vm = &vm;
		vm.vcpus[i].arch.nested.page = deferred[i];
	}
	when_released = run_many;
	found = nested_find_shadow(&vm.vcpus[0], CONTEXT(0));
	assert_null(when_released); /* it was called */
	assert_true(found->vttbr == CONTEXT(0));
	free(pages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shadow_that_was_found_is_in_use_before_another_looks),
	};

	return cmocka_run_group_tests_name("shadow use", tests, NULL, NULL);
}
