/* The text symbols of a kernel; see kallsyms.h. */
#include "common/kallsyms.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/crc32.h"
#include "common/text.h"

#define MAX_LINE_BYTES 1024 /* KSYM_NAME_LEN is 512, MODULE_NAME_LEN 56 */

size_t kallsyms_most(const char *text)
{
	size_t lines = 1;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* No functions: marks of code and data in modules; on RISC-V also labels that assemblers keep for the linker (".L0 "). */
static bool is_mark(const char *name)
{
#ifdef __riscv
	if (name[0] == '.' && name[1] == 'L')
		return true;
#endif
	return name[0] == '$';
}

/* False: the line is that of no text symbol. */
static bool read_line(char *line, struct symbol *symbol)
{
	char *address = line, *type = strchr(address, ' '), *name, *module;

	if (!type || !type[1] || type[2] != ' ' || !strchr("tTwW", type[1]))
		return false;
	name = type + 3;
	module = strchr(name, '\t');
	if (module) {
		*module++ = '\0';
		module += *module == '[';
		module[strcspn(module, "]")] = '\0';
	}
	*symbol = (struct symbol){ .name = name, .module = module, .type = type[1] };
	return parse_hex(address, (size_t)(type - address), &symbol->address) && name[0] &&
	       !is_mark(name);
}

static int compare(const void *a, const void *b)
{
	const struct symbol *one = a, *other = b;

	if (one->address != other->address)
		return one->address < other->address ? -1 : 1;
	/* Names are in the text, in the order of lines. */
	return (one->name > other->name) - (one->name < other->name);
}

size_t kallsyms_read(char *text, struct symbol *symbols)
{
	size_t count = 0;

	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		count += read_line(line, &symbols[count]);
	}
	qsort(symbols, count, sizeof(symbols[0]), compare);
	return count;
}

void kallsyms_print(const struct symbol *symbols, size_t count, FILE *to)
{
	char line[MAX_LINE_BYTES];
	uint64_t before = 0;
	uint32_t crc = 0;

	fputs("@symbols begin\n", to);
	for (const struct symbol *symbol = symbols; symbol < symbols + count; symbol++) {
		const char *module = symbol->module;
		int bytes = snprintf(line, sizeof(line), "%" PRIx64 " %c %s%s%s%s\n",
				     symbol->address - before, symbol->type, symbol->name,
				     module ? " [" : "", module ? module : "", module ? "]" : "");

		crc = crc32(crc, line, strlen(line));
		if (bytes > 0)
			fputs(line, to);
		before = symbol->address;
	}
	fprintf(to, "@symbols end %zu %08" PRIx32 "\n", count, crc);
}
