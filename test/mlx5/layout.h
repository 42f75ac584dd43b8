// SPDX-License-Identifier: BSD-3-Clause
/*
 * Where the fields of queue entries, completions, doorbell records and registers are: this
 * model's own reading of the ConnectX programmer's reference (public "Ethernet adapters PRM"),
 * written as byte offsets and on purpose without the struct definitions that libmlx5 or
 * drivers/mlx5 use. All multi-byte fields are big-endian.
 */
#ifndef PMV_TEST_MLX5_LAYOUT_H
#define PMV_TEST_MLX5_LAYOUT_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* Send queue */
#define PMV_MLX5M_BLOCK   64u /* basic block: entries start on one */
#define PMV_MLX5M_DS_MAX  63u /* 16-byte units of an entry, by the width of the field */
#define PMV_MLX5M_WQE_MAX (PMV_MLX5M_DS_MAX * 16u)

#define PMV_MLX5M_CTRL_OPMOD   0 /* [31:24] opmod, [23:8] index, [7:0] opcode */
#define PMV_MLX5M_CTRL_QPN_DS  4 /* [31:8] QPN, [5:0] ds */
#define PMV_MLX5M_CTRL_SIGN    8
#define PMV_MLX5M_CTRL_STREAM  9 /* 2 bytes */
#define PMV_MLX5M_CTRL_FLAGS   11
#define PMV_MLX5M_CTRL_IMM     12
#define PMV_MLX5M_CTRL_BYTES   16
#define PMV_MLX5M_FLAG_SE      0x02
#define PMV_MLX5M_FLAG_CE_MASK 0x0c
#define PMV_MLX5M_FLAG_CE      0x08 /* completion always */
#define PMV_MLX5M_FLAG_FM_MASK 0xe0
#define PMV_MLX5M_FLAG_FM_READ 0x80 /* fence: wait for earlier READs */
#define PMV_MLX5M_FLAG_FM_INIT 0x20 /* small fence after local invalidation */

#define PMV_MLX5M_OP_WRITE     0x08
#define PMV_MLX5M_OP_WRITE_IMM 0x09
#define PMV_MLX5M_OP_SEND      0x0a
#define PMV_MLX5M_OP_SEND_IMM  0x0b
#define PMV_MLX5M_OP_READ      0x10

#define PMV_MLX5M_RADDR_VA    0
#define PMV_MLX5M_RADDR_RKEY  8
#define PMV_MLX5M_RADDR_RSVD  12
#define PMV_MLX5M_DATA_BYTES  0 /* byte count; bit 31: inline, [9:0] length */
#define PMV_MLX5M_DATA_LKEY   4
#define PMV_MLX5M_DATA_VA     8
#define PMV_MLX5M_INLINE      0x80000000u
#define PMV_MLX5M_INLINE_MASK 0x3ffu
#define PMV_MLX5M_LKEY_END    0x100u /* end of a receive list */

/* Doorbell records, 4-byte words */
#define PMV_MLX5M_RECORD_RQ 0
#define PMV_MLX5M_RECORD_SQ 1
#define PMV_MLX5M_RECORD_CI 0

/* Registers of a 4 KiB UAR page */
#define PMV_MLX5M_UAR_BYTES   4096u
#define PMV_MLX5M_UAR_ARM     0x20u
#define PMV_MLX5M_UAR_BF      0x800u
#define PMV_MLX5M_BF_BYTES    512u /* one register: two halves */
#define PMV_MLX5M_BF_HALF     (PMV_MLX5M_BF_BYTES / 2)
#define PMV_MLX5M_BF_PER_PAGE 4u
#define PMV_MLX5M_BF_USER     2u /* registers 0 and 1 are for QPs of verbs users */

/* Completions: 64 bytes; in a 128-byte entry the second half */
#define PMV_MLX5M_CQE_RQPN     24 /* [29:28] L3, [27:24] SL, [23:0] source QPN */
#define PMV_MLX5M_CQE_UIDX     32
#define PMV_MLX5M_CQE_IMM      36
#define PMV_MLX5M_CQE_BYTES    44
#define PMV_MLX5M_CQE_VENDOR   54
#define PMV_MLX5M_CQE_SYNDROME 55
#define PMV_MLX5M_CQE_QPN      56 /* [31:24] opcode of the send entry, [23:0] QPN */
#define PMV_MLX5M_CQE_COUNTER  60
#define PMV_MLX5M_CQE_OWN      63 /* [7:4] opcode, [3:2] format, [1] SE, [0] owner */

#define PMV_MLX5M_CQE_REQ       0u
#define PMV_MLX5M_CQE_WRITE_IMM 1u
#define PMV_MLX5M_CQE_SEND      2u
#define PMV_MLX5M_CQE_SEND_IMM  3u
#define PMV_MLX5M_CQE_REQ_ERR   13u
#define PMV_MLX5M_CQE_RESP_ERR  14u
#define PMV_MLX5M_CQE_INLINE_32 0x04u
#define PMV_MLX5M_CQE_INLINE_64 0x08u

#define PMV_MLX5M_SYND_LOCAL_LENGTH   0x01u
#define PMV_MLX5M_SYND_LOCAL_QP_OP    0x02u
#define PMV_MLX5M_SYND_LOCAL_PROT     0x04u
#define PMV_MLX5M_SYND_FLUSH          0x05u
#define PMV_MLX5M_SYND_REMOTE_INVALID 0x12u
#define PMV_MLX5M_SYND_REMOTE_ACCESS  0x13u
#define PMV_MLX5M_SYND_REMOTE_OP      0x14u
#define PMV_MLX5M_SYND_RETRY          0x15u
#define PMV_MLX5M_SYND_RNR_RETRY      0x16u

static inline uint16_t
pmv_mlx5m_get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline uint32_t
pmv_mlx5m_get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline uint64_t
pmv_mlx5m_get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static inline void
pmv_mlx5m_put32(uint8_t *p, uint32_t value)
{
	value = htobe32(value);
	memcpy(p, &value, sizeof(value));
}

/* A word of a doorbell record, which software may write at any time. */
static inline uint32_t
pmv_mlx5m_record_get(const uint32_t *record_be, unsigned int word)
{
	return be32toh(__atomic_load_n(&record_be[word], __ATOMIC_ACQUIRE));
}

#endif
