// SPDX-License-Identifier: BSD-3-Clause
/*
 * The wire between processes: a datagram socket for each device in a common folder.
 */
#ifndef PMV_TEST_MLX5_WIRE_UNIX_H
#define PMV_TEST_MLX5_WIRE_UNIX_H

#include "test/mlx5/wire.h"

/* 0 (at once when no folder is configured), or -errno. */
int pmv_mlx5m_wire_unix_open(void);

/* Gives frames that wait for a slow peer a moment to leave. */
void pmv_mlx5m_wire_unix_close(void);

/* Takes the frame. A peer that is gone loses it, as a dead host would. */
void pmv_mlx5m_wire_unix_send(struct pmv_mlx5m_frame *frame);

/* Sends what waits, then returns a frame that came, or NULL. */
struct pmv_mlx5m_frame *pmv_mlx5m_wire_unix_receive(void);

#endif
