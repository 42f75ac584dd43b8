// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/sgl and place: payload between frames and lists of pieces; what an observer of the
 * memory may see while it is written.
 */
#define _GNU_SOURCE /* affinity */
#include "drivers/roce/sgl.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_mempool.h>

#include "drivers/roce/worker.h"
#include "test/harness/eal.h"

#define MEM 16384u

struct rig {
	struct pmv_roce_device dev;
	struct pmv_roce_worker w;
	struct pmv_pd pd;
	struct pmv_roce_mr mr;      /* mem, read and write */
	struct pmv_roce_mr read_mr; /* the same memory, read only */
	struct rte_mempool *pool;
	uint8_t mem[MEM];
};

static void
mr_open(struct rig *r, struct pmv_roce_mr *mr, uint32_t access)
{
	mr->base.pd = &r->pd;
	mr->base.addr = r->mem;
	mr->base.length = MEM;
	mr->base.iova = 0x10000;
	mr->base.access = access;
	assert_int_equal(pmv_roce_mr_reg(&mr->base), 0);
}

static struct rig *
rig_open(void)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->dev.base.param.mr_max = 16;
	r->dev.base.param.seed = 7;
	r->dev.base.socket_id = SOCKET_ID_ANY;
	r->dev.reach = PMV_ROCE_REACH_ANY;
	pmv_random_init(&r->dev.random, 7);
	r->pd.device = &r->dev.base;
	r->w.base.device = &r->dev.base;
	r->w.dev = &r->dev;
	r->w.attach.allowed = true;
	r->w.attach.bytes_min = PMV_ROCE_ATTACH_BYTES_MIN;
	assert_int_equal(pmv_roce_regions_init(&r->dev), 0);
	mr_open(r, &r->mr, PMV_ACCESS_LOCAL_WRITE);
	mr_open(r, &r->read_mr, 0);
	r->pool = rte_pktmbuf_pool_create("sgl_test", 255, 0, 0, 2048, SOCKET_ID_ANY);
	assert_non_null(r->pool);
	memset(r->mem, 0xa5, MEM);
	return r;
}

static void
rig_close(struct rig *r)
{
	assert_int_equal(rte_mempool_avail_count(r->pool), 255);
	rte_mempool_free(r->pool);
	pmv_roce_regions_fini(&r->dev);
	free(r);
}

static struct pmv_sge
sge_at(const struct rig *r, uint64_t off, uint32_t len)
{
	return (struct pmv_sge){ 0x10000 + off, len, r->mr.base.lkey };
}

/* A frame of the bytes i & 0xff, cut at the given lengths; the last segment has the rest. */
static struct rte_mbuf *
chain_make(const struct rig *r, const uint16_t *cuts, uint32_t nb_cuts, uint32_t len)
{
	struct rte_mbuf *head = NULL, *m;
	uint32_t done = 0;

	for (uint32_t i = 0; i <= nb_cuts; i++) {
		uint16_t n = (uint16_t)(i < nb_cuts ? cuts[i] : len - done);
		uint8_t *p;

		m = rte_pktmbuf_alloc(r->pool);
		assert_non_null(m);
		p = (uint8_t *)rte_pktmbuf_append(m, n);
		assert_non_null(p);
		for (uint32_t k = 0; k < n; k++)
			p[k] = (uint8_t)(done + k);
		done += n;
		if (head == NULL)
			head = m;
		else
			assert_int_equal(rte_pktmbuf_chain(head, m), 0);
	}
	return head;
}

/* Every range of a list with empty entries, against a plain copy. */
static void
sgl__gather_every_range(void **state)
{
	struct rig *r = rig_open();
	const struct pmv_sge sge[] = { sge_at(r, 100, 0), sge_at(r, 100, 7), sge_at(r, 300, 0),
		sge_at(r, 200, 13), sge_at(r, 50, 1), sge_at(r, 400, 0), sge_at(r, 500, 9),
		sge_at(r, 1, 0) };
	const struct pmv_roce_sgl sgl = { sge, 8, 30 };
	uint8_t flat[30], out[32];
	uint32_t n = 0;

	for (uint32_t i = 0; i < MEM; i++)
		r->mem[i] = (uint8_t)(i * 7 + i / 256);
	for (uint32_t i = 0; i < 8; i++)
		for (uint32_t k = 0; k < sge[i].length; k++)
			flat[n++] = r->mem[sge[i].addr - 0x10000 + k];
	assert_int_equal(n, 30);
	for (uint32_t off = 0; off <= 30; off++) {
		for (uint32_t len = 0; off + len <= 30; len++) {
			memset(out, 0x5a, sizeof(out));
			assert_int_equal(
				pmv_roce_sgl_gather(&r->w, &r->pd, &sgl, off, out, len), 0);
			assert_memory_equal(out, flat + off, len);
			assert_int_equal(out[len], 0x5a);
		}
		assert_int_equal(pmv_roce_sgl_gather(&r->w, &r->pd, &sgl, off, out, 31 - off),
			PMV_ROCE_REGION_RANGE);
	}
	rig_close(r);
}

