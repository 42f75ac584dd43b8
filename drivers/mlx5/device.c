// SPDX-License-Identifier: BSD-3-Clause
/*
 * Opening a device by name, what it is and what it can, and the driver's part of workers; see
 * device.h. Control threads, under the device's lock.
 */
#include "drivers/mlx5/device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>
#include <rte_memory.h>

#include "drivers/mlx5/glue.h"
#include "lib/util/log.h"

#define QP_WR_MAX     16384u
#define SGE_MAX       16u
#define INLINE_MAX    512u /* bytes */
#define HEADERS_MAX   96u  /* IP, UDP, BTH and extensions: what lib/verbs takes from an IP MTU */
#define RD_ATOMIC_MAX 255

int
pmv_mlx5_device_probe(uint16_t port_id)
{
	return -ENOTSUP;
}

static const char *
open_problem(int rc)
{
	switch (rc) {
	case -ENODEV:
		return "no such RDMA device";
	case -ENXIO:
		return "it has no file in /dev/infiniband";
	case -ENOTSUP:
		return "not an mlx5 device";
	case -EACCES:
	case -EPERM:
		return "no permission to open its /dev/infiniband/uverbs";
	default:
		return strerror(-rc);
	}
}

/* EUI-64 in a link-local GID, or in the node GUID, holds the port's MAC. */
static void
fill_mac(struct pmv_mlx5_device *dev)
{
	rte_be64_t guid = rte_cpu_to_be_64(dev->base.node_guid);
	uint8_t *mac = dev->base.mac.addr_bytes;
	uint8_t eui[8];

	memcpy(eui, &guid, sizeof(eui));
	for (uint32_t i = 0; i < dev->nb_gids; i++)
		if (dev->gid[i].raw[0] == 0xfe && dev->gid[i].raw[1] == 0x80) {
			memcpy(eui, &dev->gid[i].raw[8], sizeof(eui));
			eui[0] ^= 2;
			break;
		}
	memcpy(mac, eui, 3);
	memcpy(mac + 3, eui + 5, 3);
}

static bool
is_v4(const union pmv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(gid->raw, prefix, sizeof(prefix)) == 0;
}

/* Addresses of the device are the kernel's: those of the GID table, as host routes. */
static void
fill_addrs(struct pmv_mlx5_device *dev)
{
	struct pmv_addr_table *t = &dev->base.addrs;
	union ibv_gid gid;

	for (int i = 0; i < dev->port.gid_tbl_len && dev->nb_gids < PMV_ADDRS_MAX; i++) {
		if (i > UINT8_MAX || pmv_mlx5_glue_gid(dev->ctx, (uint32_t)i, &gid) < 0)
			continue;
		dev->gid_index[dev->nb_gids] = (uint8_t)i;
		memcpy(dev->gid[dev->nb_gids].raw, gid.raw, sizeof(gid.raw));
		t->addr[dev->nb_gids].gid = dev->gid[dev->nb_gids];
		t->addr[dev->nb_gids].prefix_len = is_v4(&dev->gid[dev->nb_gids]) ? 32 : 128;
		dev->nb_gids++;
	}
	t->nb = dev->nb_gids;
}

static int
socket_of(const struct ibv_context *ctx)
{
	char path[512];
	int node = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/device/numa_node", pmv_mlx5_glue_sysfs(ctx));
	f = fopen(path, "re");
	if (f == NULL)
		return SOCKET_ID_ANY;
	if (fscanf(f, "%d", &node) != 1 || node < 0)
		node = SOCKET_ID_ANY;
	fclose(f);
	return node;
}

int
pmv_mlx5_device_init(struct pmv_device *base)
{
	struct pmv_mlx5_device *dev = (struct pmv_mlx5_device *)base;
	int rc = pmv_mlx5_glue_open(base->ibdev, &dev->ctx);

	if (rc < 0) {
		PMV_LOG(ERR, "ibdev %s: %s", base->ibdev, open_problem(rc));
		return rc == -ENXIO || rc == -ENOENT ? -ENODEV : rc;
	}
	rc = pmv_mlx5_glue_query(dev->ctx, &dev->limits, &dev->port);
	if (rc == 0 && dev->port.link_layer != IBV_LINK_LAYER_ETHERNET) {
		PMV_LOG(ERR, "ibdev %s: its port is not Ethernet", base->ibdev);
		rc = -ENOTSUP;
	}
	if (rc == 0)
		fill_addrs(dev);
	if (rc == 0 && dev->nb_gids == 0)
		PMV_LOG(WARNING, "ibdev %s: no RoCE v2 address: give the interface an IP address",
			base->ibdev);
	if (rc < 0) {
		pmv_mlx5_glue_close(dev->ctx);
		return rc;
	}
	base->node_guid = rte_be_to_cpu_64(dev->limits.node_guid);
	base->active_mtu = (uint8_t)dev->port.active_mtu;
	base->ip_mtu = (uint16_t)(pmv_mtu_bytes(base->active_mtu) + HEADERS_MAX);
	base->param.ip_mtu = base->ip_mtu;
	base->socket_id = socket_of(dev->ctx);
	fill_mac(dev);
	return 0;
}

