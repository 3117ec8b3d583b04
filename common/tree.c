/*
 * Reads the description of an Arm machine from a device tree (Devicetree Specification 0.4; bindings:
 * Linux, Documentation/devicetree/bindings). Pure; fuzzed on the host.
 *
 * One walk. A node is handled when it ends: by then its own properties and its parents' are known.
 */
#include "common/tree.h"
#include "common/fdt.h"
#include "common/text.h"

enum property {
	COMPATIBLE,
	REG,
	RANGES,
	STATUS,
	DEVICE_TYPE,
	METHOD,
	ENABLE_METHOD,
	REG_SHIFT,
	REG_IO_WIDTH,
	ADDRESS_CELLS,
	SIZE_CELLS,
	CLOCK_FREQUENCY,
	REGIONS,
	STRIDE,
	INTERRUPTS,
	PROPERTIES
};

static const char *const names[PROPERTIES] = {
	[COMPATIBLE] = "compatible",
	[REG] = "reg",
	[RANGES] = "ranges",
	[STATUS] = "status",
	[DEVICE_TYPE] = "device_type",
	[METHOD] = "method",
	[ENABLE_METHOD] = "enable-method",
	[REG_SHIFT] = "reg-shift",
	[REG_IO_WIDTH] = "reg-io-width",
	[ADDRESS_CELLS] = "#address-cells",
	[SIZE_CELLS] = "#size-cells",
	[CLOCK_FREQUENCY] = "clock-frequency",
	[REGIONS] = "#redistributor-regions",
	[STRIDE] = "redistributor-stride",
	[INTERRUPTS] = "interrupts",
};

struct node {
	const char *name;
	uint32_t begin; /* as fdt_node() returns it */
	struct {
		const uint8_t *value; /* NULL: absent */
		uint32_t length;
	} properties[PROPERTIES];
};

/* The nodes from the root (1) down to the current one. */
struct path {
	struct node nodes[FDT_MAX_DEPTH + 1];
	uint32_t depth, console;
	struct tree *tree;
};

static bool has(const struct node *node, enum property property)
{
	return node->properties[property].value;
}

static bool says(const struct node *node, enum property property, const char *word)
{
	return has(node, property) && fdt_has_string(node->properties[property].value,
						     node->properties[property].length, word);
}

static uint64_t number(const struct node *node, enum property property, uint64_t otherwise)
{
	uint32_t cells = node->properties[property].length / 4;

	if (!has(node, property) || !cells || cells > 2)
		return otherwise;
	return fdt_cells(node->properties[property].value, cells);
}

static bool is(const struct node *node, const char *compatible)
{
	return says(node, COMPATIBLE, compatible);
}

/* Translates an address on the bus of the node at `depth` to a CPU address. */
static bool to_cpu(const struct path *path, uint32_t depth, uint64_t *address)
{
	for (; depth > 1; depth--) {
		const struct node *bus = &path->nodes[depth], *above = &path->nodes[depth - 1];
		uint32_t child = (uint32_t)number(bus, ADDRESS_CELLS, 2);
		uint32_t parent = (uint32_t)number(above, ADDRESS_CELLS, 2);
		uint32_t size = (uint32_t)number(bus, SIZE_CELLS, 1), at = 0, entry;
		bool found = !bus->properties[RANGES].length; /* empty: one to one */

		if (!has(bus, RANGES) || child - 1 > 1 || parent - 1 > 1 || size - 1 > 1)
			return false;
		entry = (child + parent + size) * 4;
		for (; !found && bus->properties[RANGES].length - at >= entry; at += entry) {
			const uint8_t *value = bus->properties[RANGES].value + at;
			uint64_t start = fdt_cells(value, child);

			if (*address < start ||
			    *address - start >= fdt_cells(value + (child + parent) * 4, size))
				continue;
			*address += fdt_cells(value + child * 4, parent) - start;
			found = true;
		}
		if (!found)
			return false;
	}
	return true;
}

/* Entry `index` of the last node's "reg", as a CPU address range. */
static bool range_of(const struct path *path, uint32_t index, struct memory_range *range)
{
	const struct node *node = &path->nodes[path->depth], *bus = node - 1;
	uint32_t address = (uint32_t)number(bus, ADDRESS_CELLS, 2);
	uint32_t size = (uint32_t)number(bus, SIZE_CELLS, 1);
	uint64_t bytes, entry = ((uint64_t)address + size) * 4;
	const uint8_t *value = node->properties[REG].value;

	if (!value || path->depth < 2 || address - 1 > 1 || size - 1 > 1 ||
	    node->properties[REG].length / entry <= index)
		return false;
	value += index * entry;
	range->start = fdt_cells(value, address);
	bytes = fdt_cells(value + address * 4, size);
	if (!to_cpu(path, path->depth - 1, &range->start) || range->start + bytes < range->start)
		return false;
	range->end = range->start + bytes;
	return true;
}

