// SPDX-License-Identifier: BSD-3-Clause
/*
 * The interposed calls of the C library have the C library's own declarations; nothing is to be
 * called by another name. What must be linked along is in test/mlx5/README.md.
 */
#ifndef PMV_TEST_MLX5_SHIM_LIBC_H
#define PMV_TEST_MLX5_SHIM_LIBC_H
#endif
