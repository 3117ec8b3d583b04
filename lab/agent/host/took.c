/* Programs that measure themselves; see took.h. */
#include "host/took.h"

#include <string.h>

#include "common/word.h"

#define BEGIN "took "
#define END   " ns"

bool took_read(const char *line, uint64_t limit_ns, uint64_t *ns)
{
	const char *number = line + sizeof(BEGIN) - 1, *end;

	*ns = 0;
	if (strncmp(line, BEGIN, sizeof(BEGIN) - 1) != 0)
		return false;
	end = number + strspn(number, "0123456789");
	if (strcmp(end, END) != 0 || !parse_u64(number, (size_t)(end - number), ns) ||
	    *ns > limit_ns)
		*ns = 0;
	return true;
}
