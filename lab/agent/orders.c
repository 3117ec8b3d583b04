/* The guest's side; see orders.h. */
#include "orders.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>

#include "asked.h"
#include "channel.h"
#include "facts.h"
#include "network.h"
#include "paths.h"
#include "requests.h"
#include "root.h"
#include "say.h"
#include "servers.h"
#include "step.h"
#include "transaction.h"
#include "common/launch.h"
#include "machine.h"
#include "window.h"

static struct channel channel;

static void open_channel(void)
{
	struct termios raw;
	int fd = open(SERIAL, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || tcgetattr(fd, &raw) < 0)
		give_up("can't open " SERIAL ", the line to the host: %s", strerror(errno));
	cfmakeraw(&raw);
	if (tcsetattr(fd, TCSANOW, &raw) < 0)
		give_up("can't set up " SERIAL ": %s", strerror(errno));
	channel.in = channel.out = fd;
}

static void hear(struct message *message, bool sleeps)
{
	struct pollfd polled = { .fd = channel.in, .events = POLLIN };

	for (;;) {
		switch (channel_hear(&channel, message)) {
		case HEARD_MESSAGE:
			return;
		case HEARD_NONSENSE:
			give_up("the host said what is no order");
		case HEARD_NOTHING:
			break;
		}
		if (sleeps)
			(void)poll(&polled, 1, -1);
	}
}

/* Says the mark, and waits for the answer without sleeping: the machine must not be idle between the host's
 * sample and the window. */
static void mark(enum message_kind kind, uint64_t number, uint64_t ticks)
{
	struct message message = { .kind = kind, .number = number, .ticks = ticks };

	channel_say(&channel, &message);
	do
		hear(&message, false);
	while (message.kind != MESSAGE_GO || message.number != number);
}

/* Measures the workload's run, or nothing at all if there is none. */
static void measure(const struct message *order, const struct workload *workload,
		    struct outcome *outcome)
{
	struct command command;
	uint64_t ticks = 0, status = 0;
	bool prepared;

	command_units(order->units);
	prepared = workload && command_prepare(&command, workload->run, RUN_OUTPUT, -1);
	say_drain();
	window_pad(order->pad);
	mark(MESSAGE_BEGIN, order->number, 0);
	if (prepared)
		status = window_run(&command, &ticks);
	mark(MESSAGE_END, order->number, ticks);
	*outcome = (struct outcome){ .status = status };
	if (prepared)
		command_outcome(status, RUN_OUTPUT, outcome);
	else if (workload)
		step_no_process(outcome);
}

/* What the packets of a traced run are. */
static void trace(enum phase phase, struct outcome *outcome)
{
	struct passes passes;
	struct text out;
	const char *wrong = phase == PHASE_TRACE ? transaction_trace(false)
						 : transaction_read(&passes, false);

	outcome->status = wrong != NULL;
	text_start(&out, outcome->said, sizeof(outcome->said));
	if (wrong)
		text_printf(&out, "in the VM: %s", wrong);
	else if (phase == PHASE_STEPS)
		steps_put(&passes, &out);
}

/* Measures requests. Between those that warm up and the window nothing sleeps: what serves the device would. */
static void measure_requests(const struct message *order, const struct workload *workload,
			     struct outcome *outcome)
{
	bool prepared;
	uint64_t ticks = 0;

	say_drain();
	window_pad(order->pad);
	prepared = requests_prepare(&workload->requests, outcome);
	mark(MESSAGE_BEGIN, order->number, 0);
	if (prepared)
		(void)requests_make(order->units, &ticks);
	mark(MESSAGE_END, order->number, ticks);
	if (prepared)
		requests_end(outcome);
}

static void carry_out(const struct message *order, const struct workload *workload,
		      const char *no_network, struct outcome *outcome)
{
	*outcome = (struct outcome){ .status = 0 };
	if (order->phase == PHASE_CLEAN) {
		command_end_all(0);
		root_clean();
	} else if (order->phase == PHASE_TRACE || order->phase == PHASE_STEPS) {
		trace(order->phase, outcome);
	} else if (order->phase == PHASE_MEASURE) {
		if (workload && workload->requests.kind)
			measure_requests(order, workload, outcome);
		else
			measure(order, workload, outcome);
	} else if (!workload) {
		outcome->status = 127;
		snprintf(outcome->said, sizeof(outcome->said),
			 "the launch does not have this workload");
	} else if (no_network && !workload->inside) {
		outcome->status = 127;
		snprintf(outcome->said, sizeof(outcome->said), "%.230s", no_network);
	} else {
		step_do(workload, order->phase, order->units, -1, outcome);
	}
}

/* Takes a part of a line of the launch. With the last line, which is empty, all are read. Returns the status. */
static uint64_t take_asked(struct config *config, const struct message *part, struct message *done)
{
	static char lines[MAX_LAUNCH_BYTES];
	static size_t used;
	size_t bytes = strlen(part->text);
	struct text error;

	text_start(&error, done->text, sizeof(done->text));
	if (used + bytes + 2 > sizeof(lines)) {
		text_printf(&error, "its lines are too many");
		return 1;
	}
	memcpy(lines + used, part->text, bytes);
	used += bytes;
	if (part->kind == MESSAGE_PART)
		return 0;
	if (bytes) {
		lines[used++] = '\n';
		return 0;
	}
	lines[used] = '\0';
	return !asked_read(config, lines, &error);
}

void orders_follow(struct config *config)
{
	const char *no_network = network_up(config), *failed = servers_setup(config);
	struct message message;

	if (failed)
		give_up("%s", failed);
	open_channel();
	facts_read(&message);
	channel_say(&channel, &message);
	for (;;) {
		struct message done = { .kind = MESSAGE_DONE };
		const struct workload *workload;
		struct outcome outcome;

		hear(&message, true);
		if (message.kind == MESSAGE_OFF)
			give_up("the host ends this VM");
		done.number = message.number;
		if (message.kind == MESSAGE_PART || message.kind == MESSAGE_LINE) {
			done.status = take_asked(config, &message, &done);
			channel_say(&channel, &done);
			continue;
		}
		if (message.kind != MESSAGE_DO)
			continue;
		workload = config_workload(config, message.name, strlen(message.name));
		carry_out(&message, workload, no_network, &outcome);
		done.status = outcome.status;
		snprintf(done.text, sizeof(done.text), "%s", outcome.said);
		channel_say(&channel, &done);
	}
}
