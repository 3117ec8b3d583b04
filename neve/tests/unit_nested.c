/* Unit tests of what supports guest hypervisors: register classes, walks of their tables, shadows, their
 * list registers; on the host, under ASan and UBSan (make -C neve test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cpu/registers.h"
#include "nested/virtual_ich.h"
#include "tables/shadow.h"

/* ---- Register classes ----------------------------------------------------------------------- */

static unsigned count_of(enum register_nest nest, const char *end)
{
	unsigned count = 0;

	for (unsigned i = 0; i < REGISTER_COUNT; i++) {
		const char *name = register_rows[i].name;
		size_t length = strlen(name), most = strlen(end);

		count += register_rows[i].nest == nest && length > most &&
			 !strcmp(name + length - most, end);
	}
	return count;
}

/* Table 3 has 26 distinct names: TPIDR_EL2 is there twice. In Table 5, ICH_AP<n>R<m> and ICH_LR<n> are 24. */
static void classes_have_the_papers_sizes(void **state)
{
	(void)state;
	assert_int_equal(count_of(NEST_CONTROL, "_EL2"), 10);
	assert_int_equal(count_of(NEST_VM, "_EL1"), 16);
	assert_int_equal(count_of(NEST_REDIRECT, "_EL2"), 10);
	assert_int_equal(count_of(NEST_REDIRECT_VHE, "_EL2"), 2);
	assert_int_equal(count_of(NEST_CACHED, "_EL2"), 4);
	assert_int_equal(count_of(NEST_TRANSLATED, "_EL2"), 2);
	assert_int_equal(count_of(NEST_GIC, "_EL2"), 6 + 8 + 16);
}

static void each_register_has_a_place_of_its_own_in_the_page(void **state)
{
	bool taken[0x1000 / 8] = { false };

	(void)state;
	for (unsigned i = 0; i < REGISTER_COUNT; i++) {
		unsigned at = REGISTER_OFFSET(register_rows[i].page, i) / 8;

		assert_in_range(at, 1, 0x1000 / 8 - 1);
		assert_false(taken[at]);
		taken[at] = true;
	}
}

static void a_vhe_name_finds_the_vms_register(void **state)
{
	(void)state;
	assert_int_equal(register_find(ENCODING(3u, 5u, 1u, 0u, 0u)), REG_SCTLR_EL1);
	assert_int_equal(register_find(ENCODING(3u, 5u, 14u, 1u, 0u)), REG_CNTKCTL_EL1);
	assert_int_equal(register_find(ENCODING(3u, 5u, 14u, 3u, 1u)), REG_CNTV_CTL_EL0);
	assert_int_equal(register_find(ENCODING(3u, 5u, 15u, 15u, 7u)), REG_NONE);
	assert_int_equal(register_find(ENCODING(1u, 4u, 8u, 7u, 0u)), REG_NONE); /* TLBI ALLE2 */
	assert_int_equal(register_find(ENCODING(2u, 0u, 0u, 2u, 2u)), REG_MDSCR_EL1);
}

static void virtual_el2_is_told_of_itself(void **state)
{
	(void)state;
	assert_int_equal(register_identity(REG_ID_AA64PFR0_EL1, 0, IDENTITY_EL2, false), 0x111);
	assert_int_equal(register_identity(REG_ID_AA64MMFR1_EL1, 0, IDENTITY_EL2, true), 0x100);
	assert_int_equal(register_identity(REG_ID_AA64MMFR1_EL1, 0xf00, IDENTITY_EL2, false), 0);
	assert_int_equal(register_identity(REG_ID_AA64MMFR2_EL1, 0, IDENTITY_EL2_NV2, false),
			 0x2000000);
	assert_int_equal(register_identity(REG_ID_AA64ISAR0_EL1, ~0ull, IDENTITY_EL2, false),
			 ~FIELD(56));
	/* 40 bits, and no LPA2; no granule of 4 KiB stays none. */
	assert_true(register_identity(REG_ID_AA64MMFR0_EL1, 0x10200005, IDENTITY_EL2_NV2, true) ==
		    0x20000100002);
	assert_true(register_identity(REG_ID_AA64MMFR0_EL1, 0xf0000005, IDENTITY_EL2_NV2, true) ==
		    0x200f0000002);
	assert_int_equal(register_identity(REG_ID_AA64MMFR0_EL1, 0, IDENTITY_EL2, true) & 15, 0);
	/* Our walk of its stage 2 sets no access flag and no dirty state. */
	assert_int_equal(register_identity(REG_ID_AA64MMFR1_EL1, 2, IDENTITY_EL2, false), 0);
}

