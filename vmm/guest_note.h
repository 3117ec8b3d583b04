/* The ELF note of our own guest, directly after the header of its Image. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct note {
	uint32_t name_bytes, bytes, type;
	char name[12];
};

/* Has the Image our guest's note after so many bytes of header? */
static bool guest_note_is(const uint8_t *file, size_t bytes, size_t header_bytes)
{
	struct note note = { 0 };

	if (bytes >= header_bytes + sizeof(note))
		memcpy(&note, file + header_bytes, sizeof(note));
	return note.name_bytes == sizeof(note.name) &&
	       memcmp(note.name, "worldswitch", sizeof(note.name)) == 0;
}
