// SPDX-License-Identifier: BSD-3-Clause
/*
 * See end.h.
 */
#include "apps/pingpong/end.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_random.h>

#include "apps/common/say.h"

#define NB_MBUFS     4096
#define INLINE_BYTES 64u
#define RELEASE_MS   1000
#define STATS_MAX    256 /* more than there are */

static int
complain(const struct pmv_pingpong_end *end, const char *what, int ret)
{
	if (ret != 0)
		pmv_app_say("%s: %s: %s", end->name, what, strerror(-ret));
	return ret;
}

/* A device of the kernel has addresses and queues already. */
static int
open_ibdev(struct pmv_pingpong_end *end, const struct pmv_pingpong_place *place)
{
	const struct pmv_device_param param = {
		.driver = "mlx5", .ibdev = place->ibdev, .nb_workers = 1
	};
	const struct pmv_worker_param worker = { .socket_id = -1, .qp_max = 4 };
	int ret = pmv_device_open(&param, &end->device);

	if (ret == -ENOENT) {
		pmv_app_say("%s: this program was built without the mlx5 driver", place->ibdev);
		return ret;
	}
	if (ret != 0)
		return complain(end, "no RDMA device can be opened", ret);
	return complain(end, "no worker can be made",
		pmv_worker_create(end->device, &worker, &end->worker));
}

static int
open_port(struct pmv_pingpong_end *end, const struct pmv_pingpong_place *place)
{
	const struct pmv_app_port_param port = {
		.port = place->port, .nb_queues = 1, .ip_mtu = place->ip_mtu, .nb_mbufs = NB_MBUFS
	};
	struct pmv_device_param param = { .driver = "roce",
		.nb_workers = 1,
		.ip_mtu = place->ip_mtu,
		.vlan_id = place->vlan_id };
	struct pmv_worker_param worker = { .socket_id = -1, .qp_max = 4 };
	const struct pmv_fault_rule rule = { .action = PMV_FAULT_DROP,
		.dirs = PMV_FAULT_RX | PMV_FAULT_TX,
		.probability = place->loss,
		.opcode = -1,
		.qpn = -1,
		.cm_attr = -1 };
	int ret = pmv_app_port_open(&port, &end->port);

	if (ret != 0)
		return ret;
	param.port_id = end->port.port_id;
	worker.pool = end->port.pools[0];
	ret = complain(end, "no RDMA device can be opened", pmv_device_open(&param, &end->device));
	if (ret == 0)
		ret = complain(end, "the address cannot be ours",
			pmv_device_add_addr(end->device, &place->addr));
	if (ret == 0)
		ret = complain(end, "no worker can be made",
			pmv_worker_create(end->device, &worker, &end->worker));
	if (ret == 0 && place->loss > 0)
		ret = complain(end, "the loss cannot be switched on",
			pmv_fault_add(end->worker, &rule, place->seed));
	return ret;
}

static int
open_device(struct pmv_pingpong_end *end, const struct pmv_pingpong_place *place,
	const struct pmv_pingpong_end *host)
{
	int ret;

	snprintf(end->name, sizeof(end->name), "%s%s", place->ibdev != NULL ? "" : "port ",
		place->ibdev != NULL ? place->ibdev : place->port);
	end->prints_stats = place->prints_stats;
	if (host != NULL) {
		end->is_guest = true;
		end->device = host->device;
		end->worker = host->worker;
		return 0;
	}
	ret = place->ibdev != NULL ? open_ibdev(end, place) : open_port(end, place);
	return ret != 0 ? ret
			: complain(end, "the worker has another owner",
				  pmv_worker_attach(end->worker));
}