/* MR-401: the same ranges as local entries; nothing is read or written. */
static void
sgl__bad_entries(void **state)
{
	static const struct {
		uint64_t addr;
		uint32_t len;
	} bad[] = { { 0xfffffffffffffc00, 0x400 }, { 0xffff, 2 }, { 0x10000 + MEM - 1, 2 },
		{ 0x10000 + MEM, 1 }, { UINT64_MAX, 2 }, { 0, 4 } };
	struct rig *r = rig_open();
	uint8_t buf[0x400] = { 0 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		/* behind a good one, so that a piece-wise writer would have begun */
		const struct pmv_sge sge[] = { sge_at(r, 0, 8),
			{ bad[i].addr, bad[i].len, r->mr.base.lkey } };
		const struct pmv_roce_sgl sgl = { sge, 2, 8 + bad[i].len };

		assert_int_equal(pmv_roce_sgl_scatter_bytes(&r->w, &r->pd, &sgl, 0, buf,
					 8 + bad[i].len > 0x400 ? 0x400 : 8 + bad[i].len),
			PMV_ROCE_REGION_RANGE);
		assert_int_equal(pmv_roce_sgl_gather(&r->w, &r->pd, &sgl, 8, buf, bad[i].len),
			PMV_ROCE_REGION_RANGE);
	}
	for (uint32_t i = 0; i < MEM; i++)
		assert_int_equal(r->mem[i], 0xa5);
	rig_close(r);
}

static void
sgl__rights(void **state)
{
	struct rig *r = rig_open();
	struct pmv_sge sge = { 0x10000, 16, r->read_mr.base.lkey };
	const struct pmv_roce_sgl sgl = { &sge, 1, 16 };
	struct rte_mbuf *m = chain_make(r, NULL, 0, 16);
	struct pmv_pd other = { .device = &r->dev.base };
	uint8_t out[16];

	assert_int_equal(pmv_roce_sgl_gather(&r->w, &r->pd, &sgl, 0, out, 16), PMV_ROCE_REGION_OK);
	assert_int_equal(pmv_roce_sgl_scatter(
				 &r->w, &r->pd, &sgl, 0, &(const struct pmv_roce_part){ m, 0, 16 }),
		PMV_ROCE_REGION_ACCESS);
	assert_int_equal(pmv_roce_sgl_gather(&r->w, &other, &sgl, 0, out, 16), PMV_ROCE_REGION_PD);
	pmv_roce_mr_kill(&r->read_mr.base);
	assert_int_equal(pmv_roce_sgl_gather(&r->w, &r->pd, &sgl, 0, out, 16), PMV_ROCE_REGION_KEY);
	assert_int_equal(r->mem[0], 0xa5);
	rte_pktmbuf_free(m);
	rig_close(r);
}

/* Chains cut anywhere into targets of any alignment. */
static void
sgl__scatter_chains(void **state)
{
	static const uint16_t cuts[][3] = { { 0, 1, 2 }, { 1, 1, 1 }, { 7, 9, 3 }, { 8, 8, 8 },
		{ 3, 0, 5 }, { 64, 1, 63 }, { 100, 200, 300 }, { 5, 90, 0 } };
	struct rig *r = rig_open();

	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct rte_mbuf *m = chain_make(r, cuts[i], 3, 700);

		for (uint32_t align = 0; align < 17; align++) {
			for (uint32_t off = 0; off < 20; off += 3) {
				const struct pmv_sge sge[] = { sge_at(r, 64 + align, 333),
					sge_at(r, 1000 - align, 300) };
				const struct pmv_roce_sgl sgl = { sge, 2, 633 };

				memset(r->mem, 0xa5, 2048);
				assert_int_equal(
					pmv_roce_sgl_scatter(&r->w, &r->pd, &sgl, off,
						&(const struct pmv_roce_part){ m, off + 10, 600 }),
					0);
				for (uint32_t k = 0; k < 600; k++) {
					uint32_t at = off + k < 333 ? 64 + align + off + k
								    : 1000 - align + off + k - 333;

					assert_int_equal(r->mem[at], (uint8_t)(off + 10 + k));
					r->mem[at] = 0xa5;
				}
				for (uint32_t k = 0; k < 2048; k++)
					assert_int_equal(r->mem[k], 0xa5);
			}
		}
		rte_pktmbuf_free(m);
	}
	rig_close(r);
}

