// SPDX-License-Identifier: BSD-3-Clause
/*
 * Fault rules: see fault.h. Owner lcore; everything here is off the path of a worker without rules.
 */
#include "drivers/roce/fault.h"

#include <errno.h>

#include <rte_malloc.h>

#include "lib/util/be.h"
#include "lib/util/log.h"
#include "lib/wire/bth.h"
#include "lib/wire/eth_ip.h"
#include "lib/wire/mad.h"

#define SWAP_US      100u /* a frame that nothing overtakes leaves by itself */
#define DELAY_US_MAX 10000000u
#define MAD_OFF      (uint32_t)(PMV_BTH_LEN + PMV_DETH_LEN)
#define PEEK_BYTES   (uint32_t)(PMV_ETH_IP_LEN_MAX + MAD_OFF + PMV_MAD_HDR_LEN)

struct rule {
	struct pmv_fault_rule r;
	struct pmv_random random;
	uint64_t seen; /* frames that the filters matched */
};

/* A frame that waits. */
struct held {
	struct rte_mbuf *m;
	uint64_t due; /* ticks; while fresh: from the next look at the clock */
	enum pmv_fault_dir dir;
	bool fresh;
};

struct pmv_roce_fault {
	struct rule rule[PMV_ROCE_FAULT_RULES];
	uint32_t nb_rules;
	struct pmv_fault_counts counts;
	struct held swap[2]; /* waits to be overtaken, by direction; m NULL = none */
	uint32_t nb_held;
	struct held held[PMV_ROCE_FAULT_HELD]; /* delayed, in order of arrival */
};

/* What filters look at; -1 where a frame has no such thing. */
struct fields {
	int opcode;
	int64_t qpn;
	int cm_attr;
};

static inline uint32_t
dir_index(enum pmv_fault_dir dir)
{
	return dir == PMV_FAULT_TX;
}

static struct fields
fields_read(const struct rte_mbuf *m)
{
	struct fields f = { -1, -1, -1 };
	uint32_t n = RTE_MIN(m->pkt_len, PEEK_BYTES);
	uint8_t buf[PEEK_BYTES];
	const uint8_t *p = rte_pktmbuf_read(m, 0, n, buf);
	struct pmv_eth_ip ip;
	struct pmv_bth bth;

	if (p == NULL || pmv_eth_ip_parse(p, n, m->pkt_len, &ip) != PMV_WIRE_OK ||
		ip.payload_len < PMV_BTH_LEN || (uint32_t)ip.payload_off + PMV_BTH_LEN > n)
		return f;
	p += ip.payload_off;
	pmv_bth_parse(p, &bth);
	f.opcode = bth.opcode;
	f.qpn = bth.dqpn;
	if (bth.dqpn == PMV_QPN_GSI && ip.payload_len >= MAD_OFF + PMV_MAD_HDR_LEN &&
		ip.payload_off + MAD_OFF + PMV_MAD_HDR_LEN <= n) {
		struct pmv_mad_hdr mad;

		pmv_mad_hdr_parse(p + MAD_OFF, &mad);
		if (mad.mgmt_class == PMV_MAD_CLASS_CM)
			f.cm_attr = mad.attr_id;
	}
	return f;
}

static bool
rule_matches(const struct pmv_fault_rule *r, enum pmv_fault_dir dir, const struct fields *f)
{
	return (r->dirs & dir) != 0 && (r->opcode < 0 || r->opcode == f->opcode) &&
	       (r->qpn < 0 || r->qpn == f->qpn) && (r->cm_attr < 0 || r->cm_attr == f->cm_attr);
}

/* A matching frame passes: counted, and drawn for, whatever other rules do. */
static bool
rule_fires(struct rule *rule)
{
	uint64_t n = rule->seen++;

	if (rule->r.mask != 0)
		return n < 64 && (rule->r.mask >> n & 1) != 0;
	return (double)(pmv_random_next64(&rule->random) >> 11) * 0x1p-53 < rule->r.probability;
}

static struct rule *
rule_choose(struct pmv_roce_fault *fault, enum pmv_fault_dir dir, const struct rte_mbuf *m)
{
	struct fields f = fields_read(m);
	struct rule *chosen = NULL;

	for (uint32_t i = 0; i < fault->nb_rules; i++) {
		struct rule *rule = &fault->rule[i];

		if (rule_matches(&rule->r, dir, &f) && rule_fires(rule) && chosen == NULL)
			chosen = rule;
	}
	return chosen;
}

