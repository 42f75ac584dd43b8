// SPDX-License-Identifier: BSD-3-Clause
#include "test/sim/srq_lab.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/wire/aeth.h"
#include "lib/wire/eth_ip.h"
#include "lib/wire/opcode.h"
#include "test/sim/rc_lab.h"

#define GUARD     64u
#define FIRST_PSN 0xfffff8u /* of node 0, as pmv_test_qp_connect() has it */
#define HDR_BYTES (PMV_ETH_LEN + PMV_IPV4_LEN + PMV_UDP_LEN)

static enum pmv_test_fate
note_frame(void *arg, struct rte_mbuf *m, uint64_t index)
{
	struct srq_lab *lab = arg;
	const void *p = rte_pktmbuf_read(m, 0, m->pkt_len, lab->frame);

	if (p != lab->frame)
		memcpy(lab->frame, p, m->pkt_len);
	return PMV_TEST_PASS;
}

static enum pmv_test_fate
note_aeth(void *arg, struct rte_mbuf *m, uint64_t index)
{
	const uint8_t *bth = rte_pktmbuf_mtod_offset(m, const uint8_t *, HDR_BYTES);
	struct srq_lab *lab = arg;

	if (m->pkt_len >= HDR_BYTES + 16 && bth[0] == PMV_OPCODE_RC_ACK &&
		lab->nb_aeth < SRQ_LAB_WC_MAX)
		lab->aeth[lab->nb_aeth++] = bth[12];
	return PMV_TEST_PASS;
}

static struct pmv_qp *
make_qp(struct pmv_test_node *node, enum pmv_qp_type type, struct pmv_cq *recv_cq,
	struct pmv_srq *srq)
{
	struct pmv_qp_init_attr init = { .send_cq = node->cq[0],
		.recv_cq = recv_cq,
		.srq = srq,
		.qp_type = type,
		.sq_sig_all = true,
		.qp_context = node,
		.cap = { .max_send_wr = 64, .max_send_sge = 4 } };
	struct pmv_qp *qp;

	assert_int_equal(pmv_create_qp(node->pd, node->worker[0], &init, &qp), 0);
	return qp;
}

static void
make_qps(struct srq_lab *lab, const struct srq_lab_param *param)
{
	struct pmv_test_node *n = lab->pair.node;

	for (int q = 0; q < SRQ_LAB_QPS; q++) {
		enum pmv_qp_type type = param->type[q] != 0 ? param->type[q] : PMV_QPT_RC;

		assert_int_equal(pmv_create_cq(n[1].worker[0], param->cqe != 0 ? param->cqe : 256,
					 NULL, &lab->cq[q]),
			0);
		lab->from[q] = make_qp(&n[0], type, n[0].cq[0], NULL);
		lab->to[q] = make_qp(&n[1], type, lab->cq[q], lab->srq);
		if (type == PMV_QPT_UD) {
			pmv_test_qp_ud_rts(lab->from[q], SRQ_LAB_QKEY, 0);
			pmv_test_qp_ud_rts(lab->to[q], SRQ_LAB_QKEY, 0);
		} else {
			pmv_test_qp_connect(
				&lab->pair, lab->from[q], lab->to[q], false, PMV_MTU_1024, NULL);
		}
	}
}

static void
make_memory(struct srq_lab *lab)
{
	for (int side = 0; side < 2; side++) {
		lab->raw[side] = malloc(SRQ_LAB_BYTES + 2 * GUARD);
		assert_non_null(lab->raw[side]);
		memset(lab->raw[side], 0xa5, SRQ_LAB_BYTES + 2 * GUARD);
		lab->mem[side] = lab->raw[side] + GUARD;
		assert_int_equal(
			pmv_reg_mr(lab->pair.node[side].pd, lab->mem[side], SRQ_LAB_BYTES,
				PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE, &lab->mr[side]),
			0);
	}
}

