/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups: UD queue pairs that receive what is sent to a group's address. Sending needs no
 * membership: an address handle whose dgid is the group will do.
 *
 * Joining here is local: the port's filter and the queue pairs. That routers and switches forward
 * the group's frames to us (IGMP, MLD) is somebody else's business, and on one link often nobody's.
 */
#ifndef PMV_MCAST_H
#define PMV_MCAST_H

#include "pmv_qp.h"

#ifdef __cplusplus
extern "C" {
#endif

enum pmv_mcast_flags {
	/** Messages that QPs of this device send to the group come to this QP too, even its own:
	 * handed over inside the device, never taken from the wire. Without it (the default, and
	 * unlike most HCAs) a QP gets none of them, whatever a switch sends back. */
	PMV_MCAST_LOOPBACK = 1 << 0,
};

/**
 * Attaches a UD queue pair to a group: from now on it receives what is sent to it with its Q_Key,
 * besides all other QPs that are attached. The first QP of a group opens the port's filter for it:
 * by the list of addresses, which replaces what the application had set there (see
 * pmv_device_param.mcast_filter_app); where the port has none, by receiving all multicast, else
 * everything. What comes through is always checked here too.
 * Attached again, a QP takes over the new flags and counts once.
 * @param gid    ff00::/8, or 224.0.0.0/4 IPv4-mapped
 * @param flags  enum pmv_mcast_flags
 * @return 0; -EINVAL the QP is not UD, gid is no group, an unknown flag, or an operation of the QP
 *         is under way; -ENOTSUP the driver has no multicast, or the port receives none; -ENOSPC
 *         max_mcast_grp or max_mcast_qp_attach of the device are reached, or the port's filter is
 *         full; -EPERM another thread owns the worker; -ENOMEM; or what else the port's filter
 *         refuses with. A refused QP is not attached.
 * @note Context: owner lcore of the QP's worker, or any one thread while it is detached.
 */
PMV_API int pmv_attach_mcast(struct pmv_qp *qp, const union pmv_gid *gid, uint32_t flags);

/**
 * Ends it. A QP that is attached cannot be destroyed (-EBUSY).
 * @return 0; -EINVAL it is not attached to this group, or an operation of the QP is under way;
 * -ENOTSUP the driver has no multicast; -EPERM another thread owns the worker.
 * @note Context: as pmv_attach_mcast().
 */
PMV_API int pmv_detach_mcast(struct pmv_qp *qp, const union pmv_gid *gid);

#ifdef __cplusplus
}
#endif
#endif
