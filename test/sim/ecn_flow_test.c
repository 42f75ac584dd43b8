// SPDX-License-Identifier: BSD-3-Clause
/*
 * Two senders of 10 Gb/s, each on a worker of its own, and the wire that they share: 10 Gb/s with a
 * queue before it that marks (ECN) above a threshold and drops when full, 10 us each way, under the
 * virtual clock. What congestion control makes of it, and what happens without.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/roce/qp.h"
#include "test/harness/eal.h"
#include "test/harness/node.h"

#define WIRE        1250u /* bytes a microsecond: 10 Gb/s */
#define NIC         1250u /* of each sender */
#define LEN         65536u
#define DEPTH       8u
#define FLOWS       2
#define MARK_BYTES  50000u
#define QUEUE_BYTES 400000u

enum kind { KIND_WRITE, KIND_READ, KIND_UC_WRITE };

struct flow {
	struct pmv_qp *qp[2]; /* the sender of data is on side 0 */
	uint32_t nb_posted;
	uint64_t nb_done;
	bool stopped;
};

struct lab {
	struct pmv_test_pair pair;
	struct flow flow[FLOWS];
	struct pmv_mr *mr[2];
	uint8_t *mem[2];
	enum kind kind;
};

static struct pmv_ece ece; /* tune() has no argument of its own */

static void
tune(int side, struct pmv_qp_attr *attr)
{
	attr->ece = ece;
}

/* The top bit of a QPN of two workers. */
static uint16_t
steer(const struct rte_mbuf *m)
{
	return *rte_pktmbuf_mtod_offset(m, const uint8_t *, 42 + 5) >> 7;
}

static void
lab_open(struct lab *lab, enum kind kind, uint32_t options)
{
	const struct pmv_test_pair_param pp = {
		.nb_workers = FLOWS, .window_pkts = 256, .seed = 5
	};
	struct pmv_test_dir *d;

	memset(lab, 0, sizeof(*lab));
	lab->kind = kind;
	ece = (struct pmv_ece){ options != 0 ? PMV_ECE_VENDOR_ID : 0, options };
	pmv_test_pair_open(&lab->pair, &pp);
	for (int side = 0; side < 2; side++) {
		lab->pair.link->end[side].steer = steer;
		lab->pair.link->end[side].out.delay_us = 10;
		lab->mem[side] = calloc(FLOWS, LEN);
		assert_int_equal(pmv_reg_mr(lab->pair.node[side].pd, lab->mem[side], FLOWS * LEN,
					 PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE |
						 PMV_ACCESS_REMOTE_READ,
					 &lab->mr[side]),
			0);
	}
	d = &lab->pair.link->end[0].out;
	d->nic_bytes_per_us = NIC;
	d->bytes_per_us = WIRE;
	d->mark_bytes = MARK_BYTES;
	d->queue_bytes = QUEUE_BYTES;
	for (uint16_t i = 0; i < FLOWS; i++) {
		struct flow *f = &lab->flow[i];

		for (int side = 0; side < 2; side++)
			f->qp[side] = pmv_test_qp_create(&lab->pair.node[side], i,
				kind == KIND_UC_WRITE ? PMV_QPT_UC : PMV_QPT_RC);
		pmv_test_qp_connect(&lab->pair, f->qp[0], f->qp[1], false, PMV_MTU_1024, tune);
	}
}

static void
lab_close(struct lab *lab)
{
	lab->pair.link->end[0].out.nic_bytes_per_us = 0;
	lab->pair.link->end[0].out.bytes_per_us = 0;
	for (int i = 0; i < FLOWS; i++)
		for (int side = 0; side < 2; side++)
			assert_int_equal(pmv_destroy_qp(lab->flow[i].qp[side]), 0);
	pmv_test_pair_run(&lab->pair, 2000, 20);
	for (int side = 0; side < 2; side++) {
		int rc = pmv_dereg_mr(lab->mr[side]);

		assert_true(rc == 0 || rc == -EINPROGRESS);
	}
	pmv_test_pair_close(&lab->pair);
	free(lab->mem[0]);
	free(lab->mem[1]);
}

