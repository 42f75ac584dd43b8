/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The port of a device, as it is at the moment. Its changes are events of the device: PORT_ACTIVE,
 * PORT_ERR and GID_CHANGE of pmv_poll_async_event().
 */
#ifndef PMV_PORT_H
#define PMV_PORT_H

#include "pmv_device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum pmv_port_state {
	PMV_PORT_DOWN = 1,
	PMV_PORT_ACTIVE = 4,
};

struct pmv_port_attr {
	enum pmv_port_state state;
	uint8_t max_mtu;       /**< enum pmv_mtu: what frames of the port's IP MTU could carry */
	uint8_t active_mtu;    /**< enum pmv_mtu: what QPs of the device may use */
	bool is_full_duplex;   /**< of no meaning when the link is down */
	uint16_t gid_tbl_len;  /**< GID indices are below it; most of them are empty */
	uint16_t pkey_tbl_len; /**< 1: the default partition, full member */
	uint32_t active_speed; /**< Mb/s; 0: down, or the port does not know */
	uint32_t max_msg_sz;   /**< bytes */
};

/**
 * Asks the port. The state is the link's (ethdev without waiting; portless devices: the kernel's).
 * @return 0; -ENODEV the port is gone, or the driver cannot tell.
 * @note Context: any thread.
 */
PMV_API int pmv_query_port(struct pmv_device *device, struct pmv_port_attr *ret_attr);

/** @return static text, never NULL. @note Context: any thread. */
PMV_API const char *pmv_port_state_str(enum pmv_port_state state);

#ifdef __cplusplus
}
#endif
#endif
