/* For C and assembly: where the loops in arch/x86_64/loops/ find the fields of their operands. Each
 * structure's header checks them (TIMED_OFFSET). */
#ifndef TIMED_OFFSETS_H
#define TIMED_OFFSETS_H

#include "timed_shared_offsets.h"

/* ---- timed.h -------------------------------------------------------------------------------- */

#define ROOT_ROOT 0

/* The name in the order of the registers of CPUID: EBX, EDX, ECX. */
#define CPUID_VENDOR_EBX 0
#define CPUID_VENDOR_EDX 4
#define CPUID_VENDOR_ECX 8

#define HYPERCALL_NUMBER 0
#define HYPERCALL_AMD	 8
#define HYPERCALL_WANTED 16
#define HYPERCALL_WRONG	 24
#define HYPERCALL_LAST	 32

#define PORT_PORT   0
#define PORT_VALUE  4
#define PORT_STRING 8
#define PORT_BYTES  16

#define REMAP_ENTRY  0
#define REMAP_VA     8
#define REMAP_VALUE  16
#define REMAP_CHANGE 24
#define REMAP_SUM    32

/* struct ipi_operand and struct completion_operand begin alike. */
#define SEND_X2APIC   0
#define SEND_ICR_LOW  8
#define SEND_ICR_HIGH 16
#define SEND_APIC     24
#define SEND_COUNT    32

#define IPI_READY	  40
#define IPI_YIELD	  48
#define IPI_SETTLE_PASSES 56

#define COMPLETION_MISSED 40

#define CONTROLLER_X2APIC  0
#define CONTROLLER_ADDRESS 8
#define CONTROLLER_WANTED  16
#define CONTROLLER_VALUE   24

/* ---- timed_exits.h -------------------------------------------------------------------------- */

#define DEADLINE_TICKS 0
#define DEADLINE_COUNT 8

/* ---- kvm.h ---------------------------------------------------------------------------------- */

#define CLOCK_TSC	 8
#define CLOCK_NS	 16
#define CLOCK_MULTIPLIER 24
#define CLOCK_SHIFT	 28

#define PVCLOCK_CLOCK 0
#define PVCLOCK_NS    8

/* struct pv_operand begins as struct ipi_operand. */
#define PV_AMD 64
#define PV_ID  72

/* ---- hyperv.h ------------------------------------------------------------------------------- */

#define HYPERV_CLOCK_SCALE  8
#define HYPERV_CLOCK_OFFSET 16

#define HYPERV_TSC_CLOCK 0
#define HYPERV_TSC_TIME	 8

#define HYPERV_CALL_CODE   0
#define HYPERV_CALL_INPUT  8
#define HYPERV_CALL_WANTED 16
#define HYPERV_CALL_WRONG  24
#define HYPERV_CALL_LAST   32

/* ---- event_channel.h and timed_xen_unpaged.h ------------------------------------------------ */

/* Offset of the pending event words in the shared information page: after 32 vcpu_infos of 64 bytes. */
#define XEN_PENDING_AT 2048

#define UNPAGED_ENTER  0
#define UNPAGED_AMD    8
#define UNPAGED_NUMBER 12
#define UNPAGED_VALUE  16
#define UNPAGED_WANTED 32
#define UNPAGED_WRONG  36

#define UNPAGED_EVENT_ENTER 88

#endif
