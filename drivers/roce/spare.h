// SPDX-License-Identifier: BSD-3-Clause
/*
 * Mbufs in hand: taken from the worker's pool and given back to the pools of received frames by the
 * burst, since a pool is asked once for many at little more than the price of one. Owner lcore;
 * what is left goes back when the worker ends.
 */
#ifndef PMV_ROCE_SPARE_H
#define PMV_ROCE_SPARE_H

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include "lib/util/prefetch.h"

#define PMV_ROCE_SPARE_NB 32u

/* Mbufs ahead whose lines are asked for: another core, which received the last frame in them, most
 * often has them. */
#define PMV_ROCE_SPARE_AHEAD 16u

/* Fresh mbufs of one pool, not yet reset. */
struct pmv_roce_spare {
	struct rte_mempool *pool;
	uint32_t data_off; /* from an mbuf to its first byte of data, if its room is its own */
	uint32_t nb;
	struct rte_mbuf *m[PMV_ROCE_SPARE_NB];
};

void pmv_roce_spare_init(struct pmv_roce_spare *s, struct rte_mempool *pool);

/* At least one more; 0, or -ENOBUFS when the pool is empty. */
int pmv_roce_spare_fill(struct pmv_roce_spare *s);

/* Gives back what is left. */
void pmv_roce_spare_drop(struct pmv_roce_spare *s);

/* The lines of an mbuf and of a small frame in it, to be written. */
static inline void
pmv_roce_spare_prefetch(const struct pmv_roce_spare *s, const struct rte_mbuf *m)
{
	const char *data = (const char *)m + s->data_off;

	pmv_prefetch_write(m);
	pmv_prefetch_write(data);
	pmv_prefetch_write(data + RTE_CACHE_LINE_SIZE);
}

/* What a long frame will fill of the mbuf that is taken next. */
static inline void
pmv_roce_spare_prefetch_rest(const struct pmv_roce_spare *s, uint32_t len)
{
	const char *data;

	if (s->nb == 0)
		return;
	data = (const char *)s->m[s->nb - 1] + s->data_off;
	for (uint32_t off = 2 * RTE_CACHE_LINE_SIZE; off < len; off += RTE_CACHE_LINE_SIZE)
		pmv_prefetch_write(data + off);
}

/* A fresh mbuf, ready to be written: what a sender without offloads looks at is reset, which is all
 * in its first line. NULL: the pool is empty. */
static inline struct rte_mbuf *
pmv_roce_spare_take(struct pmv_roce_spare *s)
{
	struct rte_mbuf *m;

	if (unlikely(s->nb == 0) && pmv_roce_spare_fill(s) != 0)
		return NULL;
	m = s->m[--s->nb];
	if (likely(s->nb >= PMV_ROCE_SPARE_AHEAD))
		pmv_roce_spare_prefetch(s, s->m[s->nb - PMV_ROCE_SPARE_AHEAD]);
	m->ol_flags &= RTE_MBUF_F_EXTERNAL;
	rte_pktmbuf_reset_headroom(m);
	return m;
}

/* One segment with its own room that nobody else holds: it may be written over, and needs nothing
 * to be freed but to go home. */
static inline bool
pmv_roce_spare_is_plain(const struct rte_mbuf *m)
{
	return m->nb_segs == 1 && RTE_MBUF_DIRECT(m) && rte_mbuf_refcnt_read(m) == 1;
}

/* Received frames that are done with; those of one pool wait to be freed together. */
struct pmv_roce_done {
	struct rte_mempool *pool;
	uint32_t nb;
	struct rte_mbuf *m[PMV_ROCE_SPARE_NB];
};

static inline void
pmv_roce_done_flush(struct pmv_roce_done *d)
{
	if (d->nb > 0)
		rte_mempool_put_bulk(d->pool, (void *const *)d->m, d->nb);
	d->nb = 0;
}

/* Frees a frame, perhaps later: by pmv_roce_done_flush(). */
static inline void
pmv_roce_done_put(struct pmv_roce_done *d, struct rte_mbuf *m)
{
	if (unlikely(!pmv_roce_spare_is_plain(m))) {
		rte_pktmbuf_free(m);
		return;
	}
	if (unlikely(d->nb == PMV_ROCE_SPARE_NB || m->pool != d->pool))
		pmv_roce_done_flush(d);
	d->pool = m->pool;
	d->m[d->nb++] = m;
}

#endif
