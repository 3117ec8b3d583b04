/* Unit tests of the virtual GICv3, on the host, under ASan and UBSan (make -C neve test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/gic_registers.h"
#include "gic/vgic.h"

#define LISTS 4
#define CPUS  3

#define LR_PENDING  (1ull << 62)
#define LR_ACTIVE   (1ull << 63)
#define LR_HARDWARE (1ull << 61)
#define LR_GROUP1   (1ull << 60)
#define LR_EOI	    (1ull << 41)

#define SGI_FRAME  0x10000
#define IGROUPR	   0x80
#define ISENABLER  0x100
#define ICENABLER  0x180
#define ISPENDR	   0x200
#define ICPENDR	   0x280
#define ISACTIVER  0x300
#define ICACTIVER  0x380
#define IPRIORITYR 0x400
#define ICFGR	   0xc00

#define UART  33
#define TIMER 27

static struct vgic vgic;
static struct vgic_lists lists[CPUS];

static uint64_t distributor(unsigned cpu, uint64_t offset, unsigned bytes, bool write,
			    uint64_t value)
{
	struct access access = { offset, bytes, write, value };

	vgic_distributor(&vgic, cpu, &access);
	return access.value;
}

static uint64_t redistributor(unsigned cpu, uint64_t offset, bool write, uint64_t value)
{
	struct access access = { cpu * VGIC_REDISTRIBUTOR_BYTES + offset, 4, write, value };

	vgic_redistributors(&vgic, cpu, &access);
	return access.value;
}

/* All interrupts are enabled, in group 1. */
static int set_up(void **state)
{
	(void)state;
	vgic_init(&vgic, CPUS);
	memset(lists, 0, sizeof(lists));
	for (unsigned i = 0; i < CPUS; i++) {
		lists[i].count = LISTS;
		redistributor(i, SGI_FRAME + IGROUPR, true, ~0u);
		redistributor(i, SGI_FRAME + ISENABLER, true, ~0u);
	}
	distributor(0, GICD_CTLR, 4, true, 3);
	distributor(0, IGROUPR + 4, 4, true, ~0u);
	distributor(0, ISENABLER + 4, 4, true, ~0u);
	return 0;
}

static struct vgic_loaded refill(unsigned cpu)
{
	vgic_save(&vgic, cpu, &lists[cpu]);
	return vgic_load(&vgic, cpu, &lists[cpu]);
}

/* What the guest does by its CPU interface: acknowledges the interrupt in list register 0, ends it. */
static void acknowledge(unsigned cpu)
{
	lists[cpu].lr[0] = (lists[cpu].lr[0] & ~LR_PENDING) | LR_ACTIVE;
}

static void end(unsigned cpu)
{
	lists[cpu].lr[0] &= ~LR_ACTIVE;
}

static void an_sgi_reaches_whom_it_names(void **state)
{
	(void)state;
	assert_int_equal(vgic_send_sgi(&vgic, 0, 5ull << 24 | 6, true), 6);
	assert_int_equal(refill(0).used, 0);
	assert_int_equal(refill(1).used, 1);
	assert_true(lists[1].lr[0] == (5 | LR_PENDING | LR_GROUP1));
	/* To all but the sender; to no CPU beyond the last; to none with other affinities. */
	assert_int_equal(vgic_send_sgi(&vgic, 1, 1ull << 40, true), 5);
	assert_int_equal(vgic_send_sgi(&vgic, 1, 0xfff8, true), 0);
	assert_int_equal(vgic_send_sgi(&vgic, 1, 1ull << 16 | 1, true), 0);
	assert_int_equal(vgic_send_sgi(&vgic, 1, 1ull << 44 | 1, true), 0);
	/* The registers of group 0 reach only interrupts of group 0. */
	assert_int_equal(vgic_send_sgi(&vgic, 0, 5ull << 24 | 1, false), 0);
}

