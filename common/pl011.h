/* A PL011 serial port as a guest sees it (Arm DDI 0183, r1p5). It sends at once; it receives what it is given.
 * Pure: what it sends goes to a function, and its interrupt line is asked for. */
#ifndef COMMON_PL011_H
#define COMMON_PL011_H

#include <stdbool.h>
#include <stdint.h>

#include "common/pl011_registers.h"

#define PL011_FIFO 1024 /* the hardware's is shorter, which a guest cannot tell */

struct pl011 {
	void (*send)(void *context, uint8_t byte); /* NULL: what is sent goes nowhere */
	void *context;
	uint8_t received[PL011_FIFO];
	unsigned first, count;
	bool sent; /* the interrupt "there is room again", until it is cleared */
	uint32_t mask, control, line, divisor_whole, divisor_part, levels;
};

/* A guest's access at that offset. Registers are 32 bits wide, whatever the access is. */
void pl011_read(struct pl011 *port, uint64_t offset, uint64_t *value);
void pl011_write(struct pl011 *port, uint64_t offset, uint32_t value);

/* A byte came in; one for which there is no room is lost, as in the hardware. */
void pl011_receive(struct pl011 *port, uint8_t byte);

/* Is the interrupt line high? */
bool pl011_line(const struct pl011 *port);

#endif