static void
sgl__piece(void **state)
{
	struct rig *r = rig_open();
	const struct pmv_sge sge[] = { sge_at(r, 0, 1024), sge_at(r, 4096, 4096) };
	const struct pmv_roce_sgl sgl = { sge, 2, 5120 };
	struct pmv_roce_mr *mr = NULL;

	assert_ptr_equal(pmv_roce_sgl_piece(&r->w, &r->pd, &sgl, 0, 1024, &mr), r->mem);
	assert_ptr_equal(mr, &r->mr);
	assert_ptr_equal(pmv_roce_sgl_piece(&r->w, &r->pd, &sgl, 1024, 1024, &mr), r->mem + 4096);
	assert_ptr_equal(pmv_roce_sgl_piece(&r->w, &r->pd, &sgl, 2048, 3072, &mr), r->mem + 5120);
	assert_null(pmv_roce_sgl_piece(&r->w, &r->pd, &sgl, 512, 1024, &mr));  /* two entries */
	assert_null(pmv_roce_sgl_piece(&r->w, &r->pd, &sgl, 0, 512, &mr));     /* short */
	assert_null(pmv_roce_sgl_piece(&r->w, &r->pd, &sgl, 4096, 1025, &mr)); /* behind the end */
	r->mr.attachable = false;
	assert_null(pmv_roce_sgl_piece(&r->w, &r->pd, &sgl, 0, 1024, &mr));
	r->mr.attachable = true;
	r->w.attach.allowed = false;
	assert_null(pmv_roce_sgl_piece(&r->w, &r->pd, &sgl, 0, 1024, &mr));
	rig_close(r);
}

static void
place__every_length(void **state)
{
	uint8_t src[400], dst[512];

	for (uint32_t i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)(i * 31 + 1);
	for (uint32_t at = 0; at < 40; at++) {
		for (uint32_t from = 0; from < 20; from++) {
			for (uint32_t len = 0; len < 260; len++) {
				memset(dst, 0xa5, sizeof(dst));
				pmv_roce_place_bytes(dst + at, src + from, len);
				assert_memory_equal(dst + at, src + from, len);
				for (uint32_t k = 0; k < at; k++)
					assert_int_equal(dst[k], 0xa5);
				assert_int_equal(dst[at + len], 0xa5);
				assert_int_equal(dst[at + len + 1], 0xa5);
				assert_int_equal(dst[at + len + 8], 0xa5);
			}
		}
	}
}

/* An observer walks the words while rounds 1, 2, 3.. are written over each other. */
#define WORDS 520u /* 4160 bytes: more than a packet */

struct watch {
	uint64_t word[WORDS + 8] __attribute__((aligned(64)));
	uint32_t first; /* word that the target begins with: alignments 8, 16.. */
	bool stop;
	uint64_t nb_seen; /* rounds observed in change */
	uint64_t nb_torn;
	uint64_t nb_early;
};

static void *
observe(void *arg)
{
	struct watch *o = arg;
	uint64_t *word = o->word + o->first;
	uint64_t before = 0;
	cpu_set_t all;

	/* EAL pinned the main thread, and this one inherited that. */
	memset(&all, 0xff, sizeof(all));
	pthread_setaffinity_np(pthread_self(), sizeof(all), &all);
	while (!__atomic_load_n(&o->stop, __ATOMIC_RELAXED)) {
		/* From the end to the start: what stands further on was written later, so it can
		 * only be older (or the same) than what is read after it. */
		uint64_t v = __atomic_load_n(&word[WORDS - 1], __ATOMIC_ACQUIRE);

		__atomic_store_n(&o->nb_seen, o->nb_seen + (v != before), __ATOMIC_RELAXED);
		before = v;
		for (uint32_t i = WORDS; i-- > 0;) {
			uint64_t x = __atomic_load_n(&word[i], __ATOMIC_ACQUIRE);

			if ((x & 0xffffffff) != x >> 32)
				o->nb_torn++;
			else if (x < v)
				o->nb_early++;
			else
				v = x;
		}
	}
	return NULL;
}

