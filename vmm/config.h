/* What the monitor is asked to do: arguments, or `key=value` lines of a file. Pure, and fuzzed. */
#ifndef CONFIG_H
#define CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "error.h"
#include "memory.h"

#define MAX_VCPUS	 64
#define MAX_MODULES	 8
#define MAX_PATH_BYTES	 1024
#define MAX_APPEND_BYTES 2048 /* with its NUL: the guest takes no more */
#define MAX_CONFIG_BYTES 65536
#define PIN_NONE	 (-1)

enum action { ACTION_RUN, ACTION_PROBE, ACTION_HELP, ACTION_VERSION };

struct config {
	uint64_t action;
	char kernel[MAX_PATH_BYTES], append[MAX_APPEND_BYTES];
	char console[MAX_PATH_BYTES]; /* "-": standard output; "": none */
	char file[MAX_PATH_BYTES];    /* config=; "": none */
	uint64_t memory_mib, console_max_bytes, vcpus, timeout_s; /* timeout 0: none */
	int pin[MAX_VCPUS]; /* the host CPU of each vCPU, or PIN_NONE */
	uint64_t backing;   /* enum backing */
	uint64_t insist, die_with_parent;
	char modules[MAX_MODULES][MAX_PATH_BYTES];
	unsigned module_count;
};

void config_defaults(struct config *config);

/* `--key=value`, `--key value`, and `--key` alone for switches. */
bool config_arguments(struct config *config, int count, char *const *words, struct error *error);

/* Lines `key=value`; empty ones and those that begin with # say nothing. */
bool config_text(struct config *config, const char *text, size_t bytes, struct error *error);

/* Does it all fit together? After the last of the above. */
bool config_check(const struct config *config, struct error *error);

void config_help(FILE *to);

/* The value of the last `key=value` word of a guest's command line, as the guest takes it; false:
 * there is none, or it does not fit. */
bool config_word(const char *line, const char *key, char *value, size_t bytes);

#endif
