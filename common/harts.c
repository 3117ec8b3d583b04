/*
 * Reads the harts from a device tree (bindings: Linux, Documentation/devicetree/bindings/riscv/ and
 * interrupt-controller/riscv,*.yaml). Pure.
 *
 * One walk. A node is handled when it ends, as in common/tree.c. Its registers are taken to have two cells for an
 * address, and no bus to have another address space: so it is on all machines with these controllers.
 */
#include "common/harts.h"

#include "common/fdt.h"
#include "common/text.h"

#define SUPERVISOR_EXTERNAL 9 /* the interrupt of a hart that an S-level controller raises */
#define PAGE_BYTES	    4096u

struct bytes {
	const uint8_t *at; /* NULL: absent */
	uint32_t length;
};

struct node {
	struct bytes compatible, reg, isa, isa_extensions, device_type, clock, interrupts, parent,
		guest_bits, phandle, status;
};

/* A value that is a list of 32-bit cells: cell `index`; 0 if it has fewer. */
static uint32_t cell(struct bytes value, uint32_t index)
{
	return value.at && value.length / 4 > index ? (uint32_t)fdt_cells(value.at + index * 4, 1)
						    : 0;
}

static bool says(struct bytes value, const char *word)
{
	return value.at && fdt_has_string(value.at, value.length, word);
}

/* Has "rv64imac_zicsr_sstc" the word "sstc"? */
static bool names_extension(struct bytes isa, const char *word)
{
	uint32_t start = 0;

	for (uint32_t i = 0; isa.at && i < isa.length; i++) {
		uint32_t same = 0;

		if (isa.at[i] && isa.at[i] != '_')
			continue;
		while (start + same < i && word[same] &&
		       isa.at[start + same] == (uint8_t)word[same])
			same++;
		if (start + same == i && !word[same])
			return true;
		start = i + 1;
	}
	return false;
}

static void take_cpu(struct harts *harts, const struct node *node)
{
	uint32_t cells = node->reg.length / 4, page = harts->all;

	if (!node->reg.at || !cells || cells > 2 || harts->count == MAX_CPUS)
		return;
	harts->all++;
	/* A hart of the firmware's own, or one without an MMU. */
	if (node->status.at && !says(node->status, "okay") && !says(node->status, "ok"))
		return;
	harts->pages[harts->count] = page;
	harts->ids[harts->count++] = fdt_cells(node->reg.at, cells);
	if (names_extension(node->isa, "sstc") || says(node->isa_extensions, "sstc"))
		harts->has_sstc = true;
}

static uint64_t base_of(const struct node *node)
{
	return node->reg.at && node->reg.length >= 8 ? fdt_cells(node->reg.at, 2) : 0;
}

static void take_node(struct harts *harts, const struct node *node, uint32_t *imsic)
{
	if (says(node->device_type, "cpu")) {
		take_cpu(harts, node);
	} else if (says(node->compatible, "sifive,plic-1.0.0") ||
		   says(node->compatible, "riscv,plic0")) {
		harts->plic = base_of(node);
	} else if (says(node->compatible, "riscv,imsics") &&
		   cell(node->interrupts, 1) == SUPERVISOR_EXTERNAL) {
		/* Pages of the harts' guests follow each hart's own. */
		uint32_t bits = cell(node->guest_bits, 0);

		harts->imsic = base_of(node);
		harts->imsic_stride = bits < 8 ? PAGE_BYTES << bits : 0;
		*imsic = cell(node->phandle, 0);
	} else if (says(node->compatible, "riscv,aplic") && *imsic &&
		   cell(node->parent, 0) == *imsic) {
		harts->aplic = base_of(node);
	}
}

static void take_property(struct node *node, const struct fdt_walk *walk)
{
	static const char *const names[] = {
		"compatible",
		"reg",
		"riscv,isa",
		"riscv,isa-extensions",
		"device_type",
		"timebase-frequency",
		"interrupts-extended",
		"msi-parent",
		"riscv,guest-index-bits",
		"phandle",
		"status",
	};
	struct bytes *const values[] = {
		&node->compatible,  &node->reg,	    &node->isa,	       &node->isa_extensions,
		&node->device_type, &node->clock,   &node->interrupts, &node->parent,
		&node->guest_bits,  &node->phandle, &node->status,
	};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (text_equal(walk->name, names[i]))
			*values[i] = (struct bytes){ walk->value, walk->length };
}

/* One walk. The controllers may stand in any order, so the APLIC's is the second one's. */
static void walk_once(struct harts *harts, const struct fdt *fdt, uint32_t *imsic)
{
	struct node nodes[FDT_MAX_DEPTH + 1] = { 0 };
	struct fdt_walk walk = { 0 };
	enum fdt_event event;

	harts->count = harts->all = 0;
	while ((event = fdt_next(fdt, &walk)) < FDT_END) {
		/* At FDT_NODE_END the walk's depth is already the parent's. */
		uint32_t depth = walk.depth + (event == FDT_NODE_END);

		if (depth > FDT_MAX_DEPTH)
			continue;
		if (event == FDT_NODE)
			nodes[depth] = (struct node){ 0 };
		else if (event == FDT_PROPERTY)
			take_property(&nodes[depth], &walk);
		else if (depth)
			take_node(harts, &nodes[depth], imsic);
		if (event == FDT_PROPERTY && nodes[depth].clock.at && !harts->clock_hz)
			harts->clock_hz = cell(nodes[depth].clock, 0);
	}
}

void harts_read(struct harts *harts, const void *bytes, uint32_t most)
{
	uint32_t imsic = 0;
	struct fdt fdt;

	*harts = (struct harts){ 0 };
	if (fdt_open(&fdt, bytes, most))
		return;
	walk_once(harts, &fdt, &imsic);
	walk_once(harts, &fdt, &imsic);
	if (!harts->imsic_stride)
		harts->imsic = 0;
	if (!harts->imsic)
		harts->aplic = 0;
}
