// SPDX-License-Identifier: BSD-3-Clause
/*
 * Decoder for x86-64 instructions that store to memory. Pure.
 */
#ifndef PMV_TEST_MLX5_TRAP_DECODE_H
#define PMV_TEST_MLX5_TRAP_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#define PMV_MLX5M_INSTRUCTION_MAX 15

enum pmv_mlx5m_source {
	PMV_MLX5M_FROM_REGISTER,    /* general, `number` as encoded (0 rax, 1 rcx, .. 15 r15) */
	PMV_MLX5M_FROM_HIGH_BYTE,   /* ah, ch, dh, bh */
	PMV_MLX5M_FROM_VECTOR,      /* low bytes of xmm/ymm `number` */
	PMV_MLX5M_FROM_VECTOR_HIGH, /* bytes 8..15 of xmm `number` */
	PMV_MLX5M_FROM_IMMEDIATE,
};

struct pmv_mlx5m_store {
	uint8_t length; /* of the instruction */
	uint8_t bytes;  /* stored */
	uint8_t number;
	enum pmv_mlx5m_source source;
	uint64_t immediate;
};

/* False: not a store that this decoder knows. Reads at most PMV_MLX5M_INSTRUCTION_MAX bytes. */
bool pmv_mlx5m_trap_decode(const uint8_t *code, struct pmv_mlx5m_store *ret_store);

#endif
