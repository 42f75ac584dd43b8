// SPDX-License-Identifier: BSD-3-Clause
#include "test/perf/lab.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_pause.h>
#include <rte_ring.h>

#define RING_SIZE   1024u
#define POOL_SIZE   16383u
#define DATA_ROOM   4608u
#define PERF_IP_MTU 4200u

#define MEM_MIB       384u
#define HUGEPAGES_MIN 200 /* of 2 MiB */

static int
start_port(uint16_t port_id, struct rte_mempool *pool)
{
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_dev_info info;
	int err;

	rte_eth_dev_info_get(port_id, &info);
	conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	err = rte_eth_dev_configure(port_id, 1, 1, &conf);
	if (err == 0)
		err = rte_eth_rx_queue_setup(port_id, 0, RING_SIZE, SOCKET_ID_ANY, NULL, pool);
	if (err == 0)
		err = rte_eth_tx_queue_setup(port_id, 0, RING_SIZE, SOCKET_ID_ANY, NULL);
	return err == 0 ? rte_eth_dev_start(port_id) : err;
}

/* Free hugepages, as the kernel counts them. */
static long
hugepages_free(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];
	long nb = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "HugePages_Free: %ld", &nb) == 1)
			break;
	}
	if (f != NULL)
		fclose(f);
	return nb;
}

int
perf_eal_init(const char *cores, bool *ret_huge)
{
	bool huge = hugepages_free() >= HUGEPAGES_MIN;
	char line[160], *eal[24];
	int nb = 0;

	snprintf(line, sizeof(line),
		"perf %s -m %u --no-pci --no-telemetry -l %s --log-level=*:error",
		huge ? "--in-memory" : "--no-huge --no-shconf", MEM_MIB, cores);
	*ret_huge = huge;
	for (char *a = strtok(line, " "); a != NULL; a = strtok(NULL, " "))
		eal[nb++] = a;
	return rte_eal_init(nb, eal) < 0 ? -1 : 0;
}

/* Two ports joined by two rings; pool i feeds port i. */
static int
wire(struct perf_lab *lab, const char *name, uint16_t ret_port[2])
{
	struct rte_ring *ring[2];
	char text[32];

	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "%s_ring%d", name, i);
		ring[i] = rte_ring_create(
			text, RING_SIZE, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
		if (ring[i] == NULL)
			return -ENOMEM;
	}
	for (int i = 0; i < 2; i++) {
		int port, err;

		snprintf(text, sizeof(text), "%s%d", name, i);
		port = rte_eth_from_rings(text, &ring[!i], 1, &ring[i], 1, 0);
		if (port < 0)
			return -ENODEV;
		ret_port[i] = (uint16_t)port;
		err = start_port(ret_port[i], lab->pool[i]);
		if (err != 0)
			return err;
	}
	return 0;
}

static int
open_device(struct perf_end *e, struct rte_mempool *pool, const char *addr)
{
	const struct pmv_device_param dp = {
		.port_id = e->port, .nb_workers = 1, .ip_mtu = PERF_IP_MTU, .window_pkts = 512
	};
	const struct pmv_worker_param wp = { .socket_id = -1, .pool = pool };
	struct pmv_ip_addr ip;
	int err;

	err = pmv_device_open(&dp, &e->dev);
	if (err == 0)
		err = pmv_ip_addr_parse(addr, &ip);
	if (err == 0)
		err = pmv_device_add_addr(e->dev, &ip);
	if (err == 0)
		err = pmv_worker_create(e->dev, &wp, &e->worker);
	if (err == 0)
		err = pmv_alloc_pd(e->dev, &e->pd);
	if (err == 0)
		err = pmv_create_cq(e->worker, 1024, NULL, &e->cq);
	e->mem = pmv_buf_alloc(PERF_MEM_BYTES, -1);
	if (err == 0 && e->mem == NULL)
		err = -ENOMEM;
	if (err == 0)
		err = pmv_reg_mr(e->pd, e->mem, PERF_MEM_BYTES,
			PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ,
			&e->mr);
	return err;
}

static int
create_qp(struct perf_end *e)
{
	struct pmv_qp_init_attr init = { .send_cq = e->cq,
		.recv_cq = e->cq,
		.qp_type = PMV_QPT_RC,
		.cap = { .max_send_wr = 512,
			.max_recv_wr = 64,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = 32 } };

	return pmv_create_qp(e->pd, e->worker, &init, &e->qp);
}

