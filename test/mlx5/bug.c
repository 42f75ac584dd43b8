// SPDX-License-Identifier: BSD-3-Clause
/*
 * Names of planted faults and which one is active. Asked by model_*.c at the place of each fault.
 */
#include <stddef.h>
#include <string.h>

#include "test/mlx5/bug.h"

static const char *const bug_names[PMV_MLX5M_BUG_MAX] = {
	[PMV_MLX5M_BUG_NONE] = "none",
	[PMV_MLX5M_BUG_OWNER_INVERTED] = "owner-inverted",
	[PMV_MLX5M_BUG_OWNER_STUCK] = "owner-stuck",
	[PMV_MLX5M_BUG_COUNTER_LE] = "counter-le",
	[PMV_MLX5M_BUG_BYTE_COUNT_LE] = "byte-count-le",
	[PMV_MLX5M_BUG_SEND_OPCODE_ZERO] = "send-opcode-zero",
	[PMV_MLX5M_BUG_IMM_SWAPPED] = "imm-swapped",
	[PMV_MLX5M_BUG_SOURCE_QPN] = "source-qpn",
	[PMV_MLX5M_BUG_UIDX_ZERO] = "uidx-zero",
	[PMV_MLX5M_BUG_QPN_ZERO] = "qpn-zero",
	[PMV_MLX5M_BUG_REMOTE_ADDR] = "remote-addr",
	[PMV_MLX5M_BUG_CE_ALWAYS] = "ce-always",
	[PMV_MLX5M_BUG_CE_NEVER] = "ce-never",
	[PMV_MLX5M_BUG_INLINE_SHORT] = "inline-short",
	[PMV_MLX5M_BUG_BLOCKS_DOWN] = "blocks-down",
	[PMV_MLX5M_BUG_SECOND_SGE] = "second-sge",
	[PMV_MLX5M_BUG_READ_SHORT] = "read-short",
	[PMV_MLX5M_BUG_NO_SEND_FLUSH] = "no-send-flush",
	[PMV_MLX5M_BUG_NO_RECV_FLUSH] = "no-recv-flush",
	[PMV_MLX5M_BUG_SYNDROME] = "syndrome",
	[PMV_MLX5M_BUG_NO_KEY_CHECK] = "no-key-check",
	[PMV_MLX5M_BUG_NO_BOUNDS] = "no-bounds",
	[PMV_MLX5M_BUG_NO_RNR] = "no-rnr",
	[PMV_MLX5M_BUG_WRONG_IMM_CODE] = "wrong-imm-code",
};

static enum pmv_mlx5m_bug planted;

const char *
pmv_mlx5m_bug_name(enum pmv_mlx5m_bug bug)
{
	return bug < PMV_MLX5M_BUG_MAX ? bug_names[bug] : "?";
}

enum pmv_mlx5m_bug
pmv_mlx5m_bug_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < PMV_MLX5M_BUG_MAX; i++) {
		if (strcmp(bug_names[i], name) == 0)
			break;
	}
	return (enum pmv_mlx5m_bug)i;
}

bool
pmv_mlx5m_bug(enum pmv_mlx5m_bug bug)
{
	return planted == bug;
}

void
pmv_mlx5m_bug_plant(enum pmv_mlx5m_bug bug)
{
	planted = bug;
}