static void debug_registers_are_those_of_the_cpu(void **state)
{
	const uint64_t dfr0 = 5ull << 12 | 3ull << 20; /* 6 breakpoints, 4 watchpoints */

	(void)state;
	assert_true(register_debugs(ENCODING(2u, 0u, 0u, 5u, 4u), dfr0));  /* DBGBVR5_EL1 */
	assert_false(register_debugs(ENCODING(2u, 0u, 0u, 6u, 5u), dfr0)); /* DBGBCR6_EL1 */
	assert_true(register_debugs(ENCODING(2u, 0u, 0u, 3u, 7u), dfr0));  /* DBGWCR3_EL1 */
	assert_false(register_debugs(ENCODING(2u, 0u, 0u, 4u, 6u), dfr0)); /* DBGWVR4_EL1 */
	assert_true(register_debugs(ENCODING(2u, 3u, 0u, 5u, 0u), dfr0));  /* DBGDTRTX_EL0 */
	/* MDSCR_EL1 has a row; OSLAR_EL1 is trapped by TDOSA; the last is no debug register. */
	assert_false(register_debugs(ENCODING(2u, 0u, 0u, 2u, 2u), dfr0));
	assert_false(register_debugs(ENCODING(2u, 0u, 1u, 0u, 4u), dfr0));
	assert_false(register_debugs(ENCODING(3u, 0u, 0u, 0u, 4u), dfr0));
}

static void no_vm_is_told_of_registers_that_trap(void **state)
{
	(void)state;
	/* CSV2 from 2 on: SCXTNUM_ELx; HAFDBS 3: TCR2_EL1. */
	assert_true(register_identity(REG_ID_AA64PFR0_EL1, 1ull << 56, IDENTITY_VM, false) ==
		    (1ull << 56 | 0x11));
	assert_true(register_identity(REG_ID_AA64PFR0_EL1, 3ull << 56, IDENTITY_VM, false) ==
		    (1ull << 56 | 0x11));
	assert_true(register_identity(REG_ID_AA64PFR0_EL1, 2ull << 56, IDENTITY_EL2, false) ==
		    (1ull << 56 | 0x111));
	assert_int_equal(register_identity(REG_ID_AA64MMFR1_EL1, 1, IDENTITY_VM, false), 1);
	assert_int_equal(register_identity(REG_ID_AA64MMFR1_EL1, 3, IDENTITY_VM, false), 2);
}

static void tlb_maintenance_concerns_what_it_says(void **state)
{
	(void)state;
	assert_int_equal(tlbi_concerns(0, 3, 0), TLBI_STAGE1);		     /* VMALLE1IS */
	assert_int_equal(tlbi_concerns(4, 0, 1), TLBI_ADDRESS);		     /* IPAS2E1IS */
	assert_int_equal(tlbi_concerns(4, 4, 5), TLBI_ADDRESS);		     /* IPAS2LE1 */
	assert_int_equal(tlbi_concerns(4, 7, 0), TLBI_EL2);		     /* ALLE2 */
	assert_int_equal(tlbi_concerns(4, 3, 6), TLBI_STAGE1 | TLBI_STAGE2); /* VMALLS12E1IS */
	assert_int_equal(tlbi_concerns(4, 7, 4), TLBI_EL2 | TLBI_ALL);	     /* ALLE1 */
	assert_int_equal(tlbi_concerns(4, 2, 2), TLBI_EL2 | TLBI_ALL);	     /* a range */
}

