/* The steps of a transaction; see steps.h. */
#include "steps.h"

#include <string.h>

#include "common/word.h"

static const char queued[] = ": net_dev_queue: ", received[] = ": netif_receive_skb: ";

/* The number that ends before `end`, in a line that begins at `line`. */
static bool number_before(const char *line, const char *end, uint64_t *value)
{
	const char *begin = end;

	while (begin > line && begin[-1] >= '0' && begin[-1] <= '9')
		begin--;
	return parse_u64(begin, (size_t)(end - begin), value);
}

static const char *find(const char *line, size_t bytes, const char *what)
{
	return memmem(line, bytes, what, strlen(what));
}

/* Takes a packet. False: it is not its turn. */
static bool pass(struct passes *passes, uint64_t time, bool is_request, bool *replied)
{
	if (is_request != *replied)
		return false;
	*replied = !is_request;
	if (is_request) {
		if (passes->count++ == 0)
			passes->first = time;
		passes->requests += time;
	} else {
		passes->replies += time;
		passes->last = time;
	}
	return true;
}

const char *steps_read(struct passes *passes, const char *trace, size_t bytes, bool of_client)
{
	const char *end = trace + bytes, *line, *next;
	bool replied = true;

	*passes = (struct passes){ .count = 0 };
	for (line = trace; line < end; line = next) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)((newline ? newline : end) - line);
		const char *out = find(line, length, queued);
		const char *event = out ? out : find(line, length, received);
		uint64_t time;

		next = newline ? newline + 1 : end;
		if (find(line, length, " EVENTS]"))
			return "the trace has lost events";
		if (!event)
			continue;
		if (!number_before(line, event, &time))
			return "a line of the trace has no time";
		if (!pass(passes, time, of_client == (out != NULL), &replied))
			return "requests and replies do not take turns";
	}
	return replied ? NULL : "the last request has no reply";
}

void steps_put(const struct passes *passes, struct text *out)
{
	text_printf(out, "%lu %lu %lu", passes->count, passes->requests, passes->replies);
}

bool steps_take(struct passes *passes, const char *words)
{
	uint64_t *const values[] = { &passes->count, &passes->requests, &passes->replies };
	struct word word;

	*passes = (struct passes){ .count = 0 };
	for (unsigned i = 0; i < 3; i++)
		if (!word_next(&words, &word) || word.value_bytes ||
		    !parse_u64(word.key, word.key_bytes, values[i]))
			return false;
	return !word_next(&words, &word);
}

const char *steps_name(enum step_name name)
{
	static const char *const names[STEP_NAMES] = {
		[RECV_TO_SEND] = "recv-to-send",
		[RECV_TO_VM_RECV] = "recv-to-vm-recv",
		[VM_RECV_TO_VM_SEND] = "vm-recv-to-vm-send",
		[VM_SEND_TO_SEND] = "vm-send-to-send",
		[SEND_TO_RECV] = "send-to-recv",
#ifdef TWO_CLOCKS
		[CLOCK_BOUND] = "clock-bound",
#endif
	};

	return names[name];
}

/* The client's part lies between a reply and the next request: before the first request and after the last
 * reply there is none. All steps together are then from the first request to the last reply. */
static const char *add_client(struct steps *steps, const struct passes *client,
			      uint64_t transactions)
{
	*steps = (struct steps){ .ticks = { 0 } };
	if (client->count != transactions)
		return "the bridge has not seen one request for each transaction";
	steps->ticks[SEND_TO_RECV] =
		client->requests - client->first - (client->replies - client->last);
	if (client->last - client->first !=
	    steps->ticks[SEND_TO_RECV] + client->replies - client->requests)
		return "its parts are not the whole";
	return NULL;
}

const char *steps_native(struct steps *steps, const struct passes *client, uint64_t transactions)
{
	const char *wrong = add_client(steps, client, transactions);

	steps->ticks[RECV_TO_SEND] = client->replies - client->requests;
	return wrong;
}

const char *steps_in_vm(struct steps *steps, const struct passes *client,
			const struct passes *server, uint64_t offset, uint64_t transactions)
{
	const char *wrong = add_client(steps, client, transactions);
	uint64_t received_at = server->requests - offset * server->count;
	uint64_t sent_at = server->replies - offset * server->count;
	uint64_t whole = client->replies - client->requests;

	steps->ticks[RECV_TO_VM_RECV] = received_at - client->requests;
	steps->ticks[VM_RECV_TO_VM_SEND] = sent_at - received_at;
	steps->ticks[VM_SEND_TO_SEND] = client->replies - sent_at;
	if (wrong)
		return wrong;
	if (server->count != transactions)
		return "the VM has not seen one request for each transaction";
	for (unsigned i = RECV_TO_VM_RECV; i <= VM_SEND_TO_SEND; i++)
		if (steps->ticks[i] > whole)
			return "the VM's clock is not the host's";
	return NULL;
}
