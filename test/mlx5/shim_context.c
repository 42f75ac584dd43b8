// SPDX-License-Identifier: BSD-3-Clause
/*
 * A context's file is a sparse memfd: libmlx5 maps its register pages from it as from a device,
 * and the model maps the same pages a second time. Called by the C library's calls (shim_libc.c)
 * with the lock held.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/mlx5/model_cq.h"
#include "test/mlx5/model_mr.h"
#include "test/mlx5/model_qp.h"
#include "test/mlx5/shim_context.h"
#include "test/mlx5/trap_page.h"

#define FILE_BYTES   (64 << 20) /* sparse: offsets name kinds of mappings */
#define CONTEXTS_MAX 32
#define DEV_PREFIX   "/dev/infiniband/uverbs"

static struct pmv_mlx5m_context *contexts[CONTEXTS_MAX];

struct pmv_mlx5m_device *
pmv_mlx5m_context_device(const char *path)
{
	struct pmv_mlx5m_state *state = pmv_mlx5m_state();
	const char *number = path + strlen(DEV_PREFIX);

	if (!state->running || strncmp(path, DEV_PREFIX, strlen(DEV_PREFIX)) != 0)
		return NULL;
	if (number[0] < '0' || number[0] > '9' || number[1] != '\0' ||
		(uint32_t)(number[0] - '0') >= state->config.nb_devices)
		return NULL;
	return &state->device[number[0] - '0'];
}

/* Asynchronous events come out of a pipe; there are none, but libibverbs wants the descriptor. */
static int
make_file(struct pmv_mlx5m_context *ctx)
{
	ctx->fd = memfd_create("pmv-mlx5-model", MFD_CLOEXEC);
	if (ctx->fd < 0)
		return -errno;
	if (ftruncate(ctx->fd, FILE_BYTES) != 0 || pipe2(ctx->pipe, O_CLOEXEC) != 0) {
		int ret = -errno;

		close(ctx->fd);
		return ret;
	}
	return 0;
}

int
pmv_mlx5m_context_open(struct pmv_mlx5m_device *device)
{
	struct pmv_mlx5m_context *ctx;
	unsigned int i;
	int ret;

	for (i = 0; i < CONTEXTS_MAX && contexts[i] != NULL; i++)
		;
	if (i == CONTEXTS_MAX)
		return -EMFILE;
	ctx = calloc(1, sizeof(*ctx));
	if (ctx == NULL)
		return -ENOMEM;
	ctx->device = device;
	ret = make_file(ctx);
	if (ret != 0) {
		free(ctx);
		return ret;
	}
	contexts[i] = ctx;
	return ctx->fd;
}

struct pmv_mlx5m_context *
pmv_mlx5m_context_find(int fd)
{
	unsigned int i;

	for (i = 0; i < CONTEXTS_MAX; i++) {
		if (contexts[i] != NULL && contexts[i]->fd == fd)
			return contexts[i];
	}
	return NULL;
}

static void
destroy_queues(const struct pmv_mlx5m_context *ctx)
{
	struct pmv_mlx5m_state *state = pmv_mlx5m_state();
	uint32_t i;

	for (i = 0; i < state->qps.end; i++) {
		const struct pmv_mlx5m_qp *qp = pmv_mlx5m_table_get(&state->qps, i);

		if (qp != NULL && qp->ctx == ctx)
			pmv_mlx5m_qp_destroy(i);
	}
	for (i = 0; i < state->cqs.end; i++) {
		const struct pmv_mlx5m_cq *cq = pmv_mlx5m_table_get(&state->cqs, i);

		if (cq != NULL && cq->ctx == ctx)
			(void)pmv_mlx5m_cq_destroy(i);
	}
}

static void
destroy_memory(const struct pmv_mlx5m_context *ctx)
{
	struct pmv_mlx5m_state *state = pmv_mlx5m_state();
	uint32_t i;

	for (i = 0; i < state->mrs.end; i++) {
		struct pmv_mlx5m_mr *mr = pmv_mlx5m_table_get(&state->mrs, i);

		if (mr != NULL && mr->ctx == ctx)
			pmv_mlx5m_mr_destroy(mr);
	}
	for (i = 0; i < state->pds.end; i++) {
		struct pmv_mlx5m_pd *pd = pmv_mlx5m_table_get(&state->pds, i);

		if (pd != NULL && pd->ctx == ctx) {
			pmv_mlx5m_table_clear(&state->pds, i);
			free(pd);
		}
	}
}

void
pmv_mlx5m_context_close(struct pmv_mlx5m_context *ctx)
{
	unsigned int i;

	destroy_queues(ctx);
	destroy_memory(ctx);
	for (i = 0; i < PMV_MLX5M_PAGES; i++) {
		if (ctx->page[i] != NULL)
			pmv_mlx5m_page_destroy(ctx->page[i]);
	}
	close(ctx->pipe[1]);
	for (i = 0; i < CONTEXTS_MAX; i++) {
		if (contexts[i] == ctx)
			contexts[i] = NULL;
	}
	free(ctx);
}

void
pmv_mlx5m_context_close_all(void)
{
	unsigned int i;

	for (i = 0; i < CONTEXTS_MAX; i++) {
		if (contexts[i] != NULL)
			pmv_mlx5m_context_close(contexts[i]);
	}
}
