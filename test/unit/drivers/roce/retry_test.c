// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/retry: which of the three deadlines is set when, what is charged, and what each
 * timer does when its time has come. Node 0 sends to a peer that never answers; what the peer would
 * say is told to retry.c by hand.
 */
#include "drivers/roce/retry.h"

#include <errno.h>

#include "drivers/roce/requester.h"
#include "test/unit/drivers/roce/rig.h"

#define TIMEOUT 8u                          /* 4.096 us << 8 */
#define ACK_NS  ((uint64_t)4096 << TIMEOUT) /* 1048.576 us */
#define ACK_US  1049u

static const struct pmv_test_pair_param plain;

struct bench {
	struct rig *r;
	struct pmv_roce_worker *w;
	struct pmv_roce_qp *qp;
	struct pmv_roce_retry *t;
	uint64_t us;    /* ticks */
	uint64_t start; /* of the bench, in ticks */
};

static struct bench
open_bench(uint8_t retry_cnt, uint8_t rnr_retry)
{
	struct bench b = { .r = rig_open(&plain) };

	b.w = rig_worker(b.r, 0);
	b.qp = pmv_roce_qp(b.r->rc[0]);
	b.t = &b.qp->retry;
	b.us = b.w->ticks_per_us;
	b.r->pair.link->end[0].out.drop = 1.0;
	b.qp->base.attr.timeout = TIMEOUT;
	b.qp->base.attr.retry_cnt = retry_cnt;
	b.qp->base.attr.rnr_retry = rnr_retry;
	pmv_roce_retry_set(b.w, b.qp);
	b.start = b.r->pair.now;
	return b;
}

/* The worker's turn, so many microseconds after the beginning. */
static void
turn_at(struct bench *b, uint64_t us)
{
	b->r->pair.now = b->start + us * b->us;
	pmv_worker_poll_at(&b->w->base, b->r->pair.now);
	pmv_test_link_step(b->r->pair.link, b->r->pair.now);
}

static void
post(struct bench *b, uint32_t nb)
{
	struct pmv_sge sge = { (uintptr_t)b->r->mem[0], 64, pmv_mr_lkey(b->r->mr[0]) };
	struct pmv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = PMV_WR_RDMA_WRITE };

	wr.wr.rdma.remote_addr = (uintptr_t)b->r->mem[1];
	wr.wr.rdma.rkey = pmv_mr_rkey(b->r->mr[1]);
	for (uint32_t i = 0; i < nb; i++)
		assert_int_equal(pmv_post_send(b->r->rc[0], &wr, 1), 1);
}

static uint64_t
frames(const struct bench *b)
{
	return b->r->pair.link->end[0].out.nb_frames;
}

/* The peer acknowledges the oldest nb packets. */
static void
acknowledge(struct bench *b, uint32_t nb)
{
	pmv_roce_window_ack_before(&b->qp->win, pmv_psn_add(b->qp->win.una, nb));
	b->qp->sq.ack += nb;
	pmv_roce_retry_progress(b->w, b->qp);
}

static void
close_bench(struct bench *b)
{
	rig_close(b->r);
}

/* The one completion there is: what the QP failed with. */
static void
failed_with(struct bench *b, enum pmv_wc_status status)
{
	struct pmv_wc wc;

	assert_int_equal(pmv_qp_get_state(b->r->rc[0]), PMV_QPS_ERR);
	assert_int_equal(pmv_poll_cq(b->r->pair.node[0].cq[0], &wc, 1), 1);
	assert_int_equal(wc.status, status);
	assert_false(pmv_timer_is_armed(&b->t->timer));
	assert_true(TAILQ_EMPTY(&b->w->fresh));
}

/* IBTA 9.7.6.1.3: every code; 0 is no timeout; 31 does not overflow. */
static void
retry_set__codes(void **state)
{
	struct bench b = open_bench(3, 5);

	for (uint8_t code = 0; code < 32; code++) {
		uint64_t us = code == 0 ? 0 : (4096ull << code) / 1000;

		b.qp->base.attr.timeout = code;
		pmv_roce_retry_set(b.w, b.qp);
		assert_in_range(b.t->ack_ticks, us * b.us, (us + 1) * b.us);
	}
	assert_int_equal(b.t->retry_left, 3);
	assert_int_equal(b.t->rnr_left, 5);
	close_bench(&b);
}

