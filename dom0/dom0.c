/*
 * Xen's dom0 with a minimal tool stack: builds one domain from the module that Xen passed (our guest), runs
 * it, answers its events, and ends the machine when the domain ends. Output goes to COM1 as records of
 * source dom0, and as text on errors. While the domain runs, it owns COM1 and COM3, so Xen's console must
 * be elsewhere (docs/lab-xen.md).
 */
#include "dom0/answer.h"
#include "dom0/clocks.h"
#include "guest/core/guest_arch.h"
#include "guest/platform/boot_protocol.h"
#include "dom0/domain.h"
#include "dom0/kernel_file.h"
#include "dom0/handover.h"
#include "common/pvh.h"
#include "event_channel.h"
#include "guest/core/record_line.h"
#include "guest/core/smp.h"
#include <arch/tables.h>
#include "common/word.h"
#include "dom0/words.h"

#define PAGE		    (4 * KIB)
#define LOWEST_LOAD	    MIB
#define COM1		    0x3f8
#define COM3		    0x3e8
#define PORT_REGISTERS	    8
#define VIRQ_DOMAIN_CHANGED 3 /* VIRQ_DOM_EXC: xen.h */
#define XEN_EXTRA_VERSION   1 /* XENVER_extraversion: version.h */

extern uint32_t boot_handover;
_Noreturn void guest_main(void);

static struct record record;
static char trouble_text[256];
static struct text trouble;
static struct domain domain = { .trouble = &trouble };

/* The channels to the domain, with dom0's port and the domain's port of each: dom0 answers events of the
 * first with paging on, of the second also with the time, of the third by telling its clocks, of the last with
 * paging off. The domain takes the first three for neighbours (event_channel.h). changed_port: dom0's port for
 * Xen's notification that the domain's state changed. */
enum { PAGED, STAMPED, CLOCK, UNPAGED, CHANNELS };
_Static_assert(STAMPED == PAGED + EVENT_CHANNEL_STAMPED && CLOCK == PAGED + EVENT_CHANNEL_CLOCK,
	       "the domain's ports");
static uint32_t ports[CHANNELS], domain_ports[CHANNELS], changed_port;

/* ---- Output --------------------------------------------------------------------------------- */

static void say_hello(const struct words *words, const char *guest_words)
{
	char extra[17] = "", version_text[40], unit[16] = "tsc_ticks";
	struct text xen;
	uint64_t version = (uint64_t)xen_call(XEN_VERSION_OP, 0, NULL);

	(void)word_find(guest_words, "unit", unit, sizeof(unit));
	xen_call(XEN_VERSION_OP, XEN_EXTRA_VERSION, extra);
	text_start(&xen, version_text, sizeof(version_text));
	text_printf(&xen, "%lu.%lu%s", version >> 16, version & 0xffff, extra);

	record_start(&record, "hello");
	record_u64(&record, "protocol", 1);
	record_string(&record, "arch", "x86_64");
	record_string(&record, "unit", unit);
	record_u64(&record, "cpus", words->cpus);
	record_u64(&record, "memory_bytes", words->memory_mib * MIB);
	record_string(&record, "xen", version_text);
	record_send(&record);
}

/* Ends the machine by a reset, because for a power-off Xen would only halt. The emulator must treat a reset
 * as the end (QEMU: -no-reboot). */
static _Noreturn void finish(const char *status, const char *why)
{
	record_start(&record, "bye");
	record_string(&record, "status", status);
	record_string(&record, "why", why);
	record_send(&record);
	if (!text_equal(status, "ok"))
		console_printf("dom0: %s\n", why);
	console_drained();
	xen_shutdown(XEN_REBOOT);
	for (;;)
		__asm__ volatile("cli; hlt");
}

_Noreturn void fault_outside(const struct fault *fault)
{
	char why[96];
	struct text text;

	text_start(&text, why, sizeof(why));
	text_printf(&text, "dom0 itself raised %s (error %lx) at %lx, address %lx", fault->name,
		    fault->error, fault->ip, fault->address);
	finish("fault", why);
}

/* On anything but Xen a hypercall would raise an exception. */
static void insist_on_xen(void)
{
	const struct pvh_start_info *info = (const struct pvh_start_info *)(uint64_t)boot_handover;
	struct machine_facts facts;

	machine_facts(&facts, false);
	if (text_equal(facts.hypervisor, "XenVMMXenVMM") && info->magic == PVH_MAGIC &&
	    info->flags & PVH_FIRST_DOMAIN)
		return;
	console_printf("dom0: this program is for Xen, which has to start it as its dom0 by PVH "
		       "(dom0=pvh)\n");
	power_off(HYPERCALL_NONE);
}

