/* Functions shared by this architecture's files that use KVM. */
#pragma once

#include <arch/board.h>

#include "vmm/kvm_vm.h"

/* KVM's name of a register: REGISTER(CORE, regs.pc). All have 64 bits. */
#define REGISTER_OF(type, number) \
	(KVM_REG_RISCV | KVM_REG_SIZE_U64 | KVM_REG_RISCV_##type | (number))
#define REGISTER(type, name)  REGISTER_OF(type, KVM_REG_RISCV_##type##_REG(name))
/* Whether a vCPU has an extension of the instruction set, or of the SBI. */
#define ISA_EXTENSION(number) REGISTER_OF(ISA_EXT, KVM_REG_RISCV_ISA_SINGLE | (number))
#define SBI_EXTENSION(number) REGISTER_OF(SBI_EXT, KVM_REG_RISCV_SBI_SINGLE | (number))

/* ---- Registers (hart.c) ---- */

/* 0 if KVM does not know the register. */
uint64_t register_get(const struct vcpu *vcpu, uint64_t name);
bool register_set(const struct vcpu *vcpu, uint64_t name, uint64_t value);
/* The same, where KVM need not know the register. */
bool register_try(const struct vcpu *vcpu, uint64_t name, uint64_t value);
/* Reads what KVM offers to the vCPU. */
void hart_read(const struct vcpu *vcpu, struct hart *hart);

/* ---- The interrupt controller (aia.c) ---- */

/* Creates it in KVM, after the vCPUs, and fills in the tree's `sources` and `ids`. They stay 0 on a host that
 * has none for guests. */
bool aia_create(struct vm *vm, struct machine_tree *tree);

/* ---- The SBI (sbi.c) ---- */

/* Answers a call that KVM passes on. */
void sbi_exit(struct vcpu *vcpu);
