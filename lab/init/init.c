/*
 * The first process of a lab machine whose monitor is not vmm: mounts file systems, loads kernel
 * modules, runs one program, the monitor, and powers the machine off when that exits.
 *
 * /init.conf has lines of three kinds, and words also come with the launch (common/launch.h):
 *	module=FILE [KEY=VALUE ...]	a kernel module and its parameters; loaded in the order of lines
 *	word=TEXT			a word of the program's command line; the first is its path
 *	symbols				instead of a program: print the symbols of kernel and modules
 *
 * It never returns: the kernel panics if its first process exits.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/duties.h"
#include "common/launch.h"
#include "symbols.h"

#define CONFIG	  "/init.conf"
#define MAX_WORDS 255
#define MAX_LINE  8192

static _Noreturn void give_up(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	fputs("init: ", stderr);
	vfprintf(stderr, format, values);
	fputs("\n", stderr);
	va_end(values);
	duties_power_off("init");
}

static void mount_all(void)
{
	const char *failed = duties_mount();

	if (failed)
		give_up("can't mount %s: %m", failed);
	(void)mkdir("/tmp", 0755);
	if (mount("tmpfs", "/tmp", "tmpfs", 0, NULL) < 0)
		give_up("can't mount /tmp: %m");
}

static void load_module(char *line)
{
	if (!duties_load_module(line))
		give_up("can't load the module %s: %m", line[0] ? line : "without a name");
}

static bool wants_symbols;
/* The program's words, NULL behind them. */
static char *words[MAX_WORDS + 1];
static unsigned word_count;

static void take_line(char *line)
{
	if (strncmp(line, "module=", 7) == 0)
		load_module(line + 7);
	else if (strcmp(line, "symbols") == 0)
		wants_symbols = true;
	else if (strncmp(line, "word=", 5) != 0)
		give_up("this is no line of " CONFIG " or of a launch: %s", line);
	else if (word_count == MAX_WORDS || !(words[word_count++] = strdup(line + 5)))
		give_up("too many words in " CONFIG " and the launch");
}

/* Loads the modules. */
static void read_config(void)
{
	static char line[MAX_LINE];
	FILE *file = fopen(CONFIG, "re");

	if (!file)
		give_up("can't open " CONFIG ": %m");
	while (fgets(line, sizeof(line), file)) {
		size_t length = strcspn(line, "\n");

		if (!line[length])
			give_up("a line of " CONFIG " is too long or has no end");
		line[length] = '\0';
		take_line(line);
	}
	fclose(file);
}

static void read_launch(void)
{
	char *rest = launch_wait(true), *line;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			take_line(line);
	if (word_count == 0)
		give_up("neither " CONFIG " nor the launch names a program");
}

int main(void)
{
	int status;
	pid_t child;

	mount_all();
	read_config();
	if (wants_symbols) {
		const char *wrong = symbols_print();

		if (wrong)
			give_up("no symbols: %s", wrong);
		duties_power_off("init");
	}
	read_launch();
	child = fork();
	if (child == 0) {
		execv(words[0], words);
		fprintf(stderr, "init: can't run %s: %m\n", words[0]);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		give_up("can't run %s: %m", words[0]);
	if (status != 0)
		give_up("%s ended with %s %d", words[0], WIFSIGNALED(status) ? "signal" : "status",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	duties_power_off("init");
}
