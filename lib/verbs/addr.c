// SPDX-License-Identifier: BSD-3-Clause
/*
 * Addresses and gateways of a device, and addresses as text; see addr.h. Control threads.
 */
#include "lib/verbs/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/util/log.h"
#include "lib/verbs/device.h"
#include "lib/verbs/mcast_filter.h"
#include "lib/verbs/port.h"
#include "lib/wire/gid.h"

uint32_t
pmv_verbs_addr_family(const union pmv_gid *gid)
{
	return pmv_gid_is_v4(gid->raw) ? 0 : 1;
}

bool
pmv_verbs_addr_is_unspecified(const union pmv_gid *gid)
{
	return pmv_gid_is_zero(gid->raw) ||
	       (pmv_gid_is_v4(gid->raw) && pmv_gid_ipv4(gid->raw) == 0);
}

int
pmv_verbs_addr_find(const struct pmv_device *dev, const union pmv_gid *gid)
{
	uint32_t i;

	for (i = 0; i < dev->addrs.nb; i++)
		if (pmv_gid_is_equal(dev->addrs.addr[i].gid.raw, gid->raw) &&
			!pmv_gid_is_zero(gid->raw))
			return (int)i;
	return -ENOENT;
}

const struct pmv_ip_addr *
pmv_verbs_addr_at(const struct pmv_device *dev, uint32_t index)
{
	if (index >= dev->addrs.nb || pmv_gid_is_zero(dev->addrs.addr[index].gid.raw))
		return NULL;
	return &dev->addrs.addr[index];
}

/* The first nb_bits of a and b are equal. */
static bool
is_prefix_equal(const uint8_t *a, const uint8_t *b, uint32_t nb_bits)
{
	uint32_t nb_bytes = nb_bits / 8;
	uint8_t mask = (uint8_t)(0xff00 >> (nb_bits % 8));

	return memcmp(a, b, nb_bytes) == 0 &&
	       (nb_bits % 8 == 0 || ((a[nb_bytes] ^ b[nb_bytes]) & mask) == 0);
}

bool
pmv_verbs_addr_is_on_link(const struct pmv_device *dev, const union pmv_gid *gid)
{
	uint32_t family = pmv_verbs_addr_family(gid);
	/* Of an IPv4-mapped GID the prefix counts from bit 96. */
	uint32_t skip = family == 0 ? 96 : 0;
	const struct pmv_ip_addr *a;
	uint32_t i;

	if (pmv_gid_is_link_local(gid->raw))
		return true;
	for (i = 0; i < dev->addrs.nb; i++) {
		a = pmv_verbs_addr_at(dev, i);
		if (a != NULL && pmv_verbs_addr_family(&a->gid) == family &&
			is_prefix_equal(a->gid.raw, gid->raw, skip + a->prefix_len))
			return true;
	}
	return false;
}

const char *
pmv_verbs_addr_no_host(const union pmv_gid *gid)
{
	if (pmv_gid_is_multicast(gid->raw))
		return "is multicast";
	if (pmv_gid_is_broadcast(gid->raw))
		return "is the broadcast address";
	if (pmv_gid_is_loopback(gid->raw))
		return "is a loopback address";
	return NULL;
}

static const char *
addr_problem(const struct pmv_ip_addr *a)
{
	const char *problem = pmv_verbs_addr_no_host(&a->gid);

	if (problem != NULL)
		return problem;
	if (pmv_verbs_addr_is_unspecified(&a->gid))
		return "is unspecified";
	if (a->prefix_len > (pmv_gid_is_v4(a->gid.raw) ? 32 : 128))
		return "has a prefix_len above 32 (IPv4) or 128 (IPv6)";
	return NULL;
}

/* The slot for a new address: the first hole, else the end; PMV_ADDRS_MAX when there is none. */
static uint32_t
free_slot(const struct pmv_device *dev)
{
	uint32_t i;

	for (i = 0; i < dev->addrs.nb; i++)
		if (pmv_gid_is_zero(dev->addrs.addr[i].gid.raw))
			return i;
	return dev->addrs.nb;
}

/* Tells the connection manager, and the port. */
static void
changed(struct pmv_device *dev)
{
	__atomic_fetch_add(&dev->addr_version, 1, __ATOMIC_RELEASE);
	pmv_verbs_mcast_filter_refresh(dev);
}

static int
add(struct pmv_device *dev, const struct pmv_ip_addr *addr)
{
	uint32_t slot = free_slot(dev);

	if (pmv_verbs_addr_find(dev, &addr->gid) >= 0)
		return -EEXIST;
	if (slot >= PMV_ADDRS_MAX)
		return -ENOSPC;
	dev->addrs.addr[slot] = *addr;
	/* Release: a worker that sees the count sees the address. */
	if (slot == dev->addrs.nb)
		__atomic_store_n(&dev->addrs.nb, slot + 1, __ATOMIC_RELEASE);
	pmv_verbs_port_gids_changed(dev);
	changed(dev);
	return 0;
}

int
pmv_device_add_addr(struct pmv_device *dev, const struct pmv_ip_addr *addr)
{
	char text[INET6_ADDRSTRLEN];
	const char *problem;
	int rc;

	if (PMV_ANY_NULL("device_add_addr", "device addr", dev, addr))
		return -EINVAL;
	problem = addr_problem(addr);
	if (problem != NULL)
		return pmv_log_refuse(-EINVAL, "device_add_addr: addr %s %s",
			pmv_gid_str(&addr->gid, text, sizeof(text)), problem);
	pmv_verbs_lock(dev);
	rc = add(dev, addr);
	pmv_verbs_unlock(dev);
	if (rc < 0)
		return pmv_log_refuse(rc, "device_add_addr: addr %s: port %u has %s",
			pmv_gid_str(&addr->gid, text, sizeof(text)), dev->port_id,
			rc == -EEXIST ? "it already" : "all its 16 addresses");
	return 0;
}

