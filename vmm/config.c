/* Reads arguments and configuration files by one table of keys; see config.h. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib.h"

#define DEFAULT_MEMORY_MIB  512
#define LOWEST_MEMORY_MIB   16
#define HIGHEST_MEMORY_MIB  (1024 * 1024)
#define DEFAULT_CONSOLE_MAX (16u << 20)
#define HIGHEST_CPU	    4095

static bool take_text(char *to, size_t bytes, const char *value, struct error *error)
{
	size_t length = strlen(value);

	if (length >= bytes)
		return error_set(error, "it is longer than %zu bytes", bytes - 1);
	memcpy(to, value, length + 1);
	return true;
}

static bool take_number(const char *value, uint64_t lowest, uint64_t highest, uint64_t *to,
			struct error *error)
{
	uint64_t number;

	if (!parse_u64(value, strlen(value), &number) || number < lowest || number > highest)
		return error_set(error, "a number from %lu to %lu is wanted", lowest, highest);
	*to = number;
	return true;
}

static bool take_switch(const char *value, bool *to, struct error *error)
{
	*to = strcmp(value, "yes") == 0;
	if (!*to && strcmp(value, "no") != 0)
		return error_set(error, "yes or no is wanted");
	return true;
}

static bool set_kernel(struct config *config, const char *value, struct error *error)
{
	return take_text(config->kernel, sizeof(config->kernel), value, error);
}

static bool set_append(struct config *config, const char *value, struct error *error)
{
	return take_text(config->append, sizeof(config->append), value, error);
}

static bool set_console(struct config *config, const char *value, struct error *error)
{
	return take_text(config->console, sizeof(config->console), value, error);
}

static bool set_file(struct config *config, const char *value, struct error *error)
{
	return take_text(config->file, sizeof(config->file), value, error);
}

static bool set_module(struct config *config, const char *value, struct error *error)
{
	if (config->module_count == MAX_MODULES)
		return error_set(error, "there are more than %u of them", MAX_MODULES);
	return take_text(config->modules[config->module_count++], MAX_PATH_BYTES, value, error);
}

static bool set_memory(struct config *config, const char *value, struct error *error)
{
	uint64_t mib;

	if (!take_number(value, LOWEST_MEMORY_MIB, HIGHEST_MEMORY_MIB, &mib, error))
		return false;
	config->memory_bytes = mib << 20;
	return true;
}

static bool set_console_max(struct config *config, const char *value, struct error *error)
{
	return take_number(value, 1, UINT64_MAX, &config->console_max_bytes, error);
}

static bool set_cpus(struct config *config, const char *value, struct error *error)
{
	uint64_t number;

	if (!take_number(value, 1, MAX_VCPUS, &number, error))
		return false;
	config->vcpus = (unsigned)number;
	return true;
}

static bool set_timeout(struct config *config, const char *value, struct error *error)
{
	uint64_t number;

	if (!take_number(value, 0, 1000000, &number, error))
		return false;
	config->timeout_s = (unsigned)number;
	return true;
}

/* "0,1,-": vCPU 0 on CPU 0, vCPU 1 on CPU 1, vCPU 2 where it likes. */
static bool set_pin(struct config *config, const char *value, struct error *error)
{
	unsigned count = 0;

	for (const char *at = value;; at++) {
		size_t bytes = strcspn(at, ",");
		uint64_t cpu;

		if (count == MAX_VCPUS)
			return error_set(error, "more than %u CPUs", MAX_VCPUS);
		if (bytes == 1 && *at == '-')
			config->pin[count++] = CONFIG_PIN_NOBODY;
		else if (parse_u64(at, bytes, &cpu) && cpu <= HIGHEST_CPU)
			config->pin[count++] = (int)cpu;
		else
			return error_set(error,
					 "CPU numbers with commas between are wanted, as 0,1; - "
					 "leaves a vCPU alone");
		at += bytes;
		if (!*at)
			break;
	}
	while (count < MAX_VCPUS)
		config->pin[count++] = CONFIG_PIN_NOBODY;
	config->pinned = true;
	return true;
}

