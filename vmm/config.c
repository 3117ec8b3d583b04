/* Reads arguments and configuration files by one table of keys; see config.h. */
#include "config.h"

#include <string.h>

#include "lib.h"

#define HIGHEST_CPU 4095

/* CHOICE sets a number to `least`, SWITCH to 1 or, with the value `no`, 0: neither needs a value. */
enum type { TEXT, NUMBER, SWITCH, CHOICE, PIN, PAGES, MODULE };

#define FIELD(name) offsetof(struct config, name), sizeof(((struct config *)0)->name)

static const struct key {
	const char *name, *value, *help;
	enum type type;
	size_t offset, bytes;
	uint64_t least, most;
} keys[] = {
	{ "kernel", "FILE", "the guest: an ELF64 file with a PVH entry", TEXT, FIELD(kernel), 0,
	  0 },
	{ "append", "TEXT", "the guest's command line", TEXT, FIELD(append), 0, 0 },
	{ "cpus", "N", "vCPUs, 1 to 64 (1)", NUMBER, FIELD(vcpus), 1, MAX_VCPUS },
	{ "memory", "MIB", "the guest's memory (512)", NUMBER, FIELD(memory_mib), 16, 1 << 20 },
	{ "pages", "KIND", "what backs it: 4k (default), thp or hugetlb", PAGES, FIELD(backing), 0,
	  0 },
	{ "pin", "CPUS", "host CPUs of vCPU 0, 1, ..., as 0,1; - leaves one alone", PIN, FIELD(pin),
	  0, 0 },
	{ "console", "FILE", "where its first serial port goes (-: standard output)", TEXT,
	  FIELD(console), 0, 0 },
	{ "console-max", "BYTES", "more than this on it ends the guest (16777216)", NUMBER,
	  FIELD(console_max_bytes), 1, UINT64_MAX },
	{ "timeout", "SECONDS", "ends the guest after so long (0: never)", NUMBER, FIELD(timeout_s),
	  0, 1000000 },
	{ "insist", NULL, "run a kernel that is not worldswitch's guest on a software KVM", SWITCH,
	  FIELD(insist), 0, 0 },
	{ "die-with-parent", NULL, "end when the process that started this one ends", SWITCH,
	  FIELD(die_with_parent), 0, 0 },
	{ "module", "FILE", "load this kernel module first; may come 8 times", MODULE, 0, 0, 0, 0 },
	{ "config", "FILE", "read such keys from a file, a key=value a line; arguments win", TEXT,
	  FIELD(file), 0, 0 },
	{ "probe", NULL, "run a few instructions in /dev/kvm; say in a JSON line how it is", CHOICE,
	  FIELD(action), ACTION_PROBE, 0 },
	{ "version", NULL, "say which version this is", CHOICE, FIELD(action), ACTION_VERSION, 0 },
	{ "help", NULL, "this", CHOICE, FIELD(action), ACTION_HELP, 0 },
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

static bool take_text(char *to, size_t bytes, const char *value, struct error *error)
{
	size_t length = strlen(value);

	if (length >= bytes)
		return error_set(error, "it is longer than %zu bytes", bytes - 1);
	memcpy(to, value, length + 1);
	return true;
}

/* "0,1,-": vCPU 0 on CPU 0, vCPU 1 on CPU 1, vCPU 2 where it likes. */
static bool take_pin(struct config *config, const char *value, struct error *error)
{
	for (unsigned i = 0; i < MAX_VCPUS; i++) {
		size_t bytes = strcspn(value, ",");
		uint64_t cpu = 0;

		config->pin[i] = PIN_NONE;
		if (i && !value[0])
			continue;
		if (bytes != 1 || value[0] != '-') {
			if (!parse_u64(value, bytes, &cpu) || cpu > HIGHEST_CPU)
				return error_set(error, "CPU numbers are wanted, as 0,1,-");
			config->pin[i] = (int)cpu;
		}
		value += bytes + (value[bytes] && value[bytes + 1]);
	}
	return !value[0] || error_set(error, "it names more than %u CPUs", MAX_VCPUS);
}

static bool take_pages(uint64_t *to, const char *value, struct error *error)
{
	static const char *const names[] = { "4k", "thp", "hugetlb" };

	for (*to = 0; *to < sizeof(names) / sizeof(names[0]); ++*to)
		if (strcmp(value, names[*to]) == 0)
			return true;
	*to = 0;
	return error_set(error, "4k, thp or hugetlb is wanted");
}

/* `value` NULL: the key stands alone. */
static bool take(struct config *config, const struct key *key, const char *value,
		 struct error *error)
{
	void *to = (char *)config + key->offset;
	uint64_t number;

	switch (key->type) {
	case TEXT:
		return take_text(to, key->bytes, value, error);
	case NUMBER:
		if (!parse_u64(value, strlen(value), &number) || number < key->least ||
		    number > key->most)
			return error_set(error, "a number from %lu to %lu is wanted", key->least,
					 key->most);
		*(uint64_t *)to = number;
		return true;
	case SWITCH:
		*(uint64_t *)to = !value || strcmp(value, "yes") == 0;
		return !value || *(uint64_t *)to || strcmp(value, "no") == 0 ||
		       error_set(error, "yes or no is wanted");
	case CHOICE:
		*(uint64_t *)to = key->least;
		return true;
	case PIN:
		return take_pin(config, value, error);
	case PAGES:
		return take_pages(to, value, error);
	case MODULE:
		if (config->module_count == MAX_MODULES)
			return error_set(error, "there are more than %u", MAX_MODULES);
		return take_text(config->modules[config->module_count++], MAX_PATH_BYTES, value,
				 error);
	}
	return false;
}

static bool set(struct config *config, const struct key *key, const char *value,
		struct error *error)
{
	struct error why;

	return take(config, key, value, &why) ||
	       error_set(error, "%s=%.200s: %s", key->name, value ? value : "", why.text);
}

static const struct key *find_key(const char *name, size_t bytes)
{
	for (size_t i = 0; i < KEY_COUNT; i++)
		if (strlen(keys[i].name) == bytes && memcmp(keys[i].name, name, bytes) == 0)
			return &keys[i];
	return NULL;
}

bool config_arguments(struct config *config, int count, char *const *words, struct error *error)
{
	for (int i = 0; i < count; i++) {
		bool dashes = strncmp(words[i], "--", 2) == 0;
		const char *name = dashes ? words[i] + 2 : "", *value = NULL;
		size_t bytes = strcspn(name, "=");
		const struct key *key = find_key(name, bytes);

		if (!key)
			return error_set(error, "%.200s means nothing here; --help tells what does",
					 words[i]);
		if (name[bytes])
			value = name + bytes + 1;
		else if (key->value && i + 1 < count)
			value = words[++i];
		else if (key->value)
			return error_set(error, "--%s wants a value: %s", key->name, key->value);
		if (!set(config, key, value, error))
			return false;
	}
	return true;
}

bool config_text(struct config *config, const char *text, size_t bytes, struct error *error)
{
	char line[MAX_APPEND_BYTES + 64];
	unsigned number = 1;

	for (size_t at = 0, length; at < bytes; at += length + 1, number++) {
		const char *end = memchr(text + at, '\n', bytes - at), *equals;
		const struct key *key;
		struct error why;

		length = end ? (size_t)(end - (text + at)) : bytes - at;
		if (!length || text[at] == '#')
			continue;
		if (length >= sizeof(line) || memchr(text + at, 0, length))
			return error_set(error, "line %u is too long, or no text", number);
		memcpy(line, text + at, length);
		line[length] = 0;
		equals = strchr(line, '=');
		key = equals ? find_key(line, (size_t)(equals - line)) : NULL;
		if (!key || strcmp(key->name, "config") == 0)
			return error_set(error, "line %u means nothing here: %.80s", number, line);
		if (!set(config, key, equals + 1, &why))
			return error_set(error, "line %u: %.400s", number, why.text);
	}
	return true;
}

void config_defaults(struct config *config)
{
	*config = (struct config){
		.console = "-", .memory_mib = 512, .console_max_bytes = 16u << 20, .vcpus = 1
	};
	for (unsigned i = 0; i < MAX_VCPUS; i++)
		config->pin[i] = PIN_NONE;
}

bool config_check(const struct config *config, struct error *error)
{
	if (config->action == ACTION_RUN && !config->kernel[0])
		return error_set(error, "which guest? --kernel FILE; --help tells more");
	for (uint64_t i = config->vcpus; i < MAX_VCPUS; i++)
		if (config->pin[i] != PIN_NONE)
			return error_set(error, "pin= names more CPUs than there are vCPUs");
	return true;
}

void config_help(FILE *to)
{
	fputs("vmm: runs a small kernel in a virtual machine by /dev/kvm\n\n"
	      "  vmm --kernel build/guest/x86_64/guest.elf --append 'bench=^sgdt$'\n"
	      "  vmm --probe\n\n",
	      to);
	for (const struct key *key = keys; key < keys + KEY_COUNT; key++)
		fprintf(to, "  --%s %-*s %s\n", key->name, 19 - (int)strlen(key->name),
			key->value ? key->value : "", key->help);
	fputs("\nOf the guest's command line the monitor reads nonce=, unit=, doorbell= and\n"
	      "hypercall= too; on a software KVM it makes that hypercall=none. Records go to the\n"
	      "console, words to standard error. Exit status: 0 the guest powered off, 1 error,\n"
	      "2 wrong usage, 10 reset or triple fault, 11 KVM gave the guest up, 12 console-max,\n"
	      "13 timeout, 14 /dev/kvm can't be used, 128 + N signal N (docs/vmm.md).\n",
	      to);
}

bool config_word(const char *line, const char *key, char *value, size_t bytes)
{
	size_t key_bytes = strlen(key), length;
	bool found = false;

	for (; *line; line += length, line += strspn(line, " ")) {
		length = strcspn(line, " ");
		if (length <= key_bytes || line[key_bytes] != '=' ||
		    memcmp(line, key, key_bytes) != 0)
			continue;
		found = length - key_bytes <= bytes;
		if (found) {
			memcpy(value, line + key_bytes + 1, length - key_bytes - 1);
			value[length - key_bytes - 1] = 0;
		}
	}
	return found;
}