static struct rte_mbuf *
copy_of(struct pmv_roce_worker *w, const struct rte_mbuf *m)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(m, w->base.pool, 0, UINT32_MAX);

	if (copy == NULL)
		w->stats.no_mbuf++;
	return copy;
}

/* Bytes [from, to) that one bit of is flipped: behind the IP header, without Ethernet padding. */
static void
corrupt_range(const struct rte_mbuf *m, uint32_t *from, uint32_t *to)
{
	uint32_t n = RTE_MIN(m->pkt_len, PEEK_BYTES);
	uint8_t buf[PEEK_BYTES];
	const uint8_t *p = rte_pktmbuf_read(m, 0, n, buf);
	struct pmv_eth_ip ip;

	*from = RTE_MIN(m->pkt_len, (uint32_t)PMV_ETH_LEN);
	*to = m->pkt_len;
	if (p != NULL && pmv_eth_ip_parse(p, n, m->pkt_len, &ip) == PMV_WIRE_OK) {
		*from = ip.l4_off;
		*to = ip.payload_off + ip.payload_len;
	}
}

/* Flips a bit, of a copy unless the bytes are this frame's own alone: user memory must not change.
 */
static struct rte_mbuf *
corrupt(struct pmv_roce_worker *w, struct rule *rule, struct rte_mbuf *m)
{
	struct rte_mbuf *seg;
	uint32_t from, to, at;

	if (m->nb_segs != 1 || !RTE_MBUF_DIRECT(m) || rte_mbuf_refcnt_read(m) != 1) {
		struct rte_mbuf *copy = copy_of(w, m);

		if (copy == NULL)
			return m;
		rte_pktmbuf_free(m);
		m = copy;
	}
	corrupt_range(m, &from, &to);
	if (from >= to)
		return m;
	at = from * 8 + (uint32_t)pmv_random_below(&rule->random, (to - from) * 8ull);
	seg = m;
	while (at / 8 >= seg->data_len) {
		at -= seg->data_len * 8u;
		seg = seg->next;
	}
	*rte_pktmbuf_mtod_offset(seg, uint8_t *, at / 8) ^= (uint8_t)(1u << (at & 7));
	w->fault->counts.corrupted++;
	return m;
}

/* True: the frame is held. */
static bool
delay(struct pmv_roce_worker *w, const struct rule *rule, enum pmv_fault_dir dir,
	struct rte_mbuf *m)
{
	struct pmv_roce_fault *fault = w->fault;

	if (fault->nb_held == PMV_ROCE_FAULT_HELD)
		return false;
	fault->held[fault->nb_held++] =
		(struct held){ m, rule->r.delay_us * w->ticks_per_us, dir, true };
	fault->counts.delayed++;
	return true;
}

/* Lets the frame through as the rule says; returns how many frames are in out. */
static uint32_t
act(struct pmv_roce_worker *w, struct rule *rule, enum pmv_fault_dir dir, struct rte_mbuf *m,
	struct rte_mbuf **out)
{
	struct pmv_roce_fault *fault = w->fault;
	struct held *swap = &fault->swap[dir_index(dir)];

	out[0] = m;
	switch (rule->r.action) {
	case PMV_FAULT_DROP:
		rte_pktmbuf_free(m);
		fault->counts.dropped++;
		return 0;
	case PMV_FAULT_DUPLICATE:
		out[1] = copy_of(w, m);
		if (out[1] == NULL)
			return 1;
		fault->counts.duplicated++;
		return 2;
	case PMV_FAULT_REORDER:
		if (swap->m != NULL) /* this one overtakes already */
			return 1;
		*swap = (struct held){ m, SWAP_US * w->ticks_per_us, dir, true };
		fault->counts.reordered++;
		return 0;
	case PMV_FAULT_CORRUPT:
		out[0] = corrupt(w, rule, m);
		return 1;
	default:
		return delay(w, rule, dir, m) ? 0 : 1;
	}
}

uint32_t
pmv_roce_fault_pass(struct pmv_roce_worker *w, enum pmv_fault_dir dir, struct rte_mbuf *m,
	struct rte_mbuf *out[PMV_ROCE_FAULT_OUT])
{
	struct held *swap = &w->fault->swap[dir_index(dir)];
	struct rte_mbuf *overtaken = swap->m;
	struct rule *rule = rule_choose(w->fault, dir, m);
	uint32_t nb = 1;

