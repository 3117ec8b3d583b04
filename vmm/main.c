/* vmm: runs a kernel on /dev/kvm (docs/vmm.md). Reads the options, mounts file systems and loads modules if
 * it is PID 1, and starts the session or the probe. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/duties.h"
#include "common/launch.h"
#include "common/launch_below.h"
#include "vmm/kvm_vm.h"

#define INIT_CONFIG "/vmm.conf" /* used by PID 1 without config= */

/* Linux passes words of its command line that it does not know to PID 1: keep only options. */
static int keep_options(int count, char **words)
{
	int kept = 0;

	for (int i = 0; i < count; i++)
		if (strncmp(words[i], "--", 2) == 0)
			words[kept++] = words[i];
	return kept;
}

static bool load_modules(struct config *config)
{
	for (unsigned i = 0; i < config->module_count; i++)
		if (!duties_load_module(config->modules[i]))
			return fail("can't load the module %s: %m", config->modules[i]);
	return true;
}

/* PID 1 of a lab machine has loaded the modules, and gets the lines that differ from launch to launch. A configuration
 * with a kernel is complete without them. */
static bool read_launch(struct config *config)
{
	const char *failed, *lines;

	if (config->kernel[0])
		return true;
	lines = config->below ? launch_ask(config->below, true, &failed) : launch_wait(true);
	if (!lines)
		return fail("below=: can't %s: %m", failed);
	return config_text(config, lines, strlen(lines)) || fail("this launch: %s", error_text);
}

/* Arguments override the file, so they are read again after it. */
static bool read_config(struct config *config, int count, char **words, bool first)
{
	char path[MAX_PATH_BYTES], *text;
	size_t bytes;

	config_defaults(config);
	if (!config_arguments(config, count, words))
		return false;
	if (!config->file[0] && first && access(INIT_CONFIG, R_OK) == 0)
		strcpy(config->file, INIT_CONFIG);
	strcpy(path, config->file);
	if (!path[0])
		return true;
	text = file_read(path, MAX_CONFIG_BYTES, &bytes);
	if (!text)
		return false;
	config_defaults(config);
	if (!config_text(config, text, bytes))
		return fail("%.200s: %s", path, error_text);
	free(text);
	return config_arguments(config, count, words);
}

static int act(struct config *config, bool first)
{
	if (config->action == ACTION_HELP)
		config_help();
	else if (config->action == ACTION_VERSION)
		puts("vmm " VMM_VERSION);
	else if (!load_modules(config))
		return complain(END_ERROR);
	else if ((first && !read_launch(config)) || !config_check(config))
		return complain(END_USAGE);
	else
		return config->action == ACTION_PROBE ? probe() : session_run(config);
	return END_OFF;
}

int main(int count, char **words)
{
	static struct config config;
	bool first = getpid() == 1;
	int end;

	count--, words++;
	if (first) {
		const char *failed = duties_mount();

		if (failed)
			fprintf(stderr, "vmm: can't mount %s\n", failed);
		count = keep_options(count, words);
	}
	end = read_config(&config, count, words, first) ? act(&config, first) : complain(END_USAGE);
	if (first)
		duties_power_off("vmm");
	return end;
}
