/* This CPU's virtual interface of the GIC (Arm IHI 0069, 12.4): list registers, ICH_VMCR_EL2, and which
 * priorities are active. */
#ifndef INTERFACE_H
#define INTERFACE_H

#include "vm.h"

/* Once on each CPU, before all others. */
void interface_init(void);

unsigned list_count(void);
uint64_t list_read(unsigned n);
void list_write(unsigned n, uint64_t value);

void interface_save(struct gic_interface *to);
void interface_load(const struct gic_interface *from);
void interface_save_active(struct gic_interface *to);
void interface_load_active(const struct gic_interface *from);

#endif
