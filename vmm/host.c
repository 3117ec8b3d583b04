/* Small helpers on the host; see host.h. */
#include "vmm/host.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHUNK_BYTES (1u << 20) /* of a file, per read */

_Thread_local char error_text[512];

bool fail(const char *format, ...)
{
	char text[sizeof(error_text)];
	va_list values;

	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	memcpy(error_text, text, sizeof(text));
	return false;
}

int complain(int status)
{
	fprintf(stderr, "vmm: %s\n", error_text);
	return status;
}

void *file_read(const char *path, size_t most, size_t *bytes)
{
	FILE *file = fopen(path, "re");
	char *content = NULL, *more = NULL;
	size_t got = CHUNK_BYTES;

	for (*bytes = 0; file && got == CHUNK_BYTES && *bytes <= most; *bytes += got) {
		more = realloc(content, *bytes + CHUNK_BYTES);
		if (!more)
			break;
		content = more;
		got = fread(content + *bytes, 1, CHUNK_BYTES, file);
	}
	if (!more || ferror(file) || *bytes > most) {
		fail(more && !ferror(file) ? "%.200s: it has more than %zu bytes"
					   : "%.200s: it can't be read: %m",
		     path, most);
		free(content);
		content = NULL;
	}
	if (file)
		fclose(file);
	return content;
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
