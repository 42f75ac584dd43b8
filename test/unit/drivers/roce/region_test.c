// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/region: what a key grants, byte by byte at the edges, and how keys live and die.
 */
#include "drivers/roce/region.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_malloc.h>
#include <rte_memory.h>

#include "drivers/roce/worker.h"
#include "test/harness/eal.h"

struct rig {
	struct pmv_roce_device dev;
	struct pmv_pd pd;
	struct pmv_pd other_pd;
	uint8_t mem[0x4000];
};

static struct rig *
rig_open(uint32_t mr_max)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->dev.base.param.mr_max = mr_max;
	r->dev.base.param.seed = 7;
	r->dev.base.socket_id = SOCKET_ID_ANY;
	pmv_random_init(&r->dev.random, 7);
	r->pd.device = &r->dev.base;
	r->other_pd.device = &r->dev.base;
	assert_int_equal(pmv_roce_regions_init(&r->dev), 0);
	return r;
}

static void
rig_close(struct rig *r)
{
	pmv_roce_regions_fini(&r->dev);
	free(r);
}

static int
mr_try(struct rig *r, uint8_t *addr, uint64_t length, uint64_t iova, uint32_t access,
	struct pmv_roce_mr **ret)
{
	struct pmv_roce_mr *mr = calloc(1, sizeof(*mr));
	int rc;

	assert_non_null(mr);
	mr->base.pd = &r->pd;
	mr->base.addr = addr;
	mr->base.length = length;
	mr->base.iova = iova;
	mr->base.access = access;
	rc = pmv_roce_mr_reg(&mr->base);
	if (rc == 0)
		*ret = mr;
	else
		free(mr);
	return rc;
}

static struct pmv_roce_mr *
mr_make(struct rig *r, uint8_t *addr, uint64_t length, uint64_t iova, uint32_t access)
{
	struct pmv_roce_mr *mr = NULL;

	assert_int_equal(mr_try(r, addr, length, iova, access, &mr), 0);
	return mr;
}

static void
mr_end(struct pmv_roce_mr *mr)
{
	pmv_roce_mr_kill(&mr->base);
	pmv_roce_mr_free(&mr->base);
	free(mr);
}

static enum pmv_roce_region_verdict
ask(struct rig *r, const struct pmv_roce_mr *mr, uint64_t va, uint64_t len, uint32_t access,
	uint8_t **ret)
{
	const struct pmv_roce_span span = { va, len, mr->base.rkey, access };

	return pmv_roce_region_grant(&r->dev, &r->pd, &span, ret, NULL);
}

#define ALL                                                                                        \
	(PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ |               \
		PMV_ACCESS_REMOTE_ATOMIC)

static const uint32_t rights[] = { 0, PMV_ACCESS_LOCAL_WRITE, PMV_ACCESS_REMOTE_WRITE,
	PMV_ACCESS_REMOTE_READ, PMV_ACCESS_REMOTE_ATOMIC };

/* MR-401: every kind of access, since all of them take the same check. */
static void
region__range_matrix(void **state)
{
	static const struct {
		uint64_t va;
		uint64_t len;
		bool ok;
	} cases[] = {
		{ 0xfffffffffffffc00, 0x400, false },
		{ 0xffff, 2, false },
		{ 0xffff, 1, false },
		{ 0x10fff, 2, false },
		{ 0x11000, 1, false },
		{ 0x10000, 0x80000000, false },
		{ 0x10000, UINT64_MAX, false },
		{ 0x10fff, UINT64_MAX, false },
		{ 0, UINT64_MAX, false },
		{ UINT64_MAX, UINT64_MAX, false },
		{ 0xfffffffffffffff8, 8, false },
		{ 0xfff8, 8, false },
		{ 0x11000, 8, false },
		{ 0x10ffc, 8, false },
		{ 0x10ff8, 8, true },
		{ 0x10fff, 1, true },
		{ 0x10000, 1, true },
		{ 0x10000, 0x1000, true },
		{ 0x10000, 0x1001, false },
	};
	struct rig *r = rig_open(16);
	struct pmv_roce_mr *mr = mr_make(r, r->mem, 0x1000, 0x10000, ALL);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t k = 0; k < sizeof(rights) / sizeof(rights[0]); k++) {
			uint8_t *p = NULL;
			enum pmv_roce_region_verdict v =
				ask(r, mr, cases[i].va, cases[i].len, rights[k], &p);

			assert_int_equal(
				v, cases[i].ok ? PMV_ROCE_REGION_OK : PMV_ROCE_REGION_RANGE);
			if (cases[i].ok)
				assert_ptr_equal(p, r->mem + (cases[i].va - 0x10000));
			else
				assert_null(p);
		}
	}
	mr_end(mr);
	rig_close(r);
}

