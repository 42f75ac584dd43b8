// SPDX-License-Identifier: BSD-3-Clause
/*
 * Address vectors, see av.h.
 */
#include "lib/verbs/av.h"

#include <errno.h>
#include <string.h>

#include "lib/util/log.h"
#include "lib/verbs/addr.h"
#include "lib/verbs/nexthop.h"
#include "lib/wire/gid.h"

/* The two ECN bits say "I react to congestion notifications" (RoCEv2 annex A17.9.3): the driver's
 * to set, where a QP does. */
#define DSCP_MASK 0xfc

static const char *
attr_problem(const struct pmv_device *dev, const struct pmv_ah_attr *a, bool may_be_multicast)
{
	const struct pmv_ip_addr *src = pmv_verbs_addr_at(dev, a->sgid_index);
	bool is_multicast = pmv_gid_is_multicast(a->dgid.raw);

	if (src == NULL)
		return "sgid_index: no such address";
	if (pmv_verbs_addr_is_unspecified(&a->dgid))
		return "dgid is unspecified";
	if (pmv_verbs_addr_family(&src->gid) != pmv_verbs_addr_family(&a->dgid))
		return "sgid_index and dgid are of different address families";
	if (is_multicast && !may_be_multicast)
		return "dgid is a multicast group";
	if (a->flow_label >> 20 != 0)
		return "flow_label has more than 20 bits";
	if (a->has_dmac && !is_multicast && (a->dmac[0] & 1))
		return "dmac is multicast and dgid is not";
	if (a->has_dmac && memcmp(a->dmac, "\0\0\0\0\0", 6) == 0)
		return "dmac is all-zero";
	return NULL;
}

int
pmv_verbs_av_resolve(struct pmv_device *dev, const struct pmv_ah_attr *a, bool may_be_multicast,
	const char *who, struct pmv_av *ret_av)
{
	const char *problem = attr_problem(dev, a, may_be_multicast);
	char text[64];
	int rc;

	if (problem != NULL)
		return pmv_log_refuse(-EINVAL, "%s: ah_attr.%s", who, problem);
	memset(ret_av, 0, sizeof(*ret_av));
	if (dev->driver->portless) {
		/* the kernel finds the next hop */
	} else if (a->has_dmac) {
		memcpy(ret_av->dmac.addr_bytes, a->dmac, 6);
	} else {
		rc = pmv_verbs_nexthop_resolve_locked(
			dev, &a->dgid, a->sgid_index, ret_av->dmac.addr_bytes);
		if (rc < 0)
			return pmv_log_refuse(rc,
				"%s: ah_attr.dgid %s: the next hop's MAC is not known", who,
				pmv_gid_str(&a->dgid, text, sizeof(text)));
	}
	ret_av->dgid = a->dgid;
	ret_av->sgid = pmv_verbs_addr_at(dev, a->sgid_index)->gid;
	ret_av->traffic_class = a->traffic_class & DSCP_MASK;
	ret_av->hop_limit = a->hop_limit != 0 ? a->hop_limit : dev->param.hop_limit;
	ret_av->flow_label = a->flow_label;
	ret_av->udp_sport = 0; /* the driver folds the flow label, or the two QPNs */
	ret_av->is_v4 = pmv_gid_is_v4(a->dgid.raw);
	ret_av->is_multicast = pmv_gid_is_multicast(a->dgid.raw);
	return 0;
}
