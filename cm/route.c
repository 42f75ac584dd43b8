// SPDX-License-Identifier: BSD-3-Clause
/*
 * Address and route resolution, see route.h. Control lcore.
 */
#include "cm/route.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "cm/id.h"
#include "cm/lan.h"
#include "cm/limits.h"
#include "cm/port.h"
#include "lib/util/log.h"
#include "lib/verbs/nexthop.h"
#include "lib/wire/flow_label.h"
#include "lib/wire/gid.h"

#define TIMEOUT_MS_MAX 600000u
/* How long a passive side tries to learn its peer's MAC. */
#define TRACK_US (3u * PMV_CM_US_PER_S)
/* Just after the second ARP request. */
#define LOOK_UP_AFTER_US (PMV_CM_NEIGH_RETRY_FIRST_US + 50u * PMV_CM_US_PER_MS)

/* ---- Our own address ---- */

static struct pmv_cm_dev *
dev_of(struct pmv_cm *cm, const uint8_t gid[16], uint32_t scope)
{
	uint32_t i;

	for (i = 0; i < cm->nb_devs; i++) {
		struct pmv_cm_dev *dev = cm->devs[i];

		if (scope != 0 && scope != dev->facts.port_id + 1u)
			continue;
		if (pmv_cm_dev_addr_index(dev, gid) != PMV_CM_NO_ADDR)
			return dev;
	}
	return NULL;
}

/* refuse(-ENODEV, "cm_resolve_addr: dst", addr, "no device can reach it"). @return err. */
static int
refuse(int err, const char *who, const struct pmv_cm_sockaddr *a, const char *why)
{
	union pmv_gid gid;
	char text[64];

	memcpy(gid.raw, a->gid, 16);
	return pmv_log_refuse(err, "%s %s: %s", who, pmv_gid_str(&gid, text, sizeof(text)), why);
}

int
pmv_cm_route_set_source(struct pmv_cm_id *id, const struct pmv_cm_sockaddr *a, const char *who)
{
	struct pmv_cm_dev *dev = NULL;

	if (!a->any) {
		dev = dev_of(id->cm, a->gid, a->scope);
		if (dev == NULL)
			return refuse(-EADDRNOTAVAIL, who, a, "no device of the CM has it");
	}
	memcpy(id->src, a->gid, 16);
	id->dev = dev;
	id->v4 = a->v4;
	id->src_any = a->any;
	id->has_src = true;
	return 0;
}

void
pmv_cm_route_clear_source(struct pmv_cm_id *id)
{
	memset(id->src, 0, 16);
	id->dev = NULL;
	id->v4 = false;
	id->src_any = false;
	id->has_src = false;
}

/* Bits of a and b that agree, from the first on, up to nb. */
static bool
prefix_match(const uint8_t *a, const uint8_t *b, uint32_t nb)
{
	uint32_t bytes = nb / 8;
	uint8_t mask = (uint8_t)(0xff00u >> nb % 8);

	return memcmp(a, b, bytes) == 0 && (nb % 8 == 0 || ((a[bytes] ^ b[bytes]) & mask) == 0);
}

static bool
on_link(const struct pmv_ip_addr *own, const uint8_t ip[16])
{
	bool v4 = pmv_gid_is_v4(own->gid.raw);

	if (pmv_gid_is_zero(own->gid.raw) || v4 != pmv_gid_is_v4(ip))
		return false;
	return prefix_match(own->gid.raw, ip, own->prefix_len + (v4 ? 96u : 0));
}

uint16_t
pmv_cm_route_source_on_link(const struct pmv_cm_dev *dev, const uint8_t ip[16])
{
	uint32_t i;

	for (i = 0; i < dev->facts.nb_addrs; i++)
		if (on_link(&dev->facts.addr[i], ip))
			return (uint16_t)i;
	return PMV_CM_NO_ADDR;
}

/* ---- Choosing device and source ---- */

struct choice {
	struct pmv_cm_dev *dev;
	uint16_t sgid_index;
	uint8_t nexthop[16];
};

