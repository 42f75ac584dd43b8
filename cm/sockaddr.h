// SPDX-License-Identifier: BSD-3-Clause
/*
 * Socket addresses of the public calls <-> GID, port and scope. Control lcore; touches no state.
 *
 * Scope: a link-local IPv6 address names the port it belongs to; sin6_scope_id is the ethdev port's
 * number plus one (0, the value of a program that never heard of scopes, is no port).
 */
#ifndef PMV_CM_SOCKADDR_H
#define PMV_CM_SOCKADDR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct pmv_cm_sockaddr {
	uint8_t gid[16]; /* all zero: the wildcard of the family */
	uint16_t port;   /* host order */
	uint32_t scope;  /* link-local: ethdev port + 1 */
	bool v4;
	bool any; /* wildcard */
};

/* @return NULL, or what is wrong: NULL, another family, multicast, broadcast, loopback, or
 * link-local without a scope. */
const char *pmv_cm_sockaddr_get(const struct sockaddr *addr, struct pmv_cm_sockaddr *ret);

/* Writes sockaddr_in or sockaddr_in6. */
void pmv_cm_sockaddr_put(const struct pmv_cm_sockaddr *a, struct sockaddr_storage *ret);

#endif