static void an_edge_is_delivered_once_and_again_if_it_comes_again(void **state)
{
	(void)state;
	vgic_send_sgi(&vgic, 0, 1, true);
	refill(0);
	acknowledge(0);
	refill(0);
	assert_true(lists[0].lr[0] == (0 | LR_ACTIVE | LR_GROUP1));
	vgic_send_sgi(&vgic, 0, 1, true); /* while it is active */
	refill(0);
	assert_true(lists[0].lr[0] == (LR_ACTIVE | LR_PENDING | LR_GROUP1));
	lists[0].lr[0] &= ~LR_ACTIVE;
	refill(0);
	assert_true(lists[0].lr[0] == (LR_PENDING | LR_GROUP1));
	acknowledge(0);
	end(0);
	assert_int_equal(refill(0).used, 0);
}

static void a_level_is_delivered_as_long_as_it_is_high(void **state)
{
	(void)state;
	assert_int_equal(vgic_set_line(&vgic, UART, true), 1);
	assert_int_equal(vgic_set_line(&vgic, UART, true), 0);
	refill(0);
	assert_true(lists[0].lr[0] == (UART | LR_PENDING | LR_GROUP1 | LR_EOI));
	acknowledge(0);
	end(0);
	assert_int_equal(refill(0).used, 1); /* still high */
	vgic_set_line(&vgic, UART, false);
	assert_int_equal(refill(0).used, 0); /* low before the guest acknowledged it */
}

static void a_timer_is_ended_in_the_hardware_by_its_guest(void **state)
{
	struct vgic_loaded loaded;

	(void)state;
	assert_int_equal(vgic_physical(&vgic, 1, &lists[1], TIMER, TIMER), 2);
	refill(1);
	assert_true(lists[1].lr[0] ==
		    (TIMER | LR_PENDING | LR_GROUP1 | LR_HARDWARE | (uint64_t)TIMER << 32));
	acknowledge(1);
	end(1);
	loaded = refill(1);
	assert_true(!loaded.used && !loaded.deactivate);
	/* The next one arrives before the end of this one was seen. */
	vgic_physical(&vgic, 1, &lists[1], TIMER, TIMER);
	refill(1);
	acknowledge(1);
	end(1);
	vgic_physical(&vgic, 1, &lists[1], TIMER, TIMER);
	refill(1);
	assert_true(lists[1].lr[0] & LR_PENDING && lists[1].lr[0] & LR_HARDWARE);
	acknowledge(1);
	end(1);
	refill(1);
	/* One that the guest clears by a register would stay active for ever. */
	vgic_physical(&vgic, 1, &lists[1], TIMER, TIMER);
	refill(1);
	vgic_save(&vgic, 1, &lists[1]);
	memset(lists[1].lr, 0, sizeof(lists[1].lr));
	redistributor(1, SGI_FRAME + ICPENDR, true, 1u << TIMER);
	assert_int_equal(refill(1).deactivate, 1u << TIMER);
	assert_int_equal(refill(1).deactivate, 0);
}

static void the_more_urgent_ones_come_first(void **state)
{
	struct vgic_loaded loaded;

	(void)state;
	for (unsigned i = 0; i < 8; i += 4)
		redistributor(0, SGI_FRAME + IPRIORITYR + i, true, 0xf0e0d0c0u - i * 0x10101010u);
	for (uint64_t i = 0; i < 8; i++)
		vgic_send_sgi(&vgic, 0, i << 24 | 1, true);
	loaded = refill(0);
	assert_true(loaded.used == LISTS && loaded.more);
	for (unsigned i = 0; i < LISTS; i++)
		assert_int_equal(lists[0].lr[i] & 0xffffffff, 4 + i); /* 0x80 to 0xb0 */
	for (unsigned i = 0; i < LISTS; i++)
		lists[0].lr[i] &= ~LR_PENDING;
	loaded = refill(0);
	assert_true(loaded.used == 4 && !loaded.more);
	assert_int_equal(lists[0].lr[0] & 0xffffffff, 0);
}

