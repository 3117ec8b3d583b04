/* Reads arguments and configuration files by one table of keys; see options.h. */
#include "vmm/options.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"

enum type { TEXT, NUMBER, FLAG, PIN, MODULE };

#define AT(field)      offsetof(struct config, field)
#define TEXT_OF(field) TEXT, AT(field), 0, sizeof(((struct config *)0)->field)

/* `most`: for TEXT the size with the NUL, for FLAG the value to set. */
static const struct key {
	const char *name, *value, *help;
	enum type type;
	size_t offset;
	uint64_t least, most;
} keys[] = {
#ifdef __riscv
	{ "kernel", "FILE", "guest: RISC-V Image", TEXT_OF(kernel) },
#else
	{ "kernel", "FILE", "guest: PVH or multiboot ELF, bzImage, arm64 Image", TEXT_OF(kernel) },
#endif
	{ "initrd", "FILE", "its initial RAM disk", TEXT_OF(initrd) },
	{ "append", "TEXT", "its command line", TEXT_OF(append) },
	{ "cpus", "N", "vCPUs, 1 to 64 (1)", NUMBER, AT(vcpus), 1, MAX_VCPUS },
	{ "memory", "MIB", "its memory (512)", NUMBER, AT(memory_mib), 16, 1 << 20 },
	{ "huge-pages", NULL,
	  "back its memory with transparent huge pages of 2 MiB (pages of 4 KiB)", FLAG,
	  AT(huge_pages), 0, 1 },
	{ "pmem", "FILE", "a file that Linux finds as persistent memory, /dev/pmem0",
	  TEXT_OF(pmem) },
	{ "pin", "CPUS", "host CPU of each vCPU, as 0,1; -: not pinned", PIN, 0, 0, 0 },
	{ "console", "FILE", "output of its serial port (-: standard output)", TEXT_OF(console) },
	{ "console-max", "BYTES", "output limit (16 MiB)", NUMBER, AT(console_max_bytes), 1,
	  UINT64_MAX },
	{ "drain", NULL, "after each line, wait until a serial console has sent it", FLAG,
	  AT(drain), 0, 1 },
	{ "timeout", "SECONDS", "time limit (0: none)", NUMBER, AT(timeout_s), 0, 1000000 },
	{ "insist", NULL, "run any kernel on a software KVM", FLAG, AT(insist), 0, 1 },
	{ "el2", NULL, "aarch64: start the guest at a virtual EL2", FLAG, AT(el2), 0, 1 },
#ifdef ARCH_XEN
	{ "el2-no-vhe", NULL, "a virtual EL2 without VHE", FLAG, AT(el2), 0, EL2_NO_VHE },
	{ "xen", "FILE", "Xen's arm64 Image: the guest is its first domain", TEXT_OF(xen) },
	{ "xen-append", "TEXT", "Xen's command line", TEXT_OF(xen_append) },
#endif
#ifdef ARCH_PROTECTED
	{ "protected", NULL,
	  "aarch64: a protected VM; needs Linux 7.1 or newer and kvm-arm.mode=protected", FLAG,
	  AT(protect), 0, 1 },
#endif
#ifdef ARCH_ASSIGNED
	{ "assign", "DEVICE",
	  "aarch64: give the guest this PCI device of the host (VFIO), as 0000:00:01.0",
	  TEXT_OF(assign) },
#endif
	{ "hyperv", NULL, "x86_64: offer KVM's Hyper-V enlightenments to the guest", FLAG,
	  AT(hyperv), 0, 1 },
	{ "flat", NULL, "aarch64: kernel without a header, loaded at 512 KiB", FLAG, AT(flat), 0,
	  1 },
	{ "below", "PORT", "doorbell of the vmm in whose guest this one runs, on aarch64 of neve",
	  NUMBER, AT(below), 1, ARCH_PORT_MAX },
	{ "source", "NAME", "source of its records (vmm)", TEXT_OF(source) },
	{ "module", "FILE", "load this kernel module first (up to 8)", MODULE, 0, 0,
	  MAX_PATH_BYTES },
	{ "config", "FILE", "read options from a file; arguments win", TEXT_OF(file) },
	{ "probe", NULL, "test /dev/kvm, print a JSON line", FLAG, AT(action), 0, ACTION_PROBE },
	{ "version", NULL, "print the version", FLAG, AT(action), 0, ACTION_VERSION },
	{ "help", NULL, "print this help", FLAG, AT(action), 0, ACTION_HELP },
};

#define KEYS_END (keys + sizeof(keys) / sizeof(keys[0]))

/* "0,1,-": vCPU 0 on CPU 0, vCPU 1 on CPU 1, vCPU 2 not pinned. */
static bool take_pin(struct config *config, const char *value)
{
	for (unsigned i = 0; i < MAX_VCPUS; i++) {
		size_t bytes = strcspn(value, ",");
		uint64_t cpu = 0;

		config->pin[i] = PIN_NONE;
		if (i && !value[0])
			continue;
		if (bytes != 1 || value[0] != '-') {
			if (!parse_u64(value, bytes, &cpu) || cpu >= MAX_HOST_CPUS)
				return fail("expected CPU numbers such as 0,1,-");
			config->pin[i] = (int)cpu;
		}
		value += bytes + (value[bytes] && value[bytes + 1]);
	}
	return !value[0] || fail("more than %u CPUs", MAX_VCPUS);
}

