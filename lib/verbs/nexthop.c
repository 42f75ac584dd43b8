// SPDX-License-Identifier: BSD-3-Clause
/*
 * The table of next hops, see nexthop.h. Control threads, under the device's lock; the only part
 * that runs on an owner lcore is the commit of a changed MAC.
 */
#include "lib/verbs/nexthop.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_hash.h>
#include <rte_malloc.h>

#include "lib/lcore/mailbox.h"
#include "lib/util/log.h"
#include "lib/verbs/addr.h"
#include "lib/verbs/device.h"
#include "lib/wire/gid.h"

/* The MAC is kept in the hash's data pointer, with this bit so that no entry is NULL. */
#define ENTRY_BIT (1ull << 48)

struct pmv_nexthops {
	struct rte_hash *hash; /* GID -> MAC */
	uint32_t nb;
};

int
pmv_verbs_nexthops_create(struct pmv_device *dev)
{
	static uint32_t serial; /* devices without a port all have the same port_id */
	char name[RTE_HASH_NAMESIZE];
	struct rte_hash_parameters p = {
		.name = name,
		/* Twice what is used: a cuckoo hash may refuse a key before it is full. */
		.entries = 2 * PMV_VERBS_NEXTHOPS_MAX,
		.key_len = sizeof(union pmv_gid),
		.socket_id = dev->socket_id,
	};
	struct pmv_nexthops *t;

	snprintf(name, sizeof(name), "pmv_nexthops_%u_%u", dev->port_id,
		__atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED));
	t = rte_zmalloc_socket("pmv_nexthops", sizeof(*t), 0, dev->socket_id);
	if (t == NULL)
		return -ENOMEM;
	t->hash = rte_hash_create(&p);
	if (t->hash == NULL) {
		rte_free(t);
		return -ENOMEM;
	}
	dev->nexthops = t;
	return 0;
}

void
pmv_verbs_nexthops_destroy(struct pmv_device *dev)
{
	if (dev->nexthops == NULL)
		return;
	rte_hash_free(dev->nexthops->hash);
	rte_free(dev->nexthops);
	dev->nexthops = NULL;
}

static uint64_t
mac_pack(const uint8_t mac[6])
{
	uint64_t v = 0;

	memcpy(&v, mac, 6);
	return v;
}

static void
mac_unpack(uint64_t v, uint8_t ret_mac[6])
{
	memcpy(ret_mac, &v, 6);
}

static int
lookup(struct pmv_device *dev, const union pmv_gid *gid, uint8_t ret_mac[6])
{
	void *data;

	if (rte_hash_lookup_data(dev->nexthops->hash, gid->raw, &data) < 0)
		return -ENOENT;
	mac_unpack((uintptr_t)data, ret_mac);
	return 0;
}

static int
route(struct pmv_device *dev, const union pmv_gid *dgid, uint16_t sgid_index,
	union pmv_gid *ret_nexthop)
{
	const struct pmv_ip_addr *src = pmv_verbs_addr_at(dev, sgid_index);
	uint32_t family = pmv_verbs_addr_family(dgid);

	if (src == NULL || pmv_verbs_addr_family(&src->gid) != family ||
		pmv_verbs_addr_is_unspecified(dgid))
		return -EINVAL;
	if (pmv_gid_is_multicast(dgid->raw) || pmv_verbs_addr_find(dev, dgid) >= 0 ||
		pmv_verbs_addr_is_on_link(dev, dgid)) {
		*ret_nexthop = *dgid;
		return 0;
	}
	if (pmv_gid_is_zero(dev->gateway[family].raw))
		return -EHOSTUNREACH;
	*ret_nexthop = dev->gateway[family];
	return 0;
}

int
pmv_verbs_nexthop_resolve_locked(
	struct pmv_device *dev, const union pmv_gid *dgid, uint16_t sgid_index, uint8_t ret_mac[6])
{
	union pmv_gid nexthop;
	int rc = route(dev, dgid, sgid_index, &nexthop);

	if (rc < 0)
		return rc;
	if (pmv_gid_is_multicast(dgid->raw)) {
		pmv_gid_multicast_mac(dgid->raw, ret_mac);
		return 0;
	}
	if (pmv_verbs_addr_find(dev, dgid) >= 0) {
		memcpy(ret_mac, dev->mac.addr_bytes, 6);
		return 0;
	}
	return lookup(dev, &nexthop, ret_mac) < 0 ? -EHOSTUNREACH : 0;
}

int
pmv_verbs_nexthop_route(struct pmv_device *dev, const union pmv_gid *dgid, uint16_t sgid_index,
	union pmv_gid *ret_nexthop)
{
	int rc;

	pmv_verbs_lock(dev);
	rc = route(dev, dgid, sgid_index, ret_nexthop);
	pmv_verbs_unlock(dev);
	return rc;
}

int
pmv_verbs_nexthop_resolve(
	struct pmv_device *dev, const union pmv_gid *dgid, uint16_t sgid_index, uint8_t ret_mac[6])
{
	int rc;