/* ---- Building the domain -------------------------------------------------------------------- */

/* The guest's image and command line. */
static bool find_module(struct pvh_module *module)
{
	const struct pvh_start_info *info = (const struct pvh_start_info *)(uint64_t)boot_handover;

	if (info->module_count && info->modules) {
		*module = *(const struct pvh_module *)info->modules;
		return true;
	}
	text_printf(&trouble, "Xen hands over no second module: the guest's image goes there");
	return false;
}

static bool load(const struct pvh_module *module, uint64_t memory_bytes, uint64_t *entry)
{
	struct kernel_file kernel;
	const char *wrong = kernel_file_read(&kernel, (const uint8_t *)module->start, module->bytes,
					     LOWEST_LOAD, memory_bytes);
	uint64_t first = kernel.start & ~(PAGE - 1);
	uint8_t *window;

	if (wrong) {
		text_printf(&trouble, "the guest's image can't be loaded: %s", wrong);
		return false;
	}
	window = domain_map(&domain, first, (unsigned)((kernel.end - first + PAGE - 1) / PAGE));
	if (!window)
		return false;
	for (unsigned i = 0; i < kernel.piece_count; i++) {
		const struct kernel_piece *piece = &kernel.pieces[i];
		uint8_t *to = window + (piece->address - first);

		for (uint64_t at = 0; at < piece->memory_bytes; at++)
			to[at] = at < piece->file_bytes ? piece->from[at] : 0;
	}
	*entry = kernel.pvh_entry;
	return true;
}

static bool open_channels(void)
{
	struct xen_bind_virq changed = { .virq = VIRQ_DOMAIN_CHANGED };

	for (unsigned i = 0; i < CHANNELS; i++) {
		struct xen_alloc_unbound unbound = { .domain = domain.id };
		struct xen_bind_interdomain bind = { .remote_domain = domain.id };

		if (!domain_did(&domain, "open an event channel",
				xen_call(XEN_EVENT_CHANNEL_OP, XEN_ALLOC_UNBOUND, &unbound)))
			return false;
		domain_ports[i] = bind.remote_port = unbound.port;
		if (!domain_did(&domain, "bind an event channel",
				xen_call(XEN_EVENT_CHANNEL_OP, XEN_BIND_INTERDOMAIN, &bind)))
			return false;
		ports[i] = bind.local_port;
		if (domain_ports[i] != domain_ports[PAGED] + i) {
			text_printf(&trouble, "Xen does not number event channels in order");
			return false;
		}
	}
	if (!domain_did(&domain, "report domain end events",
			xen_call(XEN_EVENT_CHANNEL_OP, XEN_BIND_VIRQ, &changed)))
		return false;
	changed_port = changed.port;
	return true;
}

/* Writes the domain's boot information into its memory. Returns dom0's mapping of it. */
static uint8_t *hand_over(const struct words *words, const char *guest_words)
{
	char cmdline[MAX_CMDLINE_BYTES];
	struct handover handover = {
		.memory_bytes = words->memory_mib * MIB,
		.cpus = (unsigned)words->cpus,
		.cmdline = cmdline,
	};
	uint8_t *window = domain_map(&domain, HANDOVER_AT, HANDOVER_BYTES / PAGE);
	struct text text;

	text_start(&text, cmdline, sizeof(cmdline));
	text_printf(&text, "%s channel=%u channel-unpaged=%u answers=0x%x", guest_words,
		    domain_ports[PAGED], domain_ports[UNPAGED], HANDOVER_ANSWERS);
	if (window && (text.full || !handover_write(window, &handover))) {
		text_printf(&trouble, "the guest's command line is too long");
		return NULL;
	}
	return window;
}

/* Returns dom0's mapping of the page of answers, or NULL on failure. */
static volatile struct answers_page *build(const struct words *words,
					   const struct pvh_module *module, const char *guest_words)
{
	unsigned cpu_count = (unsigned)words->cpus;
	uint8_t *handed_over;
	uint64_t entry;

	if (!domain_create(&domain, cpu_count) ||
	    !domain_add_memory(&domain, words->memory_mib, cpu_count) ||
	    !load(module, words->memory_mib * MIB, &entry) || !open_channels())
		return NULL;
	handed_over = hand_over(words, guest_words);
	if (!handed_over || !domain_give_ports(&domain, COM1, PORT_REGISTERS) ||
	    !domain_give_ports(&domain, COM3, PORT_REGISTERS) ||
	    !domain_start_at(&domain, entry, HANDOVER_AT))
		return NULL;
	return (volatile struct answers_page *)(handed_over + HANDOVER_ANSWERS - HANDOVER_AT);
}

