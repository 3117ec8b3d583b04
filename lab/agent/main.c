/*
 * The first process of a machine that runs whole workloads: of lab:linux, of lab:kvm-linux's host, and of its
 * guest. What it says is in docs/records.md. It never returns: the kernel panics if its first process exits.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/duties.h"
#include "common/launch.h"
#include "common/reasons.h"
#include "asked.h"
#include "below.h"
#include "facts.h"
#include "files.h"
#include "guest.h"
#include "network.h"
#include "orders.h"
#include "paths.h"
#include "pins.h"
#include "root.h"
#include "row.h"
#include "several.h"
#include "say.h"
#include "machine.h"
#include "servers.h"

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

static struct config config;
static struct selection selection;
static struct record record;

/* On a host the root is there before the agent is. */
static bool is_entered(void)
{
	return getenv(ENTERED) != NULL;
}

static void read_config(void)
{
	static char text[1 << 18];
	char why[256];
	struct text error;
	const char *path = is_entered() ? "/lab" CONFIG_FILE : CONFIG_FILE;
	size_t bytes = file_read(path, text, sizeof(text));

	text_start(&error, why, sizeof(why));
	if (bytes == 0 || bytes == sizeof(text))
		give_up(CONFIG_FILE " can't be read, is empty or has %zu bytes or more",
			sizeof(text));
	if (!config_read(&config, text, bytes, &error))
		give_up(CONFIG_FILE ": %s", why);
}

/* Gets what the launch asks. `saves`: the machine is worth being saved as it is now. */
static char *read_asked(bool saves)
{
	static char own[MAX_LAUNCH_BYTES];
	char *lines = asked_lines(saves), why[256];
	struct text error;

	text_start(&error, why, sizeof(why));
	strcpy(own, lines);
	if (!asked_read(&config, own, &error) || !selection_read(&selection, &config, &error))
		give_up("this launch: %s", why);
	say_set_nonce(selection.nonce);
	return lines;
}

static void load_modules(void)
{
	for (unsigned i = 0; i < config.module_count; i++)
		if (!duties_load_module(config.modules[i]))
			give_up("can't load the module %s: %s", config.modules[i], strerror(errno));
}

/* Of the machine that is measured. */
static void send_hello(const struct message *facts)
{
	record_start(&record, "hello");
	record_u64(&record, "protocol", 1);
	record_string(&record, "guest", AGENT_VERSION);
	record_string(&record, "compiler", COMPILER);
	record_string(&record, "arch", ARCH_NAME);
	record_string(&record, "boot", "linux");
	record_string(&record, "unit", selection.insns ? "insns" : CLOCK_UNIT);
	record_u64(&record, "cpus", facts->cpus);
	record_u64(&record, "cpus_wanted", selection.cpus_wanted);
	record_u64(&record, "memory_bytes", facts->memory_bytes);
	record_string(&record, "cpu", facts->text);
	record_string(&record, "hypervisor", strcmp(facts->name, "-") ? facts->name : "");
	record_string(&record, "clock", CLOCK);
	record_string(&record, "hypercall", "none");
	record_u64(&record, "samples", selection.samples);
	record_u64(&record, "pad", selection.pad);
	if (selection.seed)
		record_u64(&record, "seed", selection.seed);
	record_u64(&record, "selected", selection.count);
	say_record(&record, SOURCE_GUEST);
}

static void send_monitor_hello(void)
{
	struct message facts;

	facts_read(&facts);
	record_start(&record, "hello");
	record_u64(&record, "protocol", 1);
	record_string(&record, "arch", ARCH_NAME);
	record_string(&record, "unit", selection.insns ? "insns" : CLOCK_UNIT);
	record_u64(&record, "cpus", facts.cpus);
	record_u64(&record, "memory_bytes", facts.memory_bytes);
	say_record(&record, SOURCE_MONITOR);
}

static void send_bye(enum source source, const char *status, const char *why)
{
	record_start(&record, "bye");
	record_string(&record, "status", status);
	if (why)
		record_string(&record, "why", why);
	say_record(&record, source);
}

static _Noreturn void finish(void)
{
	say_drain();
	duties_power_off("agent");
}