/* ---- Guest tables --------------------------------------------------------------------------- */

#define MEMORY_WORDS (64 * 512) /* guest-physical, from 0 */
#define LEAF	     (LEAF_MEMORY | LEAF_READ | LEAF_WRITE | LEAF_SHARED | LEAF_ACCESSED | 1)

/* VTCR_EL2: T0SZ, SL0, TG0, PS of 40 bits. */
#define VTCR(bits, start, granule) ((64ull - (bits)) | (start) << 6 | (granule) << 14 | 2 << 16)

static uint64_t memory[MEMORY_WORDS];
static unsigned reads;

static bool read_word(void *context, uint64_t ipa, uint64_t *entry)
{
	(void)context;
	reads++;
	if (ipa / 8 >= MEMORY_WORDS)
		return false;
	*entry = memory[ipa / 8];
	return true;
}

static struct guest_leaf walk(uint64_t vtcr, uint64_t ipa, enum guest_access access)
{
	reads = 0;
	return guest_walk(0x1000, vtcr, ipa, access, read_word, NULL);
}

static int clear_memory(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	return 0;
}

static void pages_of_4_kib_and_blocks_are_found(void **state)
{
	uint64_t vtcr = VTCR(39, 1, 0);
	struct guest_leaf leaf;

	(void)state;
	memory[0x1000 / 8 + 1] = 0x2000 | 3; /* level 1, the second GiB */
	memory[0x2000 / 8 + 2] = 0x3000 | 3;
	memory[0x3000 / 8 + 3] = 0x812345000 | LEAF | 2;
	memory[0x2000 / 8 + 3] = 0x840000000 | LEAF;
	memory[0x1000 / 8 + 2] = 0x8c0000000 | (LEAF & ~LEAF_WRITE) | LEAF_NO_EXECUTE;
	leaf = walk(vtcr, 0x40403678, GUEST_WRITES);
	assert_int_equal(leaf.status, 0);
	assert_int_equal(leaf.output, 0x812345678);
	assert_int_equal(leaf.bytes, 0x1000);
	leaf = walk(vtcr, 0x40612345, GUEST_READS);
	assert_true(leaf.output == 0x840012345 && leaf.bytes == 0x200000);
	leaf = walk(vtcr, 0x81234567, GUEST_READS);
	assert_true(leaf.output == 0x8c1234567 && leaf.bytes == 0x40000000 && !leaf.status);
	assert_int_equal(walk(vtcr, 0x81234567, GUEST_WRITES).status, STATUS_PERMISSION | 1);
	assert_int_equal(walk(vtcr, 0x81234567, GUEST_FETCHES).status, STATUS_PERMISSION | 1);
	assert_int_equal(walk(vtcr, 0x40800000, GUEST_READS).status, STATUS_TRANSLATION | 2);
	assert_int_equal(walk(vtcr, 1ull << 39, GUEST_READS).status, STATUS_TRANSLATION);
}

static void other_granules_and_concatenated_tables_are_found(void **state)
{
	struct guest_leaf leaf;

	(void)state;
	/* 4 KiB, 40 bits from level 1: two concatenated tables; VTTBR is aligned to both. */
	memory[0x2000 / 8 + 0x200] = 0x480000000 | LEAF;
	reads = 0;
	leaf = guest_walk(0x2000, VTCR(40, 1, 0), 0x8000000123, GUEST_READS, read_word, NULL);
	assert_true(!leaf.status && leaf.output == 0x480000123);
	/* 64 KiB from level 2, and 16 KiB from level 2. */
	memory[0x10000 / 8 + 1] = 0x20000 | 3;
	memory[0x20000 / 8 + 5] = 0x712340000 | LEAF | 2;
	leaf = guest_walk(0x10000, VTCR(40, 1, 1), 0x20000000 + 0x5abcd, GUEST_READS, read_word,
			  NULL);
	assert_true(!leaf.status && leaf.output == 0x71234abcd && leaf.bytes == 0x10000);
	memory[0x10000 / 8 + 2] = 0x24000 | 3;
	memory[0x24000 / 8 + 7] = 0x6fff84000 | LEAF | 2;
	leaf = guest_walk(0x10000, VTCR(36, 1, 2), 0x4000000 + 0x1dabc, GUEST_READS, read_word,
			  NULL);
	assert_true(!leaf.status && leaf.output == 0x6fff85abc && leaf.bytes == 0x4000);
}