struct srq_lab *
srq_lab_open(const struct srq_lab_param *param)
{
	struct pmv_srq_init_attr init = { .attr = { .max_wr = param->max_wr ? param->max_wr : 64,
						  .max_sge = param->max_sge ? param->max_sge : 4,
						  .srq_limit = param->limit } };
	const struct pmv_test_pair_param pp = { 0 };
	struct srq_lab *lab = test_calloc(1, sizeof(*lab));

	pmv_test_pair_open(&lab->pair, &pp);
	init.srq_context = lab;
	assert_int_equal(
		pmv_create_srq(lab->pair.node[1].pd, lab->pair.node[1].worker[0], &init, &lab->srq),
		0);
	make_memory(lab);
	make_qps(lab, param);
	for (int v6 = 0; v6 < 2; v6++) {
		struct pmv_ah_attr attr = { .sgid_index = (uint16_t)v6 };

		assert_int_equal(pmv_query_gid(lab->pair.node[1].dev, (uint16_t)v6, &attr.dgid), 0);
		assert_int_equal(pmv_create_ah(lab->pair.node[0].pd, &attr, &lab->ah[v6]), 0);
	}
	lab->pair.link->end[0].out.hook = note_frame;
	lab->pair.link->end[0].out.hook_arg = lab;
	lab->pair.link->end[1].out.hook = note_aeth;
	lab->pair.link->end[1].out.hook_arg = lab;
	return lab;
}

void
srq_lab_close(struct srq_lab *lab)
{
	struct pmv_event ev;

	pmv_test_pair_run(&lab->pair, 200, 20);
	for (int q = 0; q < SRQ_LAB_QPS; q++) {
		assert_int_equal(pmv_destroy_qp(lab->from[q]), 0);
		if (lab->to[q] != NULL)
			assert_int_equal(pmv_destroy_qp(lab->to[q]), 0);
		assert_int_equal(pmv_destroy_cq(lab->cq[q]), 0);
	}
	assert_int_equal(pmv_destroy_srq(lab->srq), 0);
	for (int side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < GUARD; i++) {
			assert_int_equal(lab->raw[side][i], 0xa5);
			assert_int_equal(lab->mem[side][SRQ_LAB_BYTES + i], 0xa5);
		}
		assert_int_equal(pmv_destroy_ah(lab->ah[side]), 0);
		rc_lab_dereg(lab->mr[side]);
	}
	pmv_test_pair_run(&lab->pair, 200, 20);
	for (int side = 0; side < 2; side++)
		while (pmv_poll_async_event(lab->pair.node[side].dev, &ev) == 1)
			;
	pmv_test_pair_close(&lab->pair);
	free(lab->raw[0]);
	free(lab->raw[1]);
	test_free(lab);
}

/* Piece i of a receive: the rest of len / nb_sge goes into the last one; gaps of 8 bytes. */
static uint32_t
pieces(uint32_t len, uint32_t nb_sge, uint32_t i, uint32_t *ret_off)
{
	uint32_t each = len / nb_sge;

	*ret_off = i * (each + 8);
	return i + 1 < nb_sge ? each : len - i * each;
}

static uint8_t *
place(const struct srq_lab *lab, uint64_t wr_id)
{
	return lab->mem[1] + (wr_id % SRQ_LAB_PLACES) * SRQ_LAB_PLACE;
}

int
srq_lab_recv(struct srq_lab *lab, uint64_t wr_id, uint32_t len, uint32_t nb_sge)
{
	struct pmv_sge sge[PMV_SGE_MAX];
	const struct pmv_recv_wr wr = { wr_id, sge, nb_sge };

	for (uint32_t i = 0; i < nb_sge; i++) {
		uint32_t off;

		sge[i].length = pieces(len, nb_sge, i, &off);
		sge[i].addr = (uintptr_t)(place(lab, wr_id) + off);
		sge[i].lkey = pmv_mr_lkey(lab->mr[1]);
	}
	return pmv_post_srq_recv(lab->srq, &wr, 1);
}

void
srq_lab_recv_many(struct srq_lab *lab, uint64_t first, uint32_t nb, uint32_t len)
{
	for (uint32_t i = 0; i < nb; i++)
		assert_int_equal(srq_lab_recv(lab, first + i, len, 1), 1);
}

