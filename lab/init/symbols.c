/* The machine's own symbols; see symbols.h. */
#include "symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "common/kallsyms.h"

#define FILE_PATH   "/proc/kallsyms"
#define CHUNK_BYTES (1u << 20)

/* A NUL ends the text. NULL: errno says why. */
static char *read_all(FILE *file)
{
	char *text = NULL;
	size_t used = 0, got;

	do {
		char *more = realloc(text, used + CHUNK_BYTES + 1);

		if (!more)
			return NULL;
		text = more;
		got = fread(text + used, 1, CHUNK_BYTES, file);
		used += got;
	} while (got == CHUNK_BYTES);
	text[used] = '\0';
	return ferror(file) ? NULL : text;
}

/* A kernel may be started with sysctl.kernel.kptr_restrict=2, which hides addresses from everybody. */
static void unhide(void)
{
	FILE *file = fopen("/proc/sys/kernel/kptr_restrict", "we");

	if (!file)
		return;
	fputs("0\n", file);
	fclose(file);
}

const char *symbols_print(void)
{
	static char buffer[CHUNK_BYTES];
	struct symbol *symbols;
	size_t count;
	FILE *file;
	char *text;

	unhide();
	file = fopen(FILE_PATH, "re");
	if (!file)
		return "the kernel has no " FILE_PATH ": build it with CONFIG_KALLSYMS=y";
	text = read_all(file);
	symbols = text ? calloc(kallsyms_most(text), sizeof(*symbols)) : NULL;
	if (!symbols)
		return FILE_PATH " can't be read, or memory is too small for it";
	count = kallsyms_read(text, symbols);
	if (count == 0)
		return FILE_PATH " has no symbols of code: build the kernel with CONFIG_KALLSYMS=y";
	if (symbols[count - 1].address == 0)
		return "the kernel hides the addresses of its symbols (kptr_restrict)";
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	kallsyms_print(symbols, count, stdout);
	/* Powering off would cut what the serial port has not sent. */
	if (fflush(stdout) != 0 || tcdrain(STDOUT_FILENO) != 0)
		return "the console can't be written";
	return NULL;
}
