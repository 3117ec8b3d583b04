/* The physical address of a program's own memory, for notes to the hypervisor below. */
#ifndef COMMON_PHYSICAL_H
#define COMMON_PHYSICAL_H

#include <stdbool.h>
#include <stdint.h>

/* Of data that lie within a page. False: it is not known; only root is told. */
bool physical_address(const void *data, uint64_t *physical);

#endif
