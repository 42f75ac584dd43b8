// SPDX-License-Identifier: BSD-3-Clause
/*
 * The state, its lock, its clock and its tables. Called by every part of the model on any thread.
 */
#include <pthread.h>
#include <time.h>

#include "test/mlx5/model_state.h"

#define CQN_BASE 0x000400u

static struct pmv_mlx5m_state state;
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread bool holds_lock;

struct pmv_mlx5m_state *
pmv_mlx5m_state(void)
{
	return &state;
}

void
pmv_mlx5m_lock(void)
{
	pthread_mutex_lock(&state_lock);
	holds_lock = true;
}

void
pmv_mlx5m_unlock(void)
{
	holds_lock = false;
	pthread_mutex_unlock(&state_lock);
}

bool
pmv_mlx5m_locked(void)
{
	return holds_lock;
}

uint64_t
pmv_mlx5m_now_us(void)
{
	struct timespec ts;

	if (!state.config.thread)
		return state.virtual_us;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

int
pmv_mlx5m_table_put(struct pmv_mlx5m_table *table, void *object)
{
	uint32_t i;

	for (i = 0; i < PMV_MLX5M_SLOTS; i++) {
		if (table->slot[i] == NULL) {
			table->slot[i] = object;
			if (i >= table->end)
				table->end = i + 1;
			return (int)i;
		}
	}
	return -1;
}

void *
pmv_mlx5m_table_get(const struct pmv_mlx5m_table *table, uint32_t slot)
{
	return slot < PMV_MLX5M_SLOTS ? table->slot[slot] : NULL;
}

void
pmv_mlx5m_table_clear(struct pmv_mlx5m_table *table, uint32_t slot)
{
	table->slot[slot] = NULL;
}

/* The low byte differs from the slot, so that a handle taken for a number fails. */
uint32_t
pmv_mlx5m_qpn_of(uint32_t slot)
{
	return (PMV_MLX5M_QPN_BASE + ((uint32_t)state.config.node << 12) + slot) & 0xffffffu;
}

struct pmv_mlx5m_qp *
pmv_mlx5m_qp_find(uint32_t qpn)
{
	return pmv_mlx5m_table_get(&state.qps, (qpn - pmv_mlx5m_qpn_of(0)) & 0xffffffu);
}

uint32_t
pmv_mlx5m_cqn_of(uint32_t slot)
{
	return CQN_BASE + slot;
}

struct pmv_mlx5m_cq *
pmv_mlx5m_cq_find(uint32_t cqn)
{
	return pmv_mlx5m_table_get(&state.cqs, cqn - CQN_BASE);
}
