/* Reads the configuration; see config.h. Pure. */
#include "core/config.h"

#include "common/fdt.h"
#include "common/word.h"
#include "core/memory.h"

#define DEFAULT_MIB  256
#define MAX_MIB	     (64 * 1024)
#define PAGE_BYTES   0x1000
#define STAGE2_SMALL PAGE_BYTES
#define STAGE2_LARGE 0x200000

/* ---- Modules -------------------------------------------------------------------------------- */

struct module {
	struct memory_range range;
	bool kernel;
	uint32_t node; /* offset, as from fdt_node() */
};

struct modules {
	struct module all[MAX_MODULES];
	unsigned count;
};

/* Reads `reg`: an address and a size, of one cell or two each. By the bindings the parent node says how
 * many; QEMU always writes two. The length shows which. */
static bool module_range(const struct fdt *fdt, uint32_t node, struct memory_range *range)
{
	struct fdt_walk reg;
	uint32_t address, size;

	if (!fdt_property(fdt, node, "reg", &reg) ||
	    (reg.length != 8 && reg.length != 12 && reg.length != 16))
		return false;
	address = reg.length == 8 ? 1 : 2;
	size = reg.length / 4 - address;
	range->start = fdt_cells(reg.value, address);
	range->end = range->start + fdt_cells(reg.value + address * 4, size);
	return range->start && range->start < range->end;
}

/* Adds the node if it is a module, in order of address. Returns false for a bad module, or one too many. */
static bool add_module(const struct fdt *fdt, uint32_t node, struct modules *modules)
{
	struct fdt_walk compatible;
	struct module module = { .node = node };
	unsigned at = modules->count;

	if (!fdt_property(fdt, node, "compatible", &compatible) ||
	    !fdt_has_string(compatible.value, compatible.length, "multiboot,module"))
		return true;
	module.kernel = fdt_has_string(compatible.value, compatible.length, "multiboot,kernel");
	if (!module.kernel &&
	    !fdt_has_string(compatible.value, compatible.length, "multiboot,ramdisk"))
		return true;
	if (at == MAX_MODULES || !module_range(fdt, node, &module.range))
		return false;
	for (; at && modules->all[at - 1].range.start > module.range.start; at--)
		modules->all[at] = modules->all[at - 1];
	modules->all[at] = module;
	modules->count++;
	return true;
}

static bool find_modules(const struct fdt *fdt, struct modules *modules)
{
	uint32_t chosen = fdt_node(fdt, "/chosen", 7);
	struct fdt_walk walk = { .at = chosen, .depth = 1 };
	enum fdt_event event;

	*modules = (struct modules){ .count = 0 };
	if (!chosen)
		return true;
	while ((event = fdt_next(fdt, &walk)) < FDT_END) {
		if (event == FDT_NODE_END && walk.depth == 0)
			return true;
		if (event == FDT_NODE && walk.depth == 2 && !add_module(fdt, walk.at, modules))
			return false;
	}
	return false;
}

static bool take_modules(struct config *config, const struct fdt *fdt, struct text *wrong)
{
	struct modules modules;

	if (!find_modules(fdt, &modules)) {
		text_printf(wrong, "the modules under /chosen cannot be read, or are more than %u",
			    MAX_MODULES);
		return false;
	}
	for (unsigned i = 0; i < modules.count; i++) {
		const struct module *module = &modules.all[i];
		struct vm_config *vm = &config->vms[config->vm_count];
		struct fdt_walk bootargs;

		if (i && ranges_overlap(&module[-1].range, &module->range)) {
			text_printf(wrong,
				    "the modules at 0x%lx and 0x%lx overlap: load one of them at "
				    "another address",
				    module[-1].range.start, module->range.start);
			return false;
		}
		if (!module->kernel) {
			unsigned n = 0;

			while (config->vm_count && n < MAX_RAMDISKS && vm[-1].ramdisks[n].start)
				n++;
			if (!config->vm_count ||
			    n == (vm[-1].nest == MECHANISM_NONE ? 1 : MAX_RAMDISKS)) {
				text_printf(wrong,
					    "the ramdisk at 0x%lx belongs to no kernel: load it "
					    "above its kernel",
					    module->range.start);
				return false;
			}
			vm[-1].ramdisks[n] = module->range;
			continue;
		}
		if (config->vm_count == MAX_VMS) {
			text_printf(wrong, "there are more than %u kernels", MAX_VMS);
			return false;
		}
		config->vm_count++;
		vm->kernel = module->range;
		fdt_property(fdt, module->node, "bootargs", &bootargs);
		for (uint32_t j = 0; j < bootargs.length && j < MAX_CMDLINE_BYTES - 1; j++)
			vm->bootargs[j] = (char)bootargs.value[j];
	}
	if (!config->vm_count)
		text_printf(wrong, "there is no kernel to run: give one as a module (QEMU: -device "
				   "guest-loader,addr=0x50000000,kernel=FILE,bootargs=WORDS)");
	return config->vm_count;
}

/* ---- Words ---------------------------------------------------------------------------------- */

/* The `index`th of the values between commas, or the last one if there are fewer. */
static void piece_at(const struct word *word, unsigned index, const char **piece, size_t *bytes)
{
	const char *end = word->value + word->value_bytes;

	*piece = word->value;
	for (;;) {
		for (*bytes = 0; *piece + *bytes < end && (*piece)[*bytes] != ',';)
			++*bytes;
		if (!index-- || *piece + *bytes == end)
			return;
		*piece += *bytes + 1;
	}
}

