/* A guest's load or store to an emulated device. */
#ifndef ACCESS_H
#define ACCESS_H

#include <stdbool.h>
#include <stdint.h>

struct access {
	uint64_t offset; /* from the device's first address */
	unsigned bytes;	 /* 1, 2, 4 or 8 */
	bool write;
	uint64_t value; /* written or read; 0 until the device sets what is read */
};

#endif