/* TCR_EL1: T0SZ, TG0, T1SZ, TG1, IPS of 40 bits. */
#define TCR(bits, granule, upper_bits, upper_granule)                        \
	((64ull - (bits)) | (granule) << 14 | (64ull - (upper_bits)) << 16 | \
	 (uint64_t)(upper_granule) << 30 | 2ull << 32)

static void stage_1_of_virtual_el2_is_walked(void **state)
{
	const uint64_t tables[] = { 0x1000, 0x8000 }, upper = ~0ull << 36;
	uint64_t tcr = TCR(39, 0, 36, 1);
	struct guest_leaf leaf;

#define WALK(address, access) guest_walk_stage1(tables, tcr, address, access, read_word, NULL)
	(void)state;
	memory[0x1000 / 8 + 1] = 0x2000 | 3;
	memory[0x2000 / 8 + 2] = 0x3000 | 3;
	memory[0x2000 / 8 + 3] = 0x3000 | 3 | 1ull << 62; /* read-only, with all below */
	memory[0x3000 / 8 + 3] = 0x812345000 | LEAF_ACCESSED | 3;
	memory[0x3000 / 8 + 4] = 0x812346000 | LEAF_ACCESSED | 1 << 7 | 3;
	memory[0x3000 / 8 + 5] = 0x812347000 | 3;
	leaf = WALK(0x40403678, GUEST_WRITES);
	assert_true(!leaf.status && leaf.output == 0x812345678 && leaf.bytes == 0x1000);
	assert_int_equal(WALK(0x40603678, GUEST_WRITES).status, STATUS_PERMISSION | 3);
	assert_int_equal(WALK(0x40603678, GUEST_READS).status, 0);
	assert_int_equal(WALK(0x40404678, GUEST_WRITES).status, STATUS_PERMISSION | 3);
	assert_int_equal(WALK(0x40405678, GUEST_READS).status, STATUS_ACCESS_FLAG | 3);
	assert_int_equal(WALK(1ull << 39, GUEST_READS).status, STATUS_TRANSLATION);
	/* The upper half: 16 KiB, from level 2. */
	memory[0x8000 / 8 + 2] = 0xc000 | 3;
	memory[0xc000 / 8 + 7] = 0x6fff84000 | LEAF_ACCESSED | 3;
	leaf = WALK(upper | 0x401dabc, GUEST_WRITES);
	assert_true(!leaf.status && leaf.output == 0x6fff85abc && leaf.bytes == 0x4000);
	assert_int_equal(WALK(~0ull << 37, GUEST_READS).status, STATUS_TRANSLATION);
	/* 4 KiB and 48 bits begin at level 0; an invalid granule faults. */
	tcr = TCR(48, 0, 48, 0);
	memory[0x1000 / 8] = 0x1000 | 3;
	assert_int_equal(WALK(0x40403678, GUEST_WRITES).status, 0);
	assert_int_equal(WALK(upper, GUEST_READS).status, STATUS_TRANSLATION);
#undef WALK
}

