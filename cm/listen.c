// SPDX-License-Identifier: BSD-3-Clause
/*
 * Listeners, see listen.h. Control lcore.
 */
#include "cm/listen.h"

#include <errno.h>
#include <string.h>

#include "cm/id.h"
#include "cm/port.h"
#include "cm/route.h"
#include "cm/sockaddr.h"
#include "lib/util/log.h"
#include "lib/wire/gid.h"

#define BACKLOG_DEFAULT 128u

bool
pmv_cm_listen_any(struct pmv_cm *cm, uint16_t ps, uint16_t port)
{
	struct pmv_cm_id *id;

	TAILQ_FOREACH(id, pmv_cm_port_list(cm, port), port_link)
	if (id->phase == PMV_CM_PH_LISTEN && id->src_port == port && id->ps == ps)
		return true;
	return false;
}

/* How well a listener fits: 3 its address, 2 wildcard of the family, 1 [::] for IPv4, 0 not. */
static int
fit(const struct pmv_cm_id *id, const struct pmv_cm_dev *dev, const uint8_t dst[16])
{
	bool v4 = pmv_gid_is_v4(dst);

	if (!id->src_any)
		return id->dev == dev && memcmp(id->src, dst, 16) == 0 ? 3 : 0;
	if (id->v4 == v4)
		return 2;
	return v4 ? 1 : 0;
}

struct pmv_cm_id *
pmv_cm_listen_find(struct pmv_cm_dev *dev, uint16_t ps, uint16_t port, const uint8_t dst[16])
{
	struct pmv_cm_id *best = NULL;
	struct pmv_cm_id *id;
	int best_fit = 0;

	TAILQ_FOREACH(id, pmv_cm_port_list(dev->cm, port), port_link)
	{
		int f;

		if (id->phase != PMV_CM_PH_LISTEN || id->src_port != port || id->ps != ps)
			continue;
		f = fit(id, dev, dst);
		if (f > best_fit) {
			best_fit = f;
			best = id;
		}
	}
	return best;
}

int
pmv_cm_bind_addr(struct pmv_cm_id *id, const struct sockaddr *addr)
{
	struct pmv_cm_sockaddr a;
	const char *problem;
	int err = pmv_cm_id_check(id, "cm_bind_addr");

	if (err != 0)
		return err;
	if (id->phase != PMV_CM_PH_IDLE)
		return pmv_log_refuse(-EINVAL, "cm_bind_addr: id is bound already, or past that");
	problem = pmv_cm_sockaddr_get(addr, &a);
	if (problem != NULL)
		return pmv_log_refuse(-EINVAL, "cm_bind_addr: addr %s", problem);
	err = pmv_cm_route_set_source(id, &a, "cm_bind_addr: addr");
	if (err != 0)
		return err;
	err = pmv_cm_port_bind(id, a.port, "cm_bind_addr: addr");
	if (err != 0) {
		pmv_cm_route_clear_source(id);
		return err;
	}
	id->phase = PMV_CM_PH_BOUND;
	return 0;
}

int
pmv_cm_listen(struct pmv_cm_id *id, uint32_t backlog)
{
	int err = pmv_cm_id_check(id, "cm_listen");

	if (err != 0)
		return err;
	if (id->phase != PMV_CM_PH_BOUND)
		return pmv_log_refuse(-EINVAL, "cm_listen: id is not bound, or in use");
	id->backlog = backlog != 0 ? backlog : BACKLOG_DEFAULT;
	id->phase = PMV_CM_PH_LISTEN;
	return 0;
}
