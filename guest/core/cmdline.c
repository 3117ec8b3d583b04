/* The guest's command line (docs/guest.md lists its words). Pure. */
#include "common/word.h"
#include "guest/core/regex.h"
#include "guest/core/cmdline.h"
#include "guest/core/show.h"
#include "posih.h"

#define MAX_SAMPLES 1024

static bool value_port(const struct word *word, const struct params *params, uint64_t *to)
{
	return word_number(word, 0, params->port_max, to);
}

static bool value_hypercall(const struct word *word, enum hypercall_abi *to)
{
	static const char *const names[] = { "none", "kvm", "xen", "hyperv" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (word_value_is(word, names[i])) {
			*to = (enum hypercall_abi)i;
			return true;
		}
	return false;
}

static bool value_page(const struct word *word, uint64_t *to)
{
	if (word_value_is(word, "4k"))
		*to = 4 * KIB;
	else if (word_value_is(word, "2m"))
		*to = 2 * MIB;
	else if (word_value_is(word, "1g"))
		*to = GIB;
	else
		return false;
	return true;
}

static bool value_unit(const struct word *word, struct params *params)
{
	if (word_value_is(word, "insns"))
		params->unit = UNIT_INSNS;
	else if (word_value_is(word, params->tick_unit))
		params->unit = UNIT_TIME;
	else
		return false;
	return true;
}

static bool value_apic(const struct word *word, struct params *params)
{
	bool xapic = word_value_is(word, "xapic");

	if (!params->local_apic || (!xapic && !word_value_is(word, "x2apic")))
		return false;
	params->xapic = xapic;
	return true;
}

static bool value_switch(const struct word *word, bool *to)
{
	uint64_t value;

	if (!word_number(word, 0, 1, &value))
		return false;
	*to = value;
	return true;
}

/* An invalid pattern is kept: it matches nothing, and after a typo it is better to run nothing than
 * everything. */
static bool value_bench(const struct word *word, struct params *params, char *storage,
			size_t storage_bytes)
{
	if (word->value_bytes >= storage_bytes) {
		params->bench = "(";
		return false;
	}
	for (size_t i = 0; i < word->value_bytes; i++)
		storage[i] = word->value[i];
	storage[word->value_bytes] = 0;
	params->bench = storage;
	return regex_valid(storage);
}

static bool value_port_or_none(const struct word *word, const struct params *params, uint64_t *to)
{
	if (!word_value_is(word, "none"))
		return value_port(word, params, to);
	*to = PORT_NONE;
	return true;
}

static bool value_channel(const struct word *word, uint32_t *to)
{
	uint64_t value;

	if (!word_number(word, 1, 63, &value))
		return false;
	*to = (uint32_t)value;
	return true;
}

static bool take(const struct word *word, struct params *params, char *storage, size_t bytes)
{
	if (word_is(word, "bench"))
		return value_bench(word, params, storage, bytes);
	if (word_is(word, "samples"))
		return word_number(word, 1, MAX_SAMPLES, &params->samples);
	if (word_is(word, "iters"))
		return word_number(word, 1, 1000000000, &params->iters);
	if (word_is(word, "page"))
		return value_page(word, &params->page_bytes);
	if (word_is(word, "ws"))
		return word_number(word, 4 * KIB, 256 * GIB, &params->ws_bytes);
	if (word_is(word, "smp"))
		return word_number(word, 1, MAX_CPUS, &params->smp);
	if (word_is(word, "hypercall"))
		return value_hypercall(word, &params->hypercall);
	if (word_is(word, "apic"))
		return value_apic(word, params);
	if (word_is(word, "in"))
		return value_port(word, params, &params->in_port);
	if (word_is(word, "out"))
		return value_port(word, params, &params->out_port);
	if (word_is(word, "print"))
		return value_port_or_none(word, params, &params->print_port);
	if (word_is(word, "doorbell"))
		return value_port_or_none(word, params, &params->doorbell);
	if (word_is(word, "channel"))
		return value_channel(word, &params->channel);
	if (word_is(word, "channel-unpaged"))
		return value_channel(word, &params->channel_unpaged);
	if (word_is(word, "answers"))
		return word_number(word, 1, UINT32_MAX - 7, &params->answers);
	if (word_is(word, "answer"))
		return value_switch(word, &params->answer);
	if (word_is(word, "nonce"))
		return parse_hex(word->value, word->value_bytes, &params->nonce);
	if (word_is(word, "pad"))
		return word_number(word, 0, 1000000, &params->pad);
	if (word_is(word, "external"))
		return value_switch(word, &params->external);
	if (word_is(word, "unit"))
		return value_unit(word, params);
	if (word_is(word, "seed"))
		return word_number(word, 0, UINT64_MAX, &params->seed);
	if (word_is(word, "rows")) {
		params->rows = word->value;
		return word->value_bytes;
	}
	return show_takes(word);
}

void cmdline_defaults(struct params *params, const struct cmdline_limits *limits)
{
	*params = (struct params){
		.unit = UNIT_TIME,
		.hypercall = HYPERCALL_NONE,
		.page_bytes = 4 * KIB,
		.ws_bytes = 2 * MIB,
		.in_port = limits->scratch_port,
		.out_port = limits->scratch_port,
		.print_port = limits->print_port,
		.doorbell = PORT_NONE,
		.bench = "",
		.tick_unit = limits->tick_unit,
		.port_max = limits->port_max,
		.local_apic = limits->local_apic,
	};
}

void cmdline_parse(const char *line, struct params *params, char *storage, size_t storage_bytes,
		   struct text *unknown)
{
	struct word word;

	while (word_next(&line, &word)) {
		if (take(&word, params, storage, storage_bytes))
			continue;
		if (unknown->used)
			text_printf(unknown, " ");
		word_put(&word, unknown);
	}
}
