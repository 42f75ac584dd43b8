// SPDX-License-Identifier: BSD-3-Clause
/*
 * Set-up of two connected QPs. Called by the tests of this folder, on the test's thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/mlx5/pair.h"

#define ALL_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
#define RECV_PSN   0xfffff0 /* wraps soon */

static const struct pair_options defaults = {
	.timeout = 14, .retry_cnt = 3, .rnr_retry = 3, .send_psn = RECV_PSN
};

static void
open_device(struct pair_end *end, int index)
{
	struct ibv_device **list;
	int nb;

	list = ibv_get_device_list(&nb);
	assert_non_null(list);
	/* The newest is listed first; names tell them apart. */
	for (int i = 0; i < nb; i++) {
		const char *name = ibv_get_device_name(list[i]);

		if (name[strlen(name) - 1] == '0' + index)
			end->ctx = ibv_open_device(list[i]);
	}
	ibv_free_device_list(list);
	assert_non_null(end->ctx);
	assert_int_equal(ibv_query_gid(end->ctx, 1, 0, &end->gid), 0);
}

static void
create_qp(struct pair_end *end, const struct pair_options *options)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
		.send_cq = end->send_cq,
		.recv_cq = end->recv_cq,
		.sq_sig_all = options->sig_all,
		.cap = { .max_send_wr = PAIR_DEPTH,
			.max_recv_wr = PAIR_DEPTH,
			.max_send_sge = PAIR_SGES,
			.max_recv_sge = PAIR_SGES,
			.max_inline_data = PAIR_INLINE } };

	end->qp = ibv_create_qp(end->pd, &init);
	assert_non_null(end->qp);
}

static void
create_objects(struct pair_end *end, const struct pair_options *options)
{
	end->pd = ibv_alloc_pd(end->ctx);
	assert_non_null(end->pd);
	end->send_cq = ibv_create_cq(end->ctx, PAIR_DEPTH * 4, NULL, NULL, 0);
	assert_non_null(end->send_cq);
	end->recv_cq = ibv_create_cq(end->ctx, PAIR_DEPTH * 2, NULL, NULL, 0);
	assert_non_null(end->recv_cq);
	create_qp(end, options);
	assert_int_equal(posix_memalign((void **)&end->buf, 4096, PAIR_BYTES), 0);
	memset(end->buf, 0, PAIR_BYTES);
	end->mr = ibv_reg_mr(end->pd, end->buf, PAIR_BYTES, ALL_ACCESS);
	assert_non_null(end->mr);
}

void
pair_to_init(struct pair_end *end, uint32_t access)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = access == 0 ? (unsigned int)ALL_ACCESS : access };

	assert_int_equal(
		ibv_modify_qp(end->qp, &attr,
			IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
}

void
pair_to_rtr(struct pair_end *end, const struct pair_end *peer, uint32_t recv_psn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = recv_psn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } } };

	attr.ah_attr.grh.dgid = peer->gid;
	assert_int_equal(
		ibv_modify_qp(end->qp, &attr,
			IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
		0);
}

void
pair_to_rts(struct pair_end *end, const struct pair_options *options)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	options = options == NULL ? &defaults : options;
	attr.timeout = options->timeout;
	attr.retry_cnt = options->retry_cnt;
	attr.rnr_retry = options->rnr_retry;
	attr.sq_psn = options->send_psn;
	attr.max_rd_atomic = 4;
	assert_int_equal(
		ibv_modify_qp(end->qp, &attr,
			IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
		0);
}

void
pair_connect(struct pair *pair, const struct pair_options *options)
{
	uint32_t access = options == NULL ? 0 : options->access;
	int i;

	for (i = 0; i < 2; i++) {
		pair_to_init(&pair->end[i], access);
		pair_to_rtr(&pair->end[i], &pair->end[1 - i], RECV_PSN);
		pair_to_rts(&pair->end[i], options);
	}
}

void
pair_open(struct pair *pair, const struct pair_options *options)
{
	int i;

	memset(pair, 0, sizeof(*pair));
	for (i = 0; i < 2; i++) {
		open_device(&pair->end[i], i);
		create_objects(&pair->end[i], options == NULL ? &defaults : options);
	}
	pair_connect(pair, options);
}

void
pair_add(struct pair *more, const struct pair *pair)
{
	int i;

	*more = *pair;
	for (i = 0; i < 2; i++)
		create_qp(&more->end[i], &defaults);
	pair_connect(more, NULL);
}

void
pair_remove(struct pair *more)
{
	int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(ibv_destroy_qp(more->end[i].qp), 0);
}

void
pair_close(struct pair *pair)
{
	int i;

	for (i = 0; i < 2; i++) {
		struct pair_end *end = &pair->end[i];

		assert_int_equal(ibv_destroy_qp(end->qp), 0);
		assert_int_equal(ibv_dereg_mr(end->mr), 0);
		assert_int_equal(ibv_destroy_cq(end->send_cq), 0);
		assert_int_equal(ibv_destroy_cq(end->recv_cq), 0);
		assert_int_equal(ibv_dealloc_pd(end->pd), 0);
		assert_int_equal(ibv_close_device(end->ctx), 0);
		free(end->buf);
	}
}

void
pair_settle(uint64_t us)
{
	uint64_t timer;

	pmv_mlx5m_run();
	while ((timer = pmv_mlx5m_next_timer_us()) <= us) {
		pmv_mlx5m_advance_us(timer);
		us -= timer;
		pmv_mlx5m_run();
	}
}

void
pair_fill(uint8_t *to, uint32_t bytes, uint8_t seed)
{
	uint32_t i;

	for (i = 0; i < bytes; i++)
		to[i] = (uint8_t)(seed + i * 7 + (i >> 8) * 13 + 1);
}
