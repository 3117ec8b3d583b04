/* The machine's GICv3, and how the VMs' virtual ones reach it. */
#ifndef GIC_H
#define GIC_H

#include "core/vm.h"
#include "machine/registers.h"

#define SGI_KICK 0

/* The console's interrupt; 0: it does not interrupt. */
extern unsigned gic_console_intid;

/* This CPU's part of the machine's GIC. NULL, or what is wrong. */
const char *gic_cpu_init(struct cpu *cpu);

/* Puts into the list registers what is pending now; on the vCPU's own CPU. */
void gic_refill(struct vcpu *vcpu);

/* Its VM gets the hardware's virtual interface, and its hypervisor gets it back (nested/nested.h). */
void gic_lend(struct vcpu *vcpu);
void gic_take_back(struct vcpu *vcpu);
/* Before a physical interrupt is handed on, under the VM's lock. */
void gic_take_ended(struct vcpu *vcpu, unsigned intid);

/* The nested VM's maintenance interrupt: its hypervisor's line is high as long as the hardware's is. */
void gic_take_maintenance(struct vcpu *vcpu);
/* ... as its registers say it. Under the VM's lock. */
void gic_set_maintenance_line(struct vcpu *vcpu);

/* ICH_MISR_EL2, ICH_EISR_EL2 or ICH_ELRSR_EL2 as a guest hypervisor reads it. */
uint64_t gic_interface_state(const struct vcpu *vcpu, enum register_number number);
/* ... and where it reads them from memory: after it has written `changed`. */
void gic_copy_state(struct vcpu *vcpu, enum register_number changed);

/* Acknowledges a physical interrupt; arch_take_interrupts() answers it. */
void gic_acknowledge(struct vcpu *vcpu);

/* Takes the list registers back that are in use. Linux' way has read them already. */
void gic_read_lists(struct vcpu *vcpu);

void gic_deactivate(uint64_t intid);

/* Makes PPIs of the CPU active, and others inactive: masks of INTIDs. */
void gic_set_active(const struct cpu *cpu, uint32_t active, uint32_t inactive);

/* No list register holds anything; at the vCPU's reset. */
void gic_reset(struct vcpu *vcpu);

/* A write of ICC_SGI1R_EL1 or its kin. */
void gic_send_sgi(struct vcpu *vcpu, uint64_t value, bool group1);

/* Device rows of the distributor and the redistributors. */
bool gic_add_rows(struct vm *vm);

#endif
