/* What the processor needs to be kept of each VM and vCPU. */
#ifndef ARCH_TYPES_H
#define ARCH_TYPES_H

#include <stdint.h>

#include "gic/vgic.h"
#include "kvm410/kvm410.h"
#include "machine/table.h"
#include "nested/shadow.h"
#include "vm/psci.h"

/* What a guest's world is, beyond what its CPU keeps. Assembly knows the offsets (machine/cpu.h). */
struct context {
	uint64_t x[31];
	uint64_t pc, pstate;
};

/* The state of one virtual interface of the GIC, beside its list registers. */
#define ICH_ACTIVE 8

struct ich_state {
	uint64_t control;	     /* ICH_VMCR_EL2 */
	uint64_t active[ICH_ACTIVE]; /* ICH_AP0R<n>_EL2, ICH_AP1R<n>_EL2 */
};

/* A vCPU that has virtual EL2 (nested/nested.h). */
struct nested {
	/* All registers of virtual EL2 and of the nested VM's EL1 that are not in the hardware, by REGISTER_OFFSET:
	 * our own page, or one that a paravirtual hypervisor gave. */
	volatile uint64_t *page;
	uint64_t own_page;

	bool in_el2; /* the hardware's EL1 is virtual EL2, not the nested VM's */
	uint64_t sp_el2;
	uint64_t hcr; /* HCR_EL2 as it was when the nested VM was entered */

	/* What the guest hypervisor, or we for it, put into ELR_EL2 and SPSR_EL2 last (nested_tracks()). */
	uint64_t set_elr, set_spsr;

	struct shadow *shadow; /* in use */

	/* The hardware's deferred page is one that the nested VM was given; it is to be looked for anew, as a TLBI
	 * concerned it. */
	bool lends_page;
	volatile bool page_stale;

	/* Timers of who does not run: one is on (nested/timers.h). */
	bool others_on;

	/* The hardware's virtual GIC is the nested VM's (nested/gic_switch.h). Meanwhile: */
	bool lent;
	uint64_t lists[VGIC_MAX_LRS]; /* the VM's list registers as they went into the hardware */
	bool maintenance;	      /* its maintenance interrupt is active */
	bool refill;		      /* afterwards the hypervisor's own are to be filled anew */
	struct ich_state own;	      /* the hypervisor's */
};

/* Why the guest was left, of synchronous exceptions: read once. */
struct exit {
	uint64_t esr;
	uint64_t far, hpfar; /* of aborts */
};

struct arch_vm {
	struct table stage2;
	struct table_pool pool;
	uint64_t vttbr;
	uint64_t counter_start; /* the virtual counter began there: CNTVOFF_EL2 */
	struct psci psci;
	struct vgic vgic;
	struct shadows shadows;
	bool timers_swap; /* of a guest hypervisor and its VM (nested/timers.h) */
};

struct arch_vcpu {
	struct context context;
	struct exit exit;
	uint64_t start_entry, start_context; /* what CPU_ON asked for */

	/* The GIC: list registers as they went into the hardware, ICH_HCR_EL2 while the guest runs. */
	struct vgic_lists lists;
	uint64_t ich_hcr;
	unsigned
		acknowledged; /* a physical interrupt that is to be answered, and 1 << 31; 0: none */

	/* policy=kvm-4.10 (kvm410/). */
	struct kvm410_state kvm410;
	struct context host_context; /* of the host half */
	struct ich_state interface;  /* what it saved of the GIC */

	struct nested nested;
};

#endif
