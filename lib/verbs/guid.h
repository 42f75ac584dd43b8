// SPDX-License-Identifier: BSD-3-Clause
/*
 * Identities that a device gives itself. Called once per device at open; pure but for the random
 * numbers of the OS.
 */
#ifndef PMV_VERBS_GUID_H
#define PMV_VERBS_GUID_H

#include <stdint.h>

/*
 * A node GUID, host order, never 0. The peers' connection managers find duplicate requests and
 * stale connections by (CA GUID, communication id) and (CA GUID, QPN); two stacks on one MAC (two
 * processes, or one after its crash) whose random ids may meet must therefore not share a GUID. So
 * only the OUI comes from the MAC and the rest is random, from seed if that is not 0. 0; -errno of
 * getrandom(2).
 */
int pmv_verbs_guid_make(const uint8_t mac[6], uint64_t seed, uint64_t *ret_guid);

/* A locally administered MAC for ports that have none (net_ring). 0; -errno of getrandom(2). */
int pmv_verbs_guid_make_mac(uint64_t seed, uint16_t port_id, uint8_t ret_mac[6]);

#endif