	pmv_verbs_lock(dev);
	rc = pmv_verbs_nexthop_resolve_locked(dev, dgid, sgid_index, ret_mac);
	pmv_verbs_unlock(dev);
	return rc;
}

/* Owner lcore: moves the QPs that send to the old MAC. */
static void
commit_change(struct pmv_op *op)
{
	struct pmv_worker *w = op->object;
	struct rte_ether_addr old_mac, new_mac;
	union pmv_gid gid;

	memcpy(gid.raw, op->arg, sizeof(gid));
	mac_unpack(op->arg[2], old_mac.addr_bytes);
	mac_unpack(op->arg[3], new_mac.addr_bytes);
	w->ops->qp_neigh_commit(w, &gid, &old_mac, &new_mac);
}

/* Tells every worker. Room was checked and the lock is held, so only a lack of memory is left to
 * fail. */
static int
post_change(struct pmv_device *dev, const union pmv_gid *gid, const uint8_t old_mac[6],
	const uint8_t mac[6])
{
	uint64_t arg[4];
	int rc = 0;
	uint32_t i;

	memcpy(arg, gid->raw, sizeof(*gid));
	arg[2] = mac_pack(old_mac);
	arg[3] = mac_pack(mac);
	for (i = 0; i < dev->param.nb_workers && rc == 0; i++) {
		if (dev->workers[i] != NULL)
			rc = pmv_lcore_mailbox_post(
				dev->workers[i], commit_change, dev->workers[i], arg, 4);
	}
	return rc;
}

static bool
is_room(struct pmv_device *dev)
{
	uint32_t i;

	for (i = 0; i < dev->param.nb_workers; i++)
		if (dev->workers[i] != NULL && pmv_lcore_mailbox_room(dev->workers[i]) == 0)
			return false;
	return true;
}

static int
set(struct pmv_device *dev, const union pmv_gid *gid, const uint8_t mac[6])
{
	struct pmv_nexthops *t = dev->nexthops;
	void *data = (void *)(uintptr_t)(mac_pack(mac) | ENTRY_BIT);
	uint8_t old_mac[6];
	int rc;

	if (lookup(dev, gid, old_mac) < 0) {
		if (t->nb >= PMV_VERBS_NEXTHOPS_MAX ||
			rte_hash_add_key_data(t->hash, gid->raw, data) < 0)
			return -ENOSPC;
		t->nb++;
		return 0;
	}
	if (memcmp(old_mac, mac, 6) == 0)
		return 0;
	if (!is_room(dev))
		return -EAGAIN;
	rc = post_change(dev, gid, old_mac, mac);
	/* The key is there, so this replaces its data and cannot fail. */
	if (rc == 0)
		rte_hash_add_key_data(t->hash, gid->raw, data);
	return rc;
}

/* What is wrong with a neighbour, or NULL. */
static const char *
neigh_problem(const union pmv_gid *gid, const uint8_t mac[6])
{
	if (pmv_gid_is_multicast(gid->raw))
		return "gid is multicast";
	if (pmv_gid_is_broadcast(gid->raw) || pmv_gid_is_loopback(gid->raw))
		return "gid is the broadcast or a loopback address";
	if (pmv_verbs_addr_is_unspecified(gid))
		return "gid is unspecified";
	if (mac[0] & 1)
		return "mac is multicast";
	if (mac_pack(mac) == 0)
		return "mac is all-zero";
	return NULL;
}

int
pmv_verbs_nexthop_set(struct pmv_device *dev, const union pmv_gid *gid, const uint8_t mac[6])
{
	int rc;

	if (neigh_problem(gid, mac) != NULL)
		return -EINVAL;
	pmv_verbs_lock(dev);
	rc = set(dev, gid, mac);
	pmv_verbs_unlock(dev);
	return rc;
}

int
pmv_neigh_set(struct pmv_device *dev, const union pmv_gid *gid, const uint8_t mac[6])
{
	const char *why;
	int rc;

	if (PMV_ANY_NULL("neigh_set", "device gid mac", dev, gid, mac))
		return -EINVAL;
	rc = pmv_verbs_nexthop_set(dev, gid, mac);
	if (rc == 0 || rc == -EAGAIN)
		return rc;
	why = rc == -EINVAL   ? neigh_problem(gid, mac)
	      : rc == -ENOSPC ? "the table is full"
			      : strerror(-rc);
	return pmv_log_refuse(rc, "neigh_set: port %u: %s", dev->port_id, why);
}

int
pmv_verbs_nexthop_del(struct pmv_device *dev, const union pmv_gid *gid)
{
	int rc;

	pmv_verbs_lock(dev);
	rc = rte_hash_del_key(dev->nexthops->hash, gid->raw);
	if (rc >= 0)
		dev->nexthops->nb--;
	pmv_verbs_unlock(dev);
	return rc < 0 ? -ENOENT : 0;
}

int
pmv_verbs_nexthop_lookup(struct pmv_device *dev, const union pmv_gid *gid, uint8_t ret_mac[6])
{
	int rc;

	pmv_verbs_lock(dev);
	rc = lookup(dev, gid, ret_mac);
	pmv_verbs_unlock(dev);
	return rc;
}
