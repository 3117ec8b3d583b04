/* Device tree nodes that the virtual machines of vmm and neve share (bindings: Linux,
 * Documentation/devicetree/bindings). Pure. */
#ifndef COMMON_VIRT_TREE_H
#define COMMON_VIRT_TREE_H

#include "common/tree_writer.h"

#define PHANDLE_GIC   1
#define PHANDLE_CLOCK 2

/* Private interrupts (PPIs). */
#define PPI_MAINTENANCE		     25
#define PPI_TIMER_SECURE	     29
#define PPI_TIMER_PHYSICAL	     30
#define PPI_TIMER_VIRTUAL	     27
#define PPI_TIMER_HYPERVISOR	     26
#define PPI_TIMER_HYPERVISOR_VIRTUAL 28

/* Properties of the root node: cell counts and the interrupt parent. */
void virt_tree_root(struct tree_writer *tree);
void virt_tree_memory(struct tree_writer *tree, uint64_t start, uint64_t bytes);
/* Memory that Linux shows as /dev/pmem0. */
void virt_tree_pmem(struct tree_writer *tree, uint64_t start, uint64_t bytes);
/* CPU n has affinity n / 16 . n % 16, as in KVM (reset_mpidr() in arch/arm64/kvm/sys_regs.c). */
void virt_tree_cpus(struct tree_writer *tree, unsigned count);
/* Calls by SMC at virtual EL2, where HVC goes to the guest itself. */
void virt_tree_psci(struct tree_writer *tree, bool at_el2);
void virt_tree_timer(struct tree_writer *tree);
void virt_tree_clock(struct tree_writer *tree);
/* A PL011. `intid`: a shared interrupt, from 32 on. */
void virt_tree_uart(struct tree_writer *tree, const char *name, uint64_t address, unsigned intid);

struct virt_gic {
	unsigned version; /* 2 or 3 */
	uint64_t distributor, distributor_bytes;
	uint64_t second, second_bytes; /* version 2: the CPU interface; 3: the redistributors */
	uint64_t its, its_bytes;       /* 0: none */
	bool maintenance;	       /* it has a maintenance interrupt, for a hypervisor */
};
void virt_tree_gic(struct tree_writer *tree, const struct virt_gic *gic);

#endif
