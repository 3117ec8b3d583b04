/* vmm: runs a small kernel by /dev/kvm (docs/vmm.md). Reads what is asked, and has it done. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "init.h"
#include "probe.h"
#include "session.h"

#define INIT_CONFIG "/vmm.conf" /* read by the first process where nothing else is named */

static bool read_config_file(struct config *config, const char *path, struct error *error)
{
	static char text[MAX_CONFIG_BYTES];
	FILE *file = fopen(path, "re");
	struct error why;
	size_t bytes;

	if (!file)
		return error_set(error, "can't open %s: %m", path);
	bytes = fread(text, 1, sizeof(text), file);
	fclose(file);
	if (bytes == sizeof(text))
		return error_set(error, "%.200s is too long", path);
	return config_text(config, text, bytes, &why) ||
	       error_set(error, "%.200s: %.300s", path, why.text);
}

/* Arguments win over the file that they name, so they are read again behind it. */
static bool read_config(struct config *config, int count, char **words, struct error *error)
{
	char file[MAX_PATH_BYTES];

	config_defaults(config);
	if (!config_arguments(config, count, words, error))
		return false;
	if (!config->file[0] && getpid() == 1 && access(INIT_CONFIG, R_OK) == 0)
		strcpy(config->file, INIT_CONFIG);
	strcpy(file, config->file);
	if (!file[0])
		return config_check(config, error);
	config_defaults(config);
	return read_config_file(config, file, error) &&
	       config_arguments(config, count, words, error) && config_check(config, error);
}

static int act(const struct config *config, pid_t parent)
{
	struct error error;

	if (config->action == ACTION_HELP) {
		config_help(stdout);
		return END_OFF;
	}
	if (config->action == ACTION_VERSION) {
		puts("vmm " VMM_VERSION);
		return END_OFF;
	}
	/* The kernel tells us when our parent ends; of one that has ended already it never will. */
	if (config->die_with_parent &&
	    (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent))
		return END_ERROR;
	if (!init_modules(config, &error)) {
		fprintf(stderr, "vmm: %s\n", error.text);
		return END_ERROR;
	}
	return config->action == ACTION_PROBE ? probe() : session_run(config);
}

/* A kernel hands its own words that it does not know to the first process, beside ours. */
static int keep_options(int count, char **words)
{
	int kept = 0;

	for (int i = 0; i < count; i++)
		if (strncmp(words[i], "--", 2) == 0)
			words[kept++] = words[i];
	return kept;
}

int main(int count, char **words)
{
	static struct config config;
	pid_t parent = getppid();
	struct error error;
	int end = END_USAGE;

	count--, words++;
	if (getpid() == 1) {
		init_mounts();
		count = keep_options(count, words);
	}
	if (read_config(&config, count, words, &error))
		end = act(&config, parent);
	else
		fprintf(stderr, "vmm: %s\n", error.text);
	if (getpid() == 1)
		init_power_off();
	return end;
}
