/*
 * Who executes on ARM, and why VMs are left (Arm ARM, DDI 0487, D1.3 and D24.2.40). Pure: no QEMU, no files.
 *
 * Level 0 is the machine's own software: what runs at EL2, what runs below it without stage 2, and the VM with `own_vmid`,
 * which is Xen's dom0. Level 1 is all other VMs. ERET of EL2 enters a lower exception level; an entry in the vectors of
 * EL2 leaves it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct insn;

/* Why a VM is left: the class of a synchronous exception (ESR_EL2.EC), or another kind of exception. */
enum arm_exit { ARM_EXIT_IRQ = 64, ARM_EXIT_FIQ, ARM_EXIT_SERROR, ARM_EXITS };

/* The registers that say what ERET enters. */
struct arm_registers {
	uint64_t cpsr, spsr_el2, hcr_el2, vttbr_el2, vbar_el2;
};

/* Of a CPU. Zeroed, it is ready: nothing is known of it before its first ERET of EL2. */
struct arm {
	bool in_vm;	  /* with stage 2, dom0 too */
	uint64_t vectors; /* EL2's for exceptions of lower levels */
};

bool arm_is_eret(const uint8_t *bytes, unsigned size);
/* A read of the virtual counter. */
bool arm_is_clock_read(const uint8_t *bytes, unsigned size);
/* May it be in vectors for exceptions of lower levels, at the beginning of one? */
bool arm_may_be_vector(uint64_t address);
/* Does CPSR say that EL2 executes? */
bool arm_is_el2(uint64_t cpsr);
/* ERET is executed with these registers. True: `*level` is the level that it enters. */
bool arm_enter(struct arm *arm, const struct arm_registers *registers, uint64_t own_vmid,
	       unsigned *level);
/* An instruction that may be in vectors is about to be executed. True: it leaves a VM, for level 0. */
bool arm_leaves(const struct arm *arm, const struct insn *insn);
/* It left a VM with this ESR_EL2. Returns an arm_exit. */
unsigned arm_leave(struct arm *arm, const struct insn *insn, uint64_t esr_el2);
