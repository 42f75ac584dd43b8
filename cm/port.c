// SPDX-License-Identifier: BSD-3-Clause
/*
 * Local ports, see port.h. Control lcore.
 */
#include "cm/port.h"

#include <errno.h>
#include <string.h>

#include "cm/id.h"
#include "lib/util/log.h"

#define NB_EPHEMERAL (PMV_CM_PORT_LAST - PMV_CM_PORT_FIRST + 1)

struct pmv_cm_id_list *
pmv_cm_port_list(struct pmv_cm *cm, uint16_t port)
{
	return &cm->ports[port & (PMV_CM_PORT_BUCKETS - 1)];
}

/* Two bound addresses that could both be meant by one packet. [::] also takes IPv4. */
static bool
overlap(const struct pmv_cm_id *a, const struct pmv_cm_id *b)
{
	if (a->src_any && b->src_any)
		return a->v4 == b->v4 || !a->v4 || !b->v4;
	if (a->src_any)
		return a->v4 == b->v4 || !a->v4;
	if (b->src_any)
		return a->v4 == b->v4 || !b->v4;
	return memcmp(a->src, b->src, 16) == 0 && a->dev == b->dev;
}

static bool
bind_ok(struct pmv_cm_id *id, uint16_t port)
{
	struct pmv_cm_id *other;

	TAILQ_FOREACH(other, pmv_cm_port_list(id->cm, port), port_link)
	if (other->src_port == port && other->ps == id->ps && other->exclusive &&
		overlap(id, other))
		return false;
	return true;
}

/* For a connection: nobody is bound there, and no other connection has the same four-tuple. */
static bool
pick_ok(struct pmv_cm_id *id, uint16_t port)
{
	struct pmv_cm_id *other;

	TAILQ_FOREACH(other, pmv_cm_port_list(id->cm, port), port_link)
	{
		if (other->src_port != port || other->ps != id->ps)
			continue;
		if (other->exclusive && overlap(id, other))
			return false;
		if (!other->exclusive && other->dst_port == id->dst_port &&
			memcmp(other->dst, id->dst, 16) == 0 &&
			memcmp(other->src, id->src, 16) == 0)
			return false;
	}
	return true;
}

static void
enter(struct pmv_cm_id *id, uint16_t port, bool exclusive)
{
	id->src_port = port;
	id->exclusive = exclusive;
	id->port_listed = true;
	TAILQ_INSERT_TAIL(pmv_cm_port_list(id->cm, port), id, port_link);
}

/* From a random start, so that a restarted program does not come back with the ports of its last
 * life. */
static int
choose(struct pmv_cm_id *id, bool (*ok)(struct pmv_cm_id *id, uint16_t port), bool exclusive)
{
	uint32_t first = (uint32_t)pmv_random_below(&id->cm->random, NB_EPHEMERAL);
	uint32_t i;

	for (i = 0; i < NB_EPHEMERAL; i++) {
		uint16_t port = (uint16_t)(PMV_CM_PORT_FIRST + (first + i) % NB_EPHEMERAL);

		if (ok(id, port)) {
			enter(id, port, exclusive);
			return 0;
		}
	}
	return -EADDRINUSE;
}

int
pmv_cm_port_bind(struct pmv_cm_id *id, uint16_t port, const char *who)
{
	if (port != 0 && !bind_ok(id, port))
		return pmv_log_refuse(-EADDRINUSE, "%s: port %u is in use", who, port);
	if (port == 0 && choose(id, bind_ok, true) != 0)
		return pmv_log_refuse(-EADDRINUSE, "%s: no port is free", who);
	if (port != 0)
		enter(id, port, true);
	return 0;
}

int
pmv_cm_port_pick(struct pmv_cm_id *id)
{
	return choose(id, pick_ok, false);
}

void
pmv_cm_port_drop(struct pmv_cm_id *id)
{
	if (id->port_listed)
		TAILQ_REMOVE(pmv_cm_port_list(id->cm, id->src_port), id, port_link);
	id->port_listed = false;
	id->exclusive = false;
	id->src_port = 0;
}
