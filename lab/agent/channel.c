/* The serial line; see channel.h. */
#include "channel.h"

#include <string.h>
#include <unistd.h>

enum heard channel_hear(struct channel *channel, struct message *message)
{
	char *newline = memchr(channel->buffer, '\n', channel->used);
	bool known;
	size_t bytes;

	if (!newline) {
		size_t room = sizeof(channel->buffer) - channel->used;
		ssize_t more = room ? read(channel->in, channel->buffer + channel->used, room) : 0;

		if (more > 0)
			channel->used += (size_t)more;
		newline = memchr(channel->buffer, '\n', channel->used);
	}
	if (!newline)
		return channel->used == sizeof(channel->buffer) ? HEARD_NONSENSE : HEARD_NOTHING;
	bytes = (size_t)(newline - channel->buffer);
	known = message_read(message, channel->buffer, bytes);
	channel->used -= bytes + 1;
	memmove(channel->buffer, newline + 1, channel->used);
	return known ? HEARD_MESSAGE : HEARD_NONSENSE;
}

void channel_say(const struct channel *channel, const struct message *message)
{
	char buffer[MAX_MESSAGE + 1];
	struct text text;
	size_t done = 0;

	text_start(&text, buffer, sizeof(buffer));
	message_write(message, &text);
	while (done < text.used) {
		ssize_t more = write(channel->out, buffer + done, text.used - done);

		if (more <= 0)
			return;
		done += (size_t)more;
	}
}
