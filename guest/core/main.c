/* The guest's main program: reads the command line, sends `hello`, runs the rows, sends `bye`. */
#include "guest/core/guest_arch.h"
#include "guest/core/guest_console.h"
#include "guest/core/harness.h"
#include "guest/core/record_line.h"
#include "guest/core/regex.h"
#include "guest/core/share.h"
#include "guest/core/show.h"

#ifndef GUEST_VERSION
#error "the Makefile defines GUEST_VERSION"
#endif

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

static struct params params;
static struct record record;
static char pattern[MAX_CMDLINE_BYTES];

/* With a seed, data is shifted by up to this many pages of memory and cache lines of stack, minus 1. */
#define SHIFTS 64

/* A walk over the selected rows, in the order of rows=, or of the image. */
struct walk {
	const struct bench *bench; /* the next one, in the image's order */
	const char *name;	   /* rest of rows= */
};

static struct walk first_row(void)
{
	return (struct walk){ .bench = __benchmarks_start, .name = params.rows };
}

/* The row whose name this is; the name ends at a comma or blank. */
static const struct bench *row_named(const char *name, size_t bytes)
{
	for (const struct bench *bench = __benchmarks_start; bench < __benchmarks_end; bench++) {
		size_t same = 0;

		while (same < bytes && bench->name[same] == name[same])
			same++;
		if (same == bytes && !bench->name[same])
			return bench;
	}
	return NULL;
}

/* The next row, NULL after the last. Unknown names go to `unknown`. */
static const struct bench *next_row(struct walk *walk, struct text *unknown)
{
	while (walk->name) {
		const char *name = walk->name, *end = name;
		const struct bench *bench;

		while (*end && *end != ',' && *end != ' ')
			end++;
		walk->name = *end == ',' ? end + 1 : NULL;
		bench = row_named(name, (size_t)(end - name));
		if (bench && (!params.bench[0] || regex_search(params.bench, bench->name)))
			return bench;
		if (!bench && unknown) {
			text_printf(unknown, unknown->used ? " rows=" : "rows=");
			for (; name < end; name++)
				text_printf(unknown, "%c", *name);
		}
	}
	if (params.rows)
		return NULL;
	for (; walk->bench < __benchmarks_end; walk->bench++)
		if (!params.bench[0] || regex_search(params.bench, walk->bench->name))
			return walk->bench++;
	return NULL;
}

static void send_port(struct text *out, const char *key, uint64_t port)
{
	text_printf(out, "%s", key);
	if (port == PORT_NONE)
		text_printf(out, "null");
	else
		text_printf(out, "%lu", port);
}

static void send_ports(struct text *out)
{
	record_key(&record, "ports");
	send_port(out, "{\"in\":", params.in_port);
	send_port(out, ",\"out\":", params.out_port);
	send_port(out, ",\"print\":", params.print_port);
	text_printf(out, "}");
}

static void send_clock(struct text *out, const struct machine_facts *facts)
{
	record_string(&record, "clock", facts->clock);
	if (facts->clock_hz) {
		record_u64(&record, "clock_hz", facts->clock_hz);
		record_string(&record, "clock_hz_from", facts->clock_hz_from);
	} else {
		record_key(&record, "clock_hz");
		text_printf(out, "null,\"clock_hz_from\":null");
	}
}

/* Sends words separated by single blanks as an array. */
static void send_words(struct text *out, const char *key, char *words)
{
	record_key(&record, key);
	text_printf(out, "[");
	for (char *word = words, *end; *word; word = end) {
		bool more;

		for (end = word; *end && *end != ' '; end++)
			;
		more = *end;
		*end = 0;
		text_printf(out, word == words ? "" : ",");
		text_json_string(out, word);
		end += more;
	}
	text_printf(out, "]");
}

