// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the HCA reads and writes in memory: send and receive queue entries, completion entries,
 * doorbell records. Big-endian throughout. Written from the format itself and not from mlx5dv.h, so
 * that the data path depends on no library; test/mlx5/driver_layout_test.c compares the two, and
 * the model and libmlx5 judge it.
 */
#ifndef PMV_MLX5_HW_H
#define PMV_MLX5_HW_H

#include <stdint.h>

#include <rte_byteorder.h>

#define PMV_MLX5_BLOCK_BYTES 64u /* basic block: send entries start on one */
#define PMV_MLX5_UNIT_BYTES  16u /* what an entry's length (ds) counts */
#define PMV_MLX5_CQE_BYTES   64u

/* A unit in one register of the CPU, host order. */
typedef uint64_t pmv_mlx5_unit __attribute__((vector_size(16)));

enum pmv_mlx5_opcode {
	PMV_MLX5_OP_RDMA_WRITE = 0x08,
	PMV_MLX5_OP_RDMA_WRITE_IMM = 0x09,
	PMV_MLX5_OP_SEND = 0x0a,
	PMV_MLX5_OP_SEND_IMM = 0x0b,
	PMV_MLX5_OP_RDMA_READ = 0x10,
};

/* Byte 11 of the control segment. */
#define PMV_MLX5_CTRL_SOLICITED  0x02
#define PMV_MLX5_CTRL_CQE_ALWAYS 0x08
#define PMV_MLX5_CTRL_FENCE      0x80

struct pmv_mlx5_ctrl {
	rte_be32_t op_be;     /* opcode modifier 31:24, block index 23:8, opcode 7:0 */
	rte_be32_t qpn_ds_be; /* QPN 31:8, length in 16-byte units 5:0 */
	uint8_t signature;
	uint8_t stream[2];
	uint8_t flags;
	rte_be32_t imm_be;
};

struct pmv_mlx5_remote {
	rte_be64_t addr_be;
	rte_be32_t rkey_be;
	rte_be32_t reserved;
};

/* Also the whole of a receive entry. bytes 0 means 2 GiB: empty pieces must be left out. */
struct pmv_mlx5_data {
	rte_be32_t bytes_be;
	rte_be32_t lkey_be;
	rte_be64_t addr_be;
};

#define PMV_MLX5_LKEY_END    0x100u      /* ends a receive entry that is shorter than its place */
#define PMV_MLX5_INLINE_FLAG 0x80000000u /* first word of inline data; its length is below */
#define PMV_MLX5_INLINE_HEAD 4u          /* bytes of that word */

struct pmv_mlx5_cqe {
	uint8_t reserved0[32];
	rte_be32_t srqn_uidx_be;
	rte_be32_t imm_be; /* as the sender gave it */
	uint8_t reserved1[4];
	rte_be32_t bytes_be;
	uint8_t timestamp[6];
	uint8_t vendor_syndrome; /* error entries only, like the next */
	uint8_t syndrome;
	rte_be32_t op_qpn_be;  /* opcode of the send entry 31:24, QPN 23:0 */
	rte_be16_t counter_be; /* send: block index; receive: entry count */
	uint8_t signature;
	uint8_t op_own; /* opcode 7:4, format 3:2, solicited 1, owner 0 */
};

enum pmv_mlx5_cqe_opcode {
	PMV_MLX5_CQE_REQ = 0,
	PMV_MLX5_CQE_RECV_WRITE_IMM = 1,
	PMV_MLX5_CQE_RECV_SEND = 2,
	PMV_MLX5_CQE_RECV_SEND_IMM = 3,
	PMV_MLX5_CQE_REQ_ERR = 13,
	PMV_MLX5_CQE_RECV_ERR = 14,
	PMV_MLX5_CQE_INVALID = 15,
};

#define PMV_MLX5_CQE_OWNER       0x01
#define PMV_MLX5_CQE_FORMAT_MASK 0x0c

/* Words of a QP's doorbell record. A CQ's has its consumer index in word 0. */
#define PMV_MLX5_RECORD_RECV 0
#define PMV_MLX5_RECORD_SEND 1

#define PMV_MLX5_QPN_MASK 0xffffffu
#define PMV_MLX5_CI_MASK  0xffffffu

_Static_assert(sizeof(struct pmv_mlx5_ctrl) == 16, "control segment");
_Static_assert(sizeof(struct pmv_mlx5_remote) == 16, "remote address segment");
_Static_assert(sizeof(struct pmv_mlx5_data) == 16, "data segment");
_Static_assert(sizeof(struct pmv_mlx5_cqe) == PMV_MLX5_CQE_BYTES, "completion entry");

#endif
