/*
 * For C and assembly: where the loops in arch/ARCH/loops/ find the fields of the operands that all
 * architectures share. Each structure's header checks them (TIMED_OFFSET).
 */
#ifndef TIMED_SHARED_OFFSETS_H
#define TIMED_SHARED_OFFSETS_H

/* In C: the assembly's constant for a field is right. */
#define TIMED_OFFSET(type, field, constant)                                \
	_Static_assert(__builtin_offsetof(struct type, field) == constant, \
		       "assembly uses " #constant)

/* struct walk_operand (timed_shared.h) */
#define WALK_AT	    0
#define WALK_START  8
#define WALK_END    16
#define WALK_STRIDE 24
#define WALK_VALUE  32

/* struct set_pt_operand (timed_shared.h) */
#define SET_PT_ROOT	0
#define SET_PT_VA	8
#define SET_PT_PA	16
#define SET_PT_PA_END	24
#define SET_PT_PA_START 32
#define SET_PT_POOL	40
#define SET_PT_POOL_END 48
#define SET_PT_FAILED	56

/* struct latency_operand (timed_shared.h) */
#define LATENCY_OPERAND_PAGE	0
#define LATENCY_OPERAND_KICK	8
#define LATENCY_OPERAND_YIELD	16
#define LATENCY_OPERAND_OUTSIDE 24
#define LATENCY_OPERAND_HANDLED 32
#define LATENCY_OPERAND_HALTS	40
#define LATENCY_OPERAND_SETTLE	48

/* struct latency_page (common/latency_page.h) and struct latency_handled (latency.h) */
#define LATENCY_PAGE_STAMPS  0
#define LATENCY_PAGE_STAMP   8
#define HANDLED_COUNT	     0
#define HANDLED_STAMP	     8
#define HANDLED_FOUND_HALTED 16

/* struct event_channel_operand and struct event_latency_operand (event_channel.h) */
#define EVENT_CALL    0
#define EVENT_SEND    8
#define EVENT_POLL    16
#define EVENT_PENDING 24
#define EVENT_BIT     32
#define EVENT_EVENTS  40
#define EVENT_WAITS   48
#define EVENT_YIELD   88
#define EVENT_OUTSIDE 96
#define EVENT_HANDLED 104
#define EVENT_SETTLE  112
#define EVENT_PAGE    120
#define EVENT_AHEAD   128

/* struct answers_page (common/answers_page.h) */
#define ANSWERS_ANSWERED 0
#define ANSWERS_STAMP	 8

/* EVENT_STAMPED (event_channel.h) */
#define EVENT_STAMPED_BIT 31

/* Xen's numbers; xen.h has longer names. struct vcpu_info: what notifies this CPU of an event. */
#define CALL_SCHED	    29
#define CALL_EVENT_CHANNEL  32
#define SCHED_YIELD	    0
#define SCHED_POLL	    3
#define EVENT_CHANNEL_SEND  4
#define VCPU_UPCALL_PENDING 0 /* a byte */
#define VCPU_PENDING_SEL    8 /* a word */

#endif
