// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/spare: an mbuf in hand is what rte_pktmbuf_alloc() would have given, whoever used it
 * before and however it came back; small and empty pools; every frame that is done with is home
 * after the flush, in its own pool, once.
 */
#define ALLOW_EXPERIMENTAL_API /* rte_pktmbuf_pool_create_extbuf() */
#include "drivers/roce/spare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_malloc.h>

#include "lib/util/random.h"
#include "test/harness/eal.h"

#define NB_MAX 255u
#define ROOM   (RTE_PKTMBUF_HEADROOM + 256u)

static struct rte_mempool *
pool_make(uint32_t nb, uint16_t priv)
{
	static uint32_t nb_made;
	struct rte_mempool *pool;
	char name[32];

	snprintf(name, sizeof(name), "spare_test%u", nb_made++);
	pool = rte_pktmbuf_pool_create(name, nb, 0, priv, ROOM, SOCKET_ID_ANY);
	assert_non_null(pool);
	return pool;
}

/* What a sender looks at. */
static void
check_fresh(const struct rte_mempool *pool, const struct rte_mbuf *m)
{
	assert_non_null(m);
	assert_ptr_equal(m->pool, pool);
	assert_int_equal(m->data_off, RTE_PKTMBUF_HEADROOM);
	assert_int_equal(m->nb_segs, 1);
	assert_null(m->next);
	assert_int_equal(rte_mbuf_refcnt_read(m), 1);
	assert_int_equal(m->ol_flags, 0);
	assert_int_equal(m->buf_len, ROOM);
	assert_ptr_equal(m->buf_addr, (const char *)(m + 1) + rte_pktmbuf_priv_size(m->pool));
}

/* All of the pool's mbufs are there, whole and each once. */
static void
check_home(struct rte_mempool *pool, uint32_t nb)
{
	struct rte_mbuf *m[NB_MAX];

	assert_int_equal(rte_mempool_avail_count(pool), nb);
	for (uint32_t i = 0; i < nb; i++) {
		m[i] = rte_pktmbuf_alloc(pool);
		check_fresh(pool, m[i]);
		for (uint32_t k = 0; k < i; k++)
			assert_ptr_not_equal(m[i], m[k]);
	}
	assert_null(rte_pktmbuf_alloc(pool));
	rte_pktmbuf_free_bulk(m, nb);
}

/* As a frame that was received, or sent with every offload there is. */
static void
spoil(struct rte_mbuf *m, uint32_t i)
{
	m->data_off = (uint16_t)(i * 7 % ROOM);
	m->data_len = (uint16_t)(i & 31);
	m->pkt_len = i & 31;
	m->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_TX_IP_CKSUM |
		      RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = 5;
	m->tx_offload = UINT64_MAX;
	m->packet_type = 77;
	m->port = 3;
}

static void
spare_take__like_alloc(void **state)
{
	for (uint16_t priv = 0; priv < 128; priv += 64) {
		struct rte_mempool *pool = pool_make(63, priv);
		struct pmv_roce_done done = { 0 };
		struct rte_mbuf *m[63];
		struct pmv_roce_spare s;

		pmv_roce_spare_init(&s, pool);
		for (int turn = 0; turn < 4; turn++) {
			for (uint32_t i = 0; i < 63; i++) {
				m[i] = pmv_roce_spare_take(&s);
				check_fresh(pool, m[i]);
				assert_ptr_equal((const char *)m[i] + s.data_off,
					rte_pktmbuf_mtod(m[i], const char *));
			}
			assert_null(pmv_roce_spare_take(&s));
			for (uint32_t i = 0; i < 63; i++) {
				spoil(m[i], i + (uint32_t)turn);
				if (turn & 1)
					rte_pktmbuf_free(m[i]);
				else
					pmv_roce_done_put(&done, m[i]);
			}
			pmv_roce_done_flush(&done);
		}
		check_home(pool, 63);
		rte_mempool_free(pool);
	}
}

/* Mbufs that were parts of chains, shared, attached. */
static void
noop_free(void *addr, void *arg)
{
	++*(uint32_t *)arg;
}

