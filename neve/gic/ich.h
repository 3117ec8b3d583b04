/* The hypervisor control interface of this CPU's GIC, ICH_*_EL2 (Arm IHI 0069, 12.4): list registers,
 * ICH_VMCR_EL2, and active priorities. */
#ifndef ICH_H
#define ICH_H

#include "cpu/hardware.h"

/* State of one virtual GIC interface, without its list registers. */
#define ICH_ACTIVE 8

struct ich_state {
	uint64_t control;	     /* ICH_VMCR_EL2 */
	uint64_t active[ICH_ACTIVE]; /* ICH_AP0R<n>_EL2, ICH_AP1R<n>_EL2 */
};

/* Must be called once on each CPU, before all others. */
void ich_init(void);

/* List registers. */
extern unsigned ich_lr_count;
#define ich_read_lr(n)	       hardware_read(REG_ICH_LR0_EL2 + (n))
#define ich_write_lr(n, value) hardware_write(REG_ICH_LR0_EL2 + (n), value)

void ich_save(struct ich_state *to);
void ich_load(const struct ich_state *from);
void ich_save_active(struct ich_state *to);
void ich_load_active(const struct ich_state *from);

#endif
