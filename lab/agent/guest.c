/* The host's side of the VM; see guest.h. */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "channel.h"
#include "paths.h"
#include "pins.h"
#include "say.h"
#include "servers.h"
#include "window.h"

/* In the machine's own time. A command may take COMMAND_LIMIT_S of the guest's. */
#define BOOT_LIMIT_S   (60 * SLOWNESS)
#define ANSWER_LIMIT_S (COMMAND_LIMIT_S + 10)
#define STOP_LIMIT_S   10
/* How often threads that are to be put on their CPUs are looked for, until all are there. */
#define PINS_MS	       20
/* Windows with nothing in them. */
#define LEARNED	       3

static struct channel channel = { .in = -1, .out = -1 };
static pid_t process;
static int ended = -1; /* becomes readable when the process has ended */
static uint64_t number;
static char lost[400];
static const struct config *config;
static bool placed; /* all threads are on their CPUs */

pid_t guest_process(void)
{
	return process;
}

const char *guest_lost(void)
{
	return *lost ? lost : NULL;
}

/* Ends the VM's process. Returns its status, as wait() has it. */
static int end_process(void)
{
	int status = 0;

	kill(process, SIGKILL);
	while (waitpid(process, &status, 0) < 0 && errno == EINTR)
		;
	process = 0;
	close(ended);
	return status;
}