static void
spare_take__after_chains_and_clones(void **state)
{
	struct rte_mempool *pool = pool_make(31, 0);
	uint32_t nb_free = 0;
	struct rte_mbuf_ext_shared_info info = { .free_cb = noop_free, .fcb_opaque = &nb_free };
	struct rte_mbuf *a, *b, *c, *m[31];
	struct pmv_roce_spare s;
	static char memory[512];

	pmv_roce_spare_init(&s, pool);
	for (int turn = 0; turn < 3; turn++) {
		a = pmv_roce_spare_take(&s);
		b = pmv_roce_spare_take(&s);
		rte_pktmbuf_reset(a);
		rte_pktmbuf_reset(b);
		pmv_roce_spare_drop(&s); /* for the clone, which takes its own */
		assert_int_equal(rte_pktmbuf_chain(a, b), 0);
		c = rte_pktmbuf_clone(a, pool);
		assert_non_null(c);
		rte_pktmbuf_free(a);
		rte_pktmbuf_free(c);
		a = pmv_roce_spare_take(&s);
		rte_mbuf_ext_refcnt_set(&info, 1);
		rte_pktmbuf_attach_extbuf(a, memory, 0, sizeof(memory), &info);
		rte_pktmbuf_free(a);
		assert_int_equal(nb_free, turn + 1);
		pmv_roce_spare_drop(&s);
		for (uint32_t i = 0; i < 31; i++) {
			m[i] = pmv_roce_spare_take(&s);
			check_fresh(pool, m[i]);
		}
		rte_pktmbuf_free_bulk(m, 31);
	}
	pmv_roce_spare_drop(&s);
	check_home(pool, 31);
	rte_mempool_free(pool);
}

/* Pools of fewer mbufs than are asked for at once, and of no multiple of that. */
static void
spare_take__small_pools(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 15, 16, 17, 31, 32, 33, 63, 65, 100 };

	for (size_t k = 0; k < RTE_DIM(sizes); k++) {
		uint32_t nb = sizes[k];
		struct rte_mempool *pool = pool_make(nb, 0);
		struct rte_mbuf *m[NB_MAX];
		struct pmv_roce_spare s;

		pmv_roce_spare_init(&s, pool);
		for (uint32_t keep = 0; keep < nb && keep < 40; keep += 3) {
			for (uint32_t i = 0; i < nb; i++)
				check_fresh(pool, m[i] = pmv_roce_spare_take(&s));
			for (int again = 0; again < 3; again++)
				assert_null(pmv_roce_spare_take(&s));
			rte_pktmbuf_free_bulk(m, nb - keep);
			/* as many as are back, and no more */
			for (uint32_t i = 0; i < nb - keep; i++)
				check_fresh(pool, m[i] = pmv_roce_spare_take(&s));
			assert_null(pmv_roce_spare_take(&s));
			rte_pktmbuf_free_bulk(m, nb);
			assert_int_equal(s.nb, 0);
		}
		check_home(pool, nb);
		rte_mempool_free(pool);
	}
}

/* Taken in any number, the rest goes back whole. */
static void
spare_drop__returns_all(void **state)
{
	struct rte_mempool *pool = pool_make(100, 0);
	struct rte_mbuf *m[100];
	struct pmv_roce_spare s;

	pmv_roce_spare_init(&s, pool);
	pmv_roce_spare_drop(&s);
	for (uint32_t nb = 0; nb <= 100; nb++) {
		for (uint32_t i = 0; i < nb; i++)
			m[i] = pmv_roce_spare_take(&s);
		assert_int_equal(rte_mempool_avail_count(pool) + s.nb + nb, 100);
		pmv_roce_spare_drop(&s);
		assert_int_equal(s.nb, 0);
		assert_int_equal(rte_mempool_avail_count(pool) + nb, 100);
		pmv_roce_spare_drop(&s);
		rte_pktmbuf_free_bulk(m, nb);
	}
	check_home(pool, 100);
	rte_mempool_free(pool);
}

