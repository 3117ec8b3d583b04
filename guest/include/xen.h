/*
 * Xen's interface to guests: hypercalls, the shared information page, event channels. Numbers and
 * structures are from Xen's public headers (xen/include/public/), named at each section. Used by the guest
 * under Xen and, on x86_64, by dom0.
 */
#ifndef XEN_H
#define XEN_H

#include <stdint.h>

#include "common/answers_page.h"

/* ---- Hypercalls: xen.h ---------------------------------------------------------------------- */

#define XEN_MEMORY_OP	     12
#define XEN_VERSION_OP	     17
#define XEN_SCHED_OP	     29
#define XEN_EVENT_CHANNEL_OP 32
#define XEN_HVM_OP	     34
#define XEN_DOMCTL	     36

#define XEN_DOMAIN_SELF 0x7ff0

/* ---- Implemented by arch/ ------------------------------------------------------------------- */

/* Errors are negative: errno.h's numbers, as in Linux. */
int64_t xen_call(uint64_t number, uint64_t first, const void *second);

/* The hypercall instruction, for timed loops. x86: 1 VMMCALL, 0 VMCALL; elsewhere 0. */
uint64_t xen_call_kind(void);

/* A page-aligned physical address at which Xen may put the shared information page. */
uint64_t xen_shared_info_at(void);

/* ---- Memory: memory.h ----------------------------------------------------------------------- */

#define XEN_ADD_TO_PHYSMAP    7
#define XEN_SPACE_SHARED_INFO 0

struct xen_add_to_physmap {
	uint16_t domain, size;
	uint32_t space;
	uint64_t index, frame;
};

/*
 * Makes Xen put the shared information page into this domain's memory. Returns its words of pending event
 * channels, one bit each (struct shared_info, after the vcpu_infos: XEN_PENDING_AT); NULL: Xen refused.
 * Always the same address.
 */
volatile uint64_t *xen_pending_events(void);

/* Offset of the words that mask events, after those of pending ones. */
#define XEN_MASK_WORDS 64

/* The first CPU's (x86_64). There must be a shared information page. */
struct xen_clock xen_clock(void);

/* ---- Event channels: event_channel.h -------------------------------------------------------- */

#define XEN_BIND_INTERDOMAIN 0
#define XEN_BIND_VIRQ	     1
#define XEN_EVENT_SEND	     4
#define XEN_ALLOC_UNBOUND    6

struct xen_bind_interdomain {
	uint16_t remote_domain, unused;
	uint32_t remote_port;
	uint32_t local_port; /* out */
};

struct xen_bind_virq {
	uint32_t virq, vcpu;
	uint32_t port; /* out */
};

struct xen_alloc_unbound {
	uint16_t domain, remote_domain;
	uint32_t port; /* out */
};

/* ---- HVM: hvm/hvm_op.h (x86_64) -------------------------------------------------------------- */

#define XEN_SET_UPCALL_VECTOR 23

/* The interrupt that tells a vCPU of events, by its local APIC. */
struct xen_upcall_vector {
	uint32_t vcpu;
	uint8_t vector;
};

/* ---- Scheduling: sched.h -------------------------------------------------------------------- */

#define XEN_SCHED_YIELD	   0
#define XEN_SCHED_SHUTDOWN 2
#define XEN_SCHED_POLL	   3
#define XEN_SCHED_PIN	   7 /* dom0 only: this vCPU to a CPU, or -1: to none */

enum xen_shutdown { XEN_POWER_OFF, XEN_REBOOT, XEN_SUSPEND, XEN_CRASH, XEN_WATCHDOG };

/* Halts until an event is pending on one of the ports. */
struct xen_poll {
	const uint32_t *ports;
	uint32_t port_count, unused;
	uint64_t timeout_ns; /* 0: none */
};

/* The same for callers in 32-bit mode. */
struct xen_poll_32 {
	uint32_t ports, port_count;
	uint32_t timeout_ns[2]; /* low and high */
};

void xen_shutdown(enum xen_shutdown reason);

#endif
