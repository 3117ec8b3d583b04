/* This CPU's virtual interface of the GIC (Arm IHI 0069, 12.4): list registers, ICH_VMCR_EL2, and which
 * priorities are active. */
#ifndef INTERFACE_H
#define INTERFACE_H

#include "core/vm.h"
#include "machine/hardware.h"

/* Once on each CPU, before all others. */
void interface_init(void);

/* Its list registers. */
extern unsigned list_count;
#define list_read(n)	     hardware_read(REG_ICH_LR0_EL2 + (n))
#define list_write(n, value) hardware_write(REG_ICH_LR0_EL2 + (n), value)

void interface_save(struct gic_interface *to);
void interface_load(const struct gic_interface *from);
void interface_save_active(struct gic_interface *to);
void interface_load_active(const struct gic_interface *from);

#endif
