// SPDX-License-Identifier: BSD-3-Clause
/*
 * Address handles. Control threads. A handle is constant once made: work requests copy what they
 * need of it.
 */
#include "lib/api/pmv_ah.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "lib/util/be.h"
#include "lib/util/log.h"
#include "lib/verbs/addr.h"
#include "lib/verbs/av.h"
#include "lib/verbs/device.h"
#include "lib/wire/gid.h"

#define IPV4_OFF     20u /* of the IPv4 header in the 40 bytes */
#define IPV4_BYTES   20u
#define GRH_IPV6_SRC 8u
#define GRH_IPV6_DST 24u

/* Under the lock; takes ah over. */
static int
init(struct pmv_ah *ah, const struct pmv_ah_attr *attr)
{
	struct pmv_device *dev = ah->pd->device;
	uint32_t mark = pmv_log_nb_errors;
	int rc;

	rc = pmv_verbs_av_resolve(dev, attr, true, "create_ah", &ah->av);
	if (rc == 0 && dev->driver->ops->ah_init != NULL)
		rc = dev->driver->ops->ah_init(ah);
	if (rc < 0)
		return pmv_log_refuse_since(mark, rc, "create_ah: %s", strerror(-rc));
	ah->pd->refs++;
	return 0;
}

int
pmv_create_ah(struct pmv_pd *pd, const struct pmv_ah_attr *attr, struct pmv_ah **ret_ah)
{
	struct pmv_device *dev;
	struct pmv_ah *ah;
	int rc;

	if (PMV_ANY_NULL("create_ah", "pd attr ret_ah", pd, attr, ret_ah))
		return -EINVAL;
	dev = pd->device;
	ah = rte_zmalloc_socket("pmv_ah", dev->driver->ah_bytes, 0, dev->socket_id);
	if (ah == NULL)
		return pmv_log_refuse(-ENOMEM, "create_ah: no memory");
	ah->pd = pd;
	pmv_verbs_lock(dev);
	rc = init(ah, attr);
	pmv_verbs_unlock(dev);
	if (rc < 0) {
		rte_free(ah);
		return rc;
	}
	*ret_ah = ah;
	return 0;
}

int
pmv_destroy_ah(struct pmv_ah *ah)
{
	struct pmv_device *dev;

	if (PMV_ANY_NULL("destroy_ah", "ah", ah))
		return -EINVAL;
	dev = ah->pd->device;
	pmv_verbs_lock(dev);
	ah->pd->refs--;
	pmv_verbs_unlock(dev);
	rte_free(ah);
	return 0;
}

/* RFC 1071: the sum over a header with its checksum is ffff. */
static bool
is_ipv4_sum_ok(const uint8_t *h)
{
	uint32_t sum = 0;
	uint32_t i;

	for (i = 0; i < IPV4_BYTES; i += 2)
		sum += pmv_be16_load(h + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

/*
 * The answer's attributes but for sgid_index, and the address the message was sent to. Told apart
 * as Linux does: version 6 in front, or an IPv4 header without options and with a good checksum at
 * byte 20.
 */
static int
parse_grh(const uint8_t *grh, struct pmv_ah_attr *attr, union pmv_gid *ret_dst)
{
	const uint8_t *h = grh + IPV4_OFF;
	uint32_t word;

	memset(attr, 0, sizeof(*attr));
	if (grh[0] >> 4 == 6) {
		word = pmv_be32_load(grh);
		attr->traffic_class = (uint8_t)(word >> 20);
		attr->flow_label = word & 0xfffff;
		memcpy(attr->dgid.raw, grh + GRH_IPV6_SRC, PMV_GID_LEN);
		memcpy(ret_dst->raw, grh + GRH_IPV6_DST, PMV_GID_LEN);
		return 0;
	}
	if (h[0] != 0x45 || !is_ipv4_sum_ok(h))
		return -EINVAL;
	pmv_gid_from_ipv4(attr->dgid.raw, pmv_be32_load(h + 12));
	pmv_gid_from_ipv4(ret_dst->raw, pmv_be32_load(h + 16));
	return 0;
}

/* The address to answer from: the one the message came to, or for a group the first of the family.
 */
static int
choose_sgid(struct pmv_device *dev, const union pmv_gid *dst)
{
	const struct pmv_ip_addr *a;
	uint32_t i;

	if (!pmv_gid_is_multicast(dst->raw))
		return pmv_verbs_addr_find(dev, dst);
	for (i = 0; i < dev->addrs.nb; i++) {
		a = pmv_verbs_addr_at(dev, i);
		if (a != NULL && pmv_verbs_addr_family(&a->gid) == pmv_verbs_addr_family(dst))
			return (int)i;
	}
	return -ENOENT;
}

int
pmv_create_ah_from_wc(
	struct pmv_pd *pd, const struct pmv_wc *wc, const void *grh, struct pmv_ah **ret_ah)
{
	struct pmv_ah_attr attr;
	union pmv_gid dst;
	int sgid;

	if (PMV_ANY_NULL("create_ah_from_wc", "pd wc grh ret_ah", pd, wc, grh, ret_ah))
		return -EINVAL;
	if (!(wc->wc_flags & PMV_WC_GRH))
		return pmv_log_refuse(
			-EINVAL, "create_ah_from_wc: wc: it has no header (PMV_WC_GRH)");
	if (parse_grh(grh, &attr, &dst) < 0)
		return pmv_log_refuse(-EINVAL, "create_ah_from_wc: grh holds no valid header");
	pmv_verbs_lock(pd->device);
	sgid = choose_sgid(pd->device, &dst);
	pmv_verbs_unlock(pd->device);
	if (sgid < 0)
		return pmv_log_refuse(-EINVAL,
			"create_ah_from_wc: grh: the destination is not an address of ours");
	attr.sgid_index = (uint16_t)sgid;
	return pmv_create_ah(pd, &attr, ret_ah);
}
