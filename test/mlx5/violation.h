// SPDX-License-Identifier: BSD-3-Clause
/*
 * What software must not do to the device, and the record of what it did. A violation is a fault
 * of the driver under test even where real hardware might let it pass; the model goes on as
 * hardware probably would. Recorded by trap_*.c and model_*.c, asked by tests.
 */
#ifndef PMV_TEST_MLX5_VIOLATION_H
#define PMV_TEST_MLX5_VIOLATION_H

#include <stdint.h>

enum pmv_mlx5m_rule {
	/* register stores */
	PMV_MLX5M_STORE_REGISTER, /* no register at this offset */
	PMV_MLX5M_STORE_SIZE,     /* not whole, aligned 8-byte words */
	PMV_MLX5M_RING_QPN,       /* no QP of this number on this device */
	PMV_MLX5M_RING_UAR,       /* the QP was created on another register */
	PMV_MLX5M_RING_STATE,     /* the QP is not in RTS or ERR */
	PMV_MLX5M_RING_BYTES,     /* the 8 bytes are not the entry's first 8 bytes in memory */
	PMV_MLX5M_RING_RECORD,    /* the doorbell record does not end at the entry that is rung */
	PMV_MLX5M_RING_STALE,     /* nothing new since the last ring */
	PMV_MLX5M_BURST_BYTES,    /* a BlueFlame copy differs from the entry */
	PMV_MLX5M_BURST_ORDER,    /* its stores do not ascend without gaps */
	PMV_MLX5M_BURST_LENGTH,   /* it is not the entry rounded up to 64 bytes */
	PMV_MLX5M_BURST_HALF,     /* it uses the half that the ring before it used */
	PMV_MLX5M_ARM_CQN,        /* a CQ doorbell names no CQ */
	/* doorbell records and rings */
	PMV_MLX5M_RECORD_RESERVED, /* upper bits are set */
	PMV_MLX5M_SQ_OVERFLOW,
	PMV_MLX5M_RQ_OVERFLOW,
	PMV_MLX5M_CQ_OVERRUN,
	PMV_MLX5M_CQ_RECORD, /* the consumer index is ahead of the producer */
	/* queue entries */
	PMV_MLX5M_WQE_INDEX,
	PMV_MLX5M_WQE_QPN,
	PMV_MLX5M_WQE_SIZE, /* ds is zero, too large, or does not fit the segments */
	PMV_MLX5M_WQE_OPCODE,
	PMV_MLX5M_WQE_RESERVED,
	PMV_MLX5M_WQE_SEGMENT, /* a data segment that cannot be */
	PMV_MLX5M_RULE_MAX,
};

struct pmv_mlx5m_violation {
	enum pmv_mlx5m_rule rule;
	uint32_t qpn;
	char text[116]; /* what was seen and what was expected */
};

/* Remembers it (the first ones with text; all are counted). */
void pmv_mlx5m_violate(enum pmv_mlx5m_rule rule, uint32_t qpn, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

uint64_t pmv_mlx5m_violations(void);

/* How often one rule was broken. */
uint64_t pmv_mlx5m_violations_of(enum pmv_mlx5m_rule rule);

/* The i-th, or NULL when it was not kept. */
const struct pmv_mlx5m_violation *pmv_mlx5m_violation_get(uint32_t i);

const char *pmv_mlx5m_rule_name(enum pmv_mlx5m_rule rule);

void pmv_mlx5m_violations_clear(void);

#endif
