/* For C and assembly: where the loops in arch/aarch64/loops/ find the fields of their operands. Each
 * structure's header checks them (TIMED_OFFSET). */
#ifndef TIMED_OFFSETS_H
#define TIMED_OFFSETS_H

#include "timed_shared_offsets.h"

/* ---- timed.h -------------------------------------------------------------------------------- */

/* struct register_operand and struct root_operand are alike. */
#define REGISTER_VALUE	   0
#define REGISTER_PLAIN_EL2 8

#define HYPERCALL_FIRST	      0
#define HYPERCALL_INSTRUCTION 8
#define HYPERCALL_WANTED      16
#define HYPERCALL_WRONG	      24
#define HYPERCALL_LAST	      32
#define HYPERCALL_NUMBER      40

#define PORT_PORT   0
#define PORT_VALUE  8
#define PORT_STRING 16
#define PORT_BYTES  24

#define IPI_GICV3	  0
#define IPI_COMMAND	  8
#define IPI_SGIR	  16
#define IPI_RECEIVED	  24
#define IPI_READY	  32
#define IPI_YIELD	  40
#define IPI_SETTLE_PASSES 48

#define CONTROLLER_ADDRESS 0
#define CONTROLLER_VALUE   8

#define COMPLETION_CPU_INTERFACE 0
#define COMPLETION_COMMAND	 8
#define COMPLETION_SGIR		 16
#define COMPLETION_WANTED	 24
#define COMPLETION_MISSED	 32
#define COMPLETION_ACKNOWLEDGED	 40

/* ---- timed_exits.h -------------------------------------------------------------------------- */

#define LPI_WRITTEN	  0
#define LPI_OFFSET	  8
#define LPI_HANDLED	  16
/* ITS_COMMAND, ITS_RING (its.h) */
#define LPI_COMMAND_BYTES 32
#define LPI_RING_BYTES	  4096

#define CARD_CLEAR	0
#define CARD_SET	8
#define CARD_HANDLED	16
#define CARD_REST_TICKS 24

#define TIMER_TICKS   0
#define TIMER_HANDLED 8
#define TIMER_EARLY   16

/* ---- event_channel.h ------------------------------------------------------------------------ */

/* Offset of the pending event words in the shared information page: after one vcpu_info of 48 bytes. */
#define XEN_PENDING_AT 48

#endif
