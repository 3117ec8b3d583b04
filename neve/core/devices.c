/* A VM's devices by address; see devices.h. Pure. */
#include "core/devices.h"

#include <stddef.h>

bool devices_add(struct devices *devices, const struct device *row)
{
	if (devices->count == MAX_DEVICES)
		return false;
	devices->rows[devices->count++] = *row;
	return true;
}

const struct device *devices_find(const struct devices *devices, uint64_t address, unsigned bytes)
{
	for (unsigned i = 0; i < devices->count; i++) {
		const struct device *row = &devices->rows[i];

		if (address >= row->first && address - row->first < row->count)
			return row->count - (address - row->first) >= bytes ? row : NULL;
	}
	return NULL;
}