/* How good a source is: 4 on-link, 3 the destination is this device's own address (another port of
 * ours on the same wire is better), 2 through a gateway, 1 the family fits but there is no route, 0
 * not at all. */
static int
rate(struct pmv_cm_dev *dev, uint16_t index, const uint8_t dst[16], uint8_t nexthop[16])
{
	const uint8_t *own = dev->facts.addr[index].gid.raw;
	bool v4 = pmv_gid_is_v4(dst);
	union pmv_gid dgid, hop;

	if (pmv_gid_is_zero(own) || pmv_gid_is_v4(own) != v4)
		return 0;
	/* Global and link-local addresses do not talk to each other. */
	if (!v4 && pmv_gid_is_link_local(dst) != pmv_gid_is_link_local(own))
		return 0;
	memcpy(dgid.raw, dst, 16);
	if (pmv_verbs_nexthop_route(dev->device, &dgid, index, &hop) != 0)
		return 1;
	memcpy(nexthop, hop.raw, 16);
	if (memcmp(hop.raw, dst, 16) != 0)
		return 2;
	return pmv_cm_dev_addr_index(dev, dst) != PMV_CM_NO_ADDR ? 3 : 4;
}

static int
choose(struct pmv_cm_id *id, const struct pmv_cm_sockaddr *dst, struct choice *ret)
{
	struct pmv_cm *cm = id->cm;
	uint8_t nexthop[16];
	int best = 0;
	uint32_t i, k;

	for (i = 0; i < cm->nb_devs; i++) {
		struct pmv_cm_dev *dev = cm->devs[i];

		if (id->dev != NULL && id->dev != dev)
			continue;
		if (dst->scope != 0 && dst->scope != dev->facts.port_id + 1u)
			continue;
		for (k = 0; k < dev->facts.nb_addrs; k++) {
			int r;

			if (id->has_src && !id->src_any &&
				memcmp(dev->facts.addr[k].gid.raw, id->src, 16) != 0)
				continue;
			r = rate(dev, (uint16_t)k, dst->gid, nexthop);
			if (r <= best)
				continue;
			best = r;
			*ret = (struct choice){ .dev = dev, .sgid_index = (uint16_t)k };
			memcpy(ret->nexthop, nexthop, 16);
		}
	}
	return best;
}

/* ---- Resolving ---- */

static void
mac_unlist(struct pmv_cm_id *id)
{
	if (id->mac_listed)
		TAILQ_REMOVE(&id->cm->mac_wait, id, mac_link);
	id->mac_listed = false;
}

/* Back to what the id was before the call; a port that was asked for stays its own. */
static void
undo(struct pmv_cm_id *id)
{
	if (!id->exclusive) {
		pmv_cm_port_drop(id);
		pmv_cm_route_clear_source(id);
	} else if (id->src_any) {
		memset(id->src, 0, 16);
		id->dev = NULL;
	}
	memset(id->dst, 0, 16);
	id->dst_port = 0;
	id->conn.av.dev = NULL;
	id->phase = id->exclusive ? PMV_CM_PH_BOUND : PMV_CM_PH_IDLE;
}

static void
failed(struct pmv_cm_id *id, int err)
{
	mac_unlist(id);
	undo(id);
	pmv_cm_event_queue(id, PMV_CM_SLOT_ADDR, PMV_CM_EVENT_ADDR_ERROR, err, NULL);
}

static void
resolved(struct pmv_cm_id *id)
{
	mac_unlist(id);
	id->phase = PMV_CM_PH_ADDR_RESOLVED;
	pmv_cm_event_queue(id, PMV_CM_SLOT_ADDR, PMV_CM_EVENT_ADDR_RESOLVED, 0, NULL);
}

/* The neighbour is known: hold it, and tell the device, for QPs and address handles. */
static void
hold_entry(struct pmv_cm_id *id, uint32_t entry)
{
	struct pmv_cm_dev *dev = id->conn.av.dev;
	const struct pmv_cm_neigh_entry *e = &dev->neigh.entries[entry];

	id->conn.av.entry = entry;
	memcpy(id->conn.av.dmac, e->mac, 6);
	pmv_cm_lan_nexthop(dev, e->key.ip, e->mac);
}

