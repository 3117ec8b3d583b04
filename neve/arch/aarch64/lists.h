/* The list registers of the virtual interrupt controller, ICH_LR<n>_EL2 (IHI 0069, 12.4.6): n is below the
 * number that ICH_VTR_EL2 tells. */
#ifndef LISTS_H
#define LISTS_H

#include <stdint.h>

uint64_t list_read(unsigned n);
void list_write(unsigned n, uint64_t value);

#endif