static void faults_of_a_walk_are_told_with_their_level(void **state)
{
	uint64_t vtcr = VTCR(39, 1, 0);

	(void)state;
	memory[0x1000 / 8] = 0xfff0000000 | 3; /* no memory there */
	assert_int_equal(walk(vtcr, 0, GUEST_READS).status, STATUS_WALK_ABORT | 2);
	memory[0x1000 / 8] = 0x40000000000 | LEAF; /* beyond 40 bits */
	assert_int_equal(walk(vtcr, 0, GUEST_READS).status, STATUS_ADDRESS_SIZE | 1);
	/* At level 0 the status is 0, and a fault all the same. */
	assert_int_equal(walk(VTCR(48, 2, 0), 0, GUEST_READS).status, STATUS_ADDRESS_SIZE);
	assert_true(walk(VTCR(48, 2, 0), 0, GUEST_READS).faults);
	memory[0x1000 / 8] = 0x40000000 | (LEAF & ~LEAF_ACCESSED);
	assert_int_equal(walk(vtcr, 0, GUEST_READS).status, STATUS_ACCESS_FLAG | 1);
	assert_int_equal(walk(VTCR(20, 1, 0), 0, GUEST_READS).status, STATUS_TRANSLATION);
	assert_int_equal(walk(VTCR(39, 1, 3), 0, GUEST_READS).status, STATUS_TRANSLATION);
	assert_int_equal(walk(VTCR(48, 1, 0), 0, GUEST_READS).status, STATUS_TRANSLATION);
}

static void a_cycle_ends(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 512; i++)
		memory[0x1000 / 8 + i] = 0x1000 | 3 | LEAF_ACCESSED;
	assert_int_equal(walk(VTCR(48, 2, 0), 0x123456789000, GUEST_READS).status,
			 STATUS_PERMISSION | 3);
	assert_int_equal(reads, 4);
}

static void random_tables_and_registers_end(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		uint64_t vtcr, vttbr, ipa;

		for (unsigned j = 0; j < 3; j++)
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		vtcr = seed >> 8;
		vttbr = seed * 3;
		ipa = seed * 7 & 0xffffffffffffull;
		memory[seed >> 49] = seed * 5;
		memory[seed >> 40 & (MEMORY_WORDS - 1)] = (seed & 0x3f000) | 3 | LEAF_ACCESSED;
		reads = 0;
		guest_walk(vttbr & 0x3f000, vtcr, ipa, seed & 1, read_word, NULL);
		assert_in_range(reads, 0, 4);
		reads = 0;
		guest_walk_stage1((uint64_t[]){ vttbr & 0x3f000, seed & 0x3f000 }, vtcr * 3, ipa,
				  seed & 1, read_word, NULL);
		assert_in_range(reads, 0, 4);
	}
}

/* ---- Shadows -------------------------------------------------------------------------------- */

static struct shadows shadows;
static uint8_t *pages;
static unsigned flushes;
static uint64_t flushed;

void shadow_flush(uint64_t vttbr)
{
	flushes++;
	flushed = vttbr;
}

static int make_shadows(void **state)
{
	(void)state;
	pages = aligned_alloc(PAGE_BYTES, SHADOWS * SHADOW_PAGES * PAGE_BYTES);
	memset(pages, 0, SHADOWS * SHADOW_PAGES * PAGE_BYTES);
	shadows_init(&shadows, (uintptr_t)pages, SHADOW_PAGES, 3);
	flushes = 0;
	return 0;
}

static int free_shadows(void **state)
{
	(void)state;
	free(pages);
	return 0;
}

static const struct guest_leaf small = { false, 0, 0x45678123, 0x1000, LEAF & ~1ull };
static const struct guest_leaf block = { false, 0, 0x45678123, 0x200000,
					 LEAF & ~1ull & ~LEAF_WRITE };
static const struct guest_leaf huge = { false, 0, 0x45678123, 0x40000000, LEAF & ~1ull };

#define SOFTWARE (3ull << 55) /* bits of a leaf that the hardware ignores */