static int
create_objects(struct pmv_pingpong_end *end, uint32_t size)
{
	struct pmv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4,
			.max_recv_wr = 4,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = size <= INLINE_BYTES ? size : 0 },
		.qp_type = PMV_QPT_RC,
	};
	int ret = complain(
		end, "no protection domain can be made", pmv_alloc_pd(end->device, &end->pd));

	if (ret == 0)
		ret = complain(end, "no completion queue can be made",
			pmv_create_cq(end->worker, 16, NULL, &end->cq));
	attr.send_cq = attr.recv_cq = end->cq;
	if (ret == 0)
		ret = complain(end, "no queue pair can be made",
			pmv_create_qp(end->pd, end->worker, &attr, &end->qp));
	if (ret != 0)
		return ret;
	end->size = size;
	end->out = pmv_buf_alloc(2 * (uint64_t)size, -1);
	if (end->out == NULL)
		return complain(end, "no memory for messages", -ENOMEM);
	end->in = end->out + size;
	return complain(end, "memory cannot be registered",
		pmv_reg_mr(end->pd, end->out, 2 * (uint64_t)size,
			PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE, &end->mr));
}

static int
fill_card(struct pmv_pingpong_end *end)
{
	struct pmv_device_attr attr;
	int ret = pmv_query_device(end->device, &attr);

	if (ret == 0)
		ret = complain(
			end, "it has no address", pmv_query_gid(end->device, 0, &end->card.gid));
	if (ret != 0)
		return ret;
	memcpy(end->card.mac, attr.mac, sizeof(attr.mac));
	end->card.mtu = attr.active_mtu;
	end->card.qpn = pmv_qp_num(end->qp);
	end->card.psn = (uint32_t)rte_rand() & 0xffffff;
	end->card.addr = (uintptr_t)end->in;
	end->card.rkey = pmv_mr_rkey(end->mr);
	return 0;
}

int
pmv_pingpong_end_open(struct pmv_pingpong_end *end, const struct pmv_pingpong_place *place,
	const struct pmv_pingpong_end *host, uint32_t size)
{
	int ret = open_device(end, place, host);

	if (ret == 0)
		ret = create_objects(end, size);
	return ret != 0 ? ret : fill_card(end);
}

int
pmv_pingpong_end_connect(struct pmv_pingpong_end *end, const struct pmv_pingpong_card *peer)
{
	struct pmv_qp_attr init = {
		.qp_state = PMV_QPS_INIT, .port_num = 1, .qp_access_flags = PMV_ACCESS_REMOTE_WRITE
	};
	struct pmv_qp_attr rtr = { .qp_state = PMV_QPS_RTR,
		.path_mtu = end->card.mtu < peer->mtu ? end->card.mtu : peer->mtu,
		.dest_qp_num = peer->qpn,
		.rq_psn = peer->psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .dgid = peer->gid, .has_dmac = true } };
	struct pmv_qp_attr rts = { .qp_state = PMV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.sq_psn = end->card.psn,
		.max_rd_atomic = 1 };
	int ret;

	memcpy(rtr.ah_attr.dmac, peer->mac, sizeof(peer->mac));
	ret = pmv_modify_qp(end->qp, &init,
		PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_ACCESS_FLAGS);
	if (ret == 0)
		ret = pmv_modify_qp(end->qp, &rtr,
			PMV_QP_STATE | PMV_QP_AV | PMV_QP_PATH_MTU | PMV_QP_DEST_QPN |
				PMV_QP_RQ_PSN | PMV_QP_MAX_DEST_RD_ATOMIC | PMV_QP_MIN_RNR_TIMER);
	if (ret == 0)
		ret = pmv_modify_qp(end->qp, &rts,
			PMV_QP_STATE | PMV_QP_TIMEOUT | PMV_QP_RETRY_CNT | PMV_QP_RNR_RETRY |
				PMV_QP_SQ_PSN | PMV_QP_MAX_QP_RD_ATOMIC);
	return complain(end, "the queue pair cannot be brought up", ret);
}

int
pmv_pingpong_end_post_recv(struct pmv_pingpong_end *end)
{
	struct pmv_sge sge = { (uintptr_t)end->in, end->size, pmv_mr_lkey(end->mr) };
	struct pmv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };
	int ret = pmv_post_recv(end->qp, &wr, 1);

	return ret < 0 ? complain(end, "a receive is not taken", ret) : 0;
}

