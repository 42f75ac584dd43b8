// SPDX-License-Identifier: BSD-3-Clause
#include "test/harness/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>

#include "lib/wire/eth_ip.h"

#define RING_SIZE 2048u
#define POOL_SIZE 8191u
#define DATA_ROOM 4608u

static int
start_port(struct pmv_test_end *e, struct rte_mempool *pool, uint16_t nb_queues)
{
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_dev_info info;
	int err;

	rte_eth_dev_info_get(e->port_id, &info);
	conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	err = rte_eth_dev_configure(e->port_id, nb_queues, nb_queues, &conf);
	for (uint16_t q = 0; err == 0 && q < nb_queues; q++) {
		err = rte_eth_rx_queue_setup(e->port_id, q, RING_SIZE, SOCKET_ID_ANY, NULL, pool);
		if (err == 0)
			err = rte_eth_tx_queue_setup(e->port_id, q, RING_SIZE, SOCKET_ID_ANY, NULL);
	}
	return err == 0 ? rte_eth_dev_start(e->port_id) : err;
}

static int
open_end(struct pmv_test_end *e, struct rte_mempool *pool, uint16_t nb_queues, unsigned int nb)
{
	char name[32];
	int port;

	for (uint16_t q = 0; q < nb_queues; q++) {
		snprintf(name, sizeof(name), "lt%u_%u", nb, q);
		e->tx[q] = rte_ring_create(
			name, RING_SIZE, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		snprintf(name, sizeof(name), "lr%u_%u", nb, q);
		e->rx[q] = rte_ring_create(
			name, RING_SIZE, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (e->tx[q] == NULL || e->rx[q] == NULL)
			return -ENOMEM;
	}
	snprintf(name, sizeof(name), "link%u", nb);
	port = rte_eth_from_rings(name, e->rx, nb_queues, e->tx, nb_queues, 0);
	if (port < 0)
		return -ENODEV;
	e->port_id = (uint16_t)port;
	return start_port(e, pool, nb_queues);
}

int
pmv_test_link_open(struct pmv_test_link **ret_link, uint16_t nb_queues, uint64_t seed)
{
	static unsigned int nb_made;
	struct pmv_test_link *link = calloc(1, sizeof(*link));
	char name[32];
	int err = 0;

	if (link == NULL)
		return -ENOMEM;
	snprintf(name, sizeof(name), "lpool%u", nb_made);
	link->pool_size = POOL_SIZE;
	link->pool = rte_pktmbuf_pool_create(name, POOL_SIZE, 0, 0, DATA_ROOM, SOCKET_ID_ANY);
	link->ticks_per_us = RTE_MAX(rte_get_tsc_hz() / 1000000, (uint64_t)1);
	pmv_random_init(&link->random, seed);
	if (link->pool == NULL)
		err = -ENOMEM;
	for (int i = 0; err == 0 && i < 2; i++)
		err = open_end(&link->end[i], link->pool, nb_queues, nb_made++);
	if (err != 0) {
		free(link);
		return err;
	}
	*ret_link = link;
	return 0;
}

static void
free_ring(struct rte_ring *ring)
{
	void *m;

	if (ring == NULL)
		return;
	while (rte_ring_dequeue(ring, &m) == 0)
		rte_pktmbuf_free(m);
	rte_ring_free(ring);
}

uint32_t
pmv_test_link_close(struct pmv_test_link *link)
{
	uint32_t nb_lost;

	for (int i = 0; i < 2; i++) {
		struct pmv_test_end *e = &link->end[i];

		for (; e->head != e->tail; e->head++)
			rte_pktmbuf_free(e->held[e->head % PMV_TEST_LINK_HELD].m);
		rte_eth_dev_stop(e->port_id);
		rte_eth_dev_close(e->port_id);
		for (int q = 0; q < PMV_TEST_LINK_QUEUES; q++) {
			free_ring(e->tx[q]);
			free_ring(e->rx[q]);
		}
	}
	nb_lost = link->pool_size - rte_mempool_avail_count(link->pool);
	rte_mempool_free(link->pool);
	free(link);
	return nb_lost;
}

static bool
hit(struct pmv_test_link *link, uint64_t mask, double p, uint64_t index)
{
	if (index < 64 && (mask >> index & 1))
		return true;
	return p > 0 && (double)(pmv_random_next64(&link->random) >> 11) / 0x1p53 < p;
}

static enum pmv_test_fate
judge(struct pmv_test_link *link, struct pmv_test_dir *d, struct rte_mbuf *m)
{
	uint64_t index = d->nb_frames++;
	enum pmv_test_fate fate = PMV_TEST_PASS;

	if (d->hook != NULL)
		fate = d->hook(d->hook_arg, m, index);
	if (fate != PMV_TEST_PASS)
		return fate;
	if (hit(link, d->drop_mask, d->drop, index))
		return PMV_TEST_DROP;
	if (hit(link, d->dup_mask, d->dup, index))
		return PMV_TEST_DUP;
	return hit(link, d->swap_mask, d->swap, index) ? PMV_TEST_SWAP : PMV_TEST_PASS;
}

static void
hold(struct pmv_test_end *from, const struct pmv_test_end *to, struct rte_mbuf *m, uint64_t due)
{
	struct pmv_test_held *h = &from->held[from->tail % PMV_TEST_LINK_HELD];

	if (from->tail - from->head == PMV_TEST_LINK_HELD) {
		rte_pktmbuf_free(m);
		return;
	}
	*h = (struct pmv_test_held){ m, due, to->steer != NULL ? to->steer(m) : 0 };
	from->tail++;
}

/* A flat copy: the original may be a chain that points into user memory. */
static struct rte_mbuf *
copy_of(struct pmv_test_link *link, const struct rte_mbuf *m)
{
	return rte_pktmbuf_copy(m, link->pool, 0, UINT32_MAX);
}

/* Bytes that wait for the wire. */
static uint64_t
queued(const struct pmv_test_link *link, const struct pmv_test_dir *d, uint64_t now)
{
	return d->free_at > now ? (d->free_at - now) * d->bytes_per_us / link->ticks_per_us : 0;
}

/* As a switch does it: ECN becomes CE, and the header checksum what it has to be (RFC 3168 5, RFC
 * 1624). False: the frame's sender does not want marks. */
static bool
mark(struct rte_mbuf *m)
{
	uint8_t *l3 = rte_pktmbuf_mtod_offset(m, uint8_t *, PMV_ETH_LEN);
	uint32_t sum;

	if (pmv_be16_load(l3 - 2) == PMV_ETHERTYPE_IPV6) {
		if ((l3[1] >> 4 & PMV_IP_ECN_MASK) == 0)
			return false;
		l3[1] |= PMV_IP_ECN_CE << 4;
		return true;
	}
	if (pmv_be16_load(l3 - 2) != PMV_ETHERTYPE_IPV4 || (l3[1] & PMV_IP_ECN_MASK) == 0)
		return false;
	sum = (uint32_t)(uint16_t)~pmv_be16_load(l3 + 10) + (uint16_t)~pmv_be16_load(l3);
	l3[1] |= PMV_IP_ECN_CE;
	sum += pmv_be16_load(l3);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	pmv_be16_store(l3 + 10, (uint16_t)~sum);
	return true;
}

/* What the queue before the wire makes of a frame. False: it is full. */
static bool
takes(const struct pmv_test_link *link, struct pmv_test_dir *d, struct rte_mbuf *m, uint64_t now)
{
	uint64_t before = queued(link, d, now);

	if (d->queue_bytes != 0 && before > d->queue_bytes) {
		d->nb_overrun++;
		return false;
	}
	d->queue_bytes_max = RTE_MAX(d->queue_bytes_max, before);
	if (d->mark_bytes != 0 && before > d->mark_bytes)
		d->nb_marked += mark(m);
	return true;
}

/* When the frame is at the other end: it waits for those before it, takes its time on the wire, and
 * then travels. */
static uint64_t
on_wire(const struct pmv_test_link *link, struct pmv_test_dir *d, const struct rte_mbuf *m,
	uint64_t now)
{
	if (d->bytes_per_us != 0) {
		uint64_t bytes = rte_pktmbuf_pkt_len(m) + 24; /* FCS, preamble, gap */

		d->free_at =
			RTE_MAX(d->free_at, now) + bytes * link->ticks_per_us / d->bytes_per_us;
		now = d->free_at;
	}
	return now + d->delay_us * link->ticks_per_us;
}

static void
take_one(struct pmv_test_link *link, int side, struct rte_mbuf *m, uint64_t now)
{
	struct pmv_test_end *from = &link->end[side];
	struct pmv_test_end *to = &link->end[!side];
	struct rte_mbuf *copy;
	uint64_t due;

	if (!takes(link, &from->out, m, now)) {
		rte_pktmbuf_free(m);
		return;
	}
	due = on_wire(link, &from->out, m, now);
	switch (judge(link, &from->out, m)) {
	case PMV_TEST_DROP:
		from->out.nb_dropped++;
		rte_pktmbuf_free(m);
		return;
	case PMV_TEST_DUP:
		copy = copy_of(link, m);
		hold(from, to, m, due);
		if (copy != NULL)
			hold(from, to, copy, due);
		return;
	case PMV_TEST_CORRUPT:
		copy = copy_of(link, m);
		rte_pktmbuf_free(m);
		if (copy == NULL)
			return;
		*rte_pktmbuf_mtod_offset(copy, uint8_t *, rte_pktmbuf_pkt_len(copy) - 5) ^= 0x10;
		hold(from, to, copy, due);
		return;
	case PMV_TEST_SWAP: /* leaves the queue one place later: swap with what comes next */
		hold(from, to, m, due + 20 * link->ticks_per_us);
		return;
	default:
		hold(from, to, m, due);
	}
}

/* Delivers what is due. Later frames may pass one that was delayed more (that is how a swap works).
 */
static uint32_t
deliver(struct pmv_test_end *from, struct pmv_test_end *to, uint64_t now)
{
	uint32_t keep = from->head;
	uint32_t nb = 0;

	for (uint32_t i = from->head; i != from->tail; i++) {
		struct pmv_test_held h = from->held[i % PMV_TEST_LINK_HELD];

		if (h.due > now) {
			from->held[keep++ % PMV_TEST_LINK_HELD] = h;
			continue;
		}
		if (rte_ring_enqueue(to->rx[h.queue], h.m) != 0)
			rte_pktmbuf_free(h.m);
		nb++;
	}
	from->tail = keep;
	return nb;
}

/* The port of a queue is done with its last frame. */
static bool
nic_is_free(const struct pmv_test_dir *d, int q, uint64_t now)
{
	return d->nic_bytes_per_us == 0 || d->nic_free_at[q] <= now;
}

static void
nic_takes(
	const struct pmv_test_link *link, struct pmv_test_dir *d, int q, uint32_t len, uint64_t now)
{
	uint64_t step = 2 * link->ticks_per_us; /* what a late step may make up for */

	if (d->nic_bytes_per_us != 0)
		d->nic_free_at[q] = RTE_MAX(d->nic_free_at[q], now - step) +
				    (len + 24) * link->ticks_per_us / d->nic_bytes_per_us;
}

static void
take_queue(struct pmv_test_link *link, int side, int q, uint64_t now)
{
	struct pmv_test_dir *d = &link->end[side].out;
	void *m;

	while (nic_is_free(d, q, now) && rte_ring_dequeue(link->end[side].tx[q], &m) == 0) {
		nic_takes(link, d, q, rte_pktmbuf_pkt_len((struct rte_mbuf *)m), now);
		take_one(link, side, m, now);
	}
}

uint32_t
pmv_test_link_step(struct pmv_test_link *link, uint64_t now)
{
	uint32_t nb = 0;

	for (int side = 0; side < 2; side++) {
		for (int q = 0; q < PMV_TEST_LINK_QUEUES; q++)
			if (link->end[side].tx[q] != NULL)
				take_queue(link, side, q, now);
	}
	for (int side = 0; side < 2; side++)
		nb += deliver(&link->end[side], &link->end[!side], now);
	return nb;
}

uint32_t
pmv_test_link_pending(const struct pmv_test_link *link)
{
	uint32_t nb = 0;

	for (int side = 0; side < 2; side++) {
		const struct pmv_test_end *e = &link->end[side];

		nb += e->tail - e->head;
		for (int q = 0; q < PMV_TEST_LINK_QUEUES; q++)
			if (e->tx[q] != NULL)
				nb += rte_ring_count(e->tx[q]) + rte_ring_count(e->rx[q]);
	}
	return nb;
}

void
pmv_test_link_inject(struct pmv_test_link *link, int end, const void *bytes, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(link->pool);
	char *p = m != NULL ? rte_pktmbuf_append(m, (uint16_t)len) : NULL;

	if (p == NULL) {
		rte_pktmbuf_free(m);
		return;
	}
	memcpy(p, bytes, len);
	if (rte_ring_enqueue(link->end[end].rx[0], m) != 0)
		rte_pktmbuf_free(m);
}