	if (rule != NULL)
		nb = act(w, rule, dir, m, out);
	else
		out[0] = m;
	if (overtaken != NULL) {
		swap->m = NULL;
		out[nb++] = overtaken;
	}
	return nb;
}

/* A post comes between turns, when the worker's clock is as old as the last turn: the time of a
 * frame begins with the turn that finds it. */
static inline bool
is_due(const struct pmv_roce_worker *w, struct held *h, uint64_t now)
{
	if (h->fresh)
		h->due += w->base.now;
	h->fresh = false;
	return h->due <= now;
}

uint32_t
pmv_roce_fault_due(struct pmv_roce_worker *w, enum pmv_fault_dir dir, uint64_t now,
	struct rte_mbuf **out, uint32_t nb)
{
	struct pmv_roce_fault *fault = w->fault;
	struct held *swap = &fault->swap[dir_index(dir)];
	uint32_t nb_out = 0, kept = 0;

	if (nb == 0)
		return 0;
	if (swap->m != NULL && is_due(w, swap, now)) {
		out[nb_out++] = swap->m;
		swap->m = NULL;
	}
	for (uint32_t i = 0; i < fault->nb_held; i++) {
		struct held *h = &fault->held[i];

		if (h->dir == dir && is_due(w, h, now) && nb_out < nb)
			out[nb_out++] = h->m;
		else
			fault->held[kept++] = *h;
	}
	fault->nb_held = kept;
	return nb_out;
}

uint32_t
pmv_roce_fault_held(const struct pmv_roce_worker *w)
{
	const struct pmv_roce_fault *fault = w->fault;

	if (fault == NULL)
		return 0;
	return fault->nb_held + (fault->swap[0].m != NULL) + (fault->swap[1].m != NULL);
}

void
pmv_roce_fault_disarm(struct pmv_roce_worker *w)
{
	w->fault->nb_rules = 0;
}

void
pmv_roce_fault_free(struct pmv_roce_worker *w)
{
	rte_free(w->fault);
	w->fault = NULL;
}

/* What is wrong with a rule, or NULL. */
static const char *
rule_fault(const struct pmv_fault_rule *r)
{
	if ((uint32_t)r->action > PMV_FAULT_DELAY)
		return "action";
	if (r->dirs == 0 || (r->dirs & ~(uint32_t)(PMV_FAULT_RX | PMV_FAULT_TX)) != 0)
		return "dirs";
	if (r->mask == 0 && !(r->probability >= 0 && r->probability <= 1)) /* NaN too */
		return "probability";
	if (r->opcode < -1 || r->opcode > 255)
		return "opcode";
	if (r->qpn < -1 || r->qpn > PMV_QPN_MASK)
		return "qpn";
	if (r->cm_attr < -1 || r->cm_attr > 0xffff)
		return "cm_attr";
	if (r->action == PMV_FAULT_DELAY && (r->delay_us == 0 || r->delay_us > DELAY_US_MAX))
		return "delay_us";
	return NULL;
}

int
pmv_roce_fault_add(struct pmv_worker *base, const struct pmv_fault_rule *rule, uint64_t seed)
{
	struct pmv_roce_worker *w = pmv_roce_worker(base);
	const char *fault = rule_fault(rule);
	struct rule *slot;

	if (fault != NULL) {
		PMV_LOG(ERR, "fault_add: %s is out of range", fault);
		return -EINVAL;
	}
	if (w->fault == NULL) {
		w->fault = rte_zmalloc_socket(
			"pmv_fault", sizeof(*w->fault), RTE_CACHE_LINE_SIZE, base->socket_id);
		if (w->fault == NULL)
			return -ENOMEM;
	}
	if (w->fault->nb_rules == PMV_ROCE_FAULT_RULES)
		return -ENOSPC;
	slot = &w->fault->rule[w->fault->nb_rules++];
	slot->r = *rule;
	slot->seen = 0;
	pmv_random_init(&slot->random, seed);
	return 0;
}

int
pmv_roce_fault_query(struct pmv_worker *base, struct pmv_fault_counts *counts)
{
	const struct pmv_roce_worker *w = pmv_roce_worker(base);

	*counts = w->fault != NULL ? w->fault->counts : (struct pmv_fault_counts){ 0 };
	return 0;
}
