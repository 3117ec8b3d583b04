/* The architecture's state of each VM and vCPU. */
#ifndef ARCH_TYPES_H
#define ARCH_TYPES_H

#include <stdint.h>

#include "cpu/registers.h"
#include "gic/ich.h"
#include "gic/vgic.h"
#include "tables/shadow.h"
#include "tables/table.h"
#include "vm/psci.h"

/* A guest's state that is not kept in the CPU. Assembly uses the offsets (cpu/cpu.h). */
struct context {
	uint64_t x[31];
	uint64_t pc, pstate;
};

/* State of a vCPU that has virtual EL2 (nested/nested.h). */
struct nested {
	/* All registers of virtual EL2 and of the nested VM's EL1 that are not in the hardware, by
	 * REGISTER_OFFSET. Our own page, or one that a paravirtual hypervisor provides. */
	volatile uint64_t *page;
	uint64_t own_page;

	bool in_el2; /* virtual EL2 runs at the hardware's EL1, not the nested VM */
	uint64_t sp_el2;
	uint64_t hcr; /* HCR_EL2 as it was when the nested VM was entered */

	/* The last values that the guest hypervisor, or we on its behalf, wrote to ELR_EL2 and SPSR_EL2
	 * (nested_tracks()). */
	uint64_t set_elr, set_spsr;

	uint64_t mdscr; /* the hardware's MDSCR_EL1 while the guest hypervisor runs */

	struct shadow *shadow; /* in use */

	/* The hardware's deferred page is the nested VM's. page_stale: a TLBI affected it, so it must be
	 * looked up again. */
	bool lends_page;
	volatile bool page_stale;

	/* A timer of the world that does not run is on (nested/timers.h). */
	bool others_on;

	/* The nested VM has the hardware's virtual GIC interface (nested/gic_switch.h). Meanwhile: */
	bool lent;
	uint64_t lists[VGIC_MAX_LRS]; /* its list registers as loaded */
	bool maintenance;	      /* its maintenance interrupt is active */
	bool refill;		      /* refill the hypervisor's list registers afterwards */
	struct ich_state own;	      /* the hypervisor's interface */
};

/* Syndrome of a synchronous exit, read once. */
struct exit {
	uint64_t esr;
	uint64_t far, hpfar; /* of aborts; the first also of watchpoints and misaligned PCs */
};

/* Saved registers of the guest or of the host half, like Linux' struct kvm_cpu_context. */
struct kvm410_context {
	uint64_t value[REGISTER_COUNT];
};

struct kvm410_state {
	struct kvm410_context host, guest;
	bool let_fp; /* floating point trapped: no more traps before the next exit */
};

struct arch_vm {
	struct table stage2;
	struct table_pool pool;
	uint64_t vttbr;
	uint64_t counter_start; /* physical counter when the VM was created: CNTVOFF_EL2 */
	struct psci psci;
	struct vgic vgic;
	struct shadows shadows;
	bool timers_swap; /* L1 and L2 each have timers (nested/timers.h) */
};

struct arch_vcpu {
	struct context context;
	struct exit exit;
	uint64_t start_entry, start_context; /* set by CPU_ON */

	/* The GIC: list registers as loaded into the hardware, ICH_HCR_EL2 while the guest runs. */
	struct vgic_lists lists;
	uint64_t ich_hcr;
	unsigned acknowledged; /* physical interrupt to handle, with bit 31 set; 0: none */

	/* policy=kvm-4.10 (kvm410/). */
	struct kvm410_state kvm410;
	struct context host_context; /* of the host half */
	struct ich_state interface;  /* its saved GIC interface */

	struct nested nested;
};

#endif
