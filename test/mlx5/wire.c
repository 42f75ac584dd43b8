// SPDX-License-Identifier: BSD-3-Clause
/*
 * Routing by GID and the queue inside a process. Called by requester, responder and engine with
 * the lock held.
 */
#include <stddef.h>
#include <stdlib.h>

#include "test/mlx5/wire.h"
#include "test/mlx5/wire_unix.h"

static struct {
	struct pmv_mlx5m_frame *head;
	struct pmv_mlx5m_frame **tail;
	bool cut;
} wire;

void
pmv_mlx5m_wire_gids(struct pmv_mlx5m_device *device, uint16_t node)
{
	static const uint8_t mapped[13] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10 };
	static const uint8_t link_local[13] = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0xff,
		0xfe };
	unsigned int i;

	memcpy(device->gid[0], mapped, sizeof(mapped));
	memcpy(device->gid[1], link_local, sizeof(link_local));
	for (i = 0; i < PMV_MLX5M_GIDS; i++) {
		device->gid[i][13] = (uint8_t)(node >> 8);
		device->gid[i][14] = (uint8_t)node;
		device->gid[i][15] = (uint8_t)(device->index + 1);
	}
}

struct pmv_mlx5m_device *
pmv_mlx5m_wire_device(const uint8_t gid[16])
{
	struct pmv_mlx5m_state *state = pmv_mlx5m_state();
	uint32_t i, j;

	for (i = 0; i < state->config.nb_devices; i++) {
		for (j = 0; j < PMV_MLX5M_GIDS; j++) {
			if (memcmp(state->device[i].gid[j], gid, 16) == 0)
				return &state->device[i];
		}
	}
	return NULL;
}

int
pmv_mlx5m_wire_open(void)
{
	wire.head = NULL;
	wire.tail = &wire.head;
	wire.cut = false;
	return pmv_mlx5m_wire_unix_open();
}

void
pmv_mlx5m_wire_close(void)
{
	struct pmv_mlx5m_frame *frame;

	while ((frame = wire.head) != NULL) {
		wire.head = frame->next;
		free(frame);
	}
	wire.tail = &wire.head;
	pmv_mlx5m_wire_unix_close();
}

void
pmv_mlx5m_wire_cut(bool cut)
{
	wire.cut = cut;
}

struct pmv_mlx5m_frame *
pmv_mlx5m_wire_new(const struct pmv_mlx5m_qp *qp, enum pmv_mlx5m_frame_type type, uint32_t psn)
{
	struct pmv_mlx5m_frame *frame = malloc(sizeof(*frame));

	if (frame == NULL)
		return NULL;
	memset(frame, 0, offsetof(struct pmv_mlx5m_frame, data));
	memcpy(frame->sgid, qp->ctx->device->gid[qp->attr.sgid_index], 16);
	memcpy(frame->dgid, qp->attr.dgid, 16);
	frame->src_qpn = qp->qpn;
	frame->dst_qpn = qp->attr.dest_qpn;
	frame->psn = psn & PMV_MLX5M_PSN;
	frame->type = (uint8_t)type;
	return frame;
}

void
pmv_mlx5m_wire_send(struct pmv_mlx5m_frame *frame)
{
	pmv_mlx5m_state()->counters.nb_frames++;
	if (wire.cut) {
		free(frame);
		return;
	}
	if (pmv_mlx5m_wire_device(frame->dgid) == NULL) {
		pmv_mlx5m_wire_unix_send(frame);
		return;
	}
	frame->next = NULL;
	*wire.tail = frame;
	wire.tail = &frame->next;
}

struct pmv_mlx5m_frame *
pmv_mlx5m_wire_receive(void)
{
	struct pmv_mlx5m_frame *frame = wire.head;

	if (frame == NULL)
		return pmv_mlx5m_wire_unix_receive();
	wire.head = frame->next;
	if (wire.head == NULL)
		wire.tail = &wire.head;
	return frame;
}
