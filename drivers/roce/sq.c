// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/roce/sq.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "drivers/roce/packet.h"

int
pmv_roce_sq_init(struct pmv_roce_sq *sq, struct pmv_qp_cap *cap, bool is_ud, int socket_id)
{
	uint32_t nb = rte_align32pow2(cap->max_send_wr);
	size_t room = RTE_MAX(
		(size_t)cap->max_send_sge * sizeof(struct pmv_sge), (size_t)cap->max_inline_data);

	room = RTE_ALIGN_CEIL(RTE_MAX(room, (size_t)PMV_ROCE_WQE_DATA_MIN), sizeof(uint64_t));
	memset(sq, 0, sizeof(*sq));
	sq->ud_off = (uint32_t)room;
	if (is_ud)
		room += sizeof(struct pmv_roce_hdr);
	sq->stride = (uint32_t)RTE_ALIGN_CEIL(
		sizeof(struct pmv_roce_wqe) + room, (size_t)PMV_ROCE_WQE_ALIGN);
	sq->ring = rte_zmalloc_socket(
		"pmv_sq", (size_t)nb * sq->stride, RTE_CACHE_LINE_SIZE, socket_id);
	if (sq->ring == NULL)
		return -ENOMEM;
	sq->mask = nb - 1;
	sq->max_wr = nb;
	sq->max_sge = cap->max_send_sge;
	sq->max_inline = cap->max_inline_data;
	cap->max_send_wr = nb;
	return 0;
}

void
pmv_roce_sq_fini(struct pmv_roce_sq *sq)
{
	rte_free(sq->ring);
	sq->ring = NULL;
}

void
pmv_roce_sq_reset(struct pmv_roce_sq *sq)
{
	sq->head = 0;
	sq->snd = 0;
	sq->ack = 0;
	sq->tail = 0;
	sq->next_psn = pmv_psn(0);
}

static void
copy_inline(uint8_t *dst, const struct pmv_send_wr *wr)
{
	if (wr->num_sge == 1 && wr->sg_list[0].addr == (uintptr_t)dst)
		return; /* written in place */
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		memcpy(dst, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		dst += wr->sg_list[i].length;
	}
}

int
pmv_roce_sq_fill(
	struct pmv_roce_sq *sq, const struct pmv_send_wr *wr, uint32_t length_max, bool sig_all)
{
	struct pmv_roce_wqe *wqe;
	struct pmv_sge *sge;
	uint64_t length = 0;
	bool is_inline = (wr->send_flags & PMV_SEND_INLINE) != 0;

	if (pmv_roce_sq_full(sq))
		return -ENOMEM;
	if (wr->num_sge > sq->max_sge)
		return -EINVAL;
	wqe = pmv_roce_sq_wqe(sq, sq->head);
	sge = (struct pmv_sge *)(void *)wqe->data;
	for (uint32_t i = 0; i < wr->num_sge; i++) {
		length += wr->sg_list[i].length;
		if (!is_inline)
			sge[i] = wr->sg_list[i];
	}
	if (length > (is_inline ? RTE_MIN(sq->max_inline, length_max) : length_max))
		return -EINVAL;
	if (is_inline)
		copy_inline(wqe->data, wr);
	pmv_roce_sq_wqe_set(wqe, wr, (uint32_t)length, sig_all);
	return 0;
}