/* The frame is cut where words of the target are not. */
static void
place__ascending_and_untorn(void **state)
{
	static const uint16_t cuts[] = { 1001, 4, 3, 700 };
	struct rig *r = rig_open();
	struct rte_mbuf *m = rte_pktmbuf_alloc(r->pool);
	struct watch *o = aligned_alloc(64, RTE_ALIGN_CEIL(sizeof(*o), 64));
	uint8_t flat[WORDS * 8];
	pthread_t thread;

	assert_non_null(o);
	rte_pktmbuf_free(m);
	for (uint32_t first = 0; first < 2; first++) {
		uint64_t end = rte_rdtsc() + rte_get_tsc_hz();

		memset(o, 0, sizeof(*o));
		o->first = first;
		m = chain_make(r, cuts, 4, 3300);
		assert_int_equal(pthread_create(&thread, NULL, observe, o), 0);
		for (uint64_t round = 1; rte_rdtsc() < end; round++) {
			uint64_t word = round << 32 | round;
			struct rte_mbuf *s = m;
			uint32_t at = 0;

			if (__atomic_load_n(&o->nb_seen, __ATOMIC_RELAXED) > 5000)
				break;
			for (uint32_t i = 0; i < WORDS; i++)
				memcpy(flat + i * 8, &word, 8);
			for (; s != NULL; at += s->data_len, s = s->next)
				memcpy(rte_pktmbuf_mtod(s, void *), flat + at, s->data_len);
			pmv_roce_place((uint8_t *)(o->word + first), m, 0, 3296);
			pmv_roce_place_bytes(
				(uint8_t *)(o->word + first) + 3296, flat + 3296, WORDS * 8 - 3296);
		}
		__atomic_store_n(&o->stop, true, __ATOMIC_RELAXED);
		pthread_join(thread, NULL);
		print_message(
			"first %u: %llu rounds seen\n", first, (unsigned long long)o->nb_seen);
		assert_int_equal(o->nb_torn, 0);
		assert_int_equal(o->nb_early, 0);
		rte_pktmbuf_free(m);
	}
	free(o);
	rig_close(r);
}

static void *
observe_word(void *arg)
{
	struct watch *o = arg;
	uint64_t before = 0;
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	pthread_setaffinity_np(pthread_self(), sizeof(all), &all);
	while (!__atomic_load_n(&o->stop, __ATOMIC_RELAXED)) {
		uint64_t x = __atomic_load_n(&o->word[1], __ATOMIC_ACQUIRE);

		__atomic_store_n(&o->nb_seen, o->nb_seen + (x != before), __ATOMIC_RELAXED);
		o->nb_torn += (x & 0xffffffff) != x >> 32;
		before = x;
	}
	return NULL;
}

/* A word whose bytes lie in three segments, written and watched as fast as may be. */
static void
place__word_across_segments(void **state)
{
	static const uint16_t cuts[] = { 11, 2 };
	struct rig *r = rig_open();
	struct rte_mbuf *m = chain_make(r, cuts, 2, 24);
	struct watch *o = aligned_alloc(64, RTE_ALIGN_CEIL(sizeof(*o), 64));
	uint64_t end = rte_rdtsc() + 2 * rte_get_tsc_hz();
	pthread_t thread;

	assert_non_null(o);
	memset(o, 0, sizeof(*o));
	assert_int_equal(pthread_create(&thread, NULL, observe_word, o), 0);
	for (uint64_t round = 1; rte_rdtsc() < end; round++) {
		uint64_t word[3];
		const uint8_t *from = (const uint8_t *)word;

		if (__atomic_load_n(&o->nb_seen, __ATOMIC_RELAXED) > 20000)
			break;
		word[0] = word[1] = word[2] = (round & 1) != 0 ? UINT64_MAX : 0;
		for (struct rte_mbuf *s = m; s != NULL; from += s->data_len, s = s->next)
			memcpy(rte_pktmbuf_mtod(s, void *), from, s->data_len);
		pmv_roce_place((uint8_t *)o->word, m, 0, 24);
	}
	__atomic_store_n(&o->stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	print_message("%llu changes seen\n", (unsigned long long)o->nb_seen);
	assert_int_equal(o->nb_torn, 0);
	rte_pktmbuf_free(m);
	free(o);
	rig_close(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sgl__gather_every_range),
		cmocka_unit_test(sgl__bad_entries),
		cmocka_unit_test(sgl__rights),
		cmocka_unit_test(sgl__scatter_chains),
		cmocka_unit_test(sgl__piece),
		cmocka_unit_test(place__every_length),
		cmocka_unit_test(place__ascending_and_untorn),
		cmocka_unit_test(place__word_across_segments),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