static void add_ranges(const struct path *path, struct memory_range *ranges, unsigned most,
		       unsigned *count)
{
	struct memory_range range;

	for (uint32_t i = 0; *count < most && range_of(path, i, &range); i++)
		if (range.start < range.end)
			ranges[(*count)++] = range;
}

static void take_cpu(const struct path *path, const struct node *node)
{
	struct tree *tree = path->tree;
	uint64_t id = number(node, REG, UINT64_MAX);

	if (tree->cpu_count < MAX_CPUS && id != UINT64_MAX && says(node, ENABLE_METHOD, "psci"))
		tree->cpu_ids[tree->cpu_count++] = id;
}

static void take_gic(const struct path *path, const struct node *node, unsigned version)
{
	struct tree *tree = path->tree;
	uint64_t regions = number(node, REGIONS, 1);
	struct memory_range range;

	if (tree->gic_version || !range_of(path, 0, &range))
		return;
	tree->gic_distributor = range.start;
	if (version == 2 && range_of(path, 1, &range))
		tree->gic_cpu_interface = range.start;
	for (uint32_t i = 0; version == 3 && i < regions && i < TREE_MAX_REGIONS; i++)
		if (range_of(path, i + 1, &tree->redistributors[tree->redistributor_count]))
			tree->redistributor_count++;
	tree->redistributor_stride = number(node, STRIDE, 0);
	if (tree->gic_cpu_interface || tree->redistributor_count)
		tree->gic_version = version;
}

static void take_its(const struct path *path)
{
	struct memory_range range;

	if (!path->tree->its && range_of(path, 0, &range))
		path->tree->its = range.start;
}

/* Three cells: 0 for a shared interrupt, its number minus 32, flags (bindings, arm,gic-v3). */
static unsigned shared_interrupt(const struct node *node)
{
	const uint8_t *cells = node->properties[INTERRUPTS].value;

	if (node->properties[INTERRUPTS].length < 12 || fdt_cells(cells, 1) ||
	    fdt_cells(cells + 4, 1) >= 988)
		return 0;
	return 32 + (unsigned)fdt_cells(cells + 4, 1);
}

static void take_uart(const struct path *path, const struct node *node, enum uart_kind kind)
{
	struct tree *tree = path->tree;
	uint64_t shift = number(node, REG_SHIFT, 0), width = number(node, REG_IO_WIDTH, 1);
	struct memory_range range;

	if (tree->uart_count == TREE_MAX_UARTS || !range_of(path, 0, &range) || shift > 4 ||
	    (width != 1 && width != 4))
		return;
	if (node->begin == path->console)
		tree->console = tree->uart_count;
	tree->uart_intids[tree->uart_count] = shared_interrupt(node);
	tree->uarts[tree->uart_count++] = (struct uart){
		.kind = kind,
		.base = range.start,
		.shift = (uint32_t)shift,
		.width = (uint32_t)width,
	};
}

static void take_hypervisor(struct tree *tree, const struct node *node)
{
	uint32_t length = node->properties[COMPATIBLE].length;

	for (uint32_t i = 0; i < sizeof(tree->hypervisor) - 1 && i < length; i++)
		tree->hypervisor[i] = (char)node->properties[COMPATIBLE].value[i];
}

static void take_node(struct path *path)
{
	const struct node *node = &path->nodes[path->depth];
	struct tree *tree = path->tree;

	if (has(node, STATUS) && !says(node, STATUS, "okay") && !says(node, STATUS, "ok") &&
	    !says(node, DEVICE_TYPE, "cpu")) /* for a CPU, "disabled" means not started yet */
		return;
	if (says(node, DEVICE_TYPE, "cpu") && !says(node, STATUS, "fail"))
		take_cpu(path, node);
	else if (says(node, DEVICE_TYPE, "memory"))
		add_ranges(path, tree->ram, MAX_RANGES, &tree->ram_count);
	else if (path->depth == 3 && text_equal(path->nodes[2].name, "reserved-memory"))
		add_ranges(path, tree->reserved, TREE_MAX_RESERVED, &tree->reserved_count);
	else if (is(node, "arm,gic-v3"))
		take_gic(path, node, 3);
	else if (is(node, "arm,gic-400") || is(node, "arm,cortex-a15-gic") ||
		 is(node, "arm,cortex-a9-gic") || is(node, "arm,cortex-a7-gic"))
		take_gic(path, node, 2);
	else if (is(node, "arm,gic-v3-its"))
		take_its(path);
	else if (is(node, "arm,sbsa-uart"))
		take_uart(path, node, UART_SBSA);
	else if (is(node, "arm,pl011"))
		take_uart(path, node, UART_PL011);
	else if (is(node, "ns16550a") || is(node, "ns16550") || is(node, "snps,dw-apb-uart"))
		take_uart(path, node, UART_16550);
	else if (is(node, "arm,psci-0.2") || is(node, "arm,psci-1.0"))
		tree->psci = says(node, METHOD, "hvc")	 ? PSCI_HVC
			     : says(node, METHOD, "smc") ? PSCI_SMC
							 : PSCI_NONE;
	else if (is(node, "arm,armv8-timer")) {
		tree->has_timer = true;
		tree->timer_hz = number(node, CLOCK_FREQUENCY, 0);
	} else if (path->depth == 2 && text_equal(node->name, "hypervisor"))
		take_hypervisor(tree, node);
}