static void a_shadow_is_what_both_stages_agree_on(void **state)
{
	struct shadow *shadow = shadow_find(&shadows, 0x1000, 0x42, 0);
	struct table_leaf own = { 0x95678123, 0x200000, 0x7fc }, found;

	(void)state;
	shadow_map(shadow, 0x12345123, &small, &own);
	assert_true(table_walk(&shadow->table, 0x12345123, &found));
	assert_true(found.output == 0x95678123 && found.bytes == 0x1000);
	assert_int_equal(found.attributes, small.attributes); /* the guest's, all of them */
	own.output = 0x95878123;
	shadow_map(shadow, 0x12678123, &block, &own);
	assert_true(table_walk(&shadow->table, 0x12600000, &found));
	assert_true(found.output == 0x95800000 && found.bytes == 0x200000 &&
		    (found.attributes & ~SOFTWARE) == block.attributes);
	own.bytes = 0x1000; /* ours is the smaller one */
	shadow_map(shadow, 0x12878123, &block, &own);
	assert_true(table_walk(&shadow->table, 0x12878000, &found) && found.bytes == 0x1000);
	assert_false(table_walk(&shadow->table, 0x12879000, &found));
}

static void what_is_invalidated_is_gone_from_the_shadow(void **state)
{
	struct shadow *shadow = shadow_find(&shadows, 0x1000, 0x42, 0);
	struct table_leaf own = { 0x95678000, 0x1000, 0x7fc }, found;

	(void)state;
	flushes = 0;
	shadow_map(shadow, 0x12345000, &block,
		   &own); /* the guest's leaf is of 2 MiB, ours of 4 KiB */
	shadow_map(shadow, 0x12346000, &block, &own);
	shadow_map(shadow, 0x12400000, &small, &own);
	shadow_drop(shadow, 0x123ff000); /* any address of that leaf */
	assert_int_equal(flushes, 1);
	assert_int_equal(flushed, shadow->hardware);
	assert_false(table_walk(&shadow->table, 0x12345000, &found));
	assert_false(table_walk(&shadow->table, 0x12346000, &found));
	assert_true(table_walk(&shadow->table, 0x12400000, &found));
	shadow_map(shadow, 0x40000000, &huge, &own); /* a leaf of 1 GiB: everything is dropped */
	shadow_drop(shadow, 0x7ffff000);
	assert_false(table_walk(&shadow->table, 0x40000000, &found));
	assert_false(table_walk(&shadow->table, 0x12400000, &found));
}

static void a_page_is_dropped_alone(void **state)
{
	struct shadow *shadow = shadow_find(&shadows, 0x1000, 0x42, 0);
	struct table_leaf own = { 0x95678000, 0x1000, 0x7fc }, found;

	(void)state;
	shadow_map(shadow, 0x12345000, &small, &own);
	shadow_map(shadow, 0x12346000, &small, &own);
	flushes = 0;
	shadow_drop(shadow, 0x12345000);
	assert_int_equal(flushes, 1);
	assert_false(table_walk(&shadow->table, 0x12345000, &found));
	assert_true(table_walk(&shadow->table, 0x12346000, &found));
	shadow_drop(shadow, 0x12347000); /* never mapped */
	assert_int_equal(flushes, 1);
	assert_true(table_walk(&shadow->table, 0x12346000, &found));
}

static void tables_are_used_again(void **state)
{
	struct shadow *shadow = shadow_find(&shadows, 0x1000, 0x42, 0);
	struct table_leaf own = { 0x95600000, 0x200000, 0x7fc }, found;

	(void)state;
	shadow_map(shadow, 0, &small, &own);
	/* A block where pages were, and pages where a block was, more often than there are tables. */
	for (unsigned i = 0; i < 2 * SHADOW_PAGES; i++) {
		shadow_map(shadow, 0x12345000, &block, &own);
		assert_true(table_walk(&shadow->table, 0x12344000, &found));
		shadow_drop(shadow, 0x12345000);
		shadow_map(shadow, 0x12345000, &small, &own);
		assert_false(table_walk(&shadow->table, 0x12344000, &found));
		assert_true(table_walk(&shadow->table, 0x12345000, &found));
	}
	assert_true(table_walk(&shadow->table, 0, &found)); /* it was never cleared */
}

