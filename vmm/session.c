/* One guest: load, boot, wait, tell how it ended. Called by main. The main thread only waits; guests
 * run on threads of their own. */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "arch.h"
#include "bell.h"
#include "record.h"

#ifndef VMM_VERSION
#error "the Makefile defines VMM_VERSION"
#endif

#define MAX_KERNEL_BYTES (256u << 20)
#define IDLE_MS		 100 /* an unfinished line on the console is shown after so long */

struct session {
	const struct config *config;
	struct kvm kvm;
	struct vm vm;
	struct bell bell;
	struct record_line line;
	char command_line[MAX_APPEND_BYTES];
	int console_fd, signal_fd;
};

/* ---- Before it runs ------------------------------------------------------------------------ */

static uint8_t *read_file(const char *path, size_t *bytes, struct error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *content = NULL;
	struct stat status;
	ssize_t got;

	*bytes = 0;
	if (fd < 0 || fstat(fd, &status) < 0) {
		error_errno(error, "can't open %s", path);
	} else if (!S_ISREG(status.st_mode) || status.st_size > MAX_KERNEL_BYTES) {
		error_set(error, "%s is no file of at most %u MiB", path, MAX_KERNEL_BYTES >> 20);
	} else if (!(content = malloc((size_t)status.st_size + 1))) {
		error_errno(error, "no memory for %s", path);
	} else {
		while ((got = read(fd, content + *bytes, (size_t)status.st_size - *bytes)) > 0)
			*bytes += (size_t)got;
		if (got < 0) {
			error_errno(error, "can't read %s", path);
			free(content);
			content = NULL;
		}
	}
	if (fd >= 0)
		close(fd);
	return content;
}

/* Our own guest executes a hypercall instruction only if its command line says so, and a software
 * KVM does not survive one. Of a kernel that we do not know, nobody can say. */
static bool keep_from_hypercalls(struct session *session, bool ours, struct error *error)
{
	char value[16];

	if (!session->kvm.software)
		return true;
	if (!ours && !session->config->insist)
		return error_set(error,
				 "this is a software KVM, on which a hypercall instruction hangs "
				 "the guest, and %s is not worldswitch's guest: --insist runs "
				 "it all the same",
				 session->config->kernel);
	if (!config_word(session->command_line, "hypercall", value, sizeof(value)) ||
	    strcmp(value, "none") == 0)
		return true;
	fprintf(stderr, "vmm: this is a software KVM: hypercall=%s becomes hypercall=none\n",
		value);
	if (strlen(session->command_line) + sizeof(" hypercall=none") > MAX_APPEND_BYTES)
		return error_set(error, "append= has no room for hypercall=none");
	strcat(session->command_line, " hypercall=none");
	return true;
}

static bool load(struct session *session, struct error *error)
{
	const struct config *config = session->config;
	struct elf_kernel kernel;
	struct error why = { "" };
	size_t bytes;
	uint8_t *file = read_file(config->kernel, &bytes, error);
	bool done;

	if (!file)
		return false;
	done = elf_load(file, bytes, arch_elf_machine, arch_kernel_lowest, &session->vm.memory,
			&kernel, &why);
	free(file);
	if (done && !keep_from_hypercalls(session, kernel.worldswitch, error))
		return false;
	if (done)
		done = arch_boot(&session->vm, &kernel, session->command_line, &why);
	return done || error_set(error, "%s: %.400s", config->kernel, why.text);
}

/* What the guest's command line tells us too. */
static bool heed_words(struct session *session, struct error *error)
{
	char value[32], nonce[32] = "0x";
	uint64_t port;

	session->line = (struct record_line){ .console = &session->vm.console };
	if (config_word(session->command_line, "nonce", nonce + 2, 17))
		(void)parse_u64(nonce, strlen(nonce), &session->line.nonce);
	if (!config_word(session->command_line, "doorbell", value, sizeof(value)) ||
	    strcmp(value, "none") == 0)
		return true;
	if (!parse_u64(value, strlen(value), &port) || port > 0xfffc)
		return error_set(error, "doorbell=%s is no port", value);
	return bell_add(&session->bell, &session->vm, &session->line, (uint16_t)port, error);
}

static bool open_console(struct session *session, struct error *error)
{
	const char *path = session->config->console;

	session->console_fd = STDOUT_FILENO;
	if (strcmp(path, "-") == 0)
		return true;
	session->console_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644);
	return session->console_fd >= 0 || error_errno(error, "can't write %s", path);
}

/* Signals that end us are read by the main thread; vCPU threads inherit that they are blocked. */
static bool catch_signals(struct session *session, struct error *error)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	vm_signals();
	session->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	return session->signal_fd >= 0 || error_errno(error, "can't wait for signals");
}

/* ---- While it runs ------------------------------------------------------------------------- */

static bool is_past(const struct timespec *deadline)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > deadline->tv_sec ||
	       (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec);
}