/* A post between turns: on the list, and its time counts from the next turn, however late. */
static void
retry_sent__starts_with_the_next_turn(void **state)
{
	struct bench b = open_bench(3, 3);

	assert_true(TAILQ_EMPTY(&b.w->fresh));
	post(&b, 2);
	assert_ptr_equal(TAILQ_FIRST(&b.w->fresh), b.qp);
	assert_null(TAILQ_NEXT(b.qp, fresh_link)); /* once */
	assert_int_equal(b.t->ack_deadline, 0);
	assert_false(pmv_timer_is_armed(&b.t->timer));
	turn_at(&b, 5000);
	assert_true(TAILQ_EMPTY(&b.w->fresh));
	assert_int_equal(b.t->ack_deadline, b.w->base.now + b.t->ack_ticks);
	assert_in_range(b.t->ack_ticks, ACK_NS * b.us / 1000 - 1, ACK_NS * b.us / 1000 + 1);
	assert_int_equal(b.t->probe_deadline, 0); /* nothing was measured */
	assert_true(pmv_timer_is_armed(&b.t->timer));
	/* answered before its first turn: no timer */
	acknowledge(&b, 2);
	post(&b, 1);
	acknowledge(&b, 1);
	assert_false(TAILQ_EMPTY(&b.w->fresh));
	turn_at(&b, 5010);
	assert_true(TAILQ_EMPTY(&b.w->fresh));
	assert_int_equal(b.t->ack_deadline, 0);
	close_bench(&b);
}

/* Each timeout charges one and sends all again; progress refills; the last is RETRY_EXC_ERR. */
static void
retry_run__ack_timeout(void **state)
{
	struct bench b = open_bench(2, 3);
	uint64_t at = 0, sent;

	post(&b, 3);
	turn_at(&b, at);
	assert_int_equal(frames(&b), 3);
	for (uint8_t left = 2; left > 0; left--) {
		assert_int_equal(b.t->retry_left, left);
		sent = frames(&b);
		turn_at(&b, at + ACK_US - 2);
		assert_int_equal(frames(&b), sent);
		at += ACK_US + 1; /* a step of the wheel */
		turn_at(&b, at);
		assert_int_equal(frames(&b), sent + 3);
		assert_int_equal(b.t->retry_left, left - 1);
	}
	acknowledge(&b, 1); /* is worth two more */
	assert_int_equal(b.t->retry_left, 2);
	for (int i = 0; i < 2; i++) {
		at += ACK_US + 1;
		turn_at(&b, at);
		assert_int_equal(pmv_qp_get_state(b.r->rc[0]), PMV_QPS_RTS);
	}
	assert_int_equal(b.qp->stats.timeouts, 4);
	at += ACK_US + 1;
	turn_at(&b, at);
	assert_int_equal(b.qp->stats.timeouts, 5);
	failed_with(&b, PMV_WC_RETRY_EXC_ERR);
	close_bench(&b);
}

/* A loss is charged once, however many say so, and again only when the left edge has moved. */
static void
retry_loss__charges_once(void **state)
{
	struct bench b = open_bench(1, 3);

	post(&b, 3);
	turn_at(&b, 0);
	assert_true(pmv_roce_retry_loss(b.w, b.qp));
	assert_int_equal(b.t->retry_left, 0);
	assert_false(pmv_roce_retry_loss(b.w, b.qp)); /* an echo */
	assert_int_equal(pmv_qp_get_state(b.r->rc[0]), PMV_QPS_RTS);
	acknowledge(&b, 1);
	assert_int_equal(b.t->retry_left, 1);
	assert_true(pmv_roce_retry_loss(b.w, b.qp));
	assert_int_equal(b.t->retry_left, 0);
	/* its repair was lost too: the timeout has nothing left to charge */
	turn_at(&b, ACK_US + 1);
	failed_with(&b, PMV_WC_RETRY_EXC_ERR);
	close_bench(&b);

	b = open_bench(0, 3); /* none at all */
	post(&b, 1);
	turn_at(&b, 0);
	assert_false(pmv_roce_retry_loss(b.w, b.qp));
	failed_with(&b, PMV_WC_RETRY_EXC_ERR);
	close_bench(&b);
}