static bool take(struct config *config, const struct key *key, const char *value)
{
	void *to = (char *)config + key->offset;
	uint64_t number = key->most;

	switch (key->type) {
	case NUMBER:
		if (!parse_u64(value, strlen(value), &number) || number < key->least ||
		    number > key->most)
			return fail("expected a number from %lu to %lu", key->least, key->most);
		/* fall through */
	case FLAG:
		*(uint64_t *)to = number;
		return true;
	case PIN:
		return take_pin(config, value);
	case MODULE:
		if (config->module_count == MAX_MODULES)
			return fail("more than %u modules", MAX_MODULES);
		to = config->modules[config->module_count++];
		/* fall through */
	case TEXT:
		if (strlen(value) >= key->most)
			return fail("longer than %lu bytes", key->most - 1);
		strcpy(to, value);
		return true;
	}
	return false;
}

/* `key=value`, a flag, or a key whose value is the next word, if any. */
static bool take_word(struct config *config, const char *word, const char *next, bool *took_next)
{
	size_t bytes = strcspn(word, "=");
	const char *value = word[bytes] ? word + bytes + 1 : NULL;
	const struct key *key = keys;

	while (key < KEYS_END &&
	       (strlen(key->name) != bytes || memcmp(key->name, word, bytes) != 0))
		key++;
	if (key == KEYS_END)
		return fail("unknown option %.200s; see --help", word);
	*took_next = key->value && !value;
	if (*took_next)
		value = next;
	if (!value != !key->value)
		return fail(value ? "%s takes no value" : "%s needs a value", key->name);
	return take(config, key, value) || fail("%s=%.200s: %s", key->name, value, error_text);
}

bool config_arguments(struct config *config, int count, char *const *words)
{
	for (int i = 0; i < count; i++) {
		bool took_next = false;

		if (strncmp(words[i], "--", 2) != 0)
			return fail("unknown argument %.200s: options begin with --", words[i]);
		if (!take_word(config, words[i] + 2, i + 1 < count ? words[i + 1] : NULL,
			       &took_next))
			return false;
		i += took_next;
	}
	return true;
}

bool config_text(struct config *config, const char *text, size_t bytes)
{
	char line[MAX_APPEND_BYTES + 64];
	unsigned number = 1;

	for (size_t at = 0, length; at < bytes; at += length + 1, number++) {
		const char *end = memchr(text + at, '\n', bytes - at);
		bool took_next;

		length = end ? (size_t)(end - (text + at)) : bytes - at;
		if (!length || text[at] == '#')
			continue;
		if (length >= sizeof(line) || memchr(text + at, 0, length))
			return fail("line %u is too long, or not text", number);
		memcpy(line, text + at, length);
		line[length] = 0;
		if (strncmp(line, "config=", 7) == 0)
			return fail("line %u: config= is not allowed in a file", number);
		if (!take_word(config, line, NULL, &took_next))
			return fail("line %u: %s", number, error_text);
	}
	return true;
}

void config_defaults(struct config *config)
{
	*config = (struct config){ .console = "-",
				   .source = "vmm",
				   .memory_mib = 512,
				   .console_max_bytes = 16u << 20,
				   .vcpus = 1 };
	for (unsigned i = 0; i < MAX_VCPUS; i++)
		config->pin[i] = PIN_NONE;
}

static bool check_assign(const struct config *config)
{
#ifdef ARCH_ASSIGNED
	return !config->assign[0] || (!config->protect && !config->xen[0]) ||
	       fail("assign= excludes protected and xen=: leave one out");
#else
	(void)config;
	return true;
#endif
}

#ifdef ARCH_XEN
static bool check_xen(const struct config *config)
{
	if (!config->xen[0])
		return !config->xen_append[0] || fail("xen-append= needs xen=");
	return (!config->initrd[0] && !config->pmem[0] && !config->flat && !config->protect) ||
	       fail("xen= excludes initrd=, pmem=, flat and protected");
}
#else
static bool check_xen(const struct config *config)
{
	(void)config;
	return true;
}
#endif

bool config_check(const struct config *config)
{
	if (config->action == ACTION_RUN && !config->kernel[0])
		return fail("no kernel: use --kernel FILE, see --help");
	if (config->el2 && strcmp(ARCH_NAME, "aarch64") != 0)
		return fail("el2 is for aarch64 only");
	if (config->hyperv && strcmp(ARCH_NAME, "x86_64") != 0)
		return fail("hyperv is for x86_64 only");
	if (config->flat && strcmp(ARCH_NAME, "aarch64") != 0)
		return fail("flat is for aarch64 only");
	if (!config->source[0] ||
	    config->source[strspn(config->source, "abcdefghijklmnopqrstuvwxyz0123456789")])
		return fail("source=%s: expected 1 to %d of a-z and 0-9", config->source,
			    MAX_SOURCE_BYTES - 1);
	for (uint64_t i = config->vcpus; i < MAX_VCPUS; i++)
		if (config->pin[i] != PIN_NONE)
			return fail("pin= names more CPUs than there are vCPUs");
	return check_assign(config) && check_xen(config);
}

void config_help(void)
{
	puts("vmm --kernel FILE [options]: runs a kernel in a virtual machine on /dev/kvm\n");
	for (const struct key *key = keys; key < KEYS_END; key++)
		printf("  --%s %-*s %s\n", key->name, 19 - (int)strlen(key->name),
		       key->value ? key->value : "", key->help);
	puts("\nExit status: 0 the guest powered off, 1 error, 2 wrong usage, 10 reset or triple\n"
	     "fault, 11 KVM failed, 12 console-max, 13 timeout, 14 /dev/kvm can't be used,\n"
	     "128 + N signal N (docs/vmm.md).");
}
