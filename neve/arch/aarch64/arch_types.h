/* What arch/aarch64 keeps of each VM and vCPU. */
#ifndef ARCH_TYPES_H
#define ARCH_TYPES_H

#include <stdint.h>

#include "psci.h"
#include "table.h"
#include "vgic.h"

/* What a guest's world is, beyond what its CPU keeps. Assembly knows the offsets (cpu.h). */
struct context {
	uint64_t x[31];
	uint64_t pc, pstate;
};

struct arch_vm {
	struct table stage2;
	struct table_pool pool;
	uint64_t vttbr;
	uint64_t counter_start; /* the virtual counter began there: CNTVOFF_EL2 */
	struct psci psci;
	struct vgic vgic;
};

struct arch_vcpu {
	struct context context;
	struct vgic_lists lists;
	uint64_t start_entry, start_context; /* what CPU_ON asked for */
};

#endif
