// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the tests of the driver's receive and datagram files share: two nodes on a virtual link, one
 * RC, one UC and one UD pair of queue pairs on them, frames made by hand, and counters compared
 * before and after.
 */
#ifndef PMV_TEST_ROCE_RIG_H
#define PMV_TEST_ROCE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/roce/qp.h"
#include "lib/wire/icrc.h"
#include "test/harness/eal.h"
#include "test/harness/node.h"

#define RIG_MEM       65536u
#define RIG_QKEY      0x11111111u
#define RIG_STATS_MAX 96u

struct rig {
	struct pmv_test_pair pair;
	struct pmv_qp *rc[2];
	struct pmv_qp *uc[2];
	struct pmv_qp *ud[2];
	struct pmv_mr *mr[2];
	uint8_t *mem[2];
	struct pmv_stat stat[RIG_STATS_MAX];
	uint32_t nb_stats;
};

static inline struct pmv_roce_worker *
rig_worker(struct rig *r, int side)
{
	return pmv_roce_worker(r->pair.node[side].worker[0]);
}

static inline void
rig_run(struct rig *r, uint64_t us)
{
	pmv_test_pair_run(&r->pair, us, 5);
}

static inline struct rig *
rig_open(const struct pmv_test_pair_param *param)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	pmv_test_pair_open(&r->pair, param);
	for (int i = 0; i < 2; i++) {
		r->mem[i] = malloc(RIG_MEM);
		assert_non_null(r->mem[i]);
		memset(r->mem[i], 0xa5, RIG_MEM);
		assert_int_equal(pmv_reg_mr(r->pair.node[i].pd, r->mem[i], RIG_MEM,
					 PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE |
						 PMV_ACCESS_REMOTE_READ,
					 &r->mr[i]),
			0);
		r->rc[i] = pmv_test_qp_create(&r->pair.node[i], 0, PMV_QPT_RC);
		r->uc[i] = pmv_test_qp_create(&r->pair.node[i], 0, PMV_QPT_UC);
		r->ud[i] = pmv_test_qp_create(&r->pair.node[i], 0, PMV_QPT_UD);
		pmv_test_qp_ud_rts(r->ud[i], RIG_QKEY, 0xffffff); /* wraps at once */
	}
	pmv_test_qp_connect(&r->pair, r->rc[0], r->rc[1], false, PMV_MTU_1024, NULL);
	pmv_test_qp_connect(&r->pair, r->uc[0], r->uc[1], false, PMV_MTU_1024, NULL);
	rig_run(r, 10); /* new RTS queue pairs wait for their first turn */
	return r;
}

static inline void
rig_close(struct rig *r)
{
	struct pmv_event ev;

	rig_run(r, 300);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pmv_destroy_qp(r->rc[i]), 0);
		assert_int_equal(pmv_destroy_qp(r->uc[i]), 0);
		assert_int_equal(pmv_destroy_qp(r->ud[i]), 0);
		assert_in_range(-pmv_dereg_mr(r->mr[i]), 0, EINPROGRESS);
	}
	rig_run(r, 300);
	for (int i = 0; i < 2; i++)
		while (pmv_poll_async_event(r->pair.node[i].dev, &ev) == 1)
			;
	pmv_test_pair_close(&r->pair);
	free(r->mem[0]);
	free(r->mem[1]);
	free(r);
}

/* A frame made by hand, from node 0 to node 1 unless said otherwise. */
struct rig_frame {
	bool is_v6;
	uint8_t src;          /* last byte of the source address; 0 = 1 */
	uint8_t dst;          /* 0 = 2 */
	const uint8_t *group; /* 16 bytes: the destination instead; of the family of is_v6 */
	struct pmv_bth bth;
	uint8_t ext[32];  /* headers behind the BTH; of the opcode's length */
	uint32_t payload; /* bytes 0, 1, 2.. */
	int ext_len;      /* for unknown opcodes */
};

static inline struct rig_frame
rig_frame(uint8_t opcode, uint32_t dqpn, uint32_t psn)
{
	return (struct rig_frame){
		.bth = { .opcode = opcode, .pkey = 0xffff, .dqpn = dqpn, .psn = pmv_psn(psn) }
	};
}

