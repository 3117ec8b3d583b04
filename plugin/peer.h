/*
 * Keeps step with another machine that executes the same, by way of the program that started both: it compares the
 * hashes of their streams (stream.h) interval by interval, over a Unix socket. A message is 17 bytes: MESSAGE_*, then
 * how many instructions were executed, and the hash of this interval (8 bytes each, little endian). Each message but
 * MESSAGE_WRITTEN is answered by one byte, for which the machine waits. No QEMU.
 */
#pragma once

#include "stream.h"

#define MESSAGE_FULL	'i' /* an interval is full */
#define MESSAGE_END	'e' /* the machine has ended, in an interval that is not full */
#define MESSAGE_WRITTEN 'w' /* the stream's file is whole */

#define ANSWER_GO_ON 'g'
#define ANSWER_ONE_MORE \
	'm' /* one more interval, or its part until the machine's end, and then write the file */
#define ANSWER_WRITE 'd' /* write the file now */

struct peer {
	int socket;   /* -1: there is none, or it is not asked any more */
	bool is_last; /* the file is written after this interval */
};

/* False: errno says why it can't be reached. */
bool peer_start(struct peer *peer, const char *path);
/* An interval is full, or the machine has `ended`. True: write the file now, and then call peer_written(). */
bool peer_tell(struct peer *peer, const struct stream *stream, bool ended);
/* The file was written, or can't be. Nothing more is told. */
void peer_written(struct peer *peer);