static void a_shadow_has_room_for_all_of_its_vm(void **state)
{
	const uint64_t memory = 1ull << 30;
	uint64_t each = shadow_pages_needed(memory);
	struct table_leaf own = { 0x95678000, 0x1000, 0x7fc }, found;
	struct shadow *shadow;

	(void)state;
	free(pages);
	pages = aligned_alloc(PAGE_BYTES, SHADOWS * each * PAGE_BYTES);
	memset(pages, 0, SHADOWS * each * PAGE_BYTES);
	shadows_init(&shadows, (uintptr_t)pages, each, 3);
	shadow = shadow_find(&shadows, 0x1000, 0x42, 0);
	for (uint64_t ipa = 0x40000000; ipa < 0x40000000 + memory; ipa += BLOCK_BYTES)
		shadow_map(shadow, ipa, &small, &own);
	assert_true(table_walk(&shadow->table, 0x40000000, &found));
}

static void contexts_are_told_apart_and_those_in_use_are_kept(void **state)
{
	struct shadow *one = shadow_find(&shadows, 0x1000, 0x42, 0), *last;
	uint32_t in_use = 0;

	(void)state;
	assert_ptr_equal(shadow_find(&shadows, 0x1000, 0x42, 0), one);
	assert_ptr_not_equal(shadow_find(&shadows, 0x1000 | 1ull << 48, 0x42, 0), one);
	for (unsigned i = 0; i < SHADOWS - 1; i++) {
		last = shadow_find(&shadows, 0x100000 + 0x1000 * i, 0x42, in_use);
		assert_false(in_use >> (last - shadows.all) & 1);
		in_use |= 1u << (last - shadows.all);
	}
	last = shadow_find(&shadows, 0x9000000, 0x42, in_use);
	assert_false(in_use >> (last - shadows.all) & 1);
	assert_ptr_equal(shadow_find(&shadows, 0xa000000, 0x42, in_use), last);
}

static void a_shadow_that_is_full_begins_anew(void **state)
{
	struct shadow *shadow = shadow_find(&shadows, 0x1000, 0x42, 0);
	struct table_leaf own = { 0x95678000, 0x1000, 0x7fc }, found;

	(void)state;
	for (uint64_t ipa = 0; ipa < 4 * SHADOW_PAGES * BLOCK_BYTES; ipa += BLOCK_BYTES) {
		shadow_map(shadow, ipa, &small, &own);
		assert_true(table_walk(&shadow->table, ipa, &found));
	}
	/* And if a page is mapped where a block must go. */
	own.bytes = BLOCK_BYTES;
	own.output = 0x95600000;
	shadow_map(shadow, 0x1000, &block, &own);
	assert_true(table_walk(&shadow->table, 0x1000, &found));
}

/* ---- List registers ------------------------------------------------------------------------- */

static void list_registers_go_into_the_hardware_as_far_as_they_may(void **state)
{
	uint64_t timer = 27 | 27ull << ICH_LR_PINTID_SHIFT | ICH_LR_HW | ICH_LR_PENDING |
			 ICH_LR_GROUP1;

	(void)state;
	assert_true(virtual_ich_lr_for_hardware(timer, true) == timer);
	/* No physical interrupt behind it: it must not end one. */
	assert_true(virtual_ich_lr_for_hardware(timer, false) ==
		    (27 | ICH_LR_PENDING | ICH_LR_GROUP1));
	assert_true(virtual_ich_lr_for_hardware(timer | ICH_LR_ACTIVE, true) ==
		    ((timer | ICH_LR_ACTIVE) & ~ICH_LR_PENDING));
	assert_int_equal(virtual_ich_lr_for_hardware(timer & ~ICH_LR_PENDING, true), 0);
	assert_int_equal(virtual_ich_lr_for_hardware(33, true), 0);
	assert_true(virtual_ich_lr_for_hardware(33 | ICH_LR_EOI, true) == (33 | ICH_LR_EOI));
	assert_int_equal(virtual_ich_pintid(timer), 27);
	assert_int_equal(virtual_ich_pintid(timer & ~ICH_LR_HW), 0);
	assert_true(virtual_ich_lr_from_hardware(timer, 27 | ICH_LR_ACTIVE) ==
		    ((timer & ~ICH_LR_PENDING) | ICH_LR_ACTIVE));
}

