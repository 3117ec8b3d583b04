/* Words of the guest's command line; see word.h. */
#include "common/word.h"

/* How many first bytes of `line` are blanks, or are not. */
static size_t span(const char *line, bool is_blank)
{
	size_t bytes = 0;

	while (line[bytes] && (line[bytes] == ' ') == is_blank)
		bytes++;
	return bytes;
}

bool word_find(const char *line, const char *key, char *value, size_t bytes)
{
	size_t key_bytes = text_length(key), length, at;
	bool found = false;

	for (; *line; line += length, line += span(line, true)) {
		length = span(line, false);
		for (at = 0; at < key_bytes && line[at] == key[at]; at++)
			;
		if (at < key_bytes || line[at] != '=')
			continue;
		found = length - key_bytes <= bytes;
		for (at = 0; found && at < length - key_bytes; at++)
			value[at] = at + 1 < length - key_bytes ? line[key_bytes + 1 + at] : 0;
	}
	return found;
}

void word_nonce(const char *line, struct record_line *records)
{
	char nonce[20] = "0x";

	if (word_find(line, "nonce", nonce + 2, 17))
		(void)parse_u64(nonce, text_length(nonce), &records->nonce);
}
