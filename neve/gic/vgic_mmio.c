/*
 * The memory-mapped registers of a VM's GICv3: its distributor and redistributors (IHI 0069, 12.9 and
 * 12.11); see vgic.h. Pure.
 *
 * Every access is split into words of 32 bits. A word holds one bit, two or eight of each interrupt, by
 * the bank that it is in.
 */
#include "gic/vgic.h"

#include <stddef.h>

#include "common/gic_registers.h"

#define TYPER_INTID_BITS (9u << 19) /* ten bits */
#define TYPER_NO_1_OF_N	 (1u << 25)
#define PIDR2_GICV3	 0x3b
/* No JEP106 code: we have none. */
#define IIDR_NEVE	 ((uint32_t)'n' << 24)

#define ROUTER_ANY (1u << 31)

#define PRIORITY_BITS 0xf8u /* the upper five */

/* At the same offsets in the distributor and in a redistributor's second frame. */
enum bank {
	GROUP,
	SET_ENABLE,
	CLEAR_ENABLE,
	SET_PENDING,
	CLEAR_PENDING,
	SET_ACTIVE,
	CLEAR_ACTIVE,
	BIT_BANKS
};
#define BITS_FROM     0x080
#define BITS_BYTES    0x080
#define PRIORITY_FROM 0x400
#define PRIORITY_TO   0x800
#define CONFIG_FROM   0xc00
#define CONFIG_TO     0xd00

/* The interrupts that an access can reach, and the vCPUs for which it changed something. */
struct view {
	struct vgic *vgic;
	unsigned cpu;
	unsigned by; /* the vCPU that makes the access */
	bool own;    /* redistributor: private interrupts; else the shared ones */
	uint32_t changed;
};

/* The interrupt, or NULL if this view does not contain it. */
static struct vgic_irq *find(struct view *view, uint64_t intid)
{
	if (intid >= VGIC_INTIDS || (intid < VGIC_OWN) != view->own)
		return NULL;
	return vgic_irq(view->vgic, view->cpu, (unsigned)intid);
}

static void mark(struct view *view, const struct vgic_irq *irq)
{
	view->changed |= 1u << (view->own ? view->cpu : vgic_concerns(irq));
}

static bool get_bit(const struct vgic_irq *irq, enum bank bank)
{
	switch (bank) {
	case GROUP:
		return irq->group1;
	case SET_ENABLE:
	case CLEAR_ENABLE:
		return irq->enabled;
	case SET_PENDING:
	case CLEAR_PENDING:
		return vgic_is_pending(irq);
	default:
		return irq->active;
	}
}

/* If another vCPU has the interrupt, its list register holds the active state: no change here. */
static void put_active(struct view *view, struct vgic_irq *irq, bool active)
{
	if (irq->holder != VGIC_NOBODY && irq->holder != view->by)
		return;
	irq->active = active;
	irq->holder = !active ? VGIC_NOBODY : (uint8_t)(view->own ? view->cpu : vgic_concerns(irq));
}

static void put_bit(struct view *view, struct vgic_irq *irq, enum bank bank, bool bit)
{
	if (bank == GROUP)
		irq->group1 = bit;
	else if (!bit)
		return; /* in set and clear banks zeros do nothing */
	else if (bank == SET_ENABLE || bank == CLEAR_ENABLE)
		irq->enabled = bank == SET_ENABLE;
	else if (bank == SET_PENDING || bank == CLEAR_PENDING)
		irq->latch = bank == SET_PENDING;
	else
		put_active(view, irq, bank == SET_ACTIVE);
}

static uint32_t bits_word(struct view *view, uint64_t offset, bool write, uint32_t value)
{
	enum bank bank = (enum bank)((offset - BITS_FROM) / BITS_BYTES);
	uint64_t first = offset % BITS_BYTES * 8;
	uint32_t word = 0;

	for (unsigned i = 0; i < 32; i++) {
		struct vgic_irq *irq = find(view, first + i);

		if (!irq)
			continue;
		word |= (uint32_t)get_bit(irq, bank) << i;
		if (write) {
			mark(view, irq);
			put_bit(view, irq, bank, value >> i & 1);
		}
	}
	return word;
}

bool vgic_says_state(uint64_t offset)
{
	uint64_t in_frame = offset % GICR_SGI_FRAME;

	return in_frame >= BITS_FROM + SET_PENDING * BITS_BYTES &&
	       in_frame < BITS_FROM + BIT_BANKS * BITS_BYTES;
}

static uint32_t priority_word(struct view *view, uint64_t offset, bool write, uint32_t value)
{
	uint32_t word = 0;

	for (unsigned i = 0; i < 4; i++) {
		struct vgic_irq *irq = find(view, offset - PRIORITY_FROM + i);

		if (!irq)
			continue;
		word |= (uint32_t)irq->priority << (8 * i);
		if (write) {
			irq->priority = (uint8_t)(value >> (8 * i) & PRIORITY_BITS);
			mark(view, irq);
		}
	}
	return word;
}

/* Two bits each, of which the upper one means edge-triggered. SGIs always are. */
static uint32_t config_word(struct view *view, uint64_t offset, bool write, uint32_t value)
{
	uint64_t first = (offset - CONFIG_FROM) * 4;
	uint32_t word = 0;

	for (unsigned i = 0; i < 16; i++) {
		struct vgic_irq *irq = find(view, first + i);

		if (!irq)
			continue;
		word |= irq->edge ? 2u << (2 * i) : 0;
		if (write && first + i >= 16) {
			irq->edge = value >> (2 * i + 1) & 1;
			mark(view, irq);
		}
	}
	return word;
}

/* A word of the banks that distributor and redistributor both have. Returns false if the offset is in
 * none. */
