// SPDX-License-Identifier: BSD-3-Clause
/*
 * Listeners: pmv_cm_bind_addr(), pmv_cm_listen(), and which listener a request is for. Control
 * lcore.
 */
#ifndef PMV_CM_LISTEN_H
#define PMV_CM_LISTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/dev.h"

/* Somebody listens on the port, on whatever address. */
bool pmv_cm_listen_any(struct pmv_cm *cm, uint16_t ps, uint16_t port);

/* The listener for a request to this address of the device: one on the address itself, else on the
 * wildcard of its family, else (IPv4) on [::]. NULL: none. */
struct pmv_cm_id *pmv_cm_listen_find(
	struct pmv_cm_dev *dev, uint16_t ps, uint16_t port, const uint8_t dst[16]);

#endif
