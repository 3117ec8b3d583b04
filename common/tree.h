/* What a device tree says of an ARM machine, as far as the guest needs it. */
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
	uint64_t cpu_ids[MAX_CPUS]; /* MPIDR's affinity fields, of those that PSCI starts */
	unsigned cpu_count;
	unsigned gic_version;			     /* 2 or 3; 0: there is none that we know */
	uint64_t gic_distributor, gic_cpu_interface; /* the second in version 2 only */
	struct memory_range redistributors[TREE_MAX_REGIONS];
	unsigned redistributor_count;
	uint64_t redistributor_stride; /* 0: as GICR_TYPER says */
	uint64_t its;		       /* 0: there is none */
	struct uart uarts[TREE_MAX_UARTS];
	unsigned uart_count;
	unsigned uart_intids[TREE_MAX_UARTS]; /* their interrupts at the GIC; 0: not told */
	unsigned console; /* which of them; the one that stdout-path names, else the first */
	enum psci_conduit psci;
	bool has_timer;
	uint64_t timer_hz; /* where the firmware did not set CNTFRQ_EL0; 0: not said */
	char hypervisor[16];
};

/*
 * Reads the tree at `bytes`, of which at most `most` may be read. Returns NULL, or what is wrong in
 * words; *tree then has what was found before that. Pure, and total: see fdt.h.
 */
const char *tree_read(struct tree *tree, const void *bytes, uint32_t most);

#endif