/* Buffers that belong to the mbufs but lie elsewhere: the flag that says so stays. */
static void
spare_take__pinned_buffers(void **state)
{
	struct rte_pktmbuf_extmem mem = { .buf_len = 64 * 1024, .elt_size = ROOM };
	struct pmv_roce_done done = { 0 };
	struct rte_mempool *pool;
	struct rte_mbuf *m[33];
	struct pmv_roce_spare s;

	mem.buf_ptr = rte_zmalloc(NULL, mem.buf_len, 4096);
	assert_non_null(mem.buf_ptr);
	mem.buf_iova = rte_malloc_virt2iova(mem.buf_ptr);
	pool = rte_pktmbuf_pool_create_extbuf(
		"spare_pinned", 33, 0, 0, ROOM, SOCKET_ID_ANY, &mem, 1);
	assert_non_null(pool);
	pmv_roce_spare_init(&s, pool);
	for (int turn = 0; turn < 3; turn++) {
		for (uint32_t i = 0; i < 33; i++) {
			m[i] = pmv_roce_spare_take(&s);
			assert_non_null(m[i]);
			assert_int_equal(m[i]->ol_flags, RTE_MBUF_F_EXTERNAL);
			assert_int_equal(m[i]->data_off, RTE_PKTMBUF_HEADROOM);
			assert_true((char *)m[i]->buf_addr >= (char *)mem.buf_ptr &&
				    (char *)m[i]->buf_addr < (char *)mem.buf_ptr + mem.buf_len);
			m[i]->ol_flags |= RTE_MBUF_F_TX_TCP_SEG;
			m[i]->data_off = 3;
		}
		for (uint32_t i = 0; i < 33; i++)
			pmv_roce_done_put(&done, m[i]);
		pmv_roce_done_flush(&done);
		assert_int_equal(rte_mempool_avail_count(pool), 33);
	}
	rte_mempool_free(pool);
	rte_free(mem.buf_ptr);
}

/* What may be handed in as done. */
struct mix {
	struct rte_mempool *pool[2];
	uint32_t nb_out[2]; /* mbufs that are somebody else's still */
	struct rte_mbuf *held[NB_MAX];
	uint32_t nb_held;
	struct rte_mbuf_ext_shared_info info;
	uint32_t nb_ext_free;
	uint32_t nb_ext;
};

static struct rte_mbuf *
take(struct mix *x, uint32_t p)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(x->pool[p]);

	assert_non_null(m);
	return m;
}

static void
hold(struct mix *x, struct rte_mbuf *m)
{
	assert_true(x->nb_held < NB_MAX);
	x->held[x->nb_held++] = m;
	x->nb_out[m->pool == x->pool[1]]++;
}

/* A frame of a kind, its first mbuf of pool p. */
static struct rte_mbuf *
frame_make(struct mix *x, uint32_t kind, uint32_t p)
{
	static char memory[64];
	struct rte_mbuf *m = take(x, p), *seg;

	spoil(m, kind);
	switch (kind) {
	case 0: /* a chain over both pools */
		rte_pktmbuf_reset(m);
		assert_int_equal(rte_pktmbuf_chain(m, take(x, p)), 0);
		assert_int_equal(rte_pktmbuf_chain(m, take(x, !p)), 0);
		break;
	case 1: /* somebody else has it too */
		rte_mbuf_refcnt_update(m, 1);
		hold(x, m);
		break;
	case 2: /* a clone of a frame that somebody else has */
		rte_pktmbuf_reset(m);
		seg = rte_pktmbuf_clone(m, x->pool[!p]);
		assert_non_null(seg);
		hold(x, m);
		return seg;
	case 3: /* a clone of a frame that is gone */
		rte_pktmbuf_reset(m);
		seg = rte_pktmbuf_clone(m, x->pool[!p]);
		assert_non_null(seg);
		rte_pktmbuf_free(m);
		return seg;
	case 4: /* user memory */
		m->ol_flags = 0;
		x->nb_ext++;
		rte_mbuf_ext_refcnt_update(&x->info, 1);
		rte_pktmbuf_attach_extbuf(m, memory, 0, sizeof(memory), &x->info);
		break;
	default:
		break;
	}
	return m;
}

