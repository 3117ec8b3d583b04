/* The PL011 serial port that a guest sees (Arm DDI 0183, r1p5). It sends at once. Pure: sent bytes go to a
 * function, and the caller reads the interrupt line with pl011_line(). */
#ifndef COMMON_PL011_H
#define COMMON_PL011_H

#include <stdbool.h>
#include <stdint.h>

#include "common/pl011_registers.h"

#define PL011_FIFO 1024 /* longer than the hardware's; a guest cannot tell */

struct pl011 {
	void (*send)(void *context, uint8_t byte); /* NULL: output is discarded */
	void *context;
	uint8_t received[PL011_FIFO];
	unsigned first, count;
	bool sent; /* the transmit interrupt, until it is cleared */
	uint32_t mask, control, line, divisor_whole, divisor_part, levels;
};

/* A guest's access at that offset. Registers are 32 bits wide whatever the access size. */
void pl011_read(struct pl011 *port, uint64_t offset, uint64_t *value);
void pl011_write(struct pl011 *port, uint64_t offset, uint32_t value);

/* Input; when the FIFO is full the byte is lost, as in the hardware. */
void pl011_receive(struct pl011 *port, uint8_t byte);

/* Is the interrupt line high? */
bool pl011_line(const struct pl011 *port);

#endif
