/* Functions that the compiler may call even in freestanding code (gcc's manual, 2.1, "Standards"; clang
 * does the same). Nothing else calls them. */
#include <stddef.h>

void *memset(void *to, int value, size_t bytes);
void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

void *memset(void *to, int value, size_t bytes)
{
	unsigned char *byte = to;

	for (size_t i = 0; i < bytes; i++)
		byte[i] = (unsigned char)value;
	return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
	unsigned char *byte = to;
	const unsigned char *source = from;

	for (size_t i = 0; i < bytes; i++)
		byte[i] = source[i];
	return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
	unsigned char *byte = to;
	const unsigned char *source = from;

	if (byte < source) {
		for (size_t i = 0; i < bytes; i++)
			byte[i] = source[i];
	} else {
		while (bytes--)
			byte[bytes] = source[bytes];
	}
	return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
	const unsigned char *one = a, *other = b;

	for (size_t i = 0; i < bytes; i++)
		if (one[i] != other[i])
			return one[i] < other[i] ? -1 : 1;
	return 0;
}