/* Writes the frame, ICRC right; returns its length. */
static inline uint32_t
rig_frame_write(const struct rig_frame *f, uint8_t *dst)
{
	static const uint8_t v4[16] = { [10] = 0xff, [11] = 0xff, [12] = 192, 168, 10, 0 };
	static const uint8_t v6[16] = { 0xfd };
	struct pmv_eth_ip_param p = {
		.ttl = 64, .udp_sport = 0xc000, .dst_mac = { 2 }, .src_mac = { 4 }
	};
	uint32_t ext = pmv_opcode_table[f->bth.opcode].hdr_len - PMV_BTH_LEN + (uint32_t)f->ext_len;
	struct pmv_eth_ip_tmpl t;
	struct pmv_bth bth = f->bth;
	uint8_t *bytes;
	uint32_t roce_len;

	memcpy(p.src_gid, f->is_v6 ? v6 : v4, 16);
	memcpy(p.dst_gid, f->is_v6 ? v6 : v4, 16);
	p.src_gid[15] = f->src != 0 ? f->src : 1;
	p.dst_gid[15] = f->dst != 0 ? f->dst : 2;
	if (f->group != NULL)
		memcpy(p.dst_gid, f->group, 16);
	assert_int_equal(pmv_eth_ip_build(dst, &p, &t), 0);
	bytes = dst + t.hdr_len;
	bth.padcnt = bth.padcnt != 0 ? bth.padcnt : pmv_bth_pad(f->payload);
	pmv_bth_build(bytes, &bth);
	memcpy(bytes + PMV_BTH_LEN, f->ext, ext);
	for (uint32_t i = 0; i < f->payload; i++)
		bytes[PMV_BTH_LEN + ext + i] = (uint8_t)i;
	memset(bytes + PMV_BTH_LEN + ext + f->payload, 0, bth.padcnt);
	roce_len = PMV_BTH_LEN + ext + f->payload + bth.padcnt + PMV_ICRC_LEN;
	pmv_eth_ip_set_len(dst, &t, roce_len, 0);
	pmv_icrc_packet_store(
		dst + t.l3_off, t.is_v6, t.hdr_len - t.l3_off + roce_len - PMV_ICRC_LEN);
	return t.hdr_len + roce_len;
}

/* Remembers the counters of a node's worker. */
static inline void
rig_stats_mark(struct rig *r, int side)
{
	r->nb_stats = pmv_roce_worker_stats(r->pair.node[side].worker[0], r->stat, RIG_STATS_MAX);
	assert_in_range(r->nb_stats, 1, RIG_STATS_MAX);
}

/* Since the mark, rx_frames went up by nb, `name` by nb (NULL: nothing), and no other drop counter.
 */
static inline void
rig_stats_expect(struct rig *r, int side, const char *name, uint64_t nb)
{
	struct pmv_stat now[RIG_STATS_MAX];
	bool found = name == NULL;

	pmv_roce_worker_stats(r->pair.node[side].worker[0], now, RIG_STATS_MAX);
	for (uint32_t i = 0; i < r->nb_stats; i++) {
		uint64_t d = now[i].value - r->stat[i].value;
		bool named = name != NULL && strcmp(now[i].name, name) == 0;

		found = found || named;
		if (named && d != nb)
			fail_msg("%s went up by %u, not %u", name, (unsigned int)d,
				(unsigned int)nb);
		if (!named && d != 0 && strncmp(now[i].name, "rx_drop_", 8) == 0)
			fail_msg("%s went up instead of %s", now[i].name,
				name != NULL ? name : "nothing");
	}
	if (!found)
		fail_msg("no counter %s", name);
}

/* Puts a frame into node `side` and says which one counter must tell. */
static inline void
rig_expect_drop(struct rig *r, int side, const uint8_t *frame, uint32_t len, const char *name)
{
	rig_stats_mark(r, side);
	pmv_test_link_inject(r->pair.link, side, frame, len);
	pmv_worker_poll_at(r->pair.node[side].worker[0], r->pair.now);
	rig_stats_expect(r, side, name, 1);
}

static inline void
rig_expect(struct rig *r, const struct rig_frame *f, const char *name)
{
	uint8_t bytes[2048];
	uint32_t len = rig_frame_write(f, bytes);

	rig_expect_drop(r, 1, bytes, len, name);
}

#endif
