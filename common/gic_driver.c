/* See gic_driver.h. */
#include "common/gic_driver.h"
#include "common/device_io.h"
#include "common/relax.h"

#define MIDDLE_PRIORITIES 0xa0a0a0a0u
#define MAX_POLLS	  1000000

static bool wait_clear(uint64_t address, uint32_t bits)
{
	for (unsigned i = 0; i < MAX_POLLS; i++) {
		if (!(mmio_read32(address) & bits))
			return true;
		relax();
	}
	return false;
}

bool gic_enable_distributor(uint64_t distributor, unsigned version)
{
	uint64_t control = distributor + GICD_CTLR;

	mmio_write32(control, 0);
	if (version != 3) {
		mmio_write32(control, GICD_CTLR_GROUP0 | GICD_CTLR_GROUP1);
		return true;
	}
	if (!wait_clear(control, GICD_CTLR_PENDING))
		return false;
	mmio_write32(control, GICD_CTLR_AFFINITY | GICD_CTLR_GROUP0 | GICD_CTLR_GROUP1);
	return wait_clear(control, GICD_CTLR_PENDING);
}

uint64_t gic_redistributor(const struct tree *tree, uint64_t affinity)
{
	uint32_t wanted = (uint32_t)(affinity | affinity >> 32 << 24);

	for (unsigned i = 0; i < tree->redistributor_count; i++) {
		uint64_t at = tree->redistributors[i].start, end = tree->redistributors[i].end;

		while (at < end && end - at >= GICR_BYTES) {
			uint32_t type = mmio_read32(at + GICR_TYPER);

			if (mmio_read32(at + GICR_TYPER + 4) == wanted)
				return at;
			if (type & GICR_TYPER_LAST)
				break;
			at += tree->redistributor_stride ? tree->redistributor_stride
			      : type & GICR_TYPER_VLPIS	 ? 2 * GICR_BYTES
							 : GICR_BYTES;
		}
	}
	return 0;
}

bool gic_wake(uint64_t redistributor)
{
	uint64_t waker = redistributor + GICR_WAKER;

	mmio_write32(waker, mmio_read32(waker) & ~GICR_WAKER_SLEEP);
	if (!wait_clear(waker, GICR_WAKER_ASLEEP))
		return false;
	mmio_write32(redistributor + GICR_SGI_FRAME + GICD_IGROUPR, ~(uint32_t)0);
	return true;
}

void gic_enable_own(uint64_t frame, uint32_t which)
{
	mmio_write32(frame + GICD_ICENABLER, ~(uint32_t)0);
	for (unsigned i = 0; i < GIC_FIRST_SHARED / 4; i++)
		mmio_write32(frame + GICD_IPRIORITYR + i * 4, MIDDLE_PRIORITIES);
	mmio_write32(frame + GICD_ISENABLER, which);
}

void gic_own(uint64_t frame, unsigned intid, bool on)
{
	mmio_write32(frame + (on ? GICD_ISENABLER : GICD_ICENABLER), 1u << intid);
}

void gic_enable_shared(uint64_t distributor, unsigned version, unsigned intid, uint64_t to,
		       bool edge)
{
	uint64_t config = distributor + GICD_ICFGR + intid / 16 * 4;
	uint64_t word = intid / 32 * 4;

	if (edge)
		mmio_write32(config, mmio_read32(config) | 2u << intid % 16 * 2);
	mmio_write32(distributor + GICD_IPRIORITYR + intid / 4 * 4, MIDDLE_PRIORITIES);
	if (version == 3) {
		mmio_write32(distributor + GICD_IGROUPR + word, ~(uint32_t)0);
		mmio_write32(distributor + GICD_IROUTER + intid * 8, (uint32_t)to);
		mmio_write32(distributor + GICD_IROUTER + intid * 8 + 4, (uint32_t)(to >> 32));
	} else {
		out8(distributor + GICD_ITARGETSR + intid, (uint8_t)(to ? to : 1));
	}
	mmio_write32(distributor + GICD_ISENABLER + word, 1u << intid % 32);
}