static int
connect_qp(struct perf_end *e, struct perf_end *peer)
{
	struct pmv_device_attr da;
	struct pmv_qp_attr a = { .path_mtu = PMV_MTU_4096,
		.port_num = 1,
		.rq_psn = 100,
		.sq_psn = 100,
		.dest_qp_num = pmv_qp_num(peer->qp),
		.qp_access_flags = PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .has_dmac = true } };
	int err;

	pmv_query_device(peer->dev, &da);
	pmv_query_gid(peer->dev, 0, &a.ah_attr.dgid);
	memcpy(a.ah_attr.dmac, da.mac, sizeof(da.mac));
	a.qp_state = PMV_QPS_INIT;
	err = pmv_modify_qp(
		e->qp, &a, PMV_QP_STATE | PMV_QP_PKEY_INDEX | PMV_QP_PORT | PMV_QP_ACCESS_FLAGS);
	a.qp_state = PMV_QPS_RTR;
	if (err == 0)
		err = pmv_modify_qp(e->qp, &a,
			PMV_QP_STATE | PMV_QP_AV | PMV_QP_PATH_MTU | PMV_QP_DEST_QPN |
				PMV_QP_RQ_PSN | PMV_QP_MAX_DEST_RD_ATOMIC | PMV_QP_MIN_RNR_TIMER);
	a.qp_state = PMV_QPS_RTS;
	if (err == 0)
		err = pmv_modify_qp(e->qp, &a,
			PMV_QP_STATE | PMV_QP_SQ_PSN | PMV_QP_TIMEOUT | PMV_QP_RETRY_CNT |
				PMV_QP_RNR_RETRY | PMV_QP_MAX_QP_RD_ATOMIC);
	return err;
}

int
perf_lab_open(struct perf_lab *lab)
{
	uint16_t raw[2], port[2];
	int err = 0;

	memset(lab, 0, sizeof(*lab));
	lab->ticks_per_sec = rte_get_tsc_hz();
	for (int i = 0; i < 2 && err == 0; i++) {
		lab->pool[i] = rte_pktmbuf_pool_create(
			i == 0 ? "perf_a" : "perf_b", POOL_SIZE, 512, 0, DATA_ROOM, SOCKET_ID_ANY);
		if (lab->pool[i] == NULL)
			err = -ENOMEM;
	}
	lab->shared = pmv_buf_alloc(2 * PERF_BIG_BYTES, -1);
	if (err == 0)
		err = wire(lab, "raw", raw);
	if (err == 0)
		err = wire(lab, "pmv", port);
	for (int i = 0; i < 2 && err == 0; i++) {
		lab->end[i].raw_port = raw[i];
		lab->end[i].port = port[i];
		err = open_device(
			&lab->end[i], lab->pool[i], i == 0 ? "10.0.0.1/24" : "10.0.0.2/24");
		if (err == 0)
			err = create_qp(&lab->end[i]);
	}
	for (int i = 0; i < 2 && err == 0; i++)
		err = connect_qp(&lab->end[i], &lab->end[!i]);
	if (err != 0)
		fprintf(stderr, "the benchmark could not be set up: %s\n", strerror(-err));
	return err;
}

void
perf_lab_close(struct perf_lab *lab)
{
	for (int i = 0; i < 2; i++) {
		struct perf_end *e = &lab->end[i];

		pmv_destroy_qp(e->qp);
		pmv_dereg_mr(e->mr);
		pmv_destroy_cq(e->cq);
		pmv_worker_destroy(e->worker);
		pmv_dealloc_pd(e->pd);
		pmv_device_close(e->dev);
		pmv_buf_free(e->mem, PERF_MEM_BYTES);
	}
	pmv_buf_free(lab->shared, 2 * PERF_BIG_BYTES);
}

int
perf_write(struct perf_end *e, struct perf_end *peer, uint32_t off, uint32_t len, uint32_t flags)
{
	const struct pmv_sge sge = { (uintptr_t)(e->mem + off), len, pmv_mr_lkey(e->mr) };
	const struct pmv_send_wr wr = { .sg_list = &sge,
		.num_sge = 1,
		.opcode = PMV_WR_RDMA_WRITE,
		.send_flags = flags,
		.wr.rdma = { (uintptr_t)(peer->mem + off), pmv_mr_rkey(peer->mr) } };

	return pmv_post_send(e->qp, &wr, 1);
}

void
perf_far_set(struct perf_lab *lab, enum perf_far far)
{
	__atomic_store_n(&lab->far.value, far, __ATOMIC_RELEASE);
	while (__atomic_load_n(&lab->at.value, __ATOMIC_ACQUIRE) != (uint64_t)far)
		rte_pause();
}