/* After a timeout has charged, word of the same loss is worth a repair but no second charge. */
static void
retry_loss__after_timeout(void **state)
{
	struct bench b = open_bench(3, 3);

	post(&b, 1);
	turn_at(&b, 0);
	assert_true(pmv_roce_retry_loss(b.w, b.qp));
	turn_at(&b, ACK_US + 1);
	assert_int_equal(b.t->retry_left, 1);
	assert_true(pmv_roce_retry_loss(b.w, b.qp));
	assert_int_equal(b.t->retry_left, 1);
	assert_false(pmv_roce_retry_loss(b.w, b.qp));
	close_bench(&b);
}

/* IBTA 9.7.6: nothing before the wait is over, whatever is due; each is charged; 7 is for ever.
 */
static void
retry_rnr__waits_and_charges(void **state)
{
	struct bench b = open_bench(3, 2);
	uint64_t at = 0, sent;

	post(&b, 1);
	turn_at(&b, at);
	for (uint8_t left = 2; left > 0; left--) {
		assert_int_equal(b.t->rnr_left, left);
		assert_false(pmv_roce_retry_waits(b.qp));
		assert_true(pmv_roce_retry_rnr(b.w, b.qp, 16)); /* 2560 us: two ACK timeouts */
		pmv_roce_requester_go_back(b.qp, b.qp->win.una);
		assert_true(pmv_roce_retry_waits(b.qp));
		assert_int_equal(b.t->ack_deadline, 0);
		assert_int_equal(b.t->probe_deadline, 0);
		sent = frames(&b);
		post(&b, 1); /* waits too */
		for (uint64_t us = 0; us <= 2560; us += 40)
			turn_at(&b, at + us);
		turn_at(&b, at + 2564); /* the clock may be that much behind the NAK */
		assert_int_equal(frames(&b), sent);
		at += 2570;
		turn_at(&b, at);
		assert_false(pmv_roce_retry_waits(b.qp));
		assert_int_equal(frames(&b), sent + (left == 2 ? 2 : 3));
	}
	assert_int_equal(b.qp->stats.timeouts, 0);
	assert_int_equal(b.t->retry_left, 3);
	assert_false(pmv_roce_retry_rnr(b.w, b.qp, 16));
	failed_with(&b, PMV_WC_RNR_RETRY_EXC_ERR);
	close_bench(&b);

	b = open_bench(3, 7);
	post(&b, 1);
	for (uint64_t i = 0; i < 50; i++) {
		turn_at(&b, i * 100);
		assert_true(pmv_roce_retry_rnr(b.w, b.qp, 1));
		pmv_roce_requester_go_back(b.qp, b.qp->win.una);
	}
	assert_int_equal(pmv_qp_get_state(b.r->rc[0]), PMV_QPS_RTS);
	close_bench(&b);
}

/* The probe: one packet, after the measured time but not below the floor, doubling ten times, never
 * charged; progress begins anew. */
