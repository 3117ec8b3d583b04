/* vmm: runs a small kernel by /dev/kvm (docs/vmm.md). Reads what is asked, and has it done. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "init.h"
#include "probe.h"
#include "session.h"

static bool read_config_file(struct config *config, const char *path, struct error *error)
{
	char *text = malloc(MAX_CONFIG_BYTES);
	FILE *file = fopen(path, "re");
	size_t bytes;
	bool done;

	if (!text || !file) {
		error_errno(error, "can't open %s", path);
		free(text);
		if (file)
			fclose(file);
		return false;
	}
	bytes = fread(text, 1, MAX_CONFIG_BYTES, file);
	done = bytes < MAX_CONFIG_BYTES || error_set(error, "%s is too long", path);
	fclose(file);
	if (done) {
		struct error why;

		done = config_text(config, text, bytes, &why) ||
		       error_set(error, "%.200s: %.300s", path, why.text);
	}
	free(text);
	return done;
}

/* Arguments win over the file that they name, so they are read again behind it. */
static bool read_config(struct config *config, int count, char **arguments, bool first_process,
			struct error *error)
{
	char file[MAX_PATH_BYTES];

	config_defaults(config);
	if (!config_arguments(config, count, arguments, error))
		return false;
	if (!config->file[0] && first_process && access(INIT_CONFIG, R_OK) == 0)
		strcpy(config->file, INIT_CONFIG);
	if (config->file[0]) {
		strcpy(file, config->file);
		config_defaults(config);
		if (!read_config_file(config, file, error) ||
		    !config_arguments(config, count, arguments, error))
			return false;
	}
	return config_check(config, error);
}

/* The kernel sends it when our parent ends; one that has ended already never will. */
static bool die_with_parent(pid_t parent)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

static int act(const struct config *config, pid_t parent)
{
	struct error error;

	switch (config->action) {
	case ACTION_HELP:
		config_help(stdout);
		return END_OFF;
	case ACTION_VERSION:
		puts("vmm " VMM_VERSION);
		return END_OFF;
	default:
		break;
	}
	if (config->die_with_parent && !die_with_parent(parent))
		return END_ERROR;
	if (!init_modules(config, &error)) {
		fprintf(stderr, "vmm: %s\n", error.text);
		return END_ERROR;
	}
	return config->action == ACTION_PROBE ? probe() : session_run(config);
}

int main(int count, char **arguments)
{
	pid_t parent = getppid();
	bool first_process = getpid() == 1;
	struct config config;
	struct error error;
	int end;

	if (first_process)
		init_mounts();
	if (read_config(&config, count - 1, arguments + 1, first_process, &error)) {
		end = act(&config, parent);
	} else {
		fprintf(stderr, "vmm: %s\n", error.text);
		end = END_USAGE;
	}
	if (first_process)
		init_power_off();
	return end;
}