/* MR-401: a region that ends with the address space. */
static void
region__top_of_address_space(void **state)
{
	struct rig *r = rig_open(16);
	struct pmv_roce_mr *mr, *bad;
	uint8_t *p;

	mr = mr_make(r, r->mem, 0x1000, 0xfffffffffffff000, ALL);
	assert_int_equal(ask(r, mr, UINT64_MAX, 1, 0, &p), PMV_ROCE_REGION_OK);
	assert_ptr_equal(p, r->mem + 0xfff);
	assert_int_equal(ask(r, mr, UINT64_MAX, 2, 0, &p), PMV_ROCE_REGION_RANGE);
	assert_int_equal(ask(r, mr, 0, 1, 0, &p), PMV_ROCE_REGION_RANGE);
	assert_int_equal(ask(r, mr, 0xffffffffffffefff, 1, 0, &p), PMV_ROCE_REGION_RANGE);
	/* One byte more would wrap. */
	assert_int_equal(mr_try(r, r->mem, 0x1001, 0xfffffffffffff000, ALL, &bad), -EINVAL);
	mr_end(mr);
	rig_close(r);
}

/* MR-405: base + (address - start), whatever the pages are. */
static void
region__iova_translation(void **state)
{
	static const uint64_t pages[] = { 0x1000, 0x10000, 0x200000 };
	const uint64_t length = 0x500000;
	uint8_t *b = malloc(length + 1);
	struct rig *r = rig_open(16);
	uint8_t *p;

	assert_non_null(b);
	for (uint32_t odd = 0; odd < 2; odd++) {
		struct pmv_roce_mr *mr = mr_make(r, b + odd, length, 0x13010, ALL);

		assert_int_equal(ask(r, mr, 0x13034, 8, 0, &p), PMV_ROCE_REGION_OK);
		assert_ptr_equal(p, b + odd + 0x24);
		for (size_t k = 0; k < 3; k++) {
			for (uint64_t va = (0x13010 / pages[k] + 1) * pages[k];
				va < 0x13010 + length; va += pages[k]) {
				assert_int_equal(ask(r, mr, va - 3, 7, 0, &p), PMV_ROCE_REGION_OK);
				assert_ptr_equal(p, b + odd + (va - 3 - 0x13010));
			}
		}
		mr_end(mr);
	}
	free(b);
	rig_close(r);
}

/* MR-406. */
static void
region__access_bits(void **state)
{
	struct rig *r = rig_open(16);
	struct pmv_roce_mr *mr;

	for (uint32_t bit = 0; bit < 32; bit++) {
		uint32_t access = 1u << bit;
		bool known = bit <= 4 || bit == 8 || (bit >= 20 && bit <= 29);
		bool alone =
			access != PMV_ACCESS_REMOTE_WRITE && access != PMV_ACCESS_REMOTE_ATOMIC;
		int rc = mr_try(r, r->mem, 64, 0, access, &mr);

		assert_int_equal(rc, known && alone ? 0 : -EINVAL);
		if (rc == 0)
			mr_end(mr);
		rc = mr_try(r, r->mem, 64, 0, access | PMV_ACCESS_LOCAL_WRITE, &mr);
		assert_int_equal(rc, known ? 0 : -EINVAL);
		if (rc == 0)
			mr_end(mr);
	}
	rig_close(r);
}

static void
region__bad_lengths(void **state)
{
	struct rig *r = rig_open(16);
	struct pmv_roce_mr *mr;

	assert_int_equal(mr_try(r, r->mem, 0, 0, 0, &mr), -EINVAL);
	assert_int_equal(mr_try(r, r->mem, (1ull << 48) + 1, 0, 0, &mr), -EINVAL);
	assert_int_equal(mr_try(r, (uint8_t *)UINTPTR_MAX, 2, 0, 0, &mr), -EINVAL);
	assert_int_equal(r->dev.regions.nb_used, 0);
	rig_close(r);
}

/* Every pair of "has" and "wants"; another PD; a key with one bit changed. */
static void
region__rights_and_pd(void **state)
{
	struct rig *r = rig_open(16);
	uint8_t *p;

	for (uint32_t has = 0; has < 16; has++) {
		struct pmv_roce_mr *mr = mr_make(r, r->mem, 64, 0, has | PMV_ACCESS_LOCAL_WRITE);

		for (uint32_t wants = 0; wants < 16; wants++) {
			bool ok = (wants & ~(has | PMV_ACCESS_LOCAL_WRITE)) == 0;

			assert_int_equal(ask(r, mr, 0, 64, wants, &p),
				ok ? PMV_ROCE_REGION_OK : PMV_ROCE_REGION_ACCESS);
		}
		for (uint32_t bit = 0; bit < 32; bit++) {
			const struct pmv_roce_span span = { 0, 64, mr->base.rkey ^ 1u << bit, 0 };

			assert_int_equal(pmv_roce_region_grant(&r->dev, &r->pd, &span, &p, NULL),
				PMV_ROCE_REGION_KEY);
		}
		const struct pmv_roce_span span = { 0, 64, mr->base.rkey, 0 };

		assert_int_equal(pmv_roce_region_grant(&r->dev, &r->other_pd, &span, &p, NULL),
			PMV_ROCE_REGION_PD);
		mr_end(mr);
	}
	rig_close(r);
}