static void
retry_run__probe(void **state)
{
	struct bench b = open_bench(1, 3);
	uint64_t wait = PMV_ROCE_PROBE_FLOOR_US, at = 0, sent;

	b.qp->base.attr.timeout = 0; /* only probes */
	pmv_roce_retry_set(b.w, b.qp);
	b.t->srtt_ticks = 2 * b.us;
	b.t->rttvar_ticks = b.us;
	post(&b, 3);
	turn_at(&b, 0);
	assert_int_equal(b.t->probe_deadline, b.w->base.now + wait * b.us);
	for (uint32_t i = 0; i < 13; i++) {
		sent = frames(&b);
		turn_at(&b, at + wait - 1);
		assert_int_equal(frames(&b), sent);
		at += wait + 1;
		turn_at(&b, at);
		assert_int_equal(frames(&b), sent + 1);
		if (i < 10)
			wait *= 2;
		assert_int_equal(b.t->probe_deadline, b.w->base.now + wait * b.us);
	}
	assert_int_equal(b.qp->stats.probes, 13);
	assert_int_equal(b.t->retry_left, 1);
	acknowledge(&b, 1);
	assert_int_equal(b.t->probe_deadline, b.w->base.now + PMV_ROCE_PROBE_FLOOR_US * b.us);
	b.t->srtt_ticks = 100 * b.us; /* then 2 srtt, or srtt + 4 rttvar */
	acknowledge(&b, 1);
	assert_int_equal(b.t->probe_deadline, b.w->base.now + 200 * b.us);
	close_bench(&b);
}

/* RFC 6298: the first sample, then gains of 1/8 and 1/4; what was sent again is no sample. */
static void
retry_progress__measures(void **state)
{
	struct bench b = open_bench(7, 3);
	uint64_t us = b.us;

	/* posted long after the last turn, answered in the next before timers are looked at */
	post(&b, 1);
	b.start += 2000 * us;
	b.w->base.now = b.start;
	acknowledge(&b, 1);
	assert_int_equal(b.t->srtt_ticks, 0);
	turn_at(&b, 0);
	post(&b, 1);
	turn_at(&b, 0);
	turn_at(&b, 80);
	acknowledge(&b, 1);
	assert_in_range(b.t->srtt_ticks, 80 * us - 1, 80 * us + 1);
	assert_in_range(b.t->rttvar_ticks, 40 * us - 1, 40 * us + 1);
	post(&b, 1);
	turn_at(&b, 100);
	turn_at(&b, 260);
	acknowledge(&b, 1);
	assert_in_range(b.t->srtt_ticks, 90 * us - 9, 90 * us + 9);
	assert_in_range(b.t->rttvar_ticks, 50 * us - 9, 50 * us + 9);
	assert_in_range(b.qp->stats.srtt_ns, 89900, 90100);
	post(&b, 1);
	turn_at(&b, 300);
	pmv_roce_requester_go_back(b.qp, b.qp->win.una);
	pmv_roce_requester_run(b.w, b.qp);
	turn_at(&b, 900);
	acknowledge(&b, 1);
	assert_in_range(b.qp->stats.srtt_ns, 89900, 90100);
	close_bench(&b);
}

/* ERR, RESET and the end of a QP leave nothing behind: no list, no timer, no wait. */
static void
retry_stop__forgets(void **state)
{
	struct bench b = open_bench(3, 3);

	post(&b, 1);
	pmv_roce_retry_stop(b.w, b.qp); /* on the list */
	assert_true(TAILQ_EMPTY(&b.w->fresh));
	assert_false(b.t->fresh);
	turn_at(&b, 10);
	assert_int_equal(b.t->ack_deadline, 0);
	post(&b, 1);
	turn_at(&b, 20); /* armed */
	assert_true(pmv_timer_is_armed(&b.t->timer));
	assert_true(pmv_roce_retry_rnr(b.w, b.qp, 1));
	pmv_roce_retry_stop(b.w, b.qp);
	assert_false(pmv_timer_is_armed(&b.t->timer));
	assert_false(pmv_roce_retry_waits(b.qp));
	assert_int_equal(b.t->sample_sent, 0);
	turn_at(&b, 20000);
	assert_int_equal(b.qp->stats.timeouts, 0);
	close_bench(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(retry_set__codes),
		cmocka_unit_test(retry_sent__starts_with_the_next_turn),
		cmocka_unit_test(retry_run__ack_timeout),
		cmocka_unit_test(retry_loss__charges_once),
		cmocka_unit_test(retry_loss__after_timeout),
		cmocka_unit_test(retry_rnr__waits_and_charges),
		cmocka_unit_test(retry_run__probe),
		cmocka_unit_test(retry_progress__measures),
		cmocka_unit_test(retry_stop__forgets),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