bool
srq_lab_holds(
	const struct srq_lab *lab, uint64_t wr_id, uint32_t len, uint32_t nb_sge, uint32_t seed)
{
	uint8_t *want = test_malloc(len + 1);
	uint32_t off, done = 0;
	bool same = true;

	rc_lab_fill(want, len, seed);
	for (uint32_t i = 0; i < nb_sge; i++) {
		uint32_t n = pieces(len, nb_sge, i, &off);

		same = same && memcmp(place(lab, wr_id) + off, want + done, n) == 0;
		same = same && place(lab, wr_id)[off + n] == 0xa5;
		done += n;
	}
	test_free(want);
	return same;
}

void
srq_lab_send(struct srq_lab *lab, int q, uint32_t len, uint32_t seed)
{
	/* a place for each message under way: posts are taken by value, payloads are not */
	uint8_t *p = lab->mem[0] + (seed % SRQ_LAB_PLACES) * SRQ_LAB_PLACE;
	const struct pmv_sge sge = { (uintptr_t)p, len, pmv_mr_lkey(lab->mr[0]) };
	struct pmv_send_wr wr = {
		.wr_id = seed, .sg_list = &sge, .num_sge = 1, .opcode = PMV_WR_SEND
	};

	rc_lab_fill(p, len, seed);
	if (pmv_qp_get_type(lab->from[q]) == PMV_QPT_UD) {
		wr.wr.ud.ah = lab->ah[seed & 1];
		wr.wr.ud.remote_qpn = pmv_qp_num(lab->to[q]);
		wr.wr.ud.remote_qkey = SRQ_LAB_QKEY;
	}
	assert_int_equal(pmv_post_send(lab->from[q], &wr, 1), 1);
}

void
srq_lab_run(struct srq_lab *lab, uint64_t us)
{
	pmv_test_pair_run(&lab->pair, us, 5);
	for (int q = 0; q < SRQ_LAB_QPS; q++)
		lab->nb_wc[q] += pmv_poll_cq(
			lab->cq[q], &lab->wc[q][lab->nb_wc[q]], SRQ_LAB_WC_MAX - lab->nb_wc[q]);
	lab->nb_sent += pmv_poll_cq(
		lab->pair.node[0].cq[0], &lab->sent[lab->nb_sent], SRQ_LAB_WC_MAX - lab->nb_sent);
}

bool
srq_lab_wait(struct srq_lab *lab, int q, uint32_t nb, uint64_t limit_us)
{
	for (uint64_t us = 0; lab->nb_wc[q] < nb && us < limit_us; us += 5)
		srq_lab_run(lab, 5);
	return lab->nb_wc[q] >= nb;
}

int
srq_lab_event(struct srq_lab *lab, struct pmv_event *ret_event)
{
	if (pmv_worker_get_event(lab->pair.node[1].worker[0], ret_event) == 0)
		return -1;
	return (int)ret_event->type;
}

void
srq_lab_packet(struct srq_lab *lab, int q, uint8_t opcode, uint32_t index, uint32_t len)
{
	const struct pmv_bth bth = { .opcode = opcode,
		.pkey = PMV_PKEY_DEFAULT,
		.padcnt = pmv_bth_pad(len),
		.dqpn = pmv_qp_num(lab->to[q]),
		.psn = pmv_psn(FIRST_PSN + index) };
	uint8_t body[1024 + 4] = { 0 };
	struct craft_path path;
	struct craft c;

	assert_true(len <= 1024);
	rc_lab_fill(body, len, index);
	craft_path_get(&lab->pair, 1, false, 0, &path);
	craft_begin(&c, &path, &bth);
	craft_put(&c, body, len + bth.padcnt);
	craft_end(&c);
	craft_inject(&lab->pair, 1, &c);
}

void
srq_lab_to_err(struct pmv_qp *qp)
{
	const struct pmv_qp_attr a = { .qp_state = PMV_QPS_ERR };

	assert_int_equal(pmv_modify_qp(qp, &a, PMV_QP_STATE), 0);
}

uint64_t
srq_lab_stat(const struct srq_lab *lab, const char *name)
{
	return pmv_worker_stat(lab->pair.node[1].worker[0], name);
}
