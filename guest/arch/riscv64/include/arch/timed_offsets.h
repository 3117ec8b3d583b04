/* For C and assembly: where the loops in arch/riscv64/loops/ find the fields of their operands. Each
 * structure's header checks them (TIMED_OFFSET). */
#ifndef TIMED_OFFSETS_H
#define TIMED_OFFSETS_H

#include "timed_shared_offsets.h"

/* ---- timed.h -------------------------------------------------------------------------------- */

/* struct register_operand and struct root_operand are alike. */
#define REGISTER_VALUE 0

#define CALL_EXTENSION 0
#define CALL_FUNCTION  8
#define CALL_FIRST     16
#define CALL_SECOND    24
#define CALL_THIRD     32
#define CALL_FOURTH    40
#define CALL_WANTED    48
#define CALL_WRONG     56
#define CALL_LAST      64

#define PORT_PORT   0
#define PORT_VALUE  8
#define PORT_STRING 16
#define PORT_BYTES  24

#define IPI_HART	  0
#define IPI_RECEIVED	  8
#define IPI_READY	  16
#define IPI_YIELD	  24
#define IPI_SETTLE_PASSES 32

#define CONTROLLER_ADDRESS 0
#define CONTROLLER_VALUE   8

/* ---- timed_exits.h -------------------------------------------------------------------------- */

#define TIMER_TICKS   0
#define TIMER_HANDLED 8
#define TIMER_EARLY   16
#define TIMER_SSTC    24

#endif