void
pmv_mlx5_device_fini(struct pmv_device *base)
{
	pmv_mlx5_glue_close(((struct pmv_mlx5_device *)base)->ctx);
}

void
pmv_mlx5_device_query(struct pmv_device *base, struct pmv_device_attr *attr)
{
	const struct pmv_mlx5_device *dev = (const struct pmv_mlx5_device *)base;
	const struct ibv_device_attr *l = &dev->limits;

	attr->max_rd_atomic =
		(uint8_t)RTE_MIN(RTE_MIN(l->max_qp_rd_atom, l->max_qp_init_rd_atom), RD_ATOMIC_MAX);
	attr->local_ack_delay = l->local_ca_ack_delay;
	attr->max_qp = (uint32_t)l->max_qp;
	attr->max_qp_wr = RTE_MIN((uint32_t)l->max_qp_wr, QP_WR_MAX);
	attr->max_sge = RTE_MIN((uint32_t)l->max_sge, SGE_MAX);
	attr->max_inline = INLINE_MAX;
	attr->max_cqe = (uint32_t)l->max_cqe;
	attr->max_mr = RTE_MIN((uint32_t)l->max_mr, base->param.mr_max);
	attr->max_mr_size = RTE_MIN(l->max_mr_size, 1ull << 48);
	attr->max_msg_size = RTE_MIN(dev->port.max_msg_sz, PMV_MSG_BYTES_MAX);
}

int
pmv_mlx5_device_port_query(struct pmv_device *base, struct pmv_port_attr *attr)
{
	static const uint32_t lanes[] = { [1] = 1, [2] = 4, [4] = 8, [8] = 12, [16] = 2 };
	/* Mb/s of a lane: InfiniBand's names of speeds, which the kernel gives to Ethernet too */
	static const uint32_t mbps[] = { [1] = 2500,
		[2] = 5000,
		[4] = 10000,
		[8] = 10000,
		[16] = 14000,
		[32] = 25000,
		[64] = 50000,
		[128] = 100000 };
	struct pmv_mlx5_device *dev = (struct pmv_mlx5_device *)base;
	struct ibv_device_attr limits;
	struct ibv_port_attr port;
	int rc = pmv_mlx5_glue_query(dev->ctx, &limits, &port);

	if (rc < 0)
		return rc;
	attr->max_mtu = (uint8_t)port.max_mtu;
	attr->is_full_duplex = true;
	attr->state = port.state == IBV_PORT_ACTIVE ? PMV_PORT_ACTIVE : PMV_PORT_DOWN;
	if (attr->state == PMV_PORT_ACTIVE && port.active_width < RTE_DIM(lanes) &&
		port.active_speed < RTE_DIM(mbps))
		attr->active_speed = lanes[port.active_width] * mbps[port.active_speed];
	return 0;
}

int
pmv_mlx5_device_gid_index(const struct pmv_mlx5_device *dev, const union pmv_gid *gid)
{
	for (uint32_t i = 0; i < dev->nb_gids; i++)
		if (memcmp(dev->gid[i].raw, gid->raw, sizeof(gid->raw)) == 0)
			return dev->gid_index[i];
	return -EINVAL;
}

int
pmv_mlx5_worker_init(struct pmv_worker *base, const struct pmv_worker_param *param)
{
	struct pmv_mlx5_worker *w = pmv_mlx5_worker(base);
	const struct pmv_mlx5_device *dev = (const struct pmv_mlx5_device *)base->device;
	int rc;

	TAILQ_INIT(&w->to_ring);
	w->qp_max = param->qp_max;
	rc = pmv_mlx5_qp_table_init(&w->qps, param->qp_max, base->socket_id);
	if (rc < 0)
		return rc;
	rc = pmv_mlx5_glue_td_alloc(dev->ctx, &w->td);
	if (rc < 0) {
		w->td = NULL;
		PMV_LOG(NOTICE, "ibdev %s worker %u: no doorbell registers of its own (%s)",
			base->device->ibdev, base->index, strerror(-rc));
	}
	return 0;
}

void
pmv_mlx5_worker_fini(struct pmv_worker *base)
{
	struct pmv_mlx5_worker *w = pmv_mlx5_worker(base);

	if (w->td != NULL)
		pmv_mlx5_glue_td_free(w->td);
	pmv_mlx5_qp_table_fini(&w->qps);
}
