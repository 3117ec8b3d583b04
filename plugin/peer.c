/* Keeps step with another machine; see peer.h. */
#include "peer.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool peer_start(struct peer *peer, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	*peer = (struct peer){ .socket = -1 };
	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(address.sun_path, path, strlen(path));
	peer->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (peer->socket < 0)
		return false;
	return connect(peer->socket, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

static void stop(struct peer *peer)
{
	if (peer->socket >= 0)
		close(peer->socket);
	peer->socket = -1;
}

static void put_u64(uint8_t *to, uint64_t value)
{
	for (unsigned i = 0; i < 8; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

static bool send_message(const struct peer *peer, char kind, uint64_t executed, uint64_t hash)
{
	uint8_t message[17] = { (uint8_t)kind };
	ssize_t sent;

	put_u64(message + 1, executed);
	put_u64(message + 9, hash);
	/* A message is smaller than what a socket takes at once. */
	do
		sent = send(peer->socket, message, sizeof(message), MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent == (ssize_t)sizeof(message);
}

static char answer(const struct peer *peer)
{
	char byte = 0;
	ssize_t got;

	do
		got = recv(peer->socket, &byte, 1, 0);
	while (got < 0 && errno == EINTR);
	return got == 1 ? byte : 0;
}

bool peer_tell(struct peer *peer, const struct stream *stream, bool ended)
{
	if (peer->socket < 0)
		return false;
	if (peer->is_last)
		return true;
	if (send_message(peer, ended ? MESSAGE_END : MESSAGE_FULL, stream->executed, stream->hash))
		switch (answer(peer)) {
		case ANSWER_GO_ON:
			return false;
		case ANSWER_ONE_MORE:
			peer->is_last = true;
			return ended;
		case ANSWER_WRITE:
			return true;
		}
	/* Whoever started the machine is gone, or has seen enough. */
	stop(peer);
	return false;
}

void peer_written(struct peer *peer)
{
	if (peer->socket >= 0)
		send_message(peer, MESSAGE_WRITTEN, 0, 0);
	stop(peer);
}
