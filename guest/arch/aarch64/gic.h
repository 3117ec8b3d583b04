/* The interrupt controller, GICv2 (Arm IHI 0048) or GICv3 (IHI 0069). */
#ifndef GIC_H
#define GIC_H

#include <stdbool.h>
#include <stdint.h>

bool gic_is_v3(void);
uint64_t gic_distributor(void);

/* What to write to ICC_SGI1R_EL1, or to GICD_SGIR, for on_cpu()'s interrupt to that CPU. */
struct cpu;
uint64_t gic_ipi_command(const struct cpu *to);

#endif
