/* What the guest needs to know of an Arm machine, from its device tree. */
#ifndef COMMON_TREE_H
#define COMMON_TREE_H

#include "common/limits.h"
#include "common/uart.h"

#define TREE_MAX_UARTS	  4
#define TREE_MAX_REGIONS  8
#define TREE_MAX_RESERVED 32

enum psci_conduit { PSCI_NONE, PSCI_HVC, PSCI_SMC };

struct tree {
	char bootargs[MAX_CMDLINE_BYTES];
	struct memory_range ram[MAX_RANGES], reserved[TREE_MAX_RESERVED];
	unsigned ram_count, reserved_count;
	uint64_t cpu_ids[MAX_CPUS]; /* MPIDR's affinity fields, of the CPUs that PSCI starts */
	unsigned cpu_count;
	unsigned gic_version;			     /* 2 or 3; 0: none that is supported */
	uint64_t gic_distributor, gic_cpu_interface; /* the second: version 2 only */
	struct memory_range redistributors[TREE_MAX_REGIONS];
	unsigned redistributor_count;
	uint64_t redistributor_stride; /* 0: from GICR_TYPER */
	uint64_t its;		       /* 0: none */
	struct uart uarts[TREE_MAX_UARTS];
	unsigned uart_count;
	unsigned uart_intids[TREE_MAX_UARTS]; /* interrupt IDs at the GIC; 0: unknown */
	unsigned console; /* index into uarts: the one in stdout-path, else the first */
	enum psci_conduit psci;
	bool has_timer;
	uint64_t timer_hz; /* for firmware that does not set CNTFRQ_EL0; 0: unknown */
	char hypervisor[16];
};

/*
 * Reads the tree at `bytes`, at most `most` bytes. Returns NULL, or what is wrong; *tree then has what was
 * found before the error. Pure and total: see fdt.h.
 */
const char *tree_read(struct tree *tree, const void *bytes, uint32_t most);

#endif