/* False: the VM was lost in the middle. */
static bool measure_all(const struct launch *launch, bool can_be_lost)
{
	for (unsigned i = 0; i < selection.count; i++)
		if (!row_measure(launch, i) && can_be_lost)
			return false;
	return true;
}

/* vCPUs take turns on the machine's CPU. One that waits for another spins until its turn is over: QEMU's SVM has
 * no filter of PAUSE, by which KVM would end it. So turns are short, 0.1 ms and not the 4 of a timer's tick; and a
 * vCPU that wakes up vhost, with the lock of its queue, goes on until it has released it. */
static void set_turns(void)
{
	static const char *const settings[][2] = {
		{ "/sys/kernel/debug/sched/features", "HRTICK" },
		{ "/sys/kernel/debug/sched/features", "NO_WAKEUP_PREEMPTION" },
		{ "/sys/kernel/debug/sched/base_slice_ns", "100000" },
	};

	(void)mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (!file_write(settings[i][0], settings[i][1]))
			give_up("can't write %s to %s: %s", settings[i][1], settings[i][0],
				strerror(errno));
}

/* Returns the status of the `bye`. */
static const char *run_native(void)
{
	struct launch launch = { .selection = &selection, .role = ROLE_NATIVE };
	struct message facts;

	facts_read(&facts);
	launch.cpus = (unsigned)facts.cpus;
#if SEVERAL_CPUS
	tracefs_mount();
	if (config.pin_count) {
		pins_stay(CLIENTS_CPU);
		launch.cpus--;
	}
#endif
	launch.no_network = network_up(&config);
	read_asked(true);
	send_hello(&facts);
	measure_all(&launch, false);
	return "ok";
}

static const char *run_host(void)
{
	struct launch launch = { .selection = &selection, .role = ROLE_HOST };
	struct message facts = { .cpus = 1 };
	const char *failed, *lines;
	bool started;

	if (config.pin_count)
		pins_stay(0);
	kvm_counts_setup();
	below_setup(config.doorbell);
	if (config.queues > 1 && !is_entered())
		set_turns();
	launch.no_network = network_up(&config);
	failed = servers_setup(&config);
	if (failed)
		give_up("%s", failed);
	started = guest_start(&config, &facts);
	lines = read_asked(started);
	below_tell(selection.nonce, selection.insns ? "insns" : CLOCK_UNIT);
	send_monitor_hello();
	started = started && guest_ask(lines);
	if (!started)
		facts = (struct message){ .cpus = 1 };
	launch.cpus = (unsigned)facts.cpus;
	send_hello(&facts);
	/* A VM that did not start would not do so the next time: each row is skipped, with that reason. After one
	 * that was lost there is no `bye` of the guest's, so that the runner launches the machine again for the
	 * rows that are left. */
	if (!measure_all(&launch, started)) {
		send_bye(SOURCE_MONITOR, "error", guest_lost());
		finish();
	}
	guest_stop();
	send_bye(SOURCE_MONITOR, started ? "ok" : "error",
		 started ? "all workloads were reached" : guest_lost());
	return started ? "ok" : "fault";
}

/* Idle time of several CPUs does not say when the machine was idle: only a VM whose threads have CPUs of their own,
 * for whose devices' work it hardly ever is, can be counted there, and what says itself how long that was. */
static void check_cpus(void)
{
	struct message facts;

	facts_read(&facts);
	if (!SEVERAL_CPUS && config.role != ROLE_GUEST && !is_entered() && facts.cpus != 1 &&
	    !config.pin_count)
		give_up("the machine has %lu CPUs: without pin= workloads can be measured only on one",
			facts.cpus);
	for (unsigned i = 0; i < config.pin_count; i++)
		if (config.pins[i].cpu >= facts.cpus)
			give_up("pin= is for CPU %u: the machine has %lu", config.pins[i].cpu,
				facts.cpus);
}

int main(void)
{
	const char *failed = is_entered() ? NULL : duties_mount();

	if (failed)
		give_up("can't mount %s: %s", failed, strerror(errno));
	read_config();
	check_cpus();
	load_modules();
	if (!is_entered())
		root_enter(config.root);
	command_setup();
	if (config.role == ROLE_GUEST)
		orders_follow(&config);
	send_bye(SOURCE_GUEST, config.role == ROLE_HOST ? run_host() : run_native(), NULL);
	finish();
}