void
pmv_cm_route_done(struct pmv_cm_neigh_waiter *w)
{
	struct pmv_cm_id *id = (struct pmv_cm_id *)((char *)w - offsetof(struct pmv_cm_id, waiter));

	if (w->err == 0)
		hold_entry(id, w->entry);
	if (id->phase != PMV_CM_PH_ADDR_QUERY)
		return;
	if (w->err != 0)
		failed(id, w->err);
	else
		resolved(id);
}

/* The device's own table knows the MAC: an address of ours, or one that the application entered. */
static bool
known_to_device(struct pmv_cm_id *id)
{
	struct pmv_cm_av *av = &id->conn.av;
	union pmv_gid dgid;

	memcpy(dgid.raw, av->dgid, 16);
	return pmv_verbs_nexthop_resolve(av->dev->device, &dgid, av->sgid_index, av->dmac) == 0;
}

/* @return 0 known, -EINPROGRESS, or an errno. */
static int
ask(struct pmv_cm_id *id, uint64_t deadline)
{
	struct pmv_cm_dev *dev = id->conn.av.dev;
	uint64_t now = pmv_cm_clock(id->cm);
	struct pmv_cm_neigh_key key;
	struct pmv_cm_neigh_out out;
	int err;

	memcpy(key.ip, id->nexthop, 16);
	key.vlan = dev->facts.vlan_id;
	/* An address of ours, or the application's word on a device where we must not ask. */
	if ((!pmv_cm_dev_is_own(dev) ||
		    pmv_cm_dev_addr_index(dev, id->nexthop) != PMV_CM_NO_ADDR) &&
		known_to_device(id))
		return 0;
	out.nb = 0;
	err = pmv_cm_neigh_resolve(&dev->neigh, &key, now, deadline, &id->waiter, &out);
	if (err == 0)
		hold_entry(id, id->waiter.entry);
	pmv_cm_lan_apply(dev, &out);
	return err;
}

static void
av_fill(struct pmv_cm_id *id, const struct choice *c)
{
	struct pmv_cm_av *av = &id->conn.av;

	memset(av, 0, sizeof(*av));
	av->dev = c->dev;
	av->sgid_index = c->sgid_index;
	av->entry = PMV_CM_NEIGH_NONE;
	memcpy(av->sgid, c->dev->facts.addr[c->sgid_index].gid.raw, 16);
	memcpy(av->dgid, id->dst, 16);
}

static void
start(struct pmv_cm_id *id, const struct choice *c, uint32_t timeout_ms)
{
	int err;

	id->phase = PMV_CM_PH_ADDR_QUERY;
	id->dev = c->dev;
	id->asked_at = pmv_cm_clock(id->cm);
	memcpy(id->nexthop, c->nexthop, 16);
	memcpy(id->src, c->dev->facts.addr[c->sgid_index].gid.raw, 16);
	av_fill(id, c);
	if (!id->port_listed && pmv_cm_port_pick(id) != 0) {
		failed(id, -EADDRINUSE);
		return;
	}
	err = ask(id, id->asked_at + timeout_ms * PMV_CM_US_PER_MS * id->cm->ticks_per_us);
	if (id->phase != PMV_CM_PH_ADDR_QUERY)
		return; /* the answer was there at once */
	if (err == 0) {
		resolved(id);
	} else if (err == -EINPROGRESS) {
		id->mac_listed = true;
		TAILQ_INSERT_TAIL(&id->cm->mac_wait, id, mac_link);
	} else {
		failed(id, err);
	}
}

/* A bound id keeps its address: src may only repeat it (rdma_cm does not look at it then). */
static bool
is_own_source(const struct pmv_cm_id *id, const struct pmv_cm_sockaddr *src)
{
	return src->v4 == id->v4 && src->any == id->src_any && memcmp(src->gid, id->src, 16) == 0 &&
	       (src->port == 0 || src->port == id->src_port) &&
	       (src->scope == 0 || src->scope == id->dev->facts.port_id + 1u);
}