/* Reads that value as a number from 1 to `highest`. */
static bool number_at(const struct word *word, unsigned index, uint64_t highest, uint64_t *value)
{
	const char *piece;
	size_t bytes;

	piece_at(word, index, &piece, &bytes);
	return parse_u64(piece, bytes, value) && *value && *value <= highest;
}

/* Finds that value in `known`. */
static bool choice_at(const struct word *word, unsigned index, const char *const *known,
		      unsigned count, unsigned *value)
{
	const char *piece;
	size_t bytes;

	piece_at(word, index, &piece, &bytes);
	for (*value = 0; *value < count; ++*value)
		if (text_is(piece, bytes, known[*value]))
			return true;
	return false;
}

static bool take_for_vm(struct vm_config *vm, unsigned i, const struct word *word)
{
	static const char *const mechanisms[] = { "none", "nv", "nv2", "pv", "neve" };
	static const char *const policies[] = {
		"lean",		  "kvm-4.10",	      "kvm-4.10-authors",
		"kvm-4.10-gicv3", "kvm-4.10-notimer", "kvm-4.10-gicv3-notimer",
	};
	static const char *const no_yes[] = { "0", "1" };
	unsigned choice = 0;
	bool good;

	if (word_is(word, "cpus"))
		return number_at(word, i, MAX_VCPUS, &vm->cpus);
	if (word_is(word, "memory")) {
		good = number_at(word, i, MAX_MIB, &vm->memory_bytes);
		vm->memory_bytes = good ? vm->memory_bytes * MIB : 0;
		return good;
	}
	if (word_is(word, "stage2")) {
		vm->stage2_bytes = word_value_is(word, "4k") ? STAGE2_SMALL : STAGE2_LARGE;
		return word_value_is(word, "2m") || word_value_is(word, "4k");
	}
	if (word_is(word, "nest")) {
		good = choice_at(word, i, mechanisms, 5, &choice);
		vm->nest = (enum mechanism)choice;
		return good;
	}
	if (word_is(word, "policy")) {
		good = choice_at(word, i, policies, POLICIES, &choice);
		vm->policy = (enum policy)choice;
		return good;
	}
	good = word_is(word, "vhe") && choice_at(word, i, no_yes, 2, &choice);
	vm->vhe = choice;
	return good;
}

/* ADDRESS+BYTES, in whole pages. */
static bool take_range(const struct word *word, struct memory_range *range)
{
	const char *plus = word->value, *end = word->value + word->value_bytes;
	uint64_t bytes;

	while (plus < end && *plus != '+')
		plus++;
	if (plus == end || !parse_u64(word->value, (size_t)(plus - word->value), &range->start) ||
	    !parse_u64(plus + 1, (size_t)(end - plus - 1), &bytes))
		return false;
	return range->start && bytes && !((range->start | bytes) & (PAGE_BYTES - 1)) &&
	       !__builtin_add_overflow(range->start, bytes, &range->end);
}

static bool take_word(struct config *config, const struct word *word)
{
	uint64_t address;

	if (word_is(word, "pmem"))
		return take_range(word, &config->vms[0].pmem);
	if (word_is(word, "level"))
		return word_number(word, 0, 9, &config->level);
	if (word_is(word, "doorbell")) /* read by mmu.c and main.c */
		return word_number(word, 0, UINT64_MAX, &address) && !(address & 7);
	for (unsigned i = 0; i < MAX_VMS; i++)
		if (!take_for_vm(&config->vms[i], i, word))
			return false;
	return true;
}

static bool take_words(struct config *config, const char *line, struct text *wrong)
{
	struct word word;

	while (word_next(&line, &word)) {
		if (take_word(config, &word))
			continue;
		text_printf(wrong, "the command line's word ");
		word_put(&word, wrong);
		text_printf(wrong,
			    " is none of cpus=N,... (1 to %u), memory=MIB,..., "
			    "stage2=2m|4k, nest=none|nv|nv2|pv|neve,..., vhe=0|1,..., "
			    "policy=lean|kvm-4.10[-authors|-gicv3|-notimer|-gicv3-notimer],..., "
			    "level=N, doorbell=0xADDRESS, pmem=0xADDRESS+0xBYTES",
			    MAX_VCPUS);
		return false;
	}
	return true;
}

bool config_read(struct config *config, const char *command_line, const void *tree, uint32_t most,
		 struct text *wrong)
{
	struct fdt fdt;
	const char *broken = fdt_open(&fdt, tree, most);

	*config = (struct config){ .vm_count = 0 };
	for (unsigned i = 0; i < MAX_VMS; i++) {
		config->vms[i].cpus = 1;
		config->vms[i].memory_bytes = DEFAULT_MIB * MIB;
		config->vms[i].stage2_bytes = STAGE2_LARGE;
	}
	if (broken) {
		text_printf(wrong, "%s", broken);
		return false;
	}
	return take_words(config, command_line, wrong) && take_modules(config, &fdt, wrong);
}

bool outer_bell(const char *command_line, uint64_t *address)
{
	char value[20];

	return word_find(command_line, "doorbell", value, sizeof(value)) &&
	       parse_u64(value, text_length(value), address) && !(*address & 7);
}