static bool set_pages(struct config *config, const char *value, struct error *error)
{
	static const char *const names[] = { "4k", "thp", "hugetlb" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(value, names[i]) == 0) {
			config->backing = (enum backing)i;
			return true;
		}
	return error_set(error, "4k, thp or hugetlb is wanted");
}

static bool set_insist(struct config *config, const char *value, struct error *error)
{
	return take_switch(value, &config->insist, error);
}

static bool set_die_with_parent(struct config *config, const char *value, struct error *error)
{
	return take_switch(value, &config->die_with_parent, error);
}

static bool set_probe(struct config *config, const char *value, struct error *error)
{
	(void)value, (void)error;
	config->action = ACTION_PROBE;
	return true;
}

static bool set_help(struct config *config, const char *value, struct error *error)
{
	(void)value, (void)error;
	config->action = ACTION_HELP;
	return true;
}

static bool set_version(struct config *config, const char *value, struct error *error)
{
	(void)value, (void)error;
	config->action = ACTION_VERSION;
	return true;
}

static const struct key {
	const char *name, *value, *help; /* value NULL: a switch, which alone means yes */
	bool (*set)(struct config *config, const char *value, struct error *error);
} keys[] = {
	{ "kernel", "FILE", "the guest: an ELF64 file with a PVH entry", set_kernel },
	{ "append", "TEXT",
	  "the guest's command line. Of its words the monitor reads nonce=, unit=,\n"
	  "doorbell= and hypercall= too; on a software KVM it adds hypercall=none",
	  set_append },
	{ "cpus", "N", "vCPUs, 1 to 64 (1)", set_cpus },
	{ "memory", "MIB", "the guest's memory (512)", set_memory },
	{ "pages", "KIND",
	  "what backs it: 4k (default), thp, hugetlb. Only with 4k is a page that\n"
	  "the guest touches one page of the host",
	  set_pages },
	{ "pin", "CPUS", "host CPUs of vCPU 0, 1, ..., as 0,1; - leaves one alone", set_pin },
	{ "console", "FILE", "where the guest's first serial port goes (-: standard output)",
	  set_console },
	{ "console-max", "BYTES", "more than this on it ends the guest (16777216)",
	  set_console_max },
	{ "timeout", "SECONDS", "ends the guest after so long (0: never)", set_timeout },
	{ "insist", NULL, "run a kernel that is not worldswitch's guest on a software KVM",
	  set_insist },
	{ "die-with-parent", NULL, "end when the process that started this one ends",
	  set_die_with_parent },
	{ "module", "FILE", "load this kernel module first; may come 8 times", set_module },
	{ "config", "FILE", "read these keys from a file, a key=value a line; arguments win",
	  set_file },
	{ "probe", NULL, "run a few instructions in /dev/kvm and say in one JSON line how it is",
	  set_probe },
	{ "version", NULL, "say which version this is", set_version },
	{ "help", NULL, "this", set_help },
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

static const struct key *find_key(const char *name, size_t bytes)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (strlen(keys[i].name) == bytes && memcmp(keys[i].name, name, bytes) == 0)
			return &keys[i];
	return NULL;
}

static bool set(struct config *config, const struct key *key, const char *value,
		struct error *error)
{
	struct error why;

	if (key->set(config, value, &why))
		return true;
	return error_set(error, "%s=%.200s: %s", key->name, value, why.text);
}

bool config_arguments(struct config *config, int count, char *const *arguments, struct error *error)
{
	for (int i = 0; i < count; i++) {
		const char *word = arguments[i], *name = word + 2, *value = NULL;
		const struct key *key = NULL;
		size_t bytes = 0;

		if (strncmp(word, "--", 2) == 0) {
			bytes = strcspn(name, "=");
			key = find_key(name, bytes);
		}
		if (!key)
			return error_set(error, "%.200s means nothing here", word);
		if (name[bytes])
			value = name + bytes + 1;
		else if (!key->value)
			value = "yes";
		else if (i + 1 < count)
			value = arguments[++i];
		else
			return error_set(error, "%s wants a value: --%s %s", word, key->name,
					 key->value);
		if (!set(config, key, value, error))
			return false;
	}
	return true;
}

