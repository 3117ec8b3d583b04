/* Registers of the hardware by their number in the table (registers.h), each by READ() and WRITE(): where a
 * register is chosen at run time. */
#ifndef HARDWARE_H
#define HARDWARE_H

#include "machine/registers.h"

uint64_t hardware_read(enum register_number number);
void hardware_write(enum register_number number, uint64_t value);

#endif
