// SPDX-License-Identifier: BSD-3-Clause
/*
 * Memory regions and what their keys allow. Called by the requester, the responder and REG_MR,
 * with the lock held. Does not pin: regions are memory of this process.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "test/mlx5/model_mr.h"

/* key = slot and tag; the tag differs from key to key, so that a stale key misses. */
#define KEY_BASE 0x001801u

static uint8_t next_tag = 0x37;

static bool
is_mapped(const uint8_t *memory, uint64_t length)
{
	uintptr_t first = (uintptr_t)memory & ~(uintptr_t)4095;

	if (length == 0 || (uintptr_t)memory + length < (uintptr_t)memory)
		return false;
	return msync((void *)first, (uintptr_t)memory + length - first, MS_ASYNC) == 0;
}

int
pmv_mlx5m_mr_create(const struct pmv_mlx5m_mr *wanted, struct pmv_mlx5m_mr **ret_mr)
{
	struct pmv_mlx5m_mr *mr;
	int slot;

	/* IBTA 10.6.3.1: remote write needs local write. */
	if ((wanted->access & PMV_MLX5M_REMOTE_WRITE) && !(wanted->access & PMV_MLX5M_LOCAL_WRITE))
		return -EINVAL;
	if (!is_mapped(wanted->memory, wanted->length))
		return -EFAULT;
	mr = malloc(sizeof(*mr));
	if (mr == NULL)
		return -ENOMEM;
	*mr = *wanted;
	slot = pmv_mlx5m_table_put(&pmv_mlx5m_state()->mrs, mr);
	if (slot < 0) {
		free(mr);
		return -ENOMEM;
	}
	mr->key = (KEY_BASE + (uint32_t)slot) << 8 | next_tag;
	next_tag = (uint8_t)(next_tag * 5 + 1);
	mr->pd->nb_users++;
	*ret_mr = mr;
	return 0;
}

void
pmv_mlx5m_mr_destroy(struct pmv_mlx5m_mr *mr)
{
	mr->pd->nb_users--;
	pmv_mlx5m_table_clear(&pmv_mlx5m_state()->mrs, (mr->key >> 8) - KEY_BASE);
	free(mr);
}

struct pmv_mlx5m_mr *
pmv_mlx5m_mr_find(uint32_t key)
{
	struct pmv_mlx5m_mr *mr;

	mr = pmv_mlx5m_table_get(&pmv_mlx5m_state()->mrs, (key >> 8) - KEY_BASE);
	return mr != NULL && mr->key == key ? mr : NULL;
}

uint8_t *
pmv_mlx5m_mr_resolve(
	const struct pmv_mlx5m_pd *pd, uint32_t key, uint64_t va, uint64_t bytes, uint32_t right)
{
	struct pmv_mlx5m_mr *mr = pmv_mlx5m_mr_find(key);

	if (right != 0 && right != PMV_MLX5M_LOCAL_WRITE &&
		pmv_mlx5m_bug(PMV_MLX5M_BUG_NO_KEY_CHECK))
		return (uint8_t *)(uintptr_t)va;
	if (mr == NULL || mr->pd != pd || (mr->access & right) != right)
		return NULL;
	if (va < mr->va)
		return NULL;
	if (!pmv_mlx5m_bug(PMV_MLX5M_BUG_NO_BOUNDS) &&
		(bytes > mr->length || va - mr->va > mr->length - bytes))
		return NULL;
	return mr->memory + (va - mr->va);
}

bool
pmv_mlx5m_sgl_allowed(
	const struct pmv_mlx5m_pd *pd, const struct pmv_mlx5m_sgl *sgl, uint32_t right)
{
	uint32_t i;

	for (i = 0; i < sgl->nb; i++) {
		const struct pmv_mlx5m_sge *s = &sgl->sge[i];

		if (pmv_mlx5m_mr_resolve(pd, s->lkey, s->va, s->bytes, right) == NULL)
			return false;
	}
	return true;
}

void
pmv_mlx5m_copy_up(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	uint32_t i = 0;

	for (; i < bytes && ((uintptr_t)(to + i) & 7) != 0; i++)
		__atomic_store_n(to + i, from[i], __ATOMIC_RELEASE);
	for (; i + 8 <= bytes; i += 8) {
		uint64_t word;

		memcpy(&word, from + i, sizeof(word));
		__atomic_store_n((uint64_t *)(void *)(to + i), word, __ATOMIC_RELEASE);
	}
	for (; i < bytes; i++)
		__atomic_store_n(to + i, from[i], __ATOMIC_RELEASE);
}

/* Calls for each piece of the range; a piece lies within one segment. */
static bool
sgl_copy(const struct pmv_mlx5m_pd *pd, const struct pmv_mlx5m_sgl *sgl, uint32_t offset,
	uint8_t *flat, uint32_t bytes, uint32_t right)
{
	uint32_t nb = pmv_mlx5m_bug(PMV_MLX5M_BUG_SECOND_SGE) && sgl->nb > 1 ? 1 : sgl->nb;
	uint32_t i;

	for (i = 0; i < nb && bytes > 0; i++) {
		const struct pmv_mlx5m_sge *s = &sgl->sge[i];
		uint32_t piece;
		uint8_t *memory;

		if (offset >= s->bytes) {
			offset -= s->bytes;
			continue;
		}
		piece = s->bytes - offset < bytes ? s->bytes - offset : bytes;
		memory = pmv_mlx5m_mr_resolve(pd, s->lkey, s->va + offset, piece, right);
		if (memory == NULL)
			return false;
		if (right == PMV_MLX5M_LOCAL_WRITE)
			pmv_mlx5m_copy_up(memory, flat, piece);
		else
			memcpy(flat, memory, piece);
		flat += piece;
		bytes -= piece;
		offset = 0;
	}
	return true;
}

bool
pmv_mlx5m_sgl_gather(const struct pmv_mlx5m_pd *pd, const struct pmv_mlx5m_sgl *sgl,
	uint32_t offset, uint8_t *to, uint32_t bytes)
{
	return sgl_copy(pd, sgl, offset, to, bytes, 0);
}

bool
pmv_mlx5m_sgl_scatter(const struct pmv_mlx5m_pd *pd, const struct pmv_mlx5m_sgl *sgl,
	uint32_t offset, const uint8_t *from, uint32_t bytes)
{
	return sgl_copy(pd, sgl, offset, (uint8_t *)(uintptr_t)from, bytes, PMV_MLX5M_LOCAL_WRITE);
}