static void what_is_off_stays_pending(void **state)
{
	(void)state;
	redistributor(0, SGI_FRAME + ICENABLER, true, 1u << 3);
	vgic_send_sgi(&vgic, 0, 3ull << 24 | 1, true);
	assert_int_equal(refill(0).used, 0);
	assert_int_equal(redistributor(0, SGI_FRAME + ISPENDR, false, 0), 1u << 3);
	redistributor(0, SGI_FRAME + ISENABLER, true, 1u << 3);
	assert_int_equal(refill(0).used, 1);
	vgic_save(&vgic, 0, &lists[0]);
	distributor(0, GICD_CTLR, 4, true, 1); /* group 1 off */
	assert_int_equal(vgic_load(&vgic, 0, &lists[0]).used, 0);
}

static void a_shared_interrupt_goes_where_it_is_routed(void **state)
{
	(void)state;
	distributor(0, GICD_IROUTER + 8 * UART, 8, true, 2);
	assert_int_equal(distributor(0, GICD_IROUTER + 8 * UART, 8, false, 0), 2);
	assert_int_equal(vgic_set_line(&vgic, UART, true), 4);
	assert_int_equal(refill(0).used, 0);
	assert_int_equal(refill(2).used, 1);
	/* One that is active stays where it is until it ends. */
	acknowledge(2);
	distributor(0, GICD_IROUTER + 8 * UART, 8, true, 1);
	assert_int_equal(refill(2).used, 1);
	assert_int_equal(refill(1).used, 0);
	end(2);
	assert_int_equal(refill(2).used, 0);
	assert_int_equal(refill(1).used, 1);
	/* To a missing vCPU: goes to the first. */
	distributor(0, GICD_IROUTER + 8 * 40, 8, true, 7);
	assert_int_equal(distributor(0, GICD_IROUTER + 8 * 40, 4, false, 0), 0);
}

static void another_vcpu_cannot_change_what_a_list_register_says(void **state)
{
	(void)state;
	vgic_send_sgi(&vgic, 0, 2, true);
	refill(1);
	acknowledge(1);
	{
		struct access access = { VGIC_REDISTRIBUTOR_BYTES + SGI_FRAME + ICACTIVER, 4, true,
					 1 };

		vgic_redistributors(&vgic, 0, &access);
	}
	refill(1);
	assert_true(lists[1].lr[0] & LR_ACTIVE);
}

static void registers_keep_what_they_can(void **state)
{
	(void)state;
	assert_int_equal(distributor(0, GICD_CTLR, 4, false, 0), 0x53);
	assert_int_equal(distributor(0, 4, 4, false, 0) & 0x1f, VGIC_INTIDS / 32 - 1);
	distributor(0, IPRIORITYR + UART, 1, true, 0xff);
	assert_int_equal(distributor(0, IPRIORITYR + UART, 1, false, 0), 0xf8);
	assert_int_equal(distributor(0, IPRIORITYR + 32, 4, false, 0), 0xf800);
	distributor(0, ICFGR + 8, 4, true, 0xffffffff);
	assert_int_equal(distributor(0, ICFGR + 8, 4, false, 0), 0xaaaaaaaa);
	redistributor(0, SGI_FRAME + ICFGR, true, 0);
	assert_int_equal(redistributor(0, SGI_FRAME + ICFGR, false, 0), 0xaaaaaaaa); /* SGIs */
	assert_int_equal(redistributor(2, 8, false, 0), 2 << 8 | 1 << 4);	     /* the last */
	assert_int_equal(redistributor(1, 12, false, 0), 1);
	assert_int_equal(redistributor(0, 0x14, false, 0), 6);
	redistributor(0, 0x14, true, 0);
	assert_int_equal(redistributor(0, 0x14, false, 0), 0);
	/* Sizes that are not allowed, and offsets beyond the last register. */
	assert_int_equal(distributor(0, GICD_CTLR, 1, false, 7), 0);
	assert_int_equal(distributor(0, IPRIORITYR + 33, 4, false, 7), 0);
	assert_int_equal(distributor(0, 0xfffc, 4, false, 7), 0);
	assert_int_equal(redistributor(CPUS, 8, false, 7), 0);
}

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_bits(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* The hardware's part: interrupts in list registers become active, or end. */
static void guest_moves_on(unsigned cpu)
{
	for (unsigned i = 0; i < LISTS; i++) {
		uint64_t *lr = &lists[cpu].lr[i];

		if (*lr & LR_PENDING && !(*lr & LR_ACTIVE) && random_bits() % 2)
			*lr = (*lr & ~LR_PENDING) | LR_ACTIVE;
		else if (*lr & LR_ACTIVE && random_bits() % 2)
			*lr &= ~LR_ACTIVE;
	}
}

static void check_lists(void)
{
	unsigned holders[VGIC_INTIDS] = { 0 };

	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		uint64_t own = 0;

		for (unsigned i = 0; i < LISTS; i++) {
			uint64_t lr = lists[cpu].lr[i], intid = lr & 0xffffffff;

			if (!(lr & (LR_PENDING | LR_ACTIVE)))
				continue;
			assert_true(intid < VGIC_INTIDS);
			if (intid >= VGIC_OWN)
				assert_int_equal(holders[intid]++, 0); /* one vCPU at a time */
			assert_false(own >> intid & 1);
			own |= 1ull << intid;
			assert_false((lr & LR_HARDWARE) && (lr & LR_PENDING) && (lr & LR_ACTIVE));
		}
	}
}

