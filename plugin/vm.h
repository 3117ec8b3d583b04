/*
 * Who executes, and what AMD64 code accesses that its bytes do not say: the number of an MSR, a field of a VMCB (AMD
 * APM vol. 2, chapter 15 and appendix B). Pure: no QEMU, no files.
 *
 * Level 0 is the machine's own software, level 1 all that runs in its VMs: VMRUN enters level 1, and the
 * instruction behind that VMRUN, where each exit of a VM goes on, is level 0 again. A VMRUN of a VM's own changes
 * nothing, and its VMCB is not known: its address is a physical one of the VM. On ARM arm.h sets the level.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* MAX_CPUS: those that are told apart. */
enum { LEVELS = 2, MAX_VMCBS = 64, MAX_CPUS = 64 };

struct insn;

/* The register that says what an instruction accesses. */
enum operand { OPERAND_NONE, OPERAND_RAX, OPERAND_RCX };

/* Zeroed, it is ready. */
struct vm {
	unsigned level;
	const struct insn *vmrun;  /* that entered level 1 */
	uint64_t vmcbs[MAX_VMCBS]; /* physical addresses */
	uint32_t vmcb_count;
};

/* RAX of VMRUN, which is the VMCB's physical address; RCX of RDMSR, WRMSR, XGETBV, XSETBV. */
enum operand vm_operand(const struct insn *insn);
/* VMRUN, VMLOAD, VMSAVE: what they access in a VMCB is their own work. */
bool vm_is_switch(const struct insn *insn);
/* It is about to be executed: level 1 may end. */
void vm_leave(struct vm *vm, const struct insn *insn);
/* It is executed: level 1 begins if it is VMRUN. */
void vm_enter(struct vm *vm, const struct insn *insn);
/* The VMCB of level 0's next VM is there. False: it is one too many. */
bool vm_run(struct vm *vm, uint64_t vmcb);
/* The offset in a VMCB of what level 0 accesses at a physical address; -1: it is in none. */
int vm_field(const struct vm *vm, uint64_t physical);
