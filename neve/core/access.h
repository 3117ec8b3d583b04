/* One load or store of a guest that a device answers. */
#ifndef ACCESS_H
#define ACCESS_H

#include <stdbool.h>
#include <stdint.h>

struct access {
	uint64_t offset; /* from the device's first address */
	unsigned bytes;	 /* 1, 2, 4 or 8 */
	bool write;
	uint64_t value; /* what is written; what a read gives, 0 before the device sets it */
};

#endif
