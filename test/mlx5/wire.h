// SPDX-License-Identifier: BSD-3-Clause
/*
 * The wire between QPs: packets of up to a path MTU with their own PSN, lossless and in order
 * unless it is cut. Devices of one process share a queue; other processes are reached through
 * sockets (wire_unix.h) named by GID. The format is the model's own, not RoCEv2.
 */
#ifndef PMV_TEST_MLX5_WIRE_H
#define PMV_TEST_MLX5_WIRE_H

#include "test/mlx5/model_state.h"

#define PMV_MLX5M_MTU_MAX 4096u
#define PMV_MLX5M_PSN     0xffffffu

enum pmv_mlx5m_frame_type {
	PMV_MLX5M_FRAME_SEND,
	PMV_MLX5M_FRAME_WRITE,
	PMV_MLX5M_FRAME_READ,
	PMV_MLX5M_FRAME_READ_DATA,
	PMV_MLX5M_FRAME_ACK,
	PMV_MLX5M_FRAME_NAK,
};

enum pmv_mlx5m_nak {
	PMV_MLX5M_NAK_SEQUENCE,
	PMV_MLX5M_NAK_INVALID,
	PMV_MLX5M_NAK_ACCESS,
	PMV_MLX5M_NAK_OPERATION,
	PMV_MLX5M_NAK_RNR,
};

struct pmv_mlx5m_frame {
	struct pmv_mlx5m_frame *next; /* means nothing on a socket */
	uint8_t sgid[16];
	uint8_t dgid[16];
	uint32_t src_qpn;
	uint32_t dst_qpn;
	uint32_t psn;
	uint8_t type;
	uint8_t nak;
	uint8_t rnr_timer; /* code of the responder, in an RNR NAK */
	uint8_t solicited;
	uint8_t has_imm;
	uint8_t last; /* packet of the message */
	uint16_t bytes;
	uint32_t imm_be;
	uint32_t rkey;
	uint64_t va; /* of the whole message */
	uint32_t message_bytes;
	uint32_t offset; /* in the message */
	uint8_t data[PMV_MLX5M_MTU_MAX];
};

/* A frame from this QP to its peer, owned by the caller until it is sent; NULL: no memory. */
struct pmv_mlx5m_frame *pmv_mlx5m_wire_new(
	const struct pmv_mlx5m_qp *qp, enum pmv_mlx5m_frame_type type, uint32_t psn);

void pmv_mlx5m_wire_send(struct pmv_mlx5m_frame *frame);

/* The next frame that has arrived here, owned by the caller (free()); NULL: none. */
struct pmv_mlx5m_frame *pmv_mlx5m_wire_receive(void);

/* The device that has this GID in this process, or NULL. */
struct pmv_mlx5m_device *pmv_mlx5m_wire_device(const uint8_t gid[16]);

int pmv_mlx5m_wire_open(void);
void pmv_mlx5m_wire_close(void);
void pmv_mlx5m_wire_cut(bool cut);

/* GIDs of a device: IPv4-mapped 10.node.node.index+1 and a link-local address. */
void pmv_mlx5m_wire_gids(struct pmv_mlx5m_device *device, uint16_t node);

#endif
