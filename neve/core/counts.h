/* Exits of a vCPU, counted by cause. There is one counter for each cause and vCPU; only the vCPU's own
 * CPU writes it. */
#ifndef COUNTS_H
#define COUNTS_H

#include <stdint.h>

#include "common/text.h"

/* Causes other than system registers. A device has two: reads, then writes. */
#define CAUSES(ROW)                             \
	ROW(HVC, "hvc")                         \
	ROW(SMC, "smc")                         \
	ROW(STAGE2_FAULT, "stage2_fault")       \
	ROW(GICD_READ, "gicd_read")             \
	ROW(GICD_WRITE, "gicd_write")           \
	ROW(GICR_READ, "gicr_read")             \
	ROW(GICR_WRITE, "gicr_write")           \
	ROW(UART_READ, "uart_read")             \
	ROW(UART_WRITE, "uart_write")           \
	ROW(TEST_READ, "test_read")             \
	ROW(TEST_WRITE, "test_write")           \
	ROW(NOWHERE, "nowhere")                 \
	ROW(IRQ_KICK, "irq_kick")               \
	ROW(IRQ_TIMER, "irq_timer")             \
	ROW(IRQ_MAINTENANCE, "irq_maintenance") \
	ROW(IRQ_UART, "irq_uart")               \
	ROW(IRQ_OTHER, "irq_other")             \
	ROW(SERROR, "serror")                   \
	ROW(UNDEFINED, "undefined")             \
	ROW(ERET, "eret")                       \
	ROW(TLBI, "tlbi")                       \
	ROW(AT, "at")                           \
	ROW(SHADOW_FAULT, "shadow_fault")       \
	ROW(WAIT, "wfx")                        \
	ROW(FP, "fp")                           \
	ROW(PAGE_FAULT, "page_fault")           \
	ROW(OTHER, "other")

enum cause {
#define ROW(name, text) CAUSE_##name,
	CAUSES(ROW)
#undef ROW
	/* System registers by their number in cpu/registers.h: read, then write. Registers without a
	 * row are last. */
	CAUSE_REGISTERS,
};

#define MAX_CAUSES 256

/* What the vCPU ran: a VM or nested VM, or a guest hypervisor. */
enum level { LEVEL_VM, LEVEL_HYPERVISOR, LEVELS };

#define MAX_COUNTS (LEVELS * MAX_CAUSES)

struct counts {
	uint64_t by_cause[MAX_COUNTS]; /* level * MAX_CAUSES + cause */
};

/* The name of a count in records: "hvc", "read_ID_AA64PFR0_EL1", "el2_eret". */
void cause_name(unsigned count, struct text *out);

#endif