/* ---- Running the domain --------------------------------------------------------------------- */

static bool take(volatile uint64_t *pending, uint64_t events)
{
	return __atomic_fetch_and(pending, ~events, __ATOMIC_SEQ_CST) & events;
}

/* Starts the domain and returns when it has ended. dom0 polls two ports at a time, and Xen wakes a poller
 * of more than one port at any event; so each answer loop returns when an event for another is pending. */
static bool serve(volatile struct answers_page *page, enum xen_shutdown *reason)
{
	uint32_t polled[CHANNELS][2];
	struct xen_poll polls[CHANNELS];
	struct xen_poll_32 poll_32;
	uint64_t changed = 1ull << changed_port, events = 0;
	volatile uint64_t *pending = xen_pending_events();
	struct answer answer[CHANNELS];

	if (!pending) {
		text_printf(&trouble, "Xen gives dom0 no shared information page");
		return false;
	}
	for (unsigned i = 0; i < CHANNELS; i++)
		events |= 1ull << ports[i];
	for (unsigned i = 0; i < CHANNELS; i++) {
		polled[i][0] = ports[i];
		polled[i][1] = changed_port;
		polls[i] = (struct xen_poll){ .ports = polled[i], .port_count = 2 };
		answer[i] = (struct answer){
			.amd = xen_call_kind(),
			.send = &ports[i],
			.poll = &polls[i],
			.pending = pending,
			.bit = ports[i],
			.others = changed | (events & ~(1ull << ports[i])),
			.page = page,
		};
	}
	poll_32 = (struct xen_poll_32){
		.ports = (uint32_t)(uint64_t)polled[UNPAGED],
		.port_count = 2,
	};
	answer[UNPAGED].poll = &poll_32;
	take(pending, events); /* binding leaves events pending that were never sent */
	console_drained();
	if (!domain_unpause(&domain))
		return false;
	do {
		answer_events(&answer[PAGED]);
		answer_events_stamped(&answer[STAMPED]);
		answer_events_unpaged(&answer[UNPAGED]);
		if (take(pending, 1ull << ports[CLOCK])) {
			clocks_tell(page);
			xen_call(XEN_EVENT_CHANNEL_OP, XEN_EVENT_SEND, &ports[CLOCK]);
		}
	} while (!take(pending, changed) || !domain_has_ended(&domain, reason));
	return !trouble.used;
}

static _Noreturn void tell_end(enum xen_shutdown reason)
{
	switch (reason) {
	case XEN_POWER_OFF:
		finish("ok", "the domain powered off");
	case XEN_REBOOT:
		finish("reset", "the domain was reset: a triple fault, or it asked for it");
	case XEN_CRASH:
		finish("crash", "Xen gave the domain up: its own console says why");
	default:
		finish("error", "the domain ended in a way that its guest does not know");
	}
}

_Noreturn void guest_main(void)
{
	char unknown_text[128];
	struct words words = { .memory_mib = 128, .cpus = 1 };
	enum xen_shutdown reason = XEN_CRASH;
	struct pvh_module module;
	volatile struct answers_page *answers;
	const char *guest_words;
	struct text unknown;
	uint64_t nonce;

	/* Not arch_init(): an enabled APIC would add instructions to each of dom0's turns. */
	cpu_own(&cpus[0]);
	tables_init();
	console_init();
	boot_read();
	record_set_source("dom0");
	text_start(&trouble, trouble_text, sizeof(trouble_text));
	text_start(&unknown, unknown_text, sizeof(unknown_text));
	insist_on_xen();
	if (!find_module(&module))
		finish("error", trouble_text);
	guest_words = module.cmdline ? words_behind_name((const char *)module.cmdline) : "";
	/* The guest and dom0 share the launch's nonce, which is in the guest's command line. */
	if (word_nonce(guest_words, &nonce))
		record_set_nonce(nonce);
	if (!words_read(boot_info.cmdline, &words, &unknown)) {
		text_printf(&trouble, "dom0 can't use these words: %s", unknown_text);
		finish("error", trouble_text);
	}
	say_hello(&words, guest_words);
	answers = build(&words, &module, guest_words);
	if (!answers || !serve(answers, &reason))
		finish("error", trouble_text);
	tell_end(reason);
}