static void take_property(struct node *node, const struct fdt_walk *walk)
{
	for (unsigned i = 0; i < PROPERTIES; i++)
		if (text_equal(walk->name, names[i])) {
			node->properties[i].value = walk->value;
			node->properties[i].length = walk->length;
		}
}

static void add_reserved(struct tree *tree, uint64_t start, uint64_t end)
{
	if (tree->reserved_count < TREE_MAX_RESERVED && start < end)
		tree->reserved[tree->reserved_count++] =
			(struct memory_range){ .start = start, .end = end };
}

static uint64_t end_of_initrd(const struct fdt *fdt, uint32_t chosen, const char *name)
{
	struct fdt_walk found;

	if (!fdt_property(fdt, chosen, name, &found) || found.length < 4 || found.length > 8)
		return 0;
	return fdt_cells(found.value, found.length / 4);
}

/* Reads the command line, the reserved memory that is not in nodes, and which node is the console. */
static void take_chosen(struct path *path, const struct fdt *fdt)
{
	uint32_t chosen = fdt_node(fdt, "/chosen", 7), length = 0;
	uint64_t start, bytes;
	struct fdt_walk found;

	fdt_property(fdt, chosen, "bootargs", &found);
	for (uint32_t i = 0; i < found.length && i < MAX_CMDLINE_BYTES - 1; i++)
		path->tree->bootargs[i] = (char)found.value[i];
	add_reserved(path->tree, end_of_initrd(fdt, chosen, "linux,initrd-start"),
		     end_of_initrd(fdt, chosen, "linux,initrd-end"));
	for (uint32_t i = 0; i < TREE_MAX_RESERVED && fdt_reserved(fdt, i, &start, &bytes); i++)
		add_reserved(path->tree, start, start + bytes);

	if (!fdt_property(fdt, chosen, "stdout-path", &found))
		return;
	/* "serial0:115200n8": an alias or a path, then options. */
	while (length < found.length && found.value[length] && found.value[length] != ':')
		length++;
	if (length && found.value[0] != '/') {
		char alias[32];

		for (uint32_t i = 0; i < length && i < sizeof(alias) - 1; i++)
			alias[i] = (char)found.value[i];
		alias[length < sizeof(alias) ? length : sizeof(alias) - 1] = 0;
		if (!fdt_property(fdt, fdt_node(fdt, "/aliases", 8), alias, &found))
			return;
		for (length = 0; length < found.length && found.value[length];)
			length++;
	}
	path->console = length ? fdt_node(fdt, (const char *)found.value, length) : 0;
}

const char *tree_read(struct tree *tree, const void *bytes, uint32_t most)
{
	struct path path = { .tree = tree };
	struct fdt_walk walk = { 0 };
	enum fdt_event event;
	struct fdt fdt;
	const char *wrong;

	*tree = (struct tree){ 0 };
	wrong = fdt_open(&fdt, bytes, most);
	if (wrong)
		return wrong;
	take_chosen(&path, &fdt);
	while ((event = fdt_next(&fdt, &walk)) < FDT_END) {
		/* At FDT_NODE_END the walk's depth is already the parent's. */
		path.depth = walk.depth + (event == FDT_NODE_END);
		if (path.depth > FDT_MAX_DEPTH)
			continue;
		if (event == FDT_NODE)
			path.nodes[path.depth] =
				(struct node){ .name = walk.name, .begin = walk.at };
		else if (event == FDT_PROPERTY)
			take_property(&path.nodes[path.depth], &walk);
		else if (path.depth)
			take_node(&path);
	}
	if (event == FDT_BROKEN)
		return "the device tree breaks off, or holds something that is no device tree";
	if (!tree->ram_count)
		return "the device tree has no memory in it";
	return NULL;
}
