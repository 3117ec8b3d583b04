/* The record line's way out; see console.h. */
#include "console.h"

#include <errno.h>
#include <unistd.h>

void console_init(struct console *console, int fd, uint64_t most, atomic_bool *stop)
{
	*console = (struct console){ .fd = fd, .most = most, .stop = stop };
	pthread_mutex_init(&console->lock, NULL);
}

static void emit(struct console *console, const char *bytes, size_t count)
{
	if (count > console->most - console->written) {
		count = console->most - console->written;
		if (console->state == CONSOLE_OK)
			console->state = CONSOLE_FULL;
	}
	console->written += count;
	while (count && console->state != CONSOLE_FAILED) {
		ssize_t done = write(console->fd, bytes, count);

		if (done > 0) {
			console->mid_line = bytes[done - 1] != '\n';
			bytes += done;
			count -= (size_t)done;
		} else if (done < 0 && errno != EINTR && errno != EAGAIN) {
			console->state = CONSOLE_FAILED;
		} else if (atomic_load(console->stop)) {
			return;
		}
	}
}

static void emit_line(struct console *console)
{
	emit(console, console->line, console->used);
	console->used = 0;
}

enum console_state console_put(struct console *console, uint8_t byte)
{
	bool text = (byte >= ' ' && byte < 0x7f) || byte == '\r' || byte == '\t';
	enum console_state state;

	pthread_mutex_lock(&console->lock);
	console->line[console->used++] = (char)byte;
	if (!text || console->used == sizeof(console->line))
		emit_line(console);
	state = console->state;
	pthread_mutex_unlock(&console->lock);
	return state;
}

void console_line(struct console *console, const char *line, size_t bytes)
{
	pthread_mutex_lock(&console->lock);
	if (console->mid_line)
		emit(console, "\n", 1);
	emit(console, line, bytes);
	pthread_mutex_unlock(&console->lock);
}

void console_flush(struct console *console)
{
	/* A vCPU that holds the lock is writing: then there is nothing to flush. */
	if (pthread_mutex_trylock(&console->lock))
		return;
	emit_line(console);
	pthread_mutex_unlock(&console->lock);
}
