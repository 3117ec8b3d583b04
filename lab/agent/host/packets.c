/* Packets of transactions; see packets.h. */
#include "host/packets.h"

#define ETHERNET_BYTES 14
#define IPV4_BYTES     20
#define TCP_BYTES      20
#define UDP_BYTES      8
#define ETHERNET_IPV4  0x0800
#define PROTOCOL_TCP   6
#define PROTOCOL_UDP   17
#define SEQUENCE       (UINT64_C(1) << 32)

static uint64_t number(const unsigned char *at, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes-- > 0)
		value = value << 8 | *at++;
	return value;
}

/* Is it a packet with one byte of data? *sequence is TCP's number of it with the bit SEQUENCE, 0 for UDP. */
static bool has_one_byte(const unsigned char *packet, size_t bytes, uint64_t *sequence)
{
	const unsigned char *ip = packet + ETHERNET_BYTES, *transport;
	uint64_t headers;

	if (bytes < ETHERNET_BYTES + IPV4_BYTES || number(packet + 12, 2) != ETHERNET_IPV4)
		return false;
	headers = (uint64_t)(ip[0] & 15) * 4;
	transport = ip + headers;
	*sequence = 0;
	if (ip[9] == PROTOCOL_UDP) {
		headers += UDP_BYTES;
	} else if (ip[9] == PROTOCOL_TCP && bytes >= ETHERNET_BYTES + headers + TCP_BYTES) {
		*sequence = SEQUENCE | number(transport + 4, 4);
		headers += (uint64_t)(transport[12] >> 4) * 4;
	} else {
		return false;
	}
	return number(ip + 2, 2) == headers + 1;
}

void packets_start(struct packets *packets, bool of_client, uint64_t base_ns)
{
	*packets = (struct packets){ .base_ns = base_ns, .of_client = of_client, .replied = true };
}

const char *packets_take(struct packets *packets, const unsigned char *packet, size_t bytes,
			 bool goes_out, uint64_t ns)
{
	struct passes *passes = &packets->passes;
	bool is_request = goes_out == packets->of_client;
	uint64_t sequence;

	if (!has_one_byte(packet, bytes, &sequence) ||
	    (sequence && sequence == packets->sequence[goes_out]))
		return NULL;
	packets->sequence[goes_out] = sequence;
	if (is_request != packets->replied)
		return "requests and replies do not take turns";
	packets->replied = !is_request;
	if (is_request) {
		if (passes->count++ == 0)
			passes->first = ns;
		passes->requests += ns - packets->base_ns;
	} else {
		passes->replies += ns - packets->base_ns;
		passes->last = ns;
	}
	return NULL;
}

const char *packets_end(const struct packets *packets)
{
	return packets->replied ? NULL : "the last request has no reply";
}
