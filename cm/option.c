// SPDX-License-Identifier: BSD-3-Clause
/*
 * Options of an id, and its addresses as sockets know them. An option that comes too late to have
 * an effect is refused, never swallowed. Control lcore.
 */
#include "cm/option.h"

#include <errno.h>
#include <string.h>

#include "cm/id.h"
#include "cm/limits.h"
#include "cm/sockaddr.h"
#include "lib/util/log.h"
#include "lib/wire/gid.h"

#define CODE_MAX             31u
#define RESPONSE_TIMEOUT_MIN 8u
#define CM_RETRIES_MAX       15u

/* Before connect, before accept. */
static bool
before_attempt(const struct pmv_cm_id *id)
{
	switch (id->phase) {
	case PMV_CM_PH_REQUEST:
		return pmv_cm_conn_takes(id, PMV_CM_IN_ACCEPT);
	case PMV_CM_PH_LISTEN:
	case PMV_CM_PH_GONE:
		return false;
	default:
		return id->conn.state == PMV_CM_ST_IDLE;
	}
}

static int
refuse_late(const char *call)
{
	return pmv_log_refuse(-EINVAL, "%s: id: too late, or it has no QP to come", call);
}

/* For a time as a code of 5 bits. 0; -EINVAL. */
static int
check_code(const struct pmv_cm_id *id, const char *call, uint8_t code)
{
	int err = pmv_cm_id_check(id, call);

	if (err != 0)
		return err;
	if (code > CODE_MAX)
		return pmv_log_refuse(-EINVAL, "%s: code %u is above %u", call, code, CODE_MAX);
	return before_attempt(id) ? 0 : refuse_late(call);
}

int
pmv_cm_set_service_type(struct pmv_cm_id *id, uint8_t tos)
{
	int err = pmv_cm_id_check(id, "cm_set_service_type");

	if (err != 0)
		return err;
	if (!before_attempt(id) || id->phase == PMV_CM_PH_ROUTE_RESOLVED)
		return refuse_late("cm_set_service_type");
	id->tos = tos;
	id->options |= PMV_CM_OPT_TOS;
	return 0;
}

int
pmv_cm_set_ack_timeout(struct pmv_cm_id *id, uint8_t code)
{
	int err = check_code(id, "cm_set_ack_timeout", code);

	if (err != 0)
		return err;
	id->ack_timeout = code;
	id->options |= PMV_CM_OPT_ACK_TIMEOUT;
	return 0;
}

int
pmv_cm_set_min_rnr_timer(struct pmv_cm_id *id, uint8_t code)
{
	int err = check_code(id, "cm_set_min_rnr_timer", code);

	if (err != 0)
		return err;
	id->min_rnr_timer = code;
	return 0;
}

int
pmv_cm_set_timers(struct pmv_cm_id *id, uint8_t response_timeout, uint8_t retries)
{
	int err = pmv_cm_id_check(id, "cm_set_timers");

	if (err != 0)
		return err;
	if (response_timeout < RESPONSE_TIMEOUT_MIN || response_timeout > CODE_MAX)
		return pmv_log_refuse(-EINVAL, "cm_set_timers: response_timeout %u is not %u..%u",
			response_timeout, RESPONSE_TIMEOUT_MIN, CODE_MAX);
	if (retries > CM_RETRIES_MAX)
		return pmv_log_refuse(
			-EINVAL, "cm_set_timers: retries %u is above %u", retries, CM_RETRIES_MAX);
	if (!before_attempt(id))
		return refuse_late("cm_set_timers");
	id->response_timeout = response_timeout;
	id->cm_retries = retries;
	id->options |= PMV_CM_OPT_TIMERS;
	return 0;
}

static uint32_t
scope_of(const struct pmv_cm_id *id, const uint8_t gid[16])
{
	return id->dev != NULL && pmv_gid_is_link_local(gid) ? id->dev->facts.port_id + 1u : 0;
}

void
pmv_cm_id_local_addr(const struct pmv_cm_id *id, struct sockaddr_storage *ret_addr)
{
	struct pmv_cm_sockaddr a = {
		.port = id->src_port,
		.v4 = id->v4,
		.any = pmv_gid_is_zero(id->src),
		.scope = scope_of(id, id->src),
	};

	memset(ret_addr, 0, sizeof(*ret_addr));
	if (!id->has_src && a.any)
		return;
	memcpy(a.gid, id->src, 16);
	pmv_cm_sockaddr_put(&a, ret_addr);
}

void
pmv_cm_id_peer_addr(const struct pmv_cm_id *id, struct sockaddr_storage *ret_addr)
{
	struct pmv_cm_sockaddr a = {
		.port = id->dst_port,
		.v4 = id->v4,
		.scope = scope_of(id, id->dst),
	};

	memset(ret_addr, 0, sizeof(*ret_addr));
	if (pmv_gid_is_zero(id->dst))
		return;
	memcpy(a.gid, id->dst, 16);
	pmv_cm_sockaddr_put(&a, ret_addr);
}