int
pmv_device_del_addr(struct pmv_device *dev, const union pmv_gid *gid)
{
	char text[INET6_ADDRSTRLEN];
	struct pmv_addr_table *t;
	int i;

	if (PMV_ANY_NULL("device_del_addr", "device gid", dev, gid))
		return -EINVAL;
	pmv_verbs_lock(dev);
	t = &dev->addrs;
	i = pmv_verbs_addr_find(dev, gid);
	if (i >= 0) {
		/* A worker that is just comparing sees a half of it at worst, which is nobody's
		 * address. */
		memset(&t->addr[i], 0, sizeof(t->addr[i]));
		while (t->nb > 0 && pmv_gid_is_zero(t->addr[t->nb - 1].gid.raw))
			__atomic_store_n(&t->nb, t->nb - 1, __ATOMIC_RELEASE);
		pmv_verbs_port_gids_changed(dev);
		changed(dev);
	}
	pmv_verbs_unlock(dev);
	if (i < 0)
		return pmv_log_refuse(i, "device_del_addr: gid %s: port %u has no such address",
			pmv_gid_str(gid, text, sizeof(text)), dev->port_id);
	return 0;
}

int
pmv_device_set_gateway(struct pmv_device *dev, const union pmv_gid *gateway)
{
	const char *problem;
	uint32_t family;

	if (PMV_ANY_NULL("device_set_gateway", "device gateway", dev, gateway))
		return -EINVAL;
	problem = pmv_verbs_addr_no_host(gateway);
	if (problem != NULL)
		return pmv_log_refuse(-EINVAL, "device_set_gateway: gateway %s", problem);
	family = pmv_verbs_addr_family(gateway);
	pmv_verbs_lock(dev);
	if (pmv_gid_is_zero(gateway->raw))
		memset(dev->gateway, 0, sizeof(dev->gateway));
	else if (pmv_verbs_addr_is_unspecified(gateway))
		memset(&dev->gateway[family], 0, sizeof(dev->gateway[family]));
	else
		dev->gateway[family] = *gateway;
	changed(dev);
	pmv_verbs_unlock(dev);
	return 0;
}

int
pmv_query_gid(struct pmv_device *dev, uint16_t index, union pmv_gid *ret_gid)
{
	const struct pmv_ip_addr *a;

	if (PMV_ANY_NULL("query_gid", "device ret_gid", dev, ret_gid))
		return -EINVAL;
	pmv_verbs_lock(dev);
	a = pmv_verbs_addr_at(dev, index);
	if (a != NULL)
		*ret_gid = a->gid;
	pmv_verbs_unlock(dev);
	if (a == NULL)
		return pmv_log_refuse(-EINVAL, "query_gid: index %u: no such address", index);
	return 0;
}

/* "24" -> 24, at most max. 0; -EINVAL. */
static int
parse_len(const char *text, uint8_t max, uint8_t *ret_len)
{
	unsigned long len;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	len = strtoul(text, &end, 10);
	if (*end != '\0' || len > max)
		return -EINVAL;
	*ret_len = (uint8_t)len;
	return 0;
}

static int
parse(const char *text, struct pmv_ip_addr *ret_addr)
{
	char host[INET6_ADDRSTRLEN + 1];
	struct pmv_ip_addr a = { .prefix_len = 128 };
	const char *slash;
	struct in_addr v4;
	size_t len;

	slash = strchr(text, '/');
	len = slash == NULL ? strlen(text) : (size_t)(slash - text);
	if (len >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, len);
	host[len] = '\0';
	if (inet_pton(AF_INET, host, &v4) == 1) {
		pmv_gid_from_ipv4(a.gid.raw, ntohl(v4.s_addr));
		a.prefix_len = 32;
	} else if (inet_pton(AF_INET6, host, a.gid.raw) != 1) {
		return -EINVAL;
	} else if (pmv_gid_is_v4(a.gid.raw)) {
		a.prefix_len = 32; /* "::ffff:10.0.0.1" is that IPv4 address */
	}
	if (slash != NULL && parse_len(slash + 1, a.prefix_len, &a.prefix_len) < 0)
		return -EINVAL;
	*ret_addr = a;
	return 0;
}

int
pmv_ip_addr_parse(const char *text, struct pmv_ip_addr *ret_addr)
{
	if (PMV_ANY_NULL("ip_addr_parse", "text ret_addr", text, ret_addr))
		return -EINVAL;
	if (parse(text, ret_addr) < 0)
		return pmv_log_refuse(
			-EINVAL, "ip_addr_parse: text \"%.80s\" is no address or prefix", text);
	return 0;
}

char *
pmv_gid_str(const union pmv_gid *gid, char *buf, uint32_t buf_bytes)
{
	bool is_v4 = pmv_gid_is_v4(gid->raw);

	if (buf_bytes == 0)
		return buf;
	buf[0] = '\0';
	inet_ntop(is_v4 ? AF_INET : AF_INET6, gid->raw + (is_v4 ? 12 : 0), buf, buf_bytes);
	return buf;
}
