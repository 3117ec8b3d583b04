/* Xen as a guest hypervisor, without a dom0 (dom0less): its Image, its domains' images, and the nodes of the device tree
 * that describe the domains (Xen, docs/misc/arm/device-tree/booting.txt). The domains are those of the lab's machine with
 * Xen (crates/machines/src/lab/tree.rs). boot.c and tree.c call this; it never runs beside the guest. Pure but for the
 * reading of Xen's file. */
#include <arch/board.h>

#include <stdlib.h>
#include <string.h>

#include "common/arm64_image.h"
#include "common/text.h"

/* Xen is at the start of memory, and copies each image into its domain. */
#define IMAGES (RAM + (192ull << 20))
/* Two images may not overlap. */
#define ROOM   (16ull << 20)

/* Memory of the second domain, of both domains' images and of Xen itself. */
#define SECOND_MIB 160u
#define BESIDE_MIB 448u
/* Xen puts a domain's device tree 128 MiB above the start of the domain's memory. */
#define LEAST_MIB  SECOND_MIB

/* Event channels between the domains (guest/include/event_channel.h); a port has the same number at both ends. */
#define CHANNEL	    10u
#define CHANNEL_END 12u
#define STAMP	    31u
#define STAMP_END   64u

static bool load_domains(const uint8_t *file, size_t bytes, const struct memory *memory,
			 bool answers)
{
	unsigned images = answers ? 2 : 1;

	if (answers && bytes > ROOM)
		return fail("it has more than %llu MiB", ROOM >> 20);
	for (unsigned i = 0; i < images; i++) {
		uint8_t *to = memory_at(memory, IMAGES + i * ROOM, bytes);

		if (!to)
			return fail("its %zu KiB do not fit into the memory of Xen's machine: "
				    "raise memory=",
				    bytes >> 10);
		memcpy(to, file, bytes);
	}
	return true;
}

bool xen_load(const uint8_t *file, size_t bytes, const struct memory *memory, struct kernel *kernel)
{
	struct kernel domain = { 0 }, xen = { 0 };
	uint8_t *image;
	size_t image_bytes;
	bool done;

	if (memory->bytes >> 20 < BESIDE_MIB + LEAST_MIB)
		return fail("Xen and its domains need at least memory=%u", BESIDE_MIB + LEAST_MIB);
	/* Checks the domain's image, and finds out whether it is our own guest. Xen is loaded over it. */
	if (!image_load(file, bytes, memory, &domain) ||
	    !load_domains(file, bytes, memory, domain.worldswitch))
		return false;
	image = file_read(kernel->xen, memory->bytes, &image_bytes);
	done = image && image_load(image, image_bytes, memory, &xen);
	free(image);
	if (!done)
		return fail("xen=%.200s: %.200s", kernel->xen, error_text);
	if (xen.end > IMAGES - ARM64_IMAGE_BOUNDARY) /* the device tree is between them */
		return fail("xen=%.200s: it leaves no room for the images of its domains",
			    kernel->xen);
	*kernel = xen;
	kernel->domain_bytes = bytes;
	kernel->worldswitch = domain.worldswitch;
	return true;
}

/* Of the end that is in that domain. */
static uint32_t channel_phandle(unsigned number, uint32_t port)
{
	return number * 0x100 + port;
}

static void add_channels(struct tree_writer *tree, unsigned number, uint32_t first, uint32_t end)
{
	for (uint32_t port = first; port < end; port++) {
		char name[16];
		struct text text;

		text_start(&text, name, sizeof(name));
		text_printf(&text, "evtchn@%x", port);
		tree_node(tree, name);
		tree_text(tree, "compatible", "xen,evtchn-v1");
		TREE_CELLS(tree, "xen,evtchn", port, channel_phandle(3 - number, port));
		TREE_CELLS(tree, "phandle", channel_phandle(number, port));
		tree_node_end(tree);
	}
}

struct domain {
	unsigned number; /* 1: the guest's; 2: answers its events */
	unsigned cpus;
	uint64_t memory_mib;
	const char *command_line;
};

/* The second domain has no serial port: its output would mix with the guest's records. */
static void add_domain(struct tree_writer *tree, const struct domains *domains,
		       const struct domain *domain)
{
	uint64_t at = IMAGES + (domain->number - 1) * ROOM;
	char name[32];
	struct text text;

	text_start(&text, name, sizeof(name));
	text_printf(&text, "domU%u", domain->number);
	tree_node(tree, name);
	tree_text(tree, "compatible", "xen,domain");
	TREE_CELLS(tree, "#address-cells", 2);
	TREE_CELLS(tree, "#size-cells", 2);
	TREE_CELLS(tree, "memory", TREE_WIDE(domain->memory_mib << 10)); /* KiB */
	TREE_CELLS(tree, "cpus", domain->cpus);
	if (domain->number == 1)
		tree_property(tree, "vpl011", "", 0);
	/* Event channels, without a Xenstore. */
	tree_text(tree, "xen,enhanced", "no-xenstore");
	text_start(&text, name, sizeof(name));
	text_printf(&text, "module@%lx", at);
	tree_node(tree, name);
	TREE_TEXTS(tree, "compatible", "multiboot,kernel\0multiboot,module");
	TREE_CELLS(tree, "reg", TREE_WIDE(at), TREE_WIDE(domains->bytes));
	tree_text(tree, "bootargs", domain->command_line);
	tree_node_end(tree);
	if (domains->answers) {
		add_channels(tree, domain->number, CHANNEL, CHANNEL_END);
		add_channels(tree, domain->number, STAMP, STAMP_END);
	}
	tree_node_end(tree);
}

void xen_tree(struct tree_writer *tree, const struct machine_tree *machine)
{
	const struct domains *domains = machine->domains;
	char line[MAX_APPEND_BYTES + 16], second_line[48];
	struct domain first = { 1, machine->cpus, (machine->memory_bytes >> 20) - BESIDE_MIB,
				line };
	const struct domain second = { 2, 1, SECOND_MIB, second_line };
	struct text text;

	tree_node(tree, "aliases");
	tree_text(tree, "serial0", UART0_PATH);
	tree_node_end(tree);
	tree_node(tree, "chosen");
	TREE_CELLS(tree, "#address-cells", 2);
	TREE_CELLS(tree, "#size-cells", 2);
	tree_text(tree, "stdout-path", "serial0");
	tree_text(tree, "xen,xen-bootargs", domains->parameters);
	text_start(&text, line, sizeof(line));
	text_printf(&text, "%s", machine->command_line);
	if (domains->answers)
		text_printf(&text, " channel=%u", CHANNEL);
	add_domain(tree, domains, &first);
	if (domains->answers) {
		text_start(&text, second_line, sizeof(second_line));
		text_printf(&text, "hypercall=xen channel=%u answer=1", CHANNEL);
		add_domain(tree, domains, &second);
	}
	tree_node_end(tree);
}
