/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address handles: where a UD message goes. The same attributes are the address vector of a
 * connected QP.
 */
#ifndef PMV_AH_H
#define PMV_AH_H

#include "pmv_cq.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pmv_ah_attr {
	union pmv_gid dgid;    /**< destination; multicast groups included (UD) */
	uint16_t sgid_index;   /**< our address; same family as dgid */
	uint32_t flow_label;   /**< 20 bits; sets the UDP source port; 0: derived from the two QPNs
				  (RC), or one port for each device (UD) */
	uint8_t traffic_class; /**< DSCP << 2; the two ECN bits are ignored and sent as 00, or 10
				  where the QP reacts to congestion (PMV_ECE_CONGESTION) */
	uint8_t hop_limit;     /**< 0 = the device's */
	bool has_dmac; /**< dmac is given; otherwise the neighbour table must know the next hop */
	uint8_t dmac[6];
};

/**
 * Makes an address handle; usable by every worker of the device. It keeps the MAC that the next hop
 * has now.
 * @return 0; -EINVAL a bad attribute; -EHOSTUNREACH the next hop's MAC is not known (resolve it
 * through the connection manager or pmv_neigh_set()); -ENOTSUP the driver offers no UD; -ENOMEM.
 * @note Context: any thread.
 */
PMV_API int pmv_create_ah(
	struct pmv_pd *pd, const struct pmv_ah_attr *attr, struct pmv_ah **ret_ah);

/**
 * Makes an address handle that answers a received UD message.
 * @param wc    its completion
 * @param grh   the 40 bytes in front of its payload
 * @return as pmv_create_ah(); -EINVAL also when the completion has no header, the 40 bytes hold no
 * valid one, or its destination is no address of ours any more.
 * @note Context: any thread.
 */
PMV_API int pmv_create_ah_from_wc(
	struct pmv_pd *pd, const struct pmv_wc *wc, const void *grh, struct pmv_ah **ret_ah);

/**
 * @return 0. The handle must not be posted any more. Work requests already posted with it carry
 * their own copy.
 * @note Context: any thread.
 */
PMV_API int pmv_destroy_ah(struct pmv_ah *ah);

#ifdef __cplusplus
}
#endif
#endif
