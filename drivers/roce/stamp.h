// SPDX-License-Identifier: BSD-3-Clause
/*
 * The port's own time stamp of the frame that is being worked on, for CQs that keep stamps. Set by
 * rx.c around a frame, read by cq.c; owner lcore. A port that stamps frames has registered the
 * dynamic field of ethdev by the time it is started (RTE_ETH_RX_OFFLOAD_TIMESTAMP); without that
 * field nothing is done for a frame.
 */
#ifndef PMV_ROCE_STAMP_H
#define PMV_ROCE_STAMP_H

#include <rte_bitops.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

struct pmv_roce_stamp {
	int offset;               /* of the field in an mbuf; < 0: there is none */
	uint64_t flag;            /* in ol_flags of those whose field holds one; 0: there is none */
	const struct rte_mbuf *m; /* the frame; NULL: none is being worked on */
};

/* Control thread. */
static inline void
pmv_roce_stamp_init(struct pmv_roce_stamp *s)
{
	int bit = rte_mbuf_dynflag_lookup(RTE_MBUF_DYNFLAG_RX_TIMESTAMP_NAME, NULL);

	s->offset = rte_mbuf_dynfield_lookup(RTE_MBUF_DYNFIELD_TIMESTAMP_NAME, NULL);
	s->flag = bit >= 0 ? RTE_BIT64(bit) : 0;
	s->m = NULL;
}

/* 0: none. */
static inline uint64_t
pmv_roce_stamp_of(const struct pmv_roce_stamp *s)
{
	if (s->offset < 0 || s->m == NULL || !(s->m->ol_flags & s->flag))
		return 0;
	return *RTE_MBUF_DYNFIELD(s->m, s->offset, const rte_mbuf_timestamp_t *);
}

#endif