static void maintenance_is_told_as_asked(void **state)
{
	uint64_t lr[4] = { 33 | ICH_LR_EOI, 5 | ICH_LR_PENDING, 6 | ICH_LR_ACTIVE, 0 };
	struct virtual_ich interface = { ICH_HCR_EN, 2, lr, 4 };

	(void)state;
	assert_int_equal(virtual_ich_eisr(&interface), 1);
	assert_int_equal(virtual_ich_elrsr(&interface), 8);
	assert_int_equal(virtual_ich_misr(&interface), 1);
	interface.hcr = ICH_HCR_EN | ICH_HCR_UIE;
	assert_int_equal(virtual_ich_misr(&interface), 1); /* two are in use */
	lr[2] = 0;
	assert_int_equal(virtual_ich_misr(&interface), 3);
	lr[1] = lr[0] = 0;
	interface.hcr = ICH_HCR_EN | 8; /* none is pending */
	assert_int_equal(virtual_ich_misr(&interface), 8);
	interface.hcr = ICH_HCR_EN | 1 << 6 | 1 << 5; /* group 1 on, group 0 off: both true */
	assert_int_equal(virtual_ich_misr(&interface), 1 << 6 | 1 << 5);
	lr[0] = 33 | ICH_LR_EOI;
	interface.hcr = 0; /* reported even if disabled (IHI 0069, ICH_MISR_EL2) */
	assert_int_equal(virtual_ich_misr(&interface), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_have_the_papers_sizes),
		cmocka_unit_test(each_register_has_a_place_of_its_own_in_the_page),
		cmocka_unit_test(a_vhe_name_finds_the_vms_register),
		cmocka_unit_test(virtual_el2_is_told_of_itself),
		cmocka_unit_test(debug_registers_are_those_of_the_cpu),
		cmocka_unit_test(no_vm_is_told_of_registers_that_trap),
		cmocka_unit_test(tlb_maintenance_concerns_what_it_says),
		cmocka_unit_test_setup(pages_of_4_kib_and_blocks_are_found, clear_memory),
		cmocka_unit_test_setup(other_granules_and_concatenated_tables_are_found,
				       clear_memory),
		cmocka_unit_test_setup(stage_1_of_virtual_el2_is_walked, clear_memory),
		cmocka_unit_test_setup(faults_of_a_walk_are_told_with_their_level, clear_memory),
		cmocka_unit_test_setup(a_cycle_ends, clear_memory),
		cmocka_unit_test_setup(random_tables_and_registers_end, clear_memory),
		cmocka_unit_test_setup_teardown(a_shadow_is_what_both_stages_agree_on, make_shadows,
						free_shadows),
		cmocka_unit_test_setup_teardown(what_is_invalidated_is_gone_from_the_shadow,
						make_shadows, free_shadows),
		cmocka_unit_test_setup_teardown(a_page_is_dropped_alone, make_shadows,
						free_shadows),
		cmocka_unit_test_setup_teardown(tables_are_used_again, make_shadows, free_shadows),
		cmocka_unit_test_setup_teardown(a_shadow_has_room_for_all_of_its_vm, make_shadows,
						free_shadows),
		cmocka_unit_test_setup_teardown(contexts_are_told_apart_and_those_in_use_are_kept,
						make_shadows, free_shadows),
		cmocka_unit_test_setup_teardown(a_shadow_that_is_full_begins_anew, make_shadows,
						free_shadows),
		cmocka_unit_test(list_registers_go_into_the_hardware_as_far_as_they_may),
		cmocka_unit_test(maintenance_is_told_as_asked),
	};

	return cmocka_run_group_tests_name("nested", tests, NULL, NULL);
}
