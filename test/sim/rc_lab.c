// SPDX-License-Identifier: BSD-3-Clause
#include "test/sim/rc_lab.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void
rc_lab_open(struct rc_lab *lab, const struct rc_lab_param *param)
{
	const struct pmv_test_pair_param pp = { .window_pkts = param->window_pkts,
		.vlan_id = param->vlan_id,
		.cqe = param->cqe,
		.seed = param->seed };

	memset(lab, 0, sizeof(*lab));
	lab->step_us = 5;
	pmv_test_pair_open(&lab->pair, &pp);
	for (int side = 0; side < 2; side++) {
		lab->raw[side] = malloc(RC_LAB_BYTES + 2 * RC_LAB_GUARD);
		assert_non_null(lab->raw[side]);
		memset(lab->raw[side], 0xa5, RC_LAB_BYTES + 2 * RC_LAB_GUARD);
		lab->mem[side] = lab->raw[side] + RC_LAB_GUARD;
		assert_int_equal(pmv_reg_mr(lab->pair.node[side].pd, lab->mem[side], RC_LAB_BYTES,
					 PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE |
						 PMV_ACCESS_REMOTE_READ | PMV_ACCESS_REMOTE_ATOMIC,
					 &lab->mr[side]),
			0);
		lab->qp[side] = pmv_test_qp_create(
			&lab->pair.node[side], 0, param->is_uc ? PMV_QPT_UC : PMV_QPT_RC);
	}
	pmv_test_qp_connect(&lab->pair, lab->qp[0], lab->qp[1], param->is_v6,
		param->mtu == 0 ? PMV_MTU_1024 : param->mtu, param->tune);
}

void
rc_lab_dereg(struct pmv_mr *mr)
{
	int rc = pmv_dereg_mr(mr);

	assert_true(rc == 0 || rc == -EINPROGRESS);
}

static void
check_guards(const struct rc_lab *lab)
{
	for (int side = 0; side < 2; side++) {
		const uint8_t *end = lab->mem[side] + RC_LAB_BYTES;

		for (uint32_t i = 0; i < RC_LAB_GUARD; i++) {
			assert_int_equal(lab->raw[side][i], 0xa5);
			assert_int_equal(end[i], 0xa5);
		}
	}
}

void
rc_lab_close(struct rc_lab *lab)
{
	check_guards(lab);
	pmv_test_pair_run(&lab->pair, 200, 20);
	for (int side = 0; side < 2; side++) {
		assert_int_equal(pmv_destroy_qp(lab->qp[side]), 0);
		rc_lab_dereg(lab->mr[side]);
	}
	pmv_test_pair_run(&lab->pair, 200, 20);
	for (int side = 0; side < 2; side++) {
		struct pmv_event ev;

		while (pmv_poll_async_event(lab->pair.node[side].dev, &ev) == 1)
			;
	}
	pmv_test_pair_close(&lab->pair);
	free(lab->raw[0]);
	free(lab->raw[1]);
}

static void
collect(struct rc_lab *lab, int side)
{
	uint32_t nb = lab->nb_wc[side];

	lab->nb_wc[side] +=
		pmv_poll_cq(lab->pair.node[side].cq[0], &lab->wc[side][nb], RC_LAB_WC_MAX - nb);
}

void
rc_lab_run(struct rc_lab *lab, uint64_t us)
{
	pmv_test_pair_run(&lab->pair, us, lab->step_us);
	collect(lab, 0);
	collect(lab, 1);
}

bool
rc_lab_wait(struct rc_lab *lab, int side, uint32_t nb, uint64_t limit_us)
{
	uint64_t end = lab->pair.now + limit_us * lab->pair.link->ticks_per_us;

	collect(lab, side);
	while (lab->nb_wc[side] < nb && lab->pair.now < end)
		rc_lab_run(lab, lab->step_us);
	return lab->nb_wc[side] >= nb;
}

int
rc_lab_post(struct rc_lab *lab, int side, enum pmv_wr_opcode op, uint32_t off, uint32_t remote,
	uint32_t len, uint32_t flags, uint64_t wr_id)
{
	const struct pmv_sge sge = { (uintptr_t)(lab->mem[side] + off), len,
		pmv_mr_lkey(lab->mr[side]) };
	struct pmv_send_wr wr = { .wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = flags,
		.imm_data = rte_cpu_to_be_32((uint32_t)wr_id) };

	wr.wr.rdma.remote_addr = (uintptr_t)(lab->mem[!side] + remote);
	wr.wr.rdma.rkey = pmv_mr_rkey(lab->mr[!side]);
	return pmv_post_send(lab->qp[side], &wr, 1);
}

int
rc_lab_recv(struct rc_lab *lab, int side, uint32_t off, uint32_t len, uint64_t wr_id)
{
	const struct pmv_sge sge = { (uintptr_t)(lab->mem[side] + off), len,
		pmv_mr_lkey(lab->mr[side]) };
	const struct pmv_recv_wr wr = { wr_id, &sge, 1 };

	return pmv_post_recv(lab->qp[side], &wr, 1);
}

static inline uint8_t
pattern(uint32_t i, uint32_t seed)
{
	uint32_t v = (i + 1) * 2654435761u ^ seed * 40503u;

	return (uint8_t)(v >> 13);
}

void
rc_lab_fill(uint8_t *p, uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = pattern(i, seed);
}

bool
rc_lab_check(const uint8_t *p, uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		if (p[i] != pattern(i, seed))
			return false;
	return true;
}