/* After any sequence of what a guest may do, the list registers are valid for the hardware. */
static void ten_thousand_random_steps_leave_it_whole(void **state)
{
	(void)state;
	for (unsigned step = 0; step < 10000; step++) {
		unsigned cpu = (unsigned)(random_bits() % CPUS);
		uint64_t bits = random_bits();
		struct access access = { random_bits() % 0x10000 & ~3ull, 4, bits & 1,
					 random_bits() };

		switch (random_bits() % 6) {
		case 0:
			vgic_send_sgi(&vgic, cpu, random_bits(), bits & 1);
			break;
		case 1:
			vgic_set_line(&vgic, (unsigned)(bits % 70), bits >> 32 & 1);
			break;
		case 2:
			vgic_physical(&vgic, cpu, &lists[cpu], TIMER, TIMER);
			vgic_load(&vgic, cpu, &lists[cpu]);
			break;
		case 3: /* half of them in the banks */
			if (bits & 2)
				access.offset = 0x80 + access.offset % 0x380;
			vgic_save(&vgic, cpu, &lists[cpu]);
			vgic_distributor(&vgic, cpu, &access);
			vgic_load(&vgic, cpu, &lists[cpu]);
			break;
		case 4:
			access.offset += (bits >> 8) % (CPUS + 1) * VGIC_REDISTRIBUTOR_BYTES;
			if (bits & 2)
				access.offset = (bits >> 8) % CPUS * VGIC_REDISTRIBUTOR_BYTES +
						SGI_FRAME + 0x80 + access.offset % 0x380;
			access.offset &= ~3ull;
			vgic_save(&vgic, cpu, &lists[cpu]);
			vgic_redistributors(&vgic, cpu, &access);
			vgic_load(&vgic, cpu, &lists[cpu]);
			break;
		default:
			guest_moves_on(cpu);
			refill(cpu);
		}
		check_lists();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_sgi_reaches_whom_it_names, set_up),
		cmocka_unit_test_setup(an_edge_is_delivered_once_and_again_if_it_comes_again,
				       set_up),
		cmocka_unit_test_setup(a_level_is_delivered_as_long_as_it_is_high, set_up),
		cmocka_unit_test_setup(a_timer_is_ended_in_the_hardware_by_its_guest, set_up),
		cmocka_unit_test_setup(the_more_urgent_ones_come_first, set_up),
		cmocka_unit_test_setup(what_is_off_stays_pending, set_up),
		cmocka_unit_test_setup(a_shared_interrupt_goes_where_it_is_routed, set_up),
		cmocka_unit_test_setup(another_vcpu_cannot_change_what_a_list_register_says,
				       set_up),
		cmocka_unit_test_setup(registers_keep_what_they_can, set_up),
		cmocka_unit_test_setup(ten_thousand_random_steps_leave_it_whole, set_up),
	};

	return cmocka_run_group_tests_name("neve: vgic", tests, NULL, NULL);
}
