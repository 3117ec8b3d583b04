/* Timed loops for Xen's event channels: sending an event, and waiting for one. The contract is
 * timed.h's. */
#ifndef TIMED_XEN_H
#define TIMED_XEN_H

#include "event_channel.h"
#include <arch/timed.h>

/* Offset of the pending event words in the shared information page: after 32 vcpu_infos of 64 bytes. */
#define XEN_PENDING_AT 2048

/* r8 = operand, r9 = amd, rcx = pending, r10 = bit, rdx = events. A call with two arguments changes rax; in
 * debug builds of Xen also rdi and rsi. */
#define BEFORE_EVENT                                                                    \
	"mov %rsi, %r8\n\tmov (%r8), %r9\n\tmov 24(%r8), %rcx\n\tmov 32(%r8), %r10\n\t" \
	"mov 40(%r8), %rdx"
#define AFTER_EVENT   "mov %rdx, 40(%r8)"
/* xen.h's XEN_EVENT_CHANNEL_OP, XEN_EVENT_SEND; XEN_SCHED_OP, XEN_SCHED_POLL */
#define EVENT_CALL    "\n\ttest %r9, %r9\n\tjz 2f\n\tvmmcall\n\tjmp 3f\n2:\tvmcall\n3:\t"
#define OP_EVENT_SEND "mov $32, %eax\n\tmov $4, %edi\n\tmov 8(%r8), %rsi" EVENT_CALL
#define EVENT_POLL    "mov $29, %eax\n\tmov $3, %edi\n\tmov 16(%r8), %rsi" EVENT_CALL
#define OP_EVENT_ROUND                                                                      \
	OP_EVENT_SEND "\n4:\tlock btr %r10, (%rcx)\n\tjc 5f\n\tincq 48(%r8)\n\t" EVENT_POLL \
		      "jmp 4b\n5:\tinc %rdx"
/* Takes a pending event and clears the flags that notify this CPU (struct vcpu_info: the byte
 * evtchn_upcall_pending, the word evtchn_pending_sel), so that each send does its full work. */
#define EACH_EVENT_TAKE \
	"lock btr %r10, (%rcx)\n\tadc $0, %rdx\n\tmovb $0, -2048(%rcx)\n\tmovq $0, -2040(%rcx)"
#define TIMED_EVENT_ROUND(name) TIMED_PAIR(name, BEFORE_EVENT, "", OP_EVENT_ROUND, AFTER_EVENT)
#define TIMED_EVENT_SEND(name) \
	TIMED_PAIR(name, BEFORE_EVENT, EACH_EVENT_TAKE, OP_EVENT_SEND, AFTER_EVENT)

#endif
