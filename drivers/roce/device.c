// SPDX-License-Identifier: BSD-3-Clause
/*
 * Opening and closing of a device, limits, and what its port can reach: see device.h. Control
 * threads.
 */
#include "drivers/roce/device.h"

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "drivers/roce/fastreg.h"
#include "drivers/roce/rdatomic.h"
#include "lib/util/log.h"
#include "lib/wire/flow_label.h"

/*
 * Ports that copy a frame with the CPU, in this process, before they let go of it: any memory that
 * we may read, they may read. All others (hardware, but also virtual ports in front of hardware or
 * of another process: bonding, virtio-user, memif without copies) get EAL memory only. The other
 * end of a net_ring must not lie in a secondary process: no attached frame, EAL memory or not, can
 * be freed there.
 */
static const char *const cpu_ports[] = { "net_ring", "net_af_packet", "net_tap", "net_pcap" };

/* Of a port that does not tell its speed. Too much costs a few notifications more, too little would
 * end a limit too early. */
#define LINE_MBPS_UNKNOWN 100000u

int
pmv_roce_device_probe(uint16_t port_id)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_info_get(port_id, &info) == 0 ? 0 : -ENODEV;
}

static const char *
port_driver(uint16_t port_id)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_info_get(port_id, &info) != 0 || info.driver_name == NULL
		       ? ""
		       : info.driver_name;
}

static enum pmv_roce_reach
reach_find(const char *driver)
{
	for (uint32_t i = 0; i < RTE_DIM(cpu_ports); i++) {
		if (strcmp(driver, cpu_ports[i]) == 0)
			return PMV_ROCE_REACH_ANY;
	}
	return PMV_ROCE_REACH_EAL;
}

/* A chain of three mbufs costs two cores about twenty transfers of a line, none of them in a row
 * that a core could foresee; a copied payload comes in one. */
static uint32_t
attach_bytes_min(const char *driver)
{
	return strcmp(driver, "net_ring") == 0 ? UINT32_MAX : PMV_ROCE_ATTACH_BYTES_MIN;
}

int
pmv_roce_device_init(struct pmv_device *base)
{
	struct pmv_roce_device *dev = (struct pmv_roce_device *)base;
	const char *driver;
	int rc = 0;

	if (base->param.seed != 0)
		pmv_random_init(&dev->random, base->param.seed);
	else
		rc = pmv_random_seed_os(&dev->random);
	if (rc < 0) {
		PMV_LOG(ERR, "port %u: no random numbers: %s", base->port_id, strerror(-rc));
		return rc;
	}
	STAILQ_INIT(&dev->orphans);
	driver = port_driver(base->port_id);
	dev->reach = reach_find(driver);
	if (base->param.attach_bytes_min == 0)
		base->param.attach_bytes_min = attach_bytes_min(driver);
	/* Datagrams of one device take one path, as Linux's do. */
	dev->ud_sport = pmv_flow_label_sport(
		(uint32_t)(base->node_guid ^ base->node_guid >> 20) & PMV_FLOW_LABEL_MASK);
	return pmv_roce_regions_init(dev);
}

void
pmv_roce_device_ask_line(struct pmv_device *base)
{
	struct pmv_roce_device *dev = (struct pmv_roce_device *)base;
	struct rte_eth_link link = { 0 };
	uint64_t mbps = LINE_MBPS_UNKNOWN;

	if (rte_eth_link_get_nowait(base->port_id, &link) == 0 && link.link_speed != 0 &&
		link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN)
		mbps = link.link_speed;
	__atomic_store_n(&dev->line, mbps * 125000, __ATOMIC_RELAXED);
}

void
pmv_roce_device_fini(struct pmv_device *base)
{
	/* no region is left, so no frame points into one */
	pmv_roce_attach_reap((struct pmv_roce_device *)base);
	pmv_roce_regions_fini((struct pmv_roce_device *)base);
}

void
pmv_roce_device_query(struct pmv_device *base, struct pmv_device_attr *attr)
{
	const struct pmv_roce_device *dev = (const struct pmv_roce_device *)base;

	attr->max_rd_atomic = PMV_ROCE_RD_MAX;
	attr->atomic_cap = PMV_ATOMIC_GLOB; /* done by the CPU itself, see atomic.h */
	attr->ece = (struct pmv_ece){ PMV_ECE_VENDOR_ID,
		PMV_ECE_SELECTIVE_REPEAT | PMV_ECE_CONGESTION };
	attr->local_ack_delay = PMV_ROCE_ACK_DELAY;
	attr->max_qp = PMV_ROCE_QP_MAX;
	attr->max_qp_wr = PMV_ROCE_QP_WR_MAX;
	attr->max_sge = PMV_ROCE_SGE_MAX;
	attr->max_inline = PMV_ROCE_INLINE_MAX;
	attr->max_cqe = PMV_ROCE_CQE_MAX;
	attr->max_srq = PMV_ROCE_SRQ_MAX;
	attr->max_srq_wr = PMV_ROCE_SRQ_WR_MAX;
	attr->max_srq_sge = PMV_ROCE_SGE_MAX;
	attr->max_mr = dev->regions.mr_max;
	attr->max_mw = dev->regions.mw_max;
	attr->max_mr_pages = PMV_ROCE_FASTREG_PAGES_MAX;
	attr->max_mr_size = PMV_ROCE_MR_BYTES_MAX;
	attr->max_mcast_grp = PMV_MCAST_GROUPS_MAX;
	attr->max_mcast_qp_attach = PMV_ROCE_MCAST_QPS_MAX;
	attr->max_msg_size = PMV_MSG_BYTES_MAX;
}