/* src: NULL when there is none. */
static int
resolve_check(const struct pmv_cm_id *id, const struct pmv_cm_sockaddr *src,
	const struct pmv_cm_sockaddr *dst, uint32_t timeout_ms)
{
	const char *why = NULL;

	if (id->phase != PMV_CM_PH_IDLE && id->phase != PMV_CM_PH_BOUND)
		why = "id is resolved, listening, or past that";
	else if (id->phase == PMV_CM_PH_BOUND && src != NULL && !is_own_source(id, src))
		why = "src is not what id is bound to";
	else if (timeout_ms == 0 || timeout_ms > TIMEOUT_MS_MAX)
		why = "timeout_ms is not 1..600000";
	else if (dst->any)
		why = "dst is the wildcard";
	else if (dst->port == 0)
		why = "dst has port 0";
	else if (src != NULL && src->v4 != dst->v4)
		why = "src and dst are of different address families";
	else if (id->phase == PMV_CM_PH_BOUND && id->v4 != dst->v4)
		why = "dst is of another address family than what id is bound to";
	else if (!pmv_cm_event_slot_free(id, PMV_CM_SLOT_ADDR) &&
		 !pmv_cm_event_slot_free(id, PMV_CM_SLOT_ADDR_2))
		why = "id: two events of earlier calls were not given back";
	return why == NULL ? 0 : pmv_log_refuse(-EINVAL, "cm_resolve_addr: %s", why);
}

/* The id gets the source that was asked for. */
static int
bind_source(struct pmv_cm_id *id, const struct pmv_cm_sockaddr *src)
{
	int err = pmv_cm_route_set_source(id, src, "cm_resolve_addr: src");

	if (err == 0 && src->port != 0)
		err = pmv_cm_port_bind(id, src->port, "cm_resolve_addr: src");
	if (err != 0)
		pmv_cm_route_clear_source(id);
	return err;
}

/* Everything was checked. */
static int
resolve(struct pmv_cm_id *id, const struct pmv_cm_sockaddr *src, const struct pmv_cm_sockaddr *dst,
	uint32_t timeout_ms)
{
	bool bound = id->phase == PMV_CM_PH_BOUND;
	struct choice c;
	int err = src != NULL && !bound ? bind_source(id, src) : 0;

	if (err != 0)
		return err;
	switch (choose(id, dst, &c)) {
	case 0:
		if (!bound) {
			pmv_cm_port_drop(id);
			pmv_cm_route_clear_source(id);
		}
		return refuse(-ENODEV, "cm_resolve_addr: dst", dst,
			"no device, or not the one of src, has an address of its family and scope");
	case 1:
		id->phase = PMV_CM_PH_ADDR_QUERY;
		failed(id, -ENETUNREACH);
		return 0;
	default:
		id->v4 = dst->v4;
		memcpy(id->dst, dst->gid, 16);
		id->dst_port = dst->port;
		start(id, &c, timeout_ms);
		return 0;
	}
}

int
pmv_cm_resolve_addr(struct pmv_cm_id *id, const struct sockaddr *src, const struct sockaddr *dst,
	uint32_t timeout_ms)
{
	struct pmv_cm_sockaddr from, to;
	const char *problem;
	int err = pmv_cm_id_check(id, "cm_resolve_addr");

	if (err != 0)
		return err;
	problem = pmv_cm_sockaddr_get(dst, &to);
	if (problem != NULL)
		return pmv_log_refuse(-EINVAL, "cm_resolve_addr: dst %s", problem);
	problem = src != NULL ? pmv_cm_sockaddr_get(src, &from) : NULL;
	if (problem != NULL)
		return pmv_log_refuse(-EINVAL, "cm_resolve_addr: src %s", problem);
	err = resolve_check(id, src != NULL ? &from : NULL, &to, timeout_ms);
	return err != 0 ? err : resolve(id, src != NULL ? &from : NULL, &to, timeout_ms);
}

