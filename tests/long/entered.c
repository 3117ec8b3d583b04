/*
 * A plugin of QEMU's TCG that prints when functions are entered: the instructions executed until then, the function's name
 * and whose it is. The kernels of a host and of its VM may have the same functions at the same addresses: "host" are those of
 * the kernel that entered one first, which lies in one piece of the machine's memory. Words: symbols=FILE (lines of an address
 * and a name, 64 at most) and out=FILE.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/qemu.h"

#define MOST 64

/* More of QEMU's interface. */
struct scoreboard;
struct counter {
	struct scoreboard *board;
	size_t offset;
};
enum { ADD };
struct scoreboard *qemu_plugin_scoreboard_new(size_t bytes);
uint64_t qemu_plugin_u64_get(struct counter counter, unsigned cpu);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn, int what,
							 struct counter counter, uint64_t number);

EXPORT int qemu_plugin_version = PLUGIN_API;

static struct function {
	uint64_t address;
	char name[64];
} functions[MOST];

/* A function's code in one of the kernels. */
struct place {
	const struct function *function;
	uintptr_t code;
};

static unsigned count;
static struct counter executed;
static FILE *out;

static void entered(unsigned cpu, void *data)
{
	static uintptr_t host;
	const struct place *place = data;
	uintptr_t offset = place->code - place->function->address;

	if (!host)
		host = offset;
	fprintf(out, "%" PRIu64 " %s %s\n", qemu_plugin_u64_get(executed, cpu),
		place->function->name, offset == host ? "host" : "vm");
}

/* Never freed: code may be executed until the end. */
static struct place *place_of(const struct function *function, const void *code)
{
	struct place *place = malloc(sizeof(*place));

	if (!place)
		abort();
	*place = (struct place){ .function = function, .code = (uintptr_t)code };
	return place;
}

static void translated(qemu_plugin_id id, struct qemu_plugin_tb *block)
{
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);

		for (unsigned k = 0; k < count; k++)
			if (functions[k].address == qemu_plugin_insn_vaddr(insn))
				qemu_plugin_register_vcpu_insn_exec_cb(
					insn, entered, QEMU_PLUGIN_CB_NO_REGS,
					place_of(&functions[k], qemu_plugin_insn_haddr(insn)));
		qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, ADD, executed, 1);
	}
}

static void ended(qemu_plugin_id id, void *unused)
{
	(void)id;
	(void)unused;
	fclose(out);
}

/* The value of a word, or NULL. */
static const char *value(const char *name, int words, char **list)
{
	size_t length = strlen(name);

	for (int i = 0; i < words; i++)
		if (strncmp(list[i], name, length) == 0 && list[i][length] == '=')
			return list[i] + length + 1;
	return NULL;
}

int qemu_plugin_install(qemu_plugin_id id, const struct qemu_info *info, int words, char **list)
{
	const char *symbols = value("symbols", words, list), *path = value("out", words, list);
	FILE *file = symbols ? fopen(symbols, "r") : NULL;

	(void)info;
	out = path ? fopen(path, "w") : NULL;
	if (!file || !out)
		return 1;
	while (count < MOST && fscanf(file, "%" SCNx64 " %63s", &functions[count].address,
				      functions[count].name) == 2)
		count++;
	fclose(file);
	executed.board = qemu_plugin_scoreboard_new(sizeof(uint64_t));
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
