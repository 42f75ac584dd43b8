// SPDX-License-Identifier: BSD-3-Clause
/*
 * Socket addresses of the public calls, see sockaddr.h.
 */
#include "cm/sockaddr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include "lib/wire/gid.h"

static void
get_v4(const struct sockaddr_in *in, struct pmv_cm_sockaddr *ret)
{
	uint32_t ip = ntohl(in->sin_addr.s_addr);

	ret->v4 = true;
	ret->any = ip == 0;
	ret->port = ntohs(in->sin_port);
	if (ip != 0)
		pmv_gid_from_ipv4(ret->gid, ip);
}

static void
get_v6(const struct sockaddr_in6 *in, struct pmv_cm_sockaddr *ret)
{
	memcpy(ret->gid, &in->sin6_addr, 16);
	ret->v4 = pmv_gid_is_v4(ret->gid);
	ret->any = pmv_gid_is_zero(ret->gid);
	ret->port = ntohs(in->sin6_port);
	ret->scope = in->sin6_scope_id;
}

const char *
pmv_cm_sockaddr_get(const struct sockaddr *addr, struct pmv_cm_sockaddr *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (addr == NULL)
		return "is NULL";
	if (addr->sa_family == AF_INET)
		get_v4((const struct sockaddr_in *)(const void *)addr, ret);
	else if (addr->sa_family == AF_INET6)
		get_v6((const struct sockaddr_in6 *)(const void *)addr, ret);
	else
		return "is neither AF_INET nor AF_INET6";
	if (pmv_gid_is_multicast(ret->gid))
		return "is multicast";
	if (pmv_gid_is_broadcast(ret->gid))
		return "is the broadcast address";
	if (pmv_gid_is_loopback(ret->gid))
		return "is a loopback address: nothing leaves the host for it";
	if (!pmv_gid_is_link_local(ret->gid))
		ret->scope = 0;
	else if (ret->scope == 0)
		return "is link-local, without sin6_scope_id";
	return NULL;
}

void
pmv_cm_sockaddr_put(const struct pmv_cm_sockaddr *a, struct sockaddr_storage *ret)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;

	memset(ret, 0, sizeof(*ret));
	if (a->v4) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(a->port);
		if (!a->any)
			v4->sin_addr.s_addr = htonl(pmv_gid_ipv4(a->gid));
		return;
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(a->port);
	v6->sin6_scope_id = a->scope;
	memcpy(&v6->sin6_addr, a->gid, 16);
}