int
pmv_pingpong_end_post(struct pmv_pingpong_end *end, enum pmv_wr_opcode opcode,
	const struct pmv_pingpong_card *peer)
{
	struct pmv_sge sge = { (uintptr_t)end->out, end->size, pmv_mr_lkey(end->mr) };
	struct pmv_send_wr wr = { .sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = PMV_SEND_SIGNALED | PMV_SEND_FLUSH,
		.wr.rdma = { peer->addr, peer->rkey } };
	int ret;

	if (end->size <= INLINE_BYTES)
		wr.send_flags |= PMV_SEND_INLINE;
	ret = pmv_post_send(end->qp, &wr, 1);
	return ret < 0 ? complain(end, "a message is not taken", ret) : 0;
}

int
pmv_pingpong_end_poll(struct pmv_pingpong_end *end)
{
	struct pmv_wc wc[8];
	int nb;

	if (!end->is_guest)
		pmv_worker_poll(end->worker);
	nb = (int)pmv_poll_cq(end->cq, wc, 8);
	for (int i = 0; i < nb; i++) {
		if (wc[i].status != PMV_WC_SUCCESS) {
			pmv_app_say("%s: a message fails: %s", end->name,
				pmv_wc_status_str(wc[i].status));
			return -EIO;
		}
		if (wc[i].opcode != PMV_WC_RECV) {
			end->nb_sent++;
			continue;
		}
		if (wc[i].byte_len != end->size) {
			pmv_app_say("%s: a message of %u bytes came, not of %u", end->name,
				wc[i].byte_len, end->size);
			return -EPROTO;
		}
		end->nb_received++;
	}
	return nb;
}

int
pmv_pingpong_end_stop(struct pmv_pingpong_end *end)
{
	int ret = 0;

	if (end->qp != NULL)
		ret = complain(end, "the queue pair stays", pmv_destroy_qp(end->qp));
	end->qp = NULL;
	return ret;
}

/* Its last frames may still be with the port. */
static int
free_mr(struct pmv_pingpong_end *end)
{
	uint64_t until = pmv_app_now_ms() + RELEASE_MS;
	struct pmv_event event;
	int ret = pmv_dereg_mr(end->mr);

	while (ret == -EINPROGRESS && pmv_app_now_ms() < until) {
		pmv_worker_poll(end->worker);
		while (pmv_poll_async_event(end->device, &event) > 0)
			if (event.type == PMV_EVENT_MR_RELEASED)
				ret = 0;
	}
	return complain(end, "memory is still in use", ret);
}

/* What stayed at 0 says nothing. */
static void
print_stats(const struct pmv_pingpong_end *end)
{
	struct pmv_stat stats[STATS_MAX];
	uint32_t nb = pmv_worker_stats(end->worker, stats, STATS_MAX);

	for (uint32_t i = 0; i < nb && i < STATS_MAX; i++)
		if (stats[i].value != 0)
			printf("%s worker %-28s %" PRIu64 "\n", end->name, stats[i].name,
				stats[i].value);
}

static int
close_device(struct pmv_pingpong_end *end)
{
	int ret = 0;

	if (end->is_guest)
		return 0;
	if (end->worker != NULL) {
		if (end->prints_stats)
			print_stats(end);
		pmv_worker_detach(end->worker);
		ret = complain(end, "the worker stays", pmv_worker_destroy(end->worker));
	}
	if (ret == 0 && end->device != NULL)
		ret = complain(end, "the device stays open", pmv_device_close(end->device));
	/* With a device left open, its worker may still hold frames of the port. */
	return ret != 0 ? ret : pmv_app_port_close(&end->port);
}

int
pmv_pingpong_end_close(struct pmv_pingpong_end *end)
{
	int ret = pmv_pingpong_end_stop(end);

	if (ret == 0 && end->mr != NULL)
		ret = free_mr(end);
	if (ret == 0 && end->cq != NULL)
		ret = complain(end, "the completion queue stays", pmv_destroy_cq(end->cq));
	if (ret == 0 && end->pd != NULL)
		ret = complain(end, "the protection domain stays", pmv_dealloc_pd(end->pd));
	/* What could not be ended may still use its memory and its device. */
	if (ret != 0)
		return ret;
	if (end->out != NULL)
		pmv_buf_free(end->out, 2 * (uint64_t)end->size);
	return close_device(end);
}
