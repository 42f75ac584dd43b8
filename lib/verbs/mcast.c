// SPDX-License-Identifier: BSD-3-Clause
/*
 * Multicast groups: who is attached, and how many may be. Control threads; the driver's half runs
 * as the owner of the QP's worker. A group's slot outlives its members, so that a worker that is
 * just comparing addresses finds an empty group at worst.
 */
#include "lib/api/pmv_mcast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/lcore/mailbox.h"
#include "lib/util/log.h"
#include "lib/verbs/device.h"
#include "lib/verbs/mcast_filter.h"
#include "lib/wire/gid.h"

/* ---- under the device's lock, as owner of the QP's worker ---- */

static struct pmv_mcast *
find(struct pmv_qp *qp, const union pmv_gid *gid)
{
	struct pmv_mcast *m;

	LIST_FOREACH(m, &qp->mcasts, of_qp)
	if (pmv_gid_is_equal(m->group->gid.raw, gid->raw))
		return m;
	return NULL;
}

/* The group's slot, or a free one: at most nb_max groups. NULL: no more. */
static struct pmv_mcast_group *
slot_for(struct pmv_device *dev, const union pmv_gid *gid, uint32_t nb_max)
{
	struct pmv_mcast_group *group = pmv_mcast_group_find(dev, gid->raw);

	for (uint32_t i = 0; group == NULL && i < RTE_MIN(nb_max, PMV_MCAST_GROUPS_MAX); i++)
		if (dev->mcast.group[i].nb_qps == 0)
			group = &dev->mcast.group[i];
	return group;
}

/* A worker may be comparing: a mixture of two addresses leads to a group without members. */
static void
set_gid(struct pmv_device *dev, struct pmv_mcast_group *group, const union pmv_gid *gid)
{
	uint32_t used = (uint32_t)(group - dev->mcast.group) + 1;
	uint64_t *have = (uint64_t *)(void *)&group->gid;
	uint64_t half[2];

	memcpy(half, gid->raw, sizeof(half));
	__atomic_store_n(&have[0], half[0], __ATOMIC_RELAXED);
	__atomic_store_n(&have[1], half[1], __ATOMIC_RELAXED);
	if (used > dev->mcast.nb)
		__atomic_store_n(&dev->mcast.nb, used, __ATOMIC_RELEASE);
}

static int
attach(struct pmv_qp *qp, const union pmv_gid *gid, uint32_t flags)
{
	struct pmv_device *dev = qp->worker->device;
	struct pmv_mcast *m = find(qp, gid);
	struct pmv_mcast_group *group;
	struct pmv_device_attr limits;
	int rc;

	if (m != NULL) {
		qp->worker->ops->mcast_detach(qp, m);
		m->flags = flags;
		qp->worker->ops->mcast_attach(qp, m);
		return 0;
	}
	pmv_verbs_device_attr(dev, &limits);
	group = slot_for(dev, gid, limits.max_mcast_grp);
	if (group == NULL)
		return pmv_log_refuse(-ENOSPC, "attach_mcast 0x%06x: gid: %u groups are in use",
			qp->qpn, limits.max_mcast_grp);
	if (group->nb_qps >= limits.max_mcast_qp_attach)
		return pmv_log_refuse(-ENOSPC, "attach_mcast 0x%06x: gid: the group has %u QPs",
			qp->qpn, group->nb_qps);
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return pmv_log_refuse(-ENOMEM, "attach_mcast 0x%06x: no memory", qp->qpn);
	rc = group->nb_qps == 0 ? pmv_verbs_mcast_filter_apply(dev, gid) : 0;
	if (rc < 0) {
		free(m);
		return pmv_log_refuse(rc, "attach_mcast 0x%06x: port %u: its multicast filter: %s",
			qp->qpn, dev->port_id, strerror(-rc));
	}
	*m = (struct pmv_mcast){ .qp = qp, .group = group, .flags = flags };
	LIST_INSERT_HEAD(&qp->mcasts, m, of_qp);
	if (group->nb_qps++ == 0)
		set_gid(dev, group, gid);
	qp->worker->ops->mcast_attach(qp, m);
	return 0;
}

static int
detach(struct pmv_qp *qp, const union pmv_gid *gid)
{
	static const union pmv_gid nobody;
	struct pmv_device *dev = qp->worker->device;
	struct pmv_mcast *m = find(qp, gid);
	int rc;

	if (m == NULL)
		return pmv_log_refuse(
			-EINVAL, "detach_mcast 0x%06x: gid: it is not attached", qp->qpn);
	qp->worker->ops->mcast_detach(qp, m);
	LIST_REMOVE(m, of_qp);
	if (--m->group->nb_qps == 0) {
		set_gid(dev, m->group, &nobody);
		rc = pmv_verbs_mcast_filter_apply(dev, NULL);
		if (rc < 0 && rc != -ENOTSUP) /* it receives more than it need */
			PMV_LOG(ERR, "port %u: its multicast filter: %s", dev->port_id,
				strerror(-rc));
	}
	free(m);
	return 0;
}

/* ---- the two calls ---- */

static const char *
problem_of(const struct pmv_qp *qp, const union pmv_gid *gid, uint32_t flags)
{
	if (qp->type != PMV_QPT_UD)
		return "qp is not UD";
	if (!pmv_gid_is_multicast(gid->raw))
		return "gid is not a multicast group";
	if (flags & ~(uint32_t)PMV_MCAST_LOOPBACK)
		return "flags has an unknown bit";
	return NULL;
}

/* Under the lock: may the caller change the QP? Then it is the owner until leave. */
static int
enter(const char *call, struct pmv_qp *qp)
{
	int rc;

	if (qp->worker->ops->mcast_attach == NULL)
		return pmv_log_refuse(
			-ENOTSUP, "%s 0x%06x: qp: its driver has no multicast", call, qp->qpn);
	if (qp->destroying || qp->op_pending)
		return pmv_log_refuse(
			-EINVAL, "%s 0x%06x: qp: an operation is under way", call, qp->qpn);
	rc = pmv_lcore_mailbox_enter(qp->worker);
	if (rc < 0)
		return pmv_log_refuse(rc, "%s 0x%06x: qp: another thread owns worker %u", call,
			qp->qpn, qp->worker->index);
	return 0;
}

int
pmv_attach_mcast(struct pmv_qp *qp, const union pmv_gid *gid, uint32_t flags)
{
	const char *problem;
	int rc;

	if (PMV_ANY_NULL("attach_mcast", "qp gid", qp, gid))
		return -EINVAL;
	problem = problem_of(qp, gid, flags);
	if (problem != NULL)
		return pmv_log_refuse(-EINVAL, "attach_mcast 0x%06x: %s", qp->qpn, problem);
	pmv_verbs_lock(qp->worker->device);
	rc = enter("attach_mcast", qp);
	if (rc == 0) {
		rc = attach(qp, gid, flags);
		pmv_lcore_mailbox_leave(qp->worker);
	}
	pmv_verbs_unlock(qp->worker->device);
	return rc;
}

int
pmv_detach_mcast(struct pmv_qp *qp, const union pmv_gid *gid)
{
	int rc;

	if (PMV_ANY_NULL("detach_mcast", "qp gid", qp, gid))
		return -EINVAL;
	pmv_verbs_lock(qp->worker->device);
	rc = enter("detach_mcast", qp);
	if (rc == 0) {
		rc = detach(qp, gid);
		pmv_lcore_mailbox_leave(qp->worker);
	}
	pmv_verbs_unlock(qp->worker->device);
	return rc;
}