static void send_hello(uint64_t cpus_wanted, uint64_t rows, const struct text *unknown)
{
	static const char *const abis[] = { "none", "kvm", "xen", "hyperv" };
	struct machine_facts facts;
	struct text *out;

	machine_facts(&facts, params.unit == UNIT_TIME);
	out = record_start(&record, "hello");
	record_u64(&record, "protocol", 1);
	record_string(&record, "guest", GUEST_VERSION);
	record_string(&record, "compiler", COMPILER);
	record_string(&record, "arch", facts.arch);
	record_string(&record, "boot", boot_info.protocol);
	record_string(&record, "unit", params.unit == UNIT_INSNS ? "insns" : params.tick_unit);
	record_u64(&record, "cpus", cpus_online());
	record_u64(&record, "cpus_wanted", cpus_wanted);
	record_string(&record, "apic", facts.interrupt_controller);
	if (facts.exception_level)
		record_string(&record, "exception_level", facts.exception_level);
	record_u64(&record, "memory_bytes", memory_bytes());
	record_string(&record, "cpu", facts.cpu);
	record_string(&record, "hypervisor", facts.hypervisor);
	send_clock(out, &facts);
	record_string(&record, "hypercall", abis[params.hypercall]);
	record_u64(&record, "page_bytes", params.page_bytes);
	record_u64(&record, "ws_bytes", params.ws_bytes);
	send_ports(out);
	record_u64(&record, "samples", params.samples);
	record_u64(&record, "iters", params.iters);
	record_u64(&record, "pad", params.pad);
	if (params.seed)
		record_u64(&record, "seed", params.seed);
	record_key(&record, "external");
	text_printf(out, params.external ? "true" : "false");
	record_u64(&record, "selected", rows);
	send_words(out, "unknown", unknown->at);
	record_send(&record);
	show_start(&params, &facts, rows);
}

static _Noreturn void finish(const char *status)
{
	record_start(&record, "bye");
	record_string(&record, "status", status);
	record_send(&record);
	show_stay();
	power_off(params.hypercall);
}

_Noreturn void fault_outside(const struct fault *fault)
{
	struct text *out = record_start(&record, "fault");

	record_key(&record, "bench");
	text_printf(out, "null");
	record_string(&record, "phase", "none");
	record_u64(&record, "vector", fault->vector);
	record_string(&record, "name", fault->name);
	record_u64(&record, "error", fault->error);
	record_u64(&record, "address", fault->address);
	record_u64(&record, "ip", fault->ip);
	record_send(&record);
	show_stopped(fault);
	finish("fault");
}

_Noreturn void guest_main(void);
_Noreturn void guest_main(void)
{
	char unknown_buffer[512];
	struct cmdline_limits limits;
	struct text unknown;
	const struct bench *bench;
	uint64_t index = 0, rows = 0;
	volatile char *stack;
	struct walk walk;
	unsigned wanted;

	arch_init();
	share_image();
	text_start(&unknown, unknown_buffer, sizeof(unknown_buffer));
	arch_cmdline_limits(&limits);
	cmdline_defaults(&params, &limits);
	cmdline_parse(boot_info.cmdline, &params, pattern, sizeof(pattern), &unknown);
	if (params.unit == UNIT_INSNS && !clock_can_count_insns()) {
		params.unit = UNIT_TIME;
		text_printf(&unknown, unknown.used ? " unit=insns" : "unit=insns");
	}
	arch_enable_interrupts(&params);
	record_set_nonce(params.nonce);
	/* There is no outside clock for instructions. */
	params.external = params.external && params.unit == UNIT_TIME;
	if (!early_mem_init(params.seed % SHIFTS) || !setup_mmu()) {
		console_printf("the boot protocol told of no memory range that could be used\n");
		finish("fault");
	}
	console_use_doorbell(params.doorbell);
	if (params.answer)
		arch_answer_events(&params);
	wanted = params.smp ? (unsigned)params.smp : MAX_CPUS;
	start_others(wanted);

	for (walk = first_row(); next_row(&walk, &unknown);)
		rows++;
	send_hello(params.smp, rows, &unknown);
	/* Shifts the stack of everything below. */
	stack = __builtin_alloca(1 + params.seed % SHIFTS * 64);
	*stack = 0;
	harness_init(&params);
	for (walk = first_row(); (bench = next_row(&walk, NULL));)
		harness_run(bench, index++, &params);
	show_end();
	finish("ok");
}