/* IBTA C9-88: a zero-length access checks no key. */
static void
region__zero_length(void **state)
{
	struct rig *r = rig_open(16);
	const struct pmv_roce_span span = { 0x123, 0, 0xdeadbeef, PMV_ACCESS_REMOTE_WRITE };
	struct pmv_roce_mr *mr = (struct pmv_roce_mr *)r;
	uint8_t *p = r->mem;

	assert_int_equal(
		pmv_roce_region_grant(&r->dev, &r->pd, &span, &p, &mr), PMV_ROCE_REGION_OK);
	assert_null(p);
	assert_null(mr);
	rig_close(r);
}

/* One slot only, so that every life has the same: no old key works again. */
static void
region__key_dies(void **state)
{
	struct rig *r = rig_open(1);
	struct pmv_roce_mr *mr, *second;
	uint32_t old[64];
	uint8_t *p;

	for (uint32_t i = 0; i < 64; i++) {
		mr = mr_make(r, r->mem, 64, 0, ALL);
		assert_int_equal(mr->base.lkey, mr->base.rkey);
		assert_int_equal(mr_try(r, r->mem, 64, 0, ALL, &second), -ENOSPC);
		old[i] = mr->base.rkey;
		assert_int_not_equal(old[i], 0);
		for (uint32_t k = 0; k < i; k++) {
			const struct pmv_roce_span span = { 0, 1, old[k], 0 };

			assert_int_equal(pmv_roce_region_grant(&r->dev, &r->pd, &span, &p, NULL),
				PMV_ROCE_REGION_KEY);
		}
		pmv_roce_mr_kill(&mr->base);
		assert_int_equal(ask(r, mr, 0, 1, 0, &p), PMV_ROCE_REGION_KEY);
		/* Dead, but not yet free: nobody else gets the slot. */
		assert_int_equal(mr_try(r, r->mem, 64, 0, ALL, &second), -ENOSPC);
		pmv_roce_mr_free(&mr->base);
		free(mr);
	}
	rig_close(r);
}

static void
region__table_fills(void **state)
{
	struct rig *r = rig_open(100); /* 128 */
	struct pmv_roce_mr *mr[128], *more;
	uint8_t *p;

	for (uint32_t i = 0; i < 128; i++)
		mr[i] = mr_make(r, r->mem + i * 64, 64, 0x1000 + i, ALL);
	assert_int_equal(mr_try(r, r->mem, 64, 0, ALL, &more), -ENOSPC);
	for (uint32_t i = 0; i < 128; i++) {
		assert_int_equal(ask(r, mr[i], 0x1000 + i, 64, ALL, &p), PMV_ROCE_REGION_OK);
		assert_ptr_equal(p, r->mem + i * 64);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(mr[i]->base.rkey, mr[k]->base.rkey);
	}
	for (uint32_t i = 0; i < 128; i++)
		mr_end(mr[i]);
	assert_int_equal(r->dev.regions.nb_used, 0);
	rig_close(r);
}

/* Which memory a port may read in place. */
static void
region__reach(void **state)
{
	struct rig *r = rig_open(16);
	uint8_t *eal = rte_malloc(NULL, 0x3000, 0);
	struct pmv_roce_mr *mr;

	assert_non_null(eal);
	static const struct {
		enum pmv_roce_reach reach;
		bool plain;
		bool eal;
	} cases[] = { { PMV_ROCE_REACH_EAL, false, true }, { PMV_ROCE_REACH_ANY, true, true } };

	for (size_t i = 0; i < RTE_DIM(cases); i++) {
		r->dev.reach = cases[i].reach;
		mr = mr_make(r, r->mem, sizeof(r->mem), 0, 0);
		assert_int_equal(mr->attachable, cases[i].plain);
		mr_end(mr);
		mr = mr_make(r, eal + 5, 0x2000, 0, 0);
		assert_int_equal(mr->attachable, cases[i].eal);
		if (cases[i].reach == PMV_ROCE_REACH_EAL)
			assert_int_equal(
				(uintptr_t)(eal + 5) + mr->io_delta, rte_mem_virt2iova(eal + 5));
		mr_end(mr);
	}
	rte_free(eal);
	rig_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(region__range_matrix),
		cmocka_unit_test(region__top_of_address_space),
		cmocka_unit_test(region__iova_translation),
		cmocka_unit_test(region__access_bits),
		cmocka_unit_test(region__bad_lengths),
		cmocka_unit_test(region__rights_and_pd),
		cmocka_unit_test(region__zero_length),
		cmocka_unit_test(region__key_dies),
		cmocka_unit_test(region__table_fills),
		cmocka_unit_test(region__reach),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