/* Who posts: the sender of data, or with READ the one that gets it. */
static int
poster(const struct lab *lab)
{
	return lab->kind == KIND_READ;
}

static void
feed(struct lab *lab, int i)
{
	struct flow *f = &lab->flow[i];
	int side = poster(lab);
	const struct pmv_sge sge = { (uintptr_t)(lab->mem[side] + i * (size_t)LEN), LEN,
		pmv_mr_lkey(lab->mr[side]) };
	struct pmv_send_wr wr = { .sg_list = &sge,
		.num_sge = 1,
		.opcode = lab->kind == KIND_READ ? PMV_WR_RDMA_READ : PMV_WR_RDMA_WRITE,
		.send_flags = PMV_SEND_SIGNALED };

	wr.wr.rdma.remote_addr = (uintptr_t)(lab->mem[!side] + i * (size_t)LEN);
	wr.wr.rdma.rkey = pmv_mr_rkey(lab->mr[!side]);
	while (!f->stopped && f->nb_posted - f->nb_done < DEPTH &&
		pmv_post_send(f->qp[side], &wr, 1) == 1)
		f->nb_posted++;
}

static void
collect(struct lab *lab, int i)
{
	struct pmv_wc wc[DEPTH];
	uint32_t nb = pmv_poll_cq(lab->pair.node[poster(lab)].cq[i], wc, DEPTH);

	for (uint32_t k = 0; k < nb; k++)
		assert_int_equal(wc[k].status, PMV_WC_SUCCESS);
	lab->flow[i].nb_done += nb;
}

static void
run(struct lab *lab, uint64_t us)
{
	for (uint64_t t = 0; t < us; t++) {
		for (int i = 0; i < FLOWS; i++)
			feed(lab, i);
		pmv_test_pair_run(&lab->pair, 1, 1);
		for (int i = 0; i < FLOWS; i++)
			collect(lab, i);
	}
}

struct outcome {
	double share[FLOWS]; /* of the wire, payload */
	uint64_t queue_max;
	uint64_t nb_marked;
	uint64_t nb_overrun;
	uint64_t nb_overrun_warm;
	uint64_t retx;
	uint64_t timeouts;
	uint64_t probes;
};

/* Warms up, then measures. */
static struct outcome
measure(struct lab *lab, uint64_t warm_us, uint64_t us)
{
	struct pmv_test_dir *d = &lab->pair.link->end[0].out;
	struct outcome out = { .share = { 0 } };
	uint64_t done[FLOWS];

	run(lab, warm_us);
	out.nb_overrun_warm = d->nb_overrun;
	d->queue_bytes_max = 0;
	for (int i = 0; i < FLOWS; i++)
		done[i] = lab->flow[i].nb_done;
	run(lab, us);
	for (int i = 0; i < FLOWS; i++) {
		struct pmv_qp_stats s;

		out.share[i] = (double)(lab->flow[i].nb_done - done[i]) * LEN / ((double)us * WIRE);
		for (int side = 0; side < 2; side++) {
			assert_int_equal(pmv_qp_get_stats(lab->flow[i].qp[side], &s), 0);
			out.retx += s.retx_pkts;
			out.timeouts += s.timeouts;
			out.probes += s.probes;
		}
	}
	out.queue_max = d->queue_bytes_max;
	out.nb_marked = d->nb_marked;
	out.nb_overrun = d->nb_overrun;
	return out;
}

static void
print(const char *name, const struct outcome *o)
{
	printf("# %-24s share %.3f + %.3f = %.3f, queue max %6u, marked %6u, overrun %5u, retx "
	       "%5u, "
	       "probes %u, timeouts %u\n",
		name, o->share[0], o->share[1], o->share[0] + o->share[1], (unsigned)o->queue_max,
		(unsigned)o->nb_marked, (unsigned)o->nb_overrun, (unsigned)o->retx,
		(unsigned)o->probes, (unsigned)o->timeouts);
	fflush(stdout);
}

