// SPDX-License-Identifier: BSD-3-Clause
/*
 * A device as the CM sees it, see dev.h. Control lcore.
 */
#include "cm/dev.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "cm/lan.h"
#include "cm/limits.h"
#include "lib/wire/gid.h"

/* RFC 5227 2.3: an address is announced twice, two seconds apart. */
#define ANNOUNCE_ROUNDS   2
#define ANNOUNCE_AFTER_US (2u * PMV_CM_US_PER_S)

static int
neigh_init(struct pmv_cm_dev *dev)
{
	struct pmv_cm *cm = dev->cm;
	struct pmv_cm_hash_key key;
	size_t bytes = pmv_cm_neigh_bytes(PMV_CM_NEIGH_ENTRIES_MAX);

	key.k[0] = pmv_random_next64(&cm->random);
	key.k[1] = pmv_random_next64(&cm->random);
	dev->neigh_mem = rte_zmalloc_socket("pmv_cm_neigh", bytes, 0, cm->socket_id);
	if (dev->neigh_mem == NULL)
		return -ENOMEM;
	return pmv_cm_neigh_init(&dev->neigh, dev->neigh_mem, bytes, PMV_CM_NEIGH_ENTRIES_MAX,
		cm->ticks_per_us, &key);
}

static void
facts_fetch(struct pmv_cm_dev *dev)
{
	pmv_verbs_ctl_facts(dev->channel, &dev->facts);
	if (dev->facts.nb_addrs > RTE_DIM(dev->facts.addr))
		dev->facts.nb_addrs = RTE_DIM(dev->facts.addr);
	dev->announce_left = ANNOUNCE_ROUNDS;
	dev->announce_due = 0;
}

int
pmv_cm_dev_open(struct pmv_cm *cm, struct pmv_device *device, struct pmv_cm_dev **ret_dev)
{
	struct pmv_cm_dev *dev = rte_zmalloc_socket("pmv_cm_dev", sizeof(*dev), 0, cm->socket_id);
	int err;

	if (dev == NULL)
		return -ENOMEM;
	dev->cm = cm;
	dev->device = device;
	dev->psn = (uint32_t)pmv_random_next64(&cm->random);
	dev->ip_id = (uint16_t)pmv_random_next64(&cm->random);
	dev->echo_tokens = PMV_CM_ICMP_REPLIES_PER_S;
	err = neigh_init(dev);
	if (err == 0)
		err = pmv_verbs_ctl_open(device, &dev->channel);
	if (err != 0) {
		rte_free(dev->neigh_mem);
		rte_free(dev);
		return err;
	}
	facts_fetch(dev);
	*ret_dev = dev;
	return 0;
}

void
pmv_cm_dev_close(struct pmv_cm_dev *dev)
{
	pmv_verbs_ctl_close(dev->channel);
	rte_free(dev->neigh_mem);
	rte_free(dev);
}

void
pmv_cm_dev_turn(struct pmv_cm_dev *dev)
{
	if (pmv_verbs_ctl_addr_version(dev->channel) != dev->facts.addr_version)
		facts_fetch(dev);
	if (dev->announce_left == 0 || dev->cm->now < dev->announce_due)
		return;
	dev->announce_left--;
	dev->announce_due = dev->cm->now + ANNOUNCE_AFTER_US * dev->cm->ticks_per_us;
	if (pmv_cm_dev_is_own(dev))
		pmv_cm_lan_announce(dev);
}

uint16_t
pmv_cm_dev_addr_index(const struct pmv_cm_dev *dev, const uint8_t gid[16])
{
	uint32_t i;

	if (pmv_gid_is_zero(gid))
		return PMV_CM_NO_ADDR;
	for (i = 0; i < dev->facts.nb_addrs; i++)
		if (memcmp(dev->facts.addr[i].gid.raw, gid, 16) == 0)
			return (uint16_t)i;
	return PMV_CM_NO_ADDR;
}

uint16_t
pmv_cm_dev_addr_first(const struct pmv_cm_dev *dev, bool v4, bool link_local)
{
	uint32_t i;

	for (i = 0; i < dev->facts.nb_addrs; i++) {
		const uint8_t *gid = dev->facts.addr[i].gid.raw;

		if (!pmv_gid_is_zero(gid) && pmv_gid_is_v4(gid) == v4 &&
			pmv_gid_is_link_local(gid) == link_local)
			return (uint16_t)i;
	}
	return PMV_CM_NO_ADDR;
}
