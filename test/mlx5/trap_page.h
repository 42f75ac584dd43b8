// SPDX-License-Identifier: BSD-3-Clause
/*
 * UAR pages: what the application maps, what the model sees of it, and the SIGSEGV handler
 * between the two. A page is never opened for the application: every store faults, is decoded,
 * judged and carried out into the model's own mapping of the same page.
 */
#ifndef PMV_TEST_MLX5_TRAP_PAGE_H
#define PMV_TEST_MLX5_TRAP_PAGE_H

#include "test/mlx5/model_state.h"

/* Makes page `index` of a context, which the application will find at `offset` of its file. */
int pmv_mlx5m_page_create(struct pmv_mlx5m_context *ctx, uint32_t index, uint64_t offset);
void pmv_mlx5m_page_destroy(struct pmv_mlx5m_page *page);
struct pmv_mlx5m_page *pmv_mlx5m_page_find(const struct pmv_mlx5m_context *ctx, uint32_t index);

/* The application has mapped, or unmaps, the page at this address. */
void pmv_mlx5m_page_mapped(struct pmv_mlx5m_page *page, const uint8_t *user);
void pmv_mlx5m_page_unmapped(const void *address);

/* Installs and removes the handler; what another handler owns is handed on to it. */
int pmv_mlx5m_trap_install(void);
void pmv_mlx5m_trap_remove(void);

#endif
