/* Shows people what is measured, if the command line says so (table=1); see core/show.h. */
#include "guest/core/show.h"

#include "common/relax.h"
#include "guest/core/smp.h"
#include "guest/screen/screen.h"
#include "guest/screen/table.h"

#define MAX_STAY_SECONDS 86400

static uint64_t wanted, stay_seconds, second_ticks;
static char head[128];

bool show_takes(const struct word *word)
{
	if (word_is(word, "table"))
		return word_number(word, 0, 1, &wanted);
	if (word_is(word, "stay"))
		return word_number(word, 0, MAX_STAY_SECONDS, &stay_seconds);
	return false;
}

/* A frame buffer may lie where the page tables, made for memory, map nothing. */
static bool map_screen(const struct frame_buffer *screen)
{
	uint64_t end = screen->address + frame_buffer_bytes(screen), pa, bytes;

	for (uint64_t at = screen->address & ~(2 * MIB - 1); at < end; at += 2 * MIB)
		if (!translate(at, &pa, &bytes) && !install_pte(at, at, 2 * MIB))
			return false;
	return true;
}

void show_start(const struct params *params, const struct machine_facts *facts, uint64_t rows)
{
	struct table_facts table = {
		.head = head,
		.unit = params->unit == UNIT_INSNS ? "instructions" : params->tick_unit,
		.unit_hz = params->unit == UNIT_INSNS ? 0 : facts->clock_hz,
		.take_mode = params->unit == UNIT_INSNS,
		.selected = rows,
	};
	struct frame_buffer none = { 0 };
	struct text text;
	void *page;

	second_ticks = facts->clock_hz ? facts->clock_hz : arch_long_ticks();
	page = wanted ? heap_alloc_page(4 * KIB) : NULL;
	if (!page)
		return;
	text_start(&text, head, sizeof(head));
	text_printf(&text, "worldswitch %s: %s, CPUs: %u, memory: %lu MiB, hypervisor: %s",
		    GUEST_VERSION, facts->cpu, cpus_online(), memory_bytes() / MIB,
		    facts->hypervisor[0] ? facts->hypervisor : "none seen");
	table_start(&table, map_screen(&boot_screen) ? &boot_screen : &none, page, 4 * KIB);
}

void show_stay(void)
{
	if (!table_has_screen())
		return;
	for (uint64_t left = stay_seconds; left; left--) {
		uint64_t start = rdtimer();

		table_stays(left);
		while (rdtimer() - start < second_ticks)
			relax();
	}
}
