/* The record line; see console.h. Text and CRC are the guest's own code (guest/core). */
#include "console.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#define LOOK_MS 100 /* how often a write that waits looks whether it still should */

void console_init(struct console *console, int fd, uint64_t most, const atomic_bool *stop)
{
	*console = (struct console){ .fd = fd, .most = most, .stop = stop, .wake = -1 };
	console->state = fd < 0 ? CONSOLE_FAILED : CONSOLE_OK;
	pthread_mutex_init(&console->lock, NULL);
}

/* False: it cannot be written now, and nobody wants to wait any more. A pipe that can be written has
 * room for a line. */
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

/* Writes bytes[0] to bytes[*used - 1], and then there are none. */
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
		ssize_t done = write(console->fd, bytes, count);

		if (done > 0) {
			console->mid_line = bytes[done - 1] != '\n';
			console->written += (uint64_t)done;
			bytes += done;
			count -= (size_t)done;
		} else if (done < 0 && errno != EINTR && errno != EAGAIN) {
			console->state = CONSOLE_FAILED;
		}
	}
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
	/* A vCPU that holds the lock is writing: then there is nothing to flush. */
	if (pthread_mutex_trylock(&console->lock))
		return;
	if (can_write(console, 0))
		emit(console, console->line, &console->used);
	pthread_mutex_unlock(&console->lock);
}

void record_start(struct record *record, const char *kind)
{
	text_start(&record->text, record->buffer, sizeof(record->buffer));
	text_printf(&record->text, "{\"kind\":\"%s\"", kind);
}

void record_string(struct record *record, const char *key, const char *value)
{
	text_printf(&record->text, ",\"%s\":", key);
	text_json_string(&record->text, value);
}

void record_send(struct record *record, struct console *console)
{
	char covered[MAX_LINE_BYTES], line[MAX_LINE_BYTES + 1];
	struct text text, out;

	text_printf(&record->text, "}");
	text_start(&text, covered, sizeof(covered));
	text_printf(&text, "vmm %lx %lu %zu %s", console->nonce, console->sequence++,
		    record->text.used, record->buffer);
	text_start(&out, line, sizeof(line));
	text_printf(&out, "@ws1 %08x %s\n", crc32(0, covered, text.used), covered);
	if (record->text.full || text.full || out.full)
		return;
	pthread_mutex_lock(&console->lock);
	if (console->mid_line)
		emit(console, "\n", &(size_t){ 1 });
	emit(console, line, &out.used);
	pthread_mutex_unlock(&console->lock);
}