/* The VM is gone, or is not what it should be: ends it, and shows what it said. Always false. */
static bool lose(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool lose(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(lost, sizeof(lost), format, values);
	va_end(values);
	if (process)
		end_process();
	say("%s. The end of its console:", lost);
	say_end_of(GUEST_CONSOLE, "guest");
	say_end_of(GUEST_OUTPUT, "guest's emulator");
	return false;
}

static bool lose_ended(void)
{
	int status = end_process();
	struct outcome said;

	command_outcome((uint64_t)status, GUEST_OUTPUT, &said);
	if (WIFSIGNALED(status))
		return lose("the VM ended too early, by signal %d of its emulator",
			    WTERMSIG(status));
	return lose("the VM ended too early, with status %d of its emulator%s%s",
		    WEXITSTATUS(status), *said.said ? ": " : "", said.said);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for the guest's next message, which must be of this kind, and about the order. */
static bool expect(enum message_kind kind, struct message *message, int limit_s)
{
	int64_t end_ms = now_ms() + limit_s * 1000;

	for (;;) {
		struct pollfd polled[] = { { .fd = channel.in, .events = POLLIN },
					   { .fd = ended, .events = POLLIN } };
		enum heard heard = channel_hear(&channel, message);
		int64_t left_ms = end_ms - now_ms();

		if (heard == HEARD_NONSENSE ||
		    (heard == HEARD_MESSAGE &&
		     (message->kind != kind || message->number != number)))
			return lose("the guest's agent said what it must not say now");
		if (heard == HEARD_MESSAGE)
			return true;
		if (left_ms <= 0)
			return lose("the guest's agent said nothing for %d s", limit_s);
		placed = placed || pins_place(process, config->pins, config->pin_count);
		if (!placed && left_ms > PINS_MS)
			left_ms = PINS_MS;
		if (channel.used == 0 && polled[1].fd >= 0 && poll(&polled[1], 1, 0) == 1)
			return lose_ended();
		(void)poll(polled, 2, (int)left_ms);
	}
}

/* The fifos of QEMU's `-chardev pipe`. Both are opened for both directions: then no open waits. */
static bool open_channel(void)
{
	if (mkfifo(MARKS ".in", 0600) < 0 || mkfifo(MARKS ".out", 0600) < 0)
		return false;
	channel.out = open(MARKS ".in", O_RDWR | O_CLOEXEC);
	channel.in = open(MARKS ".out", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return channel.out >= 0 && channel.in >= 0;
}

static _Noreturn void become(char *const words[])
{
	int out = open(GUEST_OUTPUT, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	int in = open("/dev/null", O_RDONLY);

	setsid();
	if (out >= 0 && in >= 0 && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
	    dup2(out, STDERR_FILENO) >= 0)
		execv(words[0], words);
	fprintf(stderr, "can't run %s: %s\n", words[0], strerror(errno));
	_exit(127);
}

/* What a mark costs by itself, for the hypervisor below also by reason. */
static bool learn(void)
{
	struct measured nothing = { .note = {
					    .bench = BELOW_MARKS, .iterations = 1, .samples = 1 } };
	unsigned windows = below_is_there() ? 2 * LEARNED : LEARNED;
	struct outcome outcome;

	for (unsigned i = 0; i < windows; i++) {
		nothing.reasons = i >= LEARNED;
		if (!guest_do(&(struct order){ .phase = PHASE_MEASURE, .workload = NO_WORKLOAD },
			      &outcome, &nothing))
			return false;
	}
	return true;
}

static bool start(struct message *facts)
{
	ended = (int)syscall(SYS_pidfd_open, process, 0);
	if (!expect(MESSAGE_READY, facts, BOOT_LIMIT_S))
		return false;
	if (!placed && !pins_place(process, config->pins, config->pin_count))
		return lose("the VM has no thread for one of the lines pin=");
	placed = true;
	threads_setup();
	/* With a monitor below guest_ask() learns it, in each launch. */
	return below_is_there() || learn();
}

bool guest_start(const struct config *of, struct message *facts)
{
	const char *failed;

	config = of;
	placed = config->pin_count == 0;
	failed = servers_start(config);
	if (failed)
		return lose("%s", failed);
	if (!open_channel())
		return lose("can't make the fifos " MARKS ".in and .out: %s", strerror(errno));
	process = fork();
	if (process == 0)
		become(config->words);
	if (process < 0) {
		process = 0;
		return lose("can't make the VM's process: %s", strerror(errno));
	}
	return start(facts);
}

static void go(void)
{
	channel_say(&channel, &(struct message){ .kind = MESSAGE_GO, .number = number });
}

/* The guest does not sleep between a mark and our answer: the machine is never idle outside of the window. */
static bool follow_window(const char *workload, struct measured *measured)
{
	struct threads threads_begin, threads_end;
	struct kvm_counts begin, end;
	struct message message;
	uint64_t idle;

	if (!expect(MESSAGE_BEGIN, &message, ANSWER_LIMIT_S))
		return false;
	kvm_counts_read(&begin);
	threads_read(&threads_begin);
	idle = window_idle_ticks();
	if (measured->traced)
		tracing_begin(measured->traced);
	below_begin(&measured->note, measured->reasons);
	go();
	if (!expect(MESSAGE_END, &message, ANSWER_LIMIT_S))
		return false;
	below_end(&measured->note, measured->reasons);
	if (measured->traced)
		tracing_end(measured->traced);
	measured->idle_ticks = window_idle_ticks() - idle;
	threads_read(&threads_end);
	kvm_counts_read(&end);
	measured->ticks = message.ticks;
	if (strcmp(workload, NO_WORKLOAD) != 0) {
		kvm_counts_add(&measured->counts, &begin, &end, true);
		threads_add(&measured->threads, &threads_begin, &threads_end, true);
	} else if (!measured->traced) { /* which has a cost of its own */
		kvm_counts_learn(&begin, &end);
		threads_learn(&threads_begin, &threads_end);
	}
	go();
	return true;
}

static bool ask(enum message_kind kind, const char *text, size_t bytes)
{
	struct message order = { .kind = kind, .number = ++number }, done;

	memcpy(order.text, text, bytes);
	channel_say(&channel, &order);
	if (!expect(MESSAGE_DONE, &done, ANSWER_LIMIT_S))
		return false;
	return !done.status || lose("the launch in the VM: %s", done.text);
}

static bool ask_line(const char *line, size_t bytes)
{
	for (; bytes > MAX_PART; bytes -= MAX_PART, line += MAX_PART)
		if (!ask(MESSAGE_PART, line, MAX_PART))
			return false;
	return ask(MESSAGE_LINE, line, bytes);
}

bool guest_ask(const char *lines)
{
	if (below_is_there() && !learn())
		return false;
	while (*lines) {
		size_t bytes = strcspn(lines, "\n");

		/* The words are the host's. */
		if (bytes && strncmp(lines, "append=", 7) != 0 && !ask_line(lines, bytes))
			return false;
		lines += bytes + (lines[bytes] == '\n');
	}
	return ask(MESSAGE_LINE, "", 0);
}

bool guest_do(const struct order *order, struct outcome *outcome, struct measured *measured)
{
	struct message message = { .kind = MESSAGE_DO,
				   .number = ++number,
				   .phase = order->phase,
				   .units = order->units,
				   .pad = order->pad };
	struct message done;

	if (guest_lost())
		return false;
	snprintf(message.name, sizeof(message.name), "%s", order->workload);
	channel_say(&channel, &message);
	if (order->phase == PHASE_MEASURE && !follow_window(order->workload, measured))
		return false;
	if (!expect(MESSAGE_DONE, &done, ANSWER_LIMIT_S))
		return false;
	*outcome = (struct outcome){ .status = done.status };
	snprintf(outcome->said, sizeof(outcome->said), "%.200s", done.text);
	return true;
}

void guest_stop(void)
{
	struct pollfd polled = { .fd = ended, .events = POLLIN };

	if (!process)
		return;
	channel_say(&channel, &(struct message){ .kind = MESSAGE_OFF });
	(void)poll(&polled, 1, STOP_LIMIT_S * 1000);
	end_process();
}
