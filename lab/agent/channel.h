/* One end of the serial line between the host's and the guest's agent. */
#pragma once

#include "message.h"

struct channel {
	int in, out; /* `in` never blocks */
	char buffer[MAX_MESSAGE];
	size_t used;
};

enum heard { HEARD_NOTHING, HEARD_MESSAGE, HEARD_NONSENSE };

/* Takes the next message if there is a whole one. Never waits. */
enum heard channel_hear(struct channel *channel, struct message *message);
void channel_say(const struct channel *channel, const struct message *message);
