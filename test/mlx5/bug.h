// SPDX-License-Identifier: BSD-3-Clause
/*
 * Faults that can be planted in the model, one at a time, to show that the conformance program
 * would notice if the model misread or miswrote a field. PMV_MLX5M_BUG=name selects one.
 */
#ifndef PMV_TEST_MLX5_BUG_H
#define PMV_TEST_MLX5_BUG_H

#include <stdbool.h>

enum pmv_mlx5m_bug {
	PMV_MLX5M_BUG_NONE,
	PMV_MLX5M_BUG_OWNER_INVERTED,   /* CQE owner bit */
	PMV_MLX5M_BUG_OWNER_STUCK,      /* the owner bit does not change with the round */
	PMV_MLX5M_BUG_COUNTER_LE,       /* CQE wqe_counter in little endian */
	PMV_MLX5M_BUG_BYTE_COUNT_LE,    /* CQE byte_cnt in little endian */
	PMV_MLX5M_BUG_SEND_OPCODE_ZERO, /* CQE does not repeat the entry's opcode */
	PMV_MLX5M_BUG_IMM_SWAPPED,      /* immediate in host order */
	PMV_MLX5M_BUG_SOURCE_QPN,       /* flags_rqpn holds the own number */
	PMV_MLX5M_BUG_UIDX_ZERO,
	PMV_MLX5M_BUG_QPN_ZERO,
	PMV_MLX5M_BUG_REMOTE_ADDR,   /* remote address 8 bytes too far */
	PMV_MLX5M_BUG_CE_ALWAYS,     /* a CQE for unsignalled work */
	PMV_MLX5M_BUG_CE_NEVER,      /* no CQE for signalled work */
	PMV_MLX5M_BUG_INLINE_SHORT,  /* inline data ends 4 bytes early */
	PMV_MLX5M_BUG_BLOCKS_DOWN,   /* entry size rounded down to basic blocks */
	PMV_MLX5M_BUG_SECOND_SGE,    /* only the first segment of a list is used */
	PMV_MLX5M_BUG_READ_SHORT,    /* the last packet of a READ is not placed */
	PMV_MLX5M_BUG_NO_SEND_FLUSH, /* an error leaves later entries without CQEs */
	PMV_MLX5M_BUG_NO_RECV_FLUSH,
	PMV_MLX5M_BUG_SYNDROME,       /* remote access error reported as remote operation error */
	PMV_MLX5M_BUG_NO_KEY_CHECK,   /* any rkey is good */
	PMV_MLX5M_BUG_NO_BOUNDS,      /* the end of a region is not looked at */
	PMV_MLX5M_BUG_NO_RNR,         /* a SEND without receive is acknowledged */
	PMV_MLX5M_BUG_WRONG_IMM_CODE, /* WRITE with immediate completes as a SEND with immediate */
	PMV_MLX5M_BUG_MAX,
};

const char *pmv_mlx5m_bug_name(enum pmv_mlx5m_bug bug);

/* PMV_MLX5M_BUG_MAX when there is no such name. */
enum pmv_mlx5m_bug pmv_mlx5m_bug_find(const char *name);

/* True if this one is planted in the running model. */
bool pmv_mlx5m_bug(enum pmv_mlx5m_bug bug);

void pmv_mlx5m_bug_plant(enum pmv_mlx5m_bug bug);

#endif