static void
mix_open(struct mix *x, uint32_t nb)
{
	memset(x, 0, sizeof(*x));
	x->pool[0] = pool_make(nb, 0);
	x->pool[1] = pool_make(nb, 64);
	x->info = (struct rte_mbuf_ext_shared_info){ .free_cb = noop_free,
		.fcb_opaque = &x->nb_ext_free };
	rte_mbuf_ext_refcnt_set(&x->info, 1); /* ours */
}

static void
mix_check(const struct mix *x, uint32_t nb)
{
	for (int p = 0; p < 2; p++)
		assert_int_equal(rte_mempool_avail_count(x->pool[p]) + x->nb_out[p], nb);
	assert_int_equal(rte_mbuf_ext_refcnt_read(&x->info), 1);
	assert_int_equal(x->nb_ext_free, 0);
}

static void
mix_close(struct mix *x, uint32_t nb)
{
	for (uint32_t i = 0; i < x->nb_held; i++) {
		assert_int_equal(rte_mbuf_refcnt_read(x->held[i]), 1);
		rte_pktmbuf_free(x->held[i]);
	}
	check_home(x->pool[0], nb);
	check_home(x->pool[1], nb);
	rte_mempool_free(x->pool[0]);
	rte_mempool_free(x->pool[1]);
}

/* Each kind alone. */
static void
done_put__every_kind(void **state)
{
	for (uint32_t kind = 0; kind < 6; kind++)
		for (uint32_t p = 0; p < 2; p++) {
			struct pmv_roce_done done = { 0 };
			struct mix x;

			mix_open(&x, 63);
			for (uint32_t i = 0; i < 10; i++)
				pmv_roce_done_put(&done, frame_make(&x, kind, p));
			pmv_roce_done_flush(&done);
			mix_check(&x, 63);
			assert_int_equal(x.nb_ext, kind == 4 ? 10 : 0);
			mix_close(&x, 63);
		}
}

/* Plain frames wait for the flush and are given back by the burst, of one pool each. */
static void
done_put__waits(void **state)
{
	struct pmv_roce_done done = { 0 };
	struct mix x;

	mix_open(&x, 100);
	for (uint32_t i = 0; i < 70; i++) {
		pmv_roce_done_put(&done, take(&x, 0));
		assert_int_equal(
			rte_mempool_avail_count(x.pool[0]), 100 - i % PMV_ROCE_SPARE_NB - 1);
	}
	pmv_roce_done_put(&done, take(&x, 1)); /* the others need wait no more */
	assert_int_equal(rte_mempool_avail_count(x.pool[0]), 100);
	assert_int_equal(rte_mempool_avail_count(x.pool[1]), 99);
	pmv_roce_done_flush(&done);
	mix_check(&x, 100);
	pmv_roce_done_flush(&done);
	mix_check(&x, 100);
	mix_close(&x, 100);
}

static void
done_put__any_mix(void **state)
{
	struct pmv_random rnd;

	pmv_random_init(&rnd, 5);
	for (int k = 0; k < 200; k++) {
		struct pmv_roce_done done = { 0 };
		struct mix x;
		uint32_t nb = 1 + (uint32_t)pmv_random_below(&rnd, 70);

		mix_open(&x, NB_MAX);
		for (uint32_t i = 0; i < nb; i++)
			pmv_roce_done_put(
				&done, frame_make(&x, (uint32_t)pmv_random_below(&rnd, 12),
					       pmv_random_below(&rnd, 8) == 0));
		pmv_roce_done_flush(&done);
		mix_check(&x, NB_MAX);
		mix_close(&x, NB_MAX);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spare_take__like_alloc),
		cmocka_unit_test(spare_take__after_chains_and_clones),
		cmocka_unit_test(spare_take__small_pools),
		cmocka_unit_test(spare_take__pinned_buffers),
		cmocka_unit_test(spare_drop__returns_all),
		cmocka_unit_test(done_put__every_kind),
		cmocka_unit_test(done_put__waits),
		cmocka_unit_test(done_put__any_mix),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
