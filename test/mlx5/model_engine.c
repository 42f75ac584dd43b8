// SPDX-License-Identifier: BSD-3-Clause
/*
 * Chooses the next unit of work: frames in the order of their arrival, then the QPs in turn. The
 * order depends on nothing else, so that a model without thread runs the same each time.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "test/mlx5/model_engine.h"
#include "test/mlx5/model_qp.h"
#include "test/mlx5/model_requester.h"
#include "test/mlx5/model_responder.h"

#define TURN_STEPS 64 /* with the lock kept */

static pthread_t hca_thread;
static bool hca_stop;

static void
deliver(const struct pmv_mlx5m_frame *frame)
{
	struct pmv_mlx5m_qp *qp = pmv_mlx5m_qp_find(frame->dst_qpn);

	if (qp == NULL || pmv_mlx5m_wire_device(frame->dgid) != qp->ctx->device)
		return;
	if (qp->state < PMV_MLX5M_RTR || qp->state == PMV_MLX5M_ERR)
		return;
	/* A connected QP hears its peer only (IBTA 9.6.1.2). */
	if (frame->src_qpn != qp->attr.dest_qpn || memcmp(frame->sgid, qp->attr.dgid, 16) != 0)
		return;
	if (frame->type <= PMV_MLX5M_FRAME_READ)
		pmv_mlx5m_responder_input(qp, frame);
	else
		pmv_mlx5m_requester_input(qp, frame);
}

/* Without the trap, a doorbell is what the record says. */
static void
read_record(struct pmv_mlx5m_qp *qp)
{
	uint16_t record = (uint16_t)pmv_mlx5m_record_get(qp->record_be, PMV_MLX5M_RECORD_SQ);

	if (record == qp->sq_rung)
		return;
	if ((uint16_t)(record - qp->sq_ci) > qp->sq_nb)
		pmv_mlx5m_violate(PMV_MLX5M_SQ_OVERFLOW, qp->qpn, "%u blocks in a ring of %u",
			(uint16_t)(record - qp->sq_ci), qp->sq_nb);
	qp->sq_rung = record;
	qp->nb_rings++;
	pmv_mlx5m_state()->counters.nb_rings++;
}

static bool
qp_step(struct pmv_mlx5m_qp *qp)
{
	if (!pmv_mlx5m_state()->config.trap && qp->state >= PMV_MLX5M_RTS)
		read_record(qp);
	if (qp->state == PMV_MLX5M_ERR)
		return pmv_mlx5m_qp_flush_step(qp);
	if (qp->state < PMV_MLX5M_RTR)
		return false;
	if (pmv_mlx5m_responder_step(qp))
		return true;
	return qp->state == PMV_MLX5M_RTS && pmv_mlx5m_requester_step(qp);
}

bool
pmv_mlx5m_engine_step(void)
{
	struct pmv_mlx5m_state *state = pmv_mlx5m_state();
	struct pmv_mlx5m_frame *frame = pmv_mlx5m_wire_receive();
	uint32_t i;

	if (frame != NULL) {
		deliver(frame);
		free(frame);
		return true;
	}
	for (i = 0; i < state->qps.end; i++) {
		uint32_t slot = (state->turn + i) % state->qps.end;
		struct pmv_mlx5m_qp *qp = pmv_mlx5m_table_get(&state->qps, slot);

		if (qp != NULL && qp_step(qp)) {
			state->turn = slot + 1;
			return true;
		}
	}
	return false;
}

static void *
hca_run(void *arg)
{
	const struct timespec idle = { .tv_nsec = 1000 };
	unsigned int i;

	(void)arg;
	while (!__atomic_load_n(&hca_stop, __ATOMIC_ACQUIRE)) {
		pmv_mlx5m_lock();
		for (i = 0; i < TURN_STEPS && pmv_mlx5m_engine_step(); i++)
			;
		pmv_mlx5m_unlock();
		/* Gives the core away: there may be one for this thread and the program. */
		if (i == 0)
			nanosleep(&idle, NULL);
	}
	return NULL;
}

int
pmv_mlx5m_engine_start(void)
{
	sigset_t all, old;
	int ret;

	if (!pmv_mlx5m_state()->config.thread)
		return 0;
	/* Signals belong to the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	hca_stop = false;
	ret = pthread_create(&hca_thread, NULL, hca_run, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -ret;
}

void
pmv_mlx5m_engine_stop(void)
{
	if (!pmv_mlx5m_state()->config.thread)
		return;
	__atomic_store_n(&hca_stop, true, __ATOMIC_RELEASE);
	pthread_join(hca_thread, NULL);
}

bool
pmv_mlx5m_step(void)
{
	bool did;

	pmv_mlx5m_lock();
	did = pmv_mlx5m_engine_step();
	pmv_mlx5m_unlock();
	return did;
}

uint64_t
pmv_mlx5m_run(void)
{
	uint64_t nb = 0;

	while (pmv_mlx5m_step())
		nb++;
	return nb;
}

void
pmv_mlx5m_advance_us(uint64_t us)
{
	pmv_mlx5m_lock();
	pmv_mlx5m_state()->virtual_us += us;
	pmv_mlx5m_unlock();
}

uint64_t
pmv_mlx5m_next_timer_us(void)
{
	struct pmv_mlx5m_state *state = pmv_mlx5m_state();
	uint64_t first = UINT64_MAX;
	uint64_t now;
	uint32_t i;

	pmv_mlx5m_lock();
	now = pmv_mlx5m_now_us();
	for (i = 0; i < state->qps.end; i++) {
		const struct pmv_mlx5m_qp *qp = pmv_mlx5m_table_get(&state->qps, i);
		uint64_t at = qp == NULL ? UINT64_MAX : pmv_mlx5m_requester_deadline(qp);

		if (at < first)
			first = at;
	}
	pmv_mlx5m_unlock();
	if (first == UINT64_MAX)
		return first;
	return first > now ? first - now : 0;
}
