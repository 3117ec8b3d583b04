/* Captures; see capture.h, and Documentation/networking/packet_mmap.rst of Linux. The ring's memory is none of a
 * socket's buffers, whose size only root of the whole host may raise. */
#include "host/capture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define FRAMES	    65536
#define FRAME_BYTES 128 /* 62 of them are the packet's */
#define BLOCK_BYTES 65536
#define RING_BYTES  ((size_t)FRAMES * FRAME_BYTES)
/* Of a frame's sockaddr_ll, behind its header. */
#define ADDRESS_AT  ((sizeof(struct tpacket2_hdr) + 15) & ~(size_t)15)

static int capture = -1;
static unsigned char *ring;

static void close_all(void)
{
	if (ring)
		munmap(ring, RING_BYTES);
	if (capture >= 0)
		close(capture);
	ring = NULL;
	capture = -1;
}

static const char *fail(const char *what)
{
	static char why[120];

	snprintf(why, sizeof(why), "packets can't be captured: %s: %s", what, strerror(errno));
	close_all();
	return why;
}

static bool make_ring(void)
{
	struct tpacket_req frames = { .tp_block_size = BLOCK_BYTES,
				      .tp_block_nr = RING_BYTES / BLOCK_BYTES,
				      .tp_frame_size = FRAME_BYTES,
				      .tp_frame_nr = FRAMES };
	int version = TPACKET_V2;
	void *memory;

	if (setsockopt(capture, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) < 0 ||
	    setsockopt(capture, SOL_PACKET, PACKET_RX_RING, &frames, sizeof(frames)) < 0)
		return false;
	memory = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, capture, 0);
	ring = memory == MAP_FAILED ? NULL : memory;
	return ring != NULL;
}

const char *capture_start(const char *device)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };

	close_all();
	/* Without a protocol nothing is captured until it is bound. */
	capture = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (capture < 0)
		return fail("no socket");
	if (!make_ring())
		return fail("no ring");
	address.sll_ifindex = (int)if_nametoindex(device);
	if (!address.sll_ifindex || bind(capture, (struct sockaddr *)&address, sizeof(address)) < 0)
		return fail(device);
	return NULL;
}

static const char *read_ring(struct packets *packets)
{
	const char *wrong = NULL;

	for (size_t i = 0; i < FRAMES && !wrong; i++) {
		const unsigned char *frame = ring + i * FRAME_BYTES;
		struct tpacket2_hdr header;
		struct sockaddr_ll address;

		memcpy(&header, frame, sizeof(header));
		memcpy(&address, frame + ADDRESS_AT, sizeof(address));
		if (!(header.tp_status & TP_STATUS_USER))
			break;
		wrong = packets_take(packets, frame + header.tp_mac, header.tp_snaplen,
				     address.sll_pkttype == PACKET_OUTGOING,
				     (uint64_t)header.tp_sec * 1000000000 + header.tp_nsec);
	}
	return wrong ? wrong : packets_end(packets);
}

const char *capture_stop(struct packets *packets)
{
	struct tpacket_stats counts = { .tp_drops = 0 };
	socklen_t bytes = sizeof(counts);
	const char *wrong = NULL;

	if (capture < 0)
		return "no packets were captured";
	if (getsockopt(capture, SOL_PACKET, PACKET_STATISTICS, &counts, &bytes) < 0)
		return fail("no statistics");
	if (counts.tp_drops)
		wrong = "the capture has lost packets";
	else
		wrong = read_ring(packets);
	close_all();
	return wrong;
}
