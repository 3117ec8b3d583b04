/* The table of devices; see devices.h. Called by vCPU threads, several at a time. */
#include "devices.h"

#include <string.h>

void devices_init(struct devices *devices)
{
	*devices = (struct devices){ 0 };
	pthread_mutex_init(&devices->lock, NULL);
}

bool devices_add(struct devices *devices, const struct device *row, struct error *error)
{
	if (devices->count == MAX_DEVICES)
		return error_set(error, "no room for the device %s", row->name);
	if (!row->count || row->first + row->count < row->first)
		return error_set(error, "the device %s has no addresses", row->name);
	for (unsigned i = 0; i < devices->count; i++) {
		const struct device *other = &devices->rows[i];

		if (other->space == row->space && row->first < other->first + other->count &&
		    other->first < row->first + row->count)
			return error_set(error, "%s and %s both want address 0x%lx", row->name,
					 other->name,
					 row->first > other->first ? row->first : other->first);
	}
	devices->rows[devices->count++] = *row;
	return true;
}

const struct device *devices_find(const struct devices *devices, enum space space, uint64_t address)
{
	for (unsigned i = 0; i < devices->count; i++) {
		const struct device *row = &devices->rows[i];

		if (row->space == space && address >= row->first &&
		    address - row->first < row->count)
			return row;
	}
	return NULL;
}

void devices_access(struct devices *devices, enum space space, uint64_t address, bool write,
		    uint8_t *data, unsigned bytes)
{
	struct access access = { .write = write, .data = data, .bytes = bytes };
	const struct device *row;

	if (!write)
		memset(data, 0xff, bytes);
	pthread_mutex_lock(&devices->lock);
	row = devices_find(devices, space, address);
	if (row) {
		access.offset = address - row->first;
		row->access(row->context, &access);
	} else {
		devices->nowhere++;
	}
	pthread_mutex_unlock(&devices->lock);
}

uint64_t access_value(const struct access *access)
{
	uint64_t value = 0;

	memcpy(&value, access->data, access->bytes <= sizeof(value) ? access->bytes : 8);
	return value;
}

void access_answer(const struct access *access, uint64_t value)
{
	memcpy(access->data, &value, access->bytes <= sizeof(value) ? access->bytes : 8);
}