int
pmv_cm_resolve_route(struct pmv_cm_id *id, uint32_t timeout_ms)
{
	struct pmv_cm_av *av;
	const char *why = NULL;
	int err = pmv_cm_id_check(id, "cm_resolve_route");

	if (err != 0)
		return err;
	if (id->phase == PMV_CM_PH_GONE)
		return pmv_log_refuse(-ENODEV, "cm_resolve_route: id: its device was removed");
	if (id->phase != PMV_CM_PH_ADDR_RESOLVED)
		why = "id: its address is not resolved, or its route is";
	else if (timeout_ms > TIMEOUT_MS_MAX)
		why = "timeout_ms is above 600000";
	else if (!pmv_cm_event_slot_free(id, PMV_CM_SLOT_ROUTE))
		why = "id: an event of an earlier call was not given back";
	if (why != NULL)
		return pmv_log_refuse(-EINVAL, "cm_resolve_route: %s", why);
	/* No subnet manager to ask: the path follows from the addresses and the device. */
	av = &id->conn.av;
	av->flow_label = pmv_flow_label_from_cm_ports(id->src_port, id->dst_port);
	av->udp_sport = pmv_flow_label_sport(av->flow_label);
	av->tos = id->options & PMV_CM_OPT_TOS ? id->tos : 0;
	id->phase = PMV_CM_PH_ROUTE_RESOLVED;
	pmv_cm_event_queue(id, PMV_CM_SLOT_ROUTE, PMV_CM_EVENT_ROUTE_RESOLVED, 0, NULL);
	return 0;
}

/* ---- Passive side, end, turns ---- */

void
pmv_cm_route_track(struct pmv_cm_id *id)
{
	struct pmv_cm_av *av = &id->conn.av;
	union pmv_gid dgid, hop;
	uint8_t dmac[6];

	memcpy(dgid.raw, av->dgid, 16);
	if (pmv_verbs_nexthop_route(av->dev->device, &dgid, av->sgid_index, &hop) != 0)
		return;
	if (pmv_cm_dev_addr_index(av->dev, hop.raw) != PMV_CM_NO_ADDR)
		return;
	memcpy(id->nexthop, hop.raw, 16);
	memcpy(dmac, av->dmac, 6);
	if (ask(id, pmv_cm_clock(id->cm) + TRACK_US * id->cm->ticks_per_us) != 0)
		memcpy(av->dmac, dmac, 6);
}

void
pmv_cm_route_cancel(struct pmv_cm_id *id)
{
	mac_unlist(id);
	if (id->conn.av.dev != NULL)
		pmv_cm_neigh_cancel(&id->conn.av.dev->neigh, &id->waiter, pmv_cm_clock(id->cm));
}

void
pmv_cm_route_drop(struct pmv_cm_id *id)
{
	struct pmv_cm_av *av = &id->conn.av;

	pmv_cm_route_cancel(id);
	if (av->dev != NULL && av->entry != PMV_CM_NEIGH_NONE)
		pmv_cm_neigh_unpin(&av->dev->neigh, av->entry, pmv_cm_clock(id->cm));
	av->entry = PMV_CM_NEIGH_NONE;
	av->dev = NULL;
}

/* Where we ask ourselves, an answer is better than what the device's table remembers; the
 * application's entry counts when none has come for a while. */
static bool
may_look_up(const struct pmv_cm_id *id)
{
	return !pmv_cm_dev_is_own(id->conn.av.dev) ||
	       id->cm->now - id->asked_at > LOOK_UP_AFTER_US * id->cm->ticks_per_us;
}

uint32_t
pmv_cm_route_turn(struct pmv_cm *cm, uint32_t nb)
{
	struct pmv_cm_id *last = TAILQ_LAST(&cm->mac_wait, pmv_cm_id_list);
	struct pmv_cm_id *id = NULL;
	uint32_t found = 0;

	while (id != last && nb-- > 0) {
		id = TAILQ_FIRST(&cm->mac_wait);
		TAILQ_REMOVE(&cm->mac_wait, id, mac_link);
		TAILQ_INSERT_TAIL(&cm->mac_wait, id, mac_link);
		if (!may_look_up(id) || !known_to_device(id))
			continue;
		pmv_cm_neigh_cancel(&id->conn.av.dev->neigh, &id->waiter, cm->now);
		resolved(id);
		found++;
	}
	return found;
}
