// SPDX-License-Identifier: BSD-3-Clause
/*
 * Objects of one end of the demonstration. See end.h for who calls what.
 */
#include "apps/demo/end.h"

#include <errno.h>
#include <string.h>

#include "apps/common/say.h"

#define CQ_ENTRIES  1024
#define NOTES_BYTES (PMV_DEMO_AGREE_SLOTS * sizeof(struct pmv_demo_note))

_Static_assert(CQ_ENTRIES >= PMV_DEMO_BATCH_MAX + PMV_DEMO_WINDOW_MAX + 2 * PMV_DEMO_AGREE_SLOTS,
	"a completion of every request finds room");

int
pmv_demo_end_open(struct pmv_demo_end *end, const struct pmv_app_options *options)
{
	const uint32_t access =
		PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ;
	int ret = pmv_app_endpoint_open(options, &end->ep);

	if (ret != 0)
		return ret;
	end->data = pmv_buf_alloc(PMV_DEMO_DATA_BYTES, end->ep.port.socket_id);
	end->notes = pmv_buf_alloc(NOTES_BYTES, end->ep.port.socket_id);
	if (end->data == NULL || end->notes == NULL)
		ret = -ENOMEM;
	else
		memset(end->data, 0,
			PMV_DEMO_DATA_BYTES); /* page faults now, not while we measure */
	if (ret == 0)
		ret = pmv_alloc_pd(end->ep.device, &end->pd);
	if (ret == 0)
		ret = pmv_create_cq(end->ep.worker, CQ_ENTRIES, NULL, &end->cq);
	if (ret == 0)
		ret = pmv_reg_mr(end->pd, end->data, PMV_DEMO_DATA_BYTES, access, &end->data_mr);
	if (ret == 0)
		ret = pmv_reg_mr(
			end->pd, end->notes, NOTES_BYTES, PMV_ACCESS_LOCAL_WRITE, &end->notes_mr);
	if (ret != 0)
		pmv_app_say("the RDMA objects of port %u cannot be made: %s", end->ep.port.port_id,
			strerror(-ret));
	return ret;
}

static int
post_note_recv(struct pmv_demo_end *end, uint64_t slot)
{
	struct pmv_sge sge = {
		.addr = (uintptr_t)&end->notes[slot],
		.length = sizeof(end->notes[slot]),
		.lkey = pmv_mr_lkey(end->notes_mr),
	};
	struct pmv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 };

	return pmv_post_recv(end->conns[PMV_DEMO_AGREE].qp, &wr, 1) == 1 ? 0 : -EIO;
}

int
pmv_demo_end_create_qp(struct pmv_demo_end *end, enum pmv_demo_role role, struct pmv_cm_id *id)
{
	struct pmv_qp_init_attr attr = {
		.send_cq = end->cq,
		.recv_cq = end->cq,
		.cap = {
			.max_send_wr = role == PMV_DEMO_DATA ? PMV_DEMO_WINDOW_MAX : PMV_DEMO_AGREE_SLOTS,
			.max_recv_wr = role == PMV_DEMO_DATA ? PMV_DEMO_BATCH_MAX : PMV_DEMO_AGREE_SLOTS,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = role == PMV_DEMO_DATA ? 0 : sizeof(struct pmv_demo_note),
		},
		.qp_type = PMV_QPT_RC,
	};
	int ret = pmv_cm_create_qp(id, end->pd, end->ep.worker, &attr);

	if (ret != 0)
		return ret;
	end->conns[role].id = id;
	end->conns[role].qp = pmv_cm_id_qp(id);
	for (uint64_t slot = 0; role == PMV_DEMO_AGREE && slot < PMV_DEMO_AGREE_SLOTS && ret == 0;
		slot++)
		ret = post_note_recv(end, slot);
	return ret;
}

void
pmv_demo_end_hang_up(struct pmv_demo_end *end)
{
	for (unsigned int role = 0; role < PMV_DEMO_NB_ROLES; role++) {
		struct pmv_demo_conn *conn = &end->conns[role];

		if (conn->qp != NULL)
			pmv_cm_destroy_qp(conn->id);
		if (conn->id != NULL)
			pmv_cm_destroy_id(conn->id);
		conn->qp = NULL;
		conn->id = NULL;
	}
}

int
pmv_demo_end_close(struct pmv_demo_end *end)
{
	int ret = 0;

	if (end->ep.device == NULL)
		return 0;
	/* Regions end in turns of their worker. */
	ret = pmv_app_endpoint_attach(&end->ep);
	if (end->cq != NULL)
		ret |= pmv_app_endpoint_free_cq(&end->ep, end->cq);
	ret |= pmv_app_endpoint_free_mr(&end->ep, end->data_mr);
	ret |= pmv_app_endpoint_free_mr(&end->ep, end->notes_mr);
	if (ret == 0 && end->pd != NULL)
		ret = pmv_dealloc_pd(end->pd);
	if (ret == 0 && end->data != NULL)
		pmv_buf_free(end->data, PMV_DEMO_DATA_BYTES);
	if (ret == 0 && end->notes != NULL)
		pmv_buf_free(end->notes, NOTES_BYTES);
	ret |= pmv_app_endpoint_close(&end->ep);
	memset(end, 0, sizeof(*end));
	return ret;
}

int
pmv_demo_end_send_note(struct pmv_demo_end *end, const struct pmv_demo_note *note)
{
	struct pmv_sge sge = { .addr = (uintptr_t)note, .length = sizeof(*note) };
	struct pmv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = PMV_WR_SEND,
		.send_flags = PMV_SEND_SIGNALED | PMV_SEND_INLINE,
	};
	int ret = pmv_post_send(end->conns[PMV_DEMO_AGREE].qp, &wr, 1);

	return ret == 1 ? 0 : ret < 0 ? ret : -EIO;
}

int
pmv_demo_end_take_note(
	struct pmv_demo_end *end, const struct pmv_wc *wc, struct pmv_demo_note *ret_note)
{
	if (wc->byte_len != sizeof(*ret_note) || wc->wr_id >= PMV_DEMO_AGREE_SLOTS)
		return -EPROTO;
	*ret_note = end->notes[wc->wr_id];
	return post_note_recv(end, wc->wr_id);
}

enum pmv_demo_role
pmv_demo_end_role(const struct pmv_demo_end *end, const struct pmv_wc *wc)
{
	unsigned int role = 0;

	while (role < PMV_DEMO_NB_ROLES &&
		(end->conns[role].qp == NULL || pmv_qp_num(end->conns[role].qp) != wc->qp_num))
		role++;
	return (enum pmv_demo_role)role;
}
