// SPDX-License-Identifier: BSD-3-Clause
/*
 * The channel of control frames between a device and the connection manager: ARP, neighbour
 * discovery, ICMP echo and RoCE frames to QP 1 come in from any worker of the device, whole frames
 * of the CM go out through one of them. It hides which driver carries them. Called by cm on the
 * control lcore (open and close: any thread); the worker side (the rings' other end) is lib/lcore's
 * turn.
 *
 * Frames: Ethernet header first, in host memory, any number of segments on receive. Received ones
 * belong to the CM until it frees them; they may come from the application's pool or from the
 * driver. Frames to send come from pmv_verbs_ctl_alloc(), so that control traffic never depends on
 * a pool that data can exhaust.
 */
#ifndef PMV_VERBS_CTL_CHANNEL_H
#define PMV_VERBS_CTL_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/pmv_device.h"
#include "lib/api/pmv_qp.h"

struct rte_mbuf;
struct pmv_ctl_channel;

/* Bytes a frame of pmv_verbs_ctl_alloc() can hold (a CM datagram needs 362 with IPv6 and VLAN, an
 * echo reply as much as the request). */
#define PMV_VERBS_CTL_FRAME_BYTES 1536u
/* Frames of that pool, and slots of each ring. */
#define PMV_VERBS_CTL_FRAMES 1024u

/* Facts about the device. mac .. ticks_per_sec never change; addresses and gateways are a snapshot.
 */
struct pmv_verbs_ctl_facts {
	uint8_t mac[6];
	uint16_t port_id;
	uint16_t nb_workers; /* index 0..nb_workers-1; not all of them need to exist */
	uint16_t ip_mtu;
	uint8_t active_mtu; /* enum pmv_mtu */
	uint8_t max_rd_atomic;
	uint8_t local_ack_delay;
	struct pmv_ece ece; /* what the device can agree on with a peer */
	uint8_t hop_limit;
	uint8_t vlan_pcp;
	uint16_t vlan_id;       /* 0 = untagged */
	uint64_t node_guid;     /* host order: the CM's local CA GUID */
	uint64_t ticks_per_sec; /* of the worker's and the CM's `now` */
	enum pmv_addr_ownership ownership;
	int socket_id;
	uint32_t nb_addrs;           /* of addr[]; index = GID index */
	struct pmv_ip_addr addr[16]; /* an all-zero GID: a deleted one, to be skipped */
	union pmv_gid gateway[2];    /* [0] IPv4, [1] IPv6; all-zero: none */
	uint32_t addr_version;       /* changes whenever addresses or gateways do */
};

/*
 * Makes the caller the device's connection manager: control frames go to it from now on.
 * 0; -EBUSY another one has it; -ENOMEM. Any thread.
 */
int pmv_verbs_ctl_open(struct pmv_device *device, struct pmv_ctl_channel **ret_channel);

/* Gives the device up; frames that wait are freed. The channel must not be used any more. Any
 * thread. */
void pmv_verbs_ctl_close(struct pmv_ctl_channel *channel);

struct pmv_device *pmv_verbs_ctl_device(const struct pmv_ctl_channel *channel);

/* Facts now; takes the device's lock. */
void pmv_verbs_ctl_facts(struct pmv_ctl_channel *channel, struct pmv_verbs_ctl_facts *ret_facts);

/* addr_version now, without a lock: compare once per turn, fetch the facts again when it differs.
 */
uint32_t pmv_verbs_ctl_addr_version(const struct pmv_ctl_channel *channel);

/*
 * Takes up to nb received frames, one worker after the other (round robin, at most a share each).
 * ret_workers (may be NULL): the worker each came in on.
 */
uint32_t pmv_verbs_ctl_recv(struct pmv_ctl_channel *channel, struct rte_mbuf **mbufs,
	uint16_t *ret_workers, uint32_t nb);

/* An empty frame to build in (data_len 0, room for PMV_VERBS_CTL_FRAME_BYTES), or NULL when all are
 * out. */
struct rte_mbuf *pmv_verbs_ctl_alloc(struct pmv_ctl_channel *channel);

/*
 * Sends a whole frame through worker `worker_hint` if somebody polls it, else through another
 * polled one, else it waits at the hinted one until somebody does. Takes the frame on success. 0;
 * -EAGAIN the ring is full; -ENODEV the device has no worker. On failure the frame stays the
 * caller's.
 */
int pmv_verbs_ctl_send(
	struct pmv_ctl_channel *channel, uint16_t worker_hint, struct rte_mbuf *mbuf);

/* Worker `index`, or NULL when it does not exist (any more). */
struct pmv_worker *pmv_verbs_ctl_worker(const struct pmv_ctl_channel *channel, uint16_t index);

/*
 * A CM id holds a QP: pmv_destroy_qp() by the application is -EBUSY until the id lets go. 0;
 * -EBUSY: held, or being destroyed. Any thread.
 */
int pmv_verbs_ctl_hold_qp(struct pmv_qp *qp);
void pmv_verbs_ctl_release_qp(struct pmv_qp *qp);

/*
 * For lib/verbs: frees pools of closed channels whose frames have all come home. A frame may
 * outlive its channel and its device, in a queue of the port or of the port at the other end of the
 * wire.
 */
void pmv_verbs_ctl_reap_pools(void);

#endif
