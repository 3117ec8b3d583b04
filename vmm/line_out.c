/* The record line; see line_out.h. */
#include "vmm/line_out.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "common/bell_note.h"
#include "common/physical.h"
#include "common/ring.h"

#define LOOK_MS 100 /* how often a blocked write checks whether to give up */

void console_init(struct console *console, int fd, uint64_t most, const char *source,
		  const atomic_bool *stop)
{
	*console = (struct console){
		.fd = fd, .most = most, .source = source, .stop = stop, .wake = -1
	};
	console->state = fd < 0 ? CONSOLE_FAILED : CONSOLE_OK;
	pthread_mutex_init(&console->lock, NULL);
}

/* Waits until the console can be written. False: gave up. A writable pipe has room for a whole line. */
static bool can_write(const struct console *console, int wait_ms)
{
	struct pollfd waits[] = { { .fd = console->fd, .events = POLLOUT },
				  { .fd = console->wake, .events = POLLIN } };

	for (;;) {
		bool wait = wait_ms && !atomic_load(console->stop);
		int ready = poll(waits, 2, wait ? wait_ms : 0);

		if (ready > 0 && waits[0].revents)
			return true;
		if (ready > 0 || !wait)
			return false;
	}
}

#ifdef ARCH_TEXT_BELOW
#define PIECE 4096

/* Gives bytes to the monitor below: an exit for all of them, where this machine's serial port takes one for each. Returns
 * how many it took; 0: none, so they go to the port. */
static size_t give_below(uint64_t doorbell, int fd, const char *bytes, size_t count)
{
	static _Alignas(PIECE) char piece[PIECE];   /* a page */
	static _Alignas(128) struct bell_note note; /* within a page */
	uint64_t text, at;

	if (!doorbell)
		return 0;
	count = count < PIECE ? count : PIECE;
	memcpy(piece, bytes, count);
	note = (struct bell_note){ .magic = BELL_MAGIC, .kind = BELL_TEXT, .samples = count };
	if (!physical_address(piece, &text) || !physical_address(&note, &at))
		return 0;
	note.index = text;
	(void)tcdrain(fd); /* what is in the port's buffer comes first */
	if (ring_below(doorbell, at))
		return 0;
	return *(volatile uint32_t *)&note.kind == BELL_TAKEN ? count : 0;
}

static ssize_t put_out(const struct console *console, const char *bytes, size_t count)
{
	size_t given = give_below(console->below, console->fd, bytes, count);

	return given ? (ssize_t)given : write(console->fd, bytes, count);
}
#else
static ssize_t put_out(const struct console *console, const char *bytes, size_t count)
{
	return write(console->fd, bytes, count);
}
#endif

/* Writes bytes[0] to bytes[*used - 1] and sets *used to 0. */
static void emit(struct console *console, const char *bytes, size_t *used)
{
	size_t count = *used;

	*used = 0;
	if (count > console->most - console->written) {
		count = console->most - console->written;
		if (console->state == CONSOLE_OK)
			console->state = CONSOLE_FULL;
	}
	while (count && console->state != CONSOLE_FAILED && can_write(console, LOOK_MS)) {
		ssize_t done = put_out(console, bytes, count);

		if (done > 0) {
			console->mid_line = bytes[done - 1] != '\n';
			console->written += (uint64_t)done;
			bytes += done;
			count -= (size_t)done;
		} else if (done < 0 && errno != EINTR && errno != EAGAIN) {
			console->state = CONSOLE_FAILED;
		}
	}
	/* Nothing to wait for if the console is no terminal. */
	if (console->drain && !console->mid_line)
		(void)tcdrain(console->fd);
}

enum console_state console_put(struct console *console, uint8_t byte)
{
	bool text = (byte >= ' ' && byte < 0x7f) || byte == '\r' || byte == '\t';
	enum console_state state;

	pthread_mutex_lock(&console->lock);
	console->line[console->used++] = (char)byte;
	if (!text || console->used == sizeof(console->line))
		emit(console, console->line, &console->used);
	state = console->state;
	pthread_mutex_unlock(&console->lock);
	return state;
}

void console_flush(struct console *console)
{
	/* A vCPU that holds the lock is writing: nothing to flush. */
	if (pthread_mutex_trylock(&console->lock))
		return;
	if (can_write(console, 0))
		emit(console, console->line, &console->used);
	pthread_mutex_unlock(&console->lock);
}

void record_send(struct record *record, struct console *console)
{
	char text[MAX_RECORD_BYTES + 1];
	size_t bytes = record_finish(record, console->source, &console->records, text);

	if (!bytes)
		return;
	pthread_mutex_lock(&console->lock);
	if (console->mid_line)
		emit(console, "\n", &(size_t){ 1 });
	emit(console, text, &bytes);
	pthread_mutex_unlock(&console->lock);
}