bool config_text(struct config *config, const char *text, size_t bytes, struct error *error)
{
	char line[MAX_APPEND_BYTES + 64];
	unsigned number = 0;

	for (size_t at = 0, length; at < bytes; at += length + 1) {
		const char *end = memchr(text + at, '\n', bytes - at), *value;
		const struct key *key;
		struct error why;

		number++;
		length = end ? (size_t)(end - (text + at)) : bytes - at;
		if (!length || text[at] == '#')
			continue;
		if (length >= sizeof(line) || memchr(text + at, 0, length))
			return error_set(error, "line %u is too long, or no text", number);
		memcpy(line, text + at, length);
		line[length] = 0;
		value = strchr(line, '=');
		key = value ? find_key(line, (size_t)(value - line)) : NULL;
		if (!key || key->set == set_file)
			return error_set(error, "line %u means nothing here: %.80s", number, line);
		if (!set(config, key, value + 1, &why))
			return error_set(error, "line %u: %.400s", number, why.text);
	}
	return true;
}

void config_defaults(struct config *config)
{
	*config = (struct config){
		.console = "-",
		.memory_bytes = (uint64_t)DEFAULT_MEMORY_MIB << 20,
		.console_max_bytes = DEFAULT_CONSOLE_MAX,
		.vcpus = 1,
	};
	for (unsigned i = 0; i < MAX_VCPUS; i++)
		config->pin[i] = CONFIG_PIN_NOBODY;
}

bool config_check(const struct config *config, struct error *error)
{
	if (config->action == ACTION_RUN && !config->kernel[0])
		return error_set(error, "which guest? --kernel FILE; --help tells more");
	for (unsigned i = config->vcpus; i < MAX_VCPUS; i++)
		if (config->pin[i] != CONFIG_PIN_NOBODY)
			return error_set(error, "pin= names more CPUs than the %u vCPUs",
					 config->vcpus);
	return true;
}

void config_help(FILE *to)
{
	fputs("vmm: runs a small kernel in a virtual machine by /dev/kvm\n\n"
	      "  vmm --kernel build/guest/x86_64/guest.elf --append 'bench=^sgdt$'\n"
	      "  vmm --probe\n\n",
	      to);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const char *help = keys[i].help;
		size_t bytes = strcspn(help, "\n");

		fprintf(to, "  --%s%s%-*s %.*s\n", keys[i].name, keys[i].value ? " " : "",
			18 - (int)strlen(keys[i].name) - (keys[i].value != NULL),
			keys[i].value ? keys[i].value : "", (int)bytes, help);
		if (help[bytes])
			fprintf(to, "%22s%s\n", "", help + bytes + 1);
	}
	fputs("\nIt speaks in records on the console, beside the guest's (docs/records.md), and\n"
	      "in words on standard error. Exit status: 0 the guest powered off, 1 error,\n"
	      "2 wrong usage, 10 the guest reset or triple-faulted, 11 KVM gave the guest up,\n"
	      "12 the guest flooded its console, 13 timeout, 14 KVM can't be used here,\n"
	      "128 + N ended by signal N. docs/vmm.md tells more.\n",
	      to);
}

bool config_word(const char *line, const char *key, char *value, size_t bytes)
{
	size_t key_bytes = strlen(key);
	bool found = false;

	while (*line) {
		size_t length = strcspn(line, " ");

		if (length > key_bytes && line[key_bytes] == '=' &&
		    memcmp(line, key, key_bytes) == 0) {
			size_t rest = length - key_bytes - 1;

			found = rest < bytes;
			if (found) {
				memcpy(value, line + key_bytes + 1, rest);
				value[rest] = 0;
			}
		}
		line += length;
		line += strspn(line, " ");
	}
	return found;
}

bool config_append(struct config *config, const char *word)
{
	size_t used = strlen(config->append), bytes = strlen(word);

	if (used + 1 + bytes >= sizeof(config->append))
		return false;
	if (used)
		config->append[used++] = ' ';
	memcpy(config->append + used, word, bytes + 1);
	return true;
}