/* Payload's most: 1024 of 1106 bytes that the wire carries for a packet, 0.926. */
static void
flow__shares_the_wire(void **state)
{
	static const struct {
		const char *name;
		enum kind kind;
		uint32_t options;
	} rows[] = {
		{ "WRITE", KIND_WRITE, PMV_ECE_CONGESTION },
		{ "WRITE, selective repeat", KIND_WRITE,
			PMV_ECE_CONGESTION | PMV_ECE_SELECTIVE_REPEAT },
		{ "READ", KIND_READ, PMV_ECE_CONGESTION },
		{ "UC WRITE", KIND_UC_WRITE, PMV_ECE_CONGESTION },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct outcome o;
		struct lab lab;

		lab_open(&lab, rows[i].kind, rows[i].options);
		o = measure(&lab, 10000, 60000);
		print(rows[i].name, &o);
		lab_close(&lab);
		assert_true(o.share[0] + o.share[1] >= 0.8);
		assert_true(o.share[0] >= 0.5 * o.share[1] && o.share[1] >= 0.5 * o.share[0]);
		assert_in_range(o.queue_max, MARK_BYTES, 2 * MARK_BYTES);
		/* from the first frame on; but UC begins with all that there is, without a window
		 */
		assert_int_equal(
			o.nb_overrun, rows[i].kind == KIND_UC_WRITE ? o.nb_overrun_warm : 0);
		assert_int_equal(o.timeouts, 0);
		assert_int_equal(rows[i].kind == KIND_READ ? 0 : o.retx, 0);
		assert_true(o.nb_marked > 0);
	}
}

/* The same wire, to senders that do not react, and whose frames cannot be marked. */
static void
flow__without_reaction(void **state)
{
	struct outcome o;
	struct lab lab;

	lab_open(&lab, KIND_WRITE, 0);
	o = measure(&lab, 1000, 20000);
	print("WRITE, no reaction", &o);
	lab_close(&lab);
	assert_int_equal(o.nb_marked, 0);
	assert_true(o.nb_overrun > 1000);
	assert_true(o.retx > 1000);
	assert_true(o.queue_max > QUEUE_BYTES - 2048);
}

/* One has the wire for itself when the other begins; in the end both have their share. */
static void
flow__late_comer(void **state)
{
	struct outcome o;
	struct lab lab;

	lab_open(&lab, KIND_WRITE, PMV_ECE_CONGESTION);
	lab.flow[1].stopped = true;
	o = measure(&lab, 5000, 20000);
	print("WRITE, one sender", &o);
	assert_true(o.share[0] >= 0.9);
	lab.flow[1].stopped = false;
	o = measure(&lab, 40000, 40000);
	print("WRITE, a second one", &o);
	assert_true(o.share[0] + o.share[1] >= 0.8);
	assert_true(o.share[0] >= 0.5 * o.share[1] && o.share[1] >= 0.5 * o.share[0]);
	assert_int_equal(o.nb_overrun, 0);
	assert_int_equal(o.retx, 0);
	lab_close(&lab);
}

/* The wire becomes as fast as the senders: the limits go, and nothing is left of them. */
static void
flow__back_to_full_rate(void **state)
{
	struct outcome o;
	struct lab lab;

	lab_open(&lab, KIND_WRITE, PMV_ECE_CONGESTION);
	o = measure(&lab, 10000, 10000);
	assert_true(o.share[0] + o.share[1] >= 0.8);
	lab.pair.link->end[0].out.bytes_per_us = 2 * NIC;
	run(&lab, 60000);
	lab.pair.link->end[0].out.nb_marked = 0;
	o = measure(&lab, 0, 10000);
	print("WRITE, a wide wire", &o);
	assert_int_equal(o.nb_marked, 0);
	assert_true(
		o.share[0] >= 0.9 * NIC / WIRE * 0.926 && o.share[1] >= 0.9 * NIC / WIRE * 0.926);
	for (int i = 0; i < FLOWS; i++) {
		const struct pmv_roce_qp *qp = pmv_roce_qp(lab.flow[i].qp[0]);

		assert_int_equal(qp->pace.rate.current, 0);
		assert_false(qp->paced);
		assert_false(pmv_timer_is_armed(&qp->pace.timer));
	}
	lab_close(&lab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flow__shares_the_wire),
		cmocka_unit_test(flow__without_reaction),
		cmocka_unit_test(flow__late_comer),
		cmocka_unit_test(flow__back_to_full_rate),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
