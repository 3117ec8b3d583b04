/*
 * Fuzzes what reads text of others: the configuration, the runner's words, the guest's messages, the kernel's
 * counters and traces (libFuzzer, under ASan and UBSan; make -C lab/agent fuzz SECONDS=N). The first byte says which.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/reasons.h"
#include "counts.h"
#include "idle.h"
#include "message.h"
#include "steps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_config(char *text, size_t bytes)
{
	static struct selection selection;
	static struct config config;
	char why[256];
	struct text error;

	text_start(&error, why, sizeof(why));
	if (!config_read(&config, text, bytes, &error) || !config_add(&config, text, 0, &error)) {
		assert(error.used);
		return;
	}
	assert(config.role && config.root && config.workload_count <= MAX_WORKLOADS);
	assert(!config.words[config.word_count]);
	for (unsigned i = 0; i < config.workload_count; i++) {
		const struct workload *workload = &config.workloads[i];

		assert(workload->units && (workload->run || workload->requests.kind));
		assert(workload->requests.depth <= MAX_DEPTH);
	}
	for (unsigned i = 0; i < config.file_count; i++) {
		const struct file *file = &config.files[i];

		assert(strlen(file->name) <= MAX_NAME && file->text > file->name);
		assert(file->text + file->bytes <= text + bytes);
	}
	for (unsigned i = 0; i < config.server_count; i++)
		assert(strlen(config.servers[i].what) <= MAX_SERVER_BYTES);
	for (unsigned i = 0; i < config.pin_count; i++)
		assert(config.pins[i].cpu < MAX_CPUS && *config.pins[i].what);
	if (!selection_read(&selection, &config, &error)) {
		assert(error.used);
		return;
	}
	assert(selection.count && selection.count <= config.workload_count);
	assert(selection.samples && selection.samples <= MAX_SAMPLES);
}

static void fuzz_append(const char *words, size_t bytes)
{
	static const char head[] =
		"role=native\nroot=/x\nworkload=a\nunits=1\nplace=inside\nrun=x\n"
		"workload=b\nunits=1\nplace=inside\nrun=x\nappend=";
	char *text = malloc(sizeof(head) + bytes + 1);

	assert(text);
	memcpy(text, head, sizeof(head) - 1);
	memcpy(text + sizeof(head) - 1, words, bytes);
	text[sizeof(head) - 1 + bytes] = '\n';
	fuzz_config(text, sizeof(head) + bytes);
	free(text);
}

/* What was read is written and read again the same. */
static void fuzz_message(const char *line, size_t bytes)
{
	static struct message message, again;
	char written[MAX_MESSAGE + 1], twice[MAX_MESSAGE + 1];
	struct text out;

	if (!message_read(&message, line, bytes))
		return;
	text_start(&out, written, sizeof(written));
	message_write(&message, &out);
	assert(!out.full && memchr(written, '\n', out.used) == written + out.used - 1);
	assert(message_read(&again, written, out.used - 1));
	text_start(&out, twice, sizeof(twice));
	message_write(&again, &out);
	assert(strcmp(written, twice) == 0);
}

static void fuzz_counts(const char *text, size_t bytes)
{
	static struct reasons reasons;
	uint64_t value;
	char name[32];
	struct text out;

	(void)counts_number(text, bytes, &value);
	(void)counts_signed(text, bytes, &value);
	(void)counts_first(text, bytes, &value);
	(void)counts_idle_ns(text, bytes, &value);
	if (!reasons_parse(text, bytes, &reasons))
		return;
	assert(reasons.count <= REASONS_MAX);
	for (unsigned i = 0; i < reasons.count; i++) {
		text_start(&out, name, sizeof(name));
		reasons_name(reasons.rows[i].code, &out);
		assert(!out.full);
	}
}

/* What one side has read, the other takes. */
static void fuzz_steps(const char *trace, size_t bytes)
{
	struct passes passes, taken;
	struct steps steps;
	char words[80];
	struct text out;

	if (steps_read(&passes, trace, bytes, true))
		return;
	text_start(&out, words, sizeof(words));
	steps_put(&passes, &out);
	assert(!out.full && steps_take(&taken, words));
	assert(taken.count == passes.count && taken.replies == passes.replies);
	if (passes.count)
		assert(!steps_native(&steps, &passes, passes.count));
	(void)steps_in_vm(&steps, &passes, &taken, passes.first, passes.count);
}

/* Lines of a trace. */
static void fuzz_idle(const char *text, size_t bytes)
{
	struct idle idle;

	idle_begin(&idle, 3);
	for (size_t at = 0; at < bytes;) {
		const char *newline = memchr(text + at, '\n', bytes - at);
		size_t length = newline ? (size_t)(newline - text) - at : bytes - at;

		if (!idle_take(&idle, text + at, length))
			return;
		assert(idle.idle_count <= 3);
		at += length + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	/* A buffer of exactly its size, so that a read behind its end is seen. */
	text = malloc(size);
	assert(text);
	memcpy(text, data + 1, size - 1);
	switch (data[0] % 6) {
	case 0:
		fuzz_config(text, size - 1);
		break;
	case 1:
		fuzz_append(text, size - 1);
		break;
	case 2:
		fuzz_message(text, size - 1);
		break;
	case 3:
		fuzz_steps(text, size - 1);
		break;
	case 4:
		fuzz_idle(text, size - 1);
		break;
	default:
		fuzz_counts(text, size - 1);
	}
	free(text);
	return 0;
}