static void wait_for_end(struct session *session)
{
	struct pollfd waits[] = {
		{ .fd = session->vm.end_event, .events = POLLIN },
		{ .fd = session->signal_fd, .events = POLLIN },
	};
	unsigned timeout_s = session->config->timeout_s;
	struct signalfd_siginfo signal;
	struct timespec deadline;

	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += timeout_s;
	for (;;) {
		int ready = poll(waits, 2, IDLE_MS);

		if (ready > 0 && waits[0].revents)
			return;
		if (ready > 0 && read(session->signal_fd, &signal, sizeof(signal)) > 0)
			vm_end(&session->vm, END_SIGNAL + (int)signal.ssi_signo,
			       "ended by signal %u (%s)", signal.ssi_signo,
			       strsignal((int)signal.ssi_signo));
		if (timeout_s && is_past(&deadline))
			vm_end(&session->vm, END_TIMEOUT, "it ran longer than timeout=%u",
			       timeout_s);
		if (!ready)
			console_flush(&session->vm.console);
	}
}

/* ---- What we say --------------------------------------------------------------------------- */

static void say_hello(struct session *session)
{
	char unit[32] = "tsc_ticks";
	struct record record;

	(void)config_word(session->command_line, "unit", unit, sizeof(unit));
	record_start(&record, "hello");
	record_u64(&record, "protocol", 1);
	record_string(&record, "vmm", VMM_VERSION);
	record_string(&record, "arch", arch_name);
	record_string(&record, "unit", unit);
	record_u64(&record, "cpus", session->vm.vcpu_count);
	record_u64(&record, "memory_bytes", session->vm.memory.bytes);
	record_u64(&record, "kvm_api", (uint64_t)session->kvm.api);
	record_bool(&record, "software", session->kvm.software);
	record_bool(&record, "stats", session->vm.stats.count != 0);
	record_bool(&record, "doorbell", session->bell.vm != NULL);
	record_send(&record, &session->line);
}

static void put_each(struct record *record, const char *key, const struct vm *vm,
		     int64_t (*value)(const struct vcpu *vcpu))
{
	record_key(record, key);
	for (unsigned i = 0; i < vm->vcpu_count; i++)
		text_printf(&record->text, "%c%ld", i ? ',' : '[', value(&vm->vcpus[i]));
	text_printf(&record->text, "]");
}

static int64_t pin_of(const struct vcpu *vcpu)
{
	return vcpu->pin;
}

static int64_t host_cpu_of(const struct vcpu *vcpu)
{
	return vcpu->host_cpu;
}

static int64_t moves_of(const struct vcpu *vcpu)
{
	return (int64_t)vcpu->moves;
}

static const char *end_name(int end)
{
	switch (end) {
	case END_OFF:
		return "ok";
	case END_RESET:
		return "reset";
	case END_KVM:
		return "kvm";
	case END_FLOOD:
		return "flood";
	case END_TIMEOUT:
		return "timeout";
	default:
		return end > END_SIGNAL ? "signal" : "error";
	}
}

static void say_bye(struct session *session)
{
	struct vm *vm = &session->vm;
	struct record record;

	console_flush(&vm->console);
	record_start(&record, "bye");
	record_string(&record, "status", end_name(vm->end));
	record_string(&record, "why", vm->why);
	put_each(&record, "pin", vm, pin_of);
	put_each(&record, "host_cpus", vm, host_cpu_of);
	put_each(&record, "moves", vm, moves_of);
	record_u64(&record, "nowhere", vm->devices.nowhere);
	record_send(&record, &session->line);
	if (vm->end != END_OFF)
		fprintf(stderr, "vmm: %s\n", vm->why);
}

/* ---- All together -------------------------------------------------------------------------- */

static bool prepare(struct session *session, struct error *error)
{
	const struct config *config = session->config;
	struct vm_shape shape = {
		.memory_bytes = config->memory_bytes,
		.backing = config->backing,
		.vcpus = config->vcpus,
		.pin = config->pin,
		.console_max_bytes = config->console_max_bytes,
	};

	if (!catch_signals(session, error) || !open_console(session, error))
		return false;
	shape.console_fd = session->console_fd;
	return vm_create(&session->vm, &session->kvm, &shape, error) && load(session, error) &&
	       heed_words(session, error);
}

int session_run(const struct config *config)
{
	/* Of a process' life there may be several; each is some hundred KiB. */
	struct session *session = calloc(1, sizeof(*session));
	struct error error;
	int end = END_ERROR;

	if (!session) {
		perror("vmm");
		return END_ERROR;
	}
	session->config = config;
	memcpy(session->command_line, config->append, sizeof(session->command_line));
	if (!kvm_open(&session->kvm, &error)) {
		fprintf(stderr, "vmm: %s\n", error.text);
		free(session);
		return END_NO_KVM;
	}
	if (!prepare(session, &error)) {
		fprintf(stderr, "vmm: %s\n", error.text);
	} else {
		say_hello(session);
		if (!vm_start(&session->vm, &error))
			vm_end(&session->vm, END_ERROR, "%s", error.text);
		wait_for_end(session);
		if (!vm_join(&session->vm)) {
			/* Its memory may still be in use: leave it to the kernel, which ends us. */
			fprintf(stderr, "vmm: %s; a vCPU thread does not come back\n",
				session->vm.why);
			_exit(session->vm.end);
		}
		say_bye(session);
		end = session->vm.end;
	}
	vm_destroy(&session->vm);
	kvm_close(&session->kvm);
	free(session);
	return end;
}
