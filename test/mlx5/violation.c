// SPDX-License-Identifier: BSD-3-Clause
/*
 * The record of violations. Called with the model's lock held or from tests; a lock of its own
 * keeps both simple. Prints nothing: tests and the preloaded object report.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "test/mlx5/violation.h"

#define VIOLATIONS_KEPT 64

static const char *const rule_names[PMV_MLX5M_RULE_MAX] = {
	[PMV_MLX5M_STORE_REGISTER] = "store-register",
	[PMV_MLX5M_STORE_SIZE] = "store-size",
	[PMV_MLX5M_RING_QPN] = "ring-qpn",
	[PMV_MLX5M_RING_UAR] = "ring-uar",
	[PMV_MLX5M_RING_STATE] = "ring-state",
	[PMV_MLX5M_RING_BYTES] = "ring-bytes",
	[PMV_MLX5M_RING_RECORD] = "ring-record",
	[PMV_MLX5M_RING_STALE] = "ring-stale",
	[PMV_MLX5M_BURST_BYTES] = "burst-bytes",
	[PMV_MLX5M_BURST_ORDER] = "burst-order",
	[PMV_MLX5M_BURST_LENGTH] = "burst-length",
	[PMV_MLX5M_BURST_HALF] = "burst-half",
	[PMV_MLX5M_ARM_CQN] = "arm-cqn",
	[PMV_MLX5M_RECORD_RESERVED] = "record-reserved",
	[PMV_MLX5M_SQ_OVERFLOW] = "sq-overflow",
	[PMV_MLX5M_RQ_OVERFLOW] = "rq-overflow",
	[PMV_MLX5M_CQ_OVERRUN] = "cq-overrun",
	[PMV_MLX5M_CQ_RECORD] = "cq-record",
	[PMV_MLX5M_WQE_INDEX] = "wqe-index",
	[PMV_MLX5M_WQE_QPN] = "wqe-qpn",
	[PMV_MLX5M_WQE_SIZE] = "wqe-size",
	[PMV_MLX5M_WQE_OPCODE] = "wqe-opcode",
	[PMV_MLX5M_WQE_RESERVED] = "wqe-reserved",
	[PMV_MLX5M_WQE_SEGMENT] = "wqe-segment",
};

static struct {
	pthread_mutex_t lock;
	uint64_t nb;
	uint64_t nb_of[PMV_MLX5M_RULE_MAX];
	struct pmv_mlx5m_violation kept[VIOLATIONS_KEPT];
} record = { .lock = PTHREAD_MUTEX_INITIALIZER };

void
pmv_mlx5m_violate(enum pmv_mlx5m_rule rule, uint32_t qpn, const char *format, ...)
{
	va_list args;

	pthread_mutex_lock(&record.lock);
	if (record.nb < VIOLATIONS_KEPT) {
		struct pmv_mlx5m_violation *v = &record.kept[record.nb];

		v->rule = rule;
		v->qpn = qpn;
		va_start(args, format);
		vsnprintf(v->text, sizeof(v->text), format, args);
		va_end(args);
	}
	record.nb++;
	record.nb_of[rule]++;
	pthread_mutex_unlock(&record.lock);
}

uint64_t
pmv_mlx5m_violations(void)
{
	uint64_t nb;

	pthread_mutex_lock(&record.lock);
	nb = record.nb;
	pthread_mutex_unlock(&record.lock);
	return nb;
}

uint64_t
pmv_mlx5m_violations_of(enum pmv_mlx5m_rule rule)
{
	uint64_t nb;

	pthread_mutex_lock(&record.lock);
	nb = record.nb_of[rule];
	pthread_mutex_unlock(&record.lock);
	return nb;
}

const struct pmv_mlx5m_violation *
pmv_mlx5m_violation_get(uint32_t i)
{
	if (i >= VIOLATIONS_KEPT || i >= pmv_mlx5m_violations())
		return NULL;
	return &record.kept[i];
}

const char *
pmv_mlx5m_rule_name(enum pmv_mlx5m_rule rule)
{
	return rule < PMV_MLX5M_RULE_MAX ? rule_names[rule] : "?";
}

void
pmv_mlx5m_violations_clear(void)
{
	pthread_mutex_lock(&record.lock);
	record.nb = 0;
	memset(record.nb_of, 0, sizeof(record.nb_of));
	pthread_mutex_unlock(&record.lock);
}
