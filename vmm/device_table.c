/* The table of devices; see device_table.h. Called from all vCPU threads at once. */
#include "vmm/device_table.h"

#include <string.h>

bool devices_add(struct devices *devices, const struct device *row)
{
	if (devices->count == MAX_DEVICES)
		return fail("no room for the device %s", row->name);
	if (!row->count || row->first + row->count < row->first)
		return fail("the device %s has no addresses", row->name);
	for (struct device *other = devices->rows; other < devices->rows + devices->count; other++)
		if (other->space == row->space && row->first < other->first + other->count &&
		    other->first < row->first + row->count)
			return fail("%s and %s overlap at address 0x%lx", row->name, other->name,
				    row->first > other->first ? row->first : other->first);
	devices->rows[devices->count++] = *row;
	return true;
}

void devices_access(struct devices *devices, enum space space, uint64_t address, bool write,
		    uint8_t *data, unsigned bytes)
{
	struct access access = { .write = write, .bytes = bytes };
	const struct device *row = devices->rows, *end = row + devices->count;

	memset(&access.value, write ? 0 : 0xff, sizeof(access.value));
	if (write)
		memcpy(&access.value, data, bytes);
	pthread_mutex_lock(&devices->lock);
	while (row < end && (row->space != space || address - row->first >= row->count))
		row++;
	if (row < end) {
		access.offset = address - row->first;
		row->access(row->context, &access);
	} else {
		devices->nowhere++;
	}
	pthread_mutex_unlock(&devices->lock);
	if (!write)
		memcpy(data, &access.value, bytes);
}