static bool common_word(struct view *view, uint64_t offset, bool write, uint32_t value,
			uint32_t *word)
{
	if (offset >= BITS_FROM && offset < BITS_FROM + BIT_BANKS * BITS_BYTES)
		*word = bits_word(view, offset, write, value);
	else if (offset >= PRIORITY_FROM && offset < PRIORITY_TO)
		*word = priority_word(view, offset, write, value);
	else if (offset >= CONFIG_FROM && offset < CONFIG_TO)
		*word = config_word(view, offset, write, value);
	else
		return false;
	return true;
}

static uint32_t control_word(struct vgic *vgic, bool write, uint32_t value, uint32_t *changed)
{
	uint32_t word = GICD_CTLR_AFFINITY | GICD_CTLR_ONE_STATE |
			(vgic->group0_on ? GICD_CTLR_GROUP0 : 0) |
			(vgic->group1_on ? GICD_CTLR_GROUP1 : 0);

	if (write) {
		vgic->group0_on = value & GICD_CTLR_GROUP0;
		vgic->group1_on = value & GICD_CTLR_GROUP1;
		*changed = (1u << vgic->cpu_count) - 1;
	}
	return word;
}

static uint32_t router_word(struct view *view, uint64_t offset, bool write, uint32_t value)
{
	struct vgic_irq *irq = find(view, (offset - GICD_IROUTER) / 8);

	if (!irq || offset % 8)
		return 0; /* the upper half has affinity 3, which is 0 here */
	if (write) {
		mark(view, irq);
		/* Any vCPU, or a missing one, means the first. */
		irq->target = value & ROUTER_ANY || value >= view->vgic->cpu_count ? 0
										   : (uint8_t)value;
		mark(view, irq);
	}
	return irq->target;
}

static uint32_t distributor_word(struct view *view, uint64_t offset, bool write, uint32_t value)
{
	uint32_t word = 0;

	switch (offset) {
	case GICD_CTLR:
		return control_word(view->vgic, write, value, &view->changed);
	case GICD_TYPER:
		return TYPER_NO_1_OF_N | TYPER_INTID_BITS | (VGIC_INTIDS / 32 - 1);
	case GICD_IIDR:
		return IIDR_NEVE;
	case GICD_PIDR2:
		return PIDR2_GICV3;
	}
	if (offset >= GICD_IROUTER && offset < GICD_IROUTER + 8 * 1020)
		return router_word(view, offset, write, value);
	common_word(view, offset, write, value, &word);
	return word;
}

static uint32_t waker_word(struct vgic_cpu *cpu, bool write, uint32_t value)
{
	if (write)
		cpu->asleep = value & GICR_WAKER_SLEEP;
	return cpu->asleep ? GICR_WAKER_SLEEP | GICR_WAKER_ASLEEP : 0;
}

static uint32_t redistributor_word(struct view *view, uint64_t offset, bool write, uint32_t value)
{
	uint32_t word = 0;

	if (offset >= GICR_SGI_FRAME) {
		common_word(view, offset - GICR_SGI_FRAME, write, value, &word);
		return word;
	}
	switch (offset) {
	case GICR_IIDR:
		return IIDR_NEVE;
	case GICR_TYPER:
		return view->cpu << 8 |
		       (view->cpu + 1 == view->vgic->cpu_count ? GICR_TYPER_LAST : 0);
	case GICR_TYPER + 4: /* affinity */
		return view->cpu;
	case GICR_WAKER:
		return waker_word(&view->vgic->cpus[view->cpu], write, value);
	case GICD_PIDR2:
		return PIDR2_GICV3;
	}
	return 0;
}

typedef uint32_t word_function(struct view *view, uint64_t offset, bool write, uint32_t value);

/* Splits an access into words. Bytes are allowed only for priorities (12.1.3); other small accesses and
 * unaligned ones read as zero and write nothing. */
static void by_words(struct view *view, word_function *word, uint64_t offset, struct access *access)
{
	uint64_t in_frame = offset % GICR_SGI_FRAME;
	unsigned shift = (unsigned)(offset % 4) * 8;
	uint32_t old, mask = 0xffu << shift;

	if (access->bytes == 1 && in_frame >= PRIORITY_FROM && in_frame < PRIORITY_TO) {
		old = word(view, offset & ~3ull, false, 0);
		if (access->write)
			word(view, offset & ~3ull, true,
			     (old & ~mask) | ((uint32_t)access->value << shift & mask));
		access->value = old >> shift & 0xff;
	} else if (access->bytes >= 4 && !(offset % access->bytes)) {
		uint64_t value = word(view, offset, access->write, (uint32_t)access->value);

		if (access->bytes == 8)
			value |= (uint64_t)word(view, offset + 4, access->write,
						(uint32_t)(access->value >> 32))
				 << 32;
		access->value = value;
	} else {
		access->value = 0;
	}
}

uint32_t vgic_distributor(struct vgic *vgic, unsigned cpu, struct access *access)
{
	struct view view = { .vgic = vgic, .cpu = cpu, .by = cpu };

	by_words(&view, distributor_word, access->offset, access);
	return view.changed;
}

uint32_t vgic_redistributors(struct vgic *vgic, unsigned cpu, struct access *access)
{
	uint64_t whose = access->offset / VGIC_REDISTRIBUTOR_BYTES;
	struct view view = { .vgic = vgic, .cpu = (unsigned)whose, .by = cpu, .own = true };

	if (whose >= vgic->cpu_count) {
		access->value = 0;
		return 0;
	}
	by_words(&view, redistributor_word, access->offset % VGIC_REDISTRIBUTOR_BYTES, access);
	return view.changed;
}
