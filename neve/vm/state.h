/* What the processor needs to be kept of each VM and vCPU. */
#ifndef ARCH_TYPES_H
#define ARCH_TYPES_H

#include <stdint.h>

#include "gic/vgic.h"
#include "kvm410/kvm410.h"
#include "nested/shadow.h"
#include "vm/psci.h"
#include "vm/table.h"

/* What a guest's world is, beyond what its CPU keeps. Assembly knows the offsets (machine/cpu.h). */
struct context {
	uint64_t x[31];
	uint64_t pc, pstate;
};

#define ICH_ACTIVE 8

/* The state of one virtual interface of the GIC, beside its list registers. */
struct ich_state {
	uint64_t control;	     /* ICH_VMCR_EL2 */
	uint64_t active[ICH_ACTIVE]; /* ICH_AP0R<n>_EL2, ICH_AP1R<n>_EL2 */
};

/* A vCPU that has virtual EL2 (nested/nested.h). */
struct nested {
	volatile uint64_t
		*page; /* all registers of virtual EL2 and of the nested VM's EL1 that are not in
				  * the hardware, by REGISTER_OFFSET */
	uint64_t own_page; /* ours; a paravirtual hypervisor may have given one of its own */
	bool in_el2;	   /* the hardware's EL1 is virtual EL2, not the nested VM's */
	uint64_t sp_el2;
	uint64_t set_elr, set_spsr; /* what the guest hypervisor, or we for it, put there last */
	uint64_t hcr;		    /* HCR_EL2 as it was when its VM was entered */
	struct shadow *shadow;	    /* in use */
	bool others_on;		    /* timers of who does not run: one is on (nested/timers.h) */
	bool lends_page;	    /* the hardware's deferred page is one that its VM was given */
	volatile bool page_stale;   /* ... and is to be looked for anew: a TLBI concerned it */
	uint64_t lists[VGIC_MAX_LRS]; /* its VM's list registers as they went into the hardware */
	bool lent;		      /* the hardware's virtual GIC is the nested VM's */
	bool refill;	      /* ... and its own list registers are to be filled anew after that */
	bool maintenance;     /* ... and its maintenance interrupt is active */
	struct ich_state own; /* the guest hypervisor's, meanwhile */
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
	struct context host_context; /* of kvm410's host half */
	struct kvm410_state kvm410;
	struct exit exit;
	unsigned
		acknowledged; /* a physical interrupt that is to be answered, and 1 << 31; 0: none */
	struct vgic_lists lists;
	struct ich_state interface; /* what kvm410 saved of it */
	uint64_t ich_hcr;	    /* ICH_HCR_EL2 while the guest runs */
	struct nested nested;
	uint64_t start_entry, start_context; /* what CPU_ON asked for */
};

#endif
