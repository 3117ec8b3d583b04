/*
 * Fuzzes the parsing of outside text: the command line, and patterns in it (libFuzzer, under ASan and
 * UBSan; make -C guest fuzz SECONDS=N). Results are checked by assertions, not only for crashes.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/text.h"
#include "guest/core/regex.h"
#include "guest/core/cmdline.h"
#include "posih.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[2048], storage[2048], unknown_buffer[512], json[4096];
	static const struct cmdline_limits limits = {
		.tick_unit = "tsc_ticks",
		.port_max = 0xffff,
		.local_apic = true,
		.scratch_port = 0x3ff,
		.print_port = 0x2f8,
	};
	struct params params;
	struct text unknown, out;

	if (size >= sizeof(line))
		return 0;
	memcpy(line, data, size);
	line[size] = 0;

	text_start(&unknown, unknown_buffer, sizeof(unknown_buffer));
	cmdline_defaults(&params, &limits);
	cmdline_parse(line, &params, storage, sizeof(storage), &unknown);
	assert(params.samples <= 1024 && params.smp <= MAX_CPUS);
	assert(params.page_bytes && params.ws_bytes >= 4096);
	assert(unknown.used < sizeof(unknown_buffer) && !unknown_buffer[unknown.used]);
	assert(regex_valid(params.bench) || !regex_search(params.bench, "idle"));

	/* As a pattern on itself: it terminates, and agrees with regex_valid(). */
	if (regex_search(line, line))
		assert(regex_valid(line));

	text_start(&out, json, sizeof(json));
	text_json_string(&out, line);
	for (size_t i = 0; i < out.used; i++)
		assert(json[i] >= 0x20 && json[i] < 0x7f);
	return 0;
}
