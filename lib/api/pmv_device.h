/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device is a driver on one ethdev port: it owns the port's RoCE addresses, its memory keys and
 * its workers. The application configures, starts and stops the port; the library only takes the
 * queue pairs it is given.
 *
 * Control functions of one device may be called from any thread (they serialise on a lock of the
 * device); none of them belongs on a poll-mode lcore's hot path.
 */
#ifndef PMV_DEVICE_H
#define PMV_DEVICE_H

#include "pmv_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Who answers ARP, neighbour discovery and ICMP echo for the device's addresses. */
enum pmv_addr_ownership {
	PMV_ADDR_OWN,    /**< the connection manager attached to the device does */
	PMV_ADDR_SHARED, /**< the application or the kernel does; neighbours come from
			    pmv_neigh_set() */
};

/** port_id of a device without an ethdev port. */
#define PMV_PORT_NONE UINT16_MAX

struct pmv_device_param {
	const char
		*driver;  /**< "roce", "mlx5"; NULL picks the driver that fits the port or ibdev */
	uint16_t port_id; /**< a configured and started ethdev port; not looked at with ibdev */
	uint16_t nb_workers; /**< workers that will be created, 1..PMV_WORKERS_MAX */
	uint16_t ip_mtu;     /**< bytes of an IP packet, 0 = what the ethdev port reports; >= 352 */
	uint16_t vlan_id; /**< 1..4094: every address of the device lives on this VLAN; 0 = untagged
			   */
	uint8_t vlan_pcp; /**< priority of tagged frames, 0..7 */
	uint8_t hop_limit; /**< TTL / hop limit of what we send, 0 = 64 */
	enum pmv_addr_ownership ownership;
	uint32_t mr_max; /**< memory regions at most, 0 = 4096; rounded up to a power of two, <=
			    65536 */
	uint32_t mw_max; /**< memory windows at most, 0 = as many as regions; <= 65536 */
	uint32_t window_pkts; /**< unacknowledged request packets per RC QP, 0 = 128 (what a Linux
				 rxe peer can take); <= 4096 */
	/** Payloads of at least so many bytes in a packet are sent from the program's memory in
	 * place, if the port can read it there; shorter ones are copied. 0 = 1024, but over
	 * net_ring never: its two ends are cores that pass lines of memory to each other, and a
	 * copy in one piece passes fewer. Above 4096: never. */
	uint32_t attach_bytes_min;
	uint64_t seed; /**< non-zero: QPNs, PSNs and keys come from this seed (tests only); 0 = the
			  OS */
	/** RDMA device of the kernel, for example "mlx5_0", instead of a port: driver "mlx5" only.
	 * Addresses are those of its GID table, next hops the kernel's; the rest of the parameters
	 * but nb_workers and mr_max says nothing. NULL: none. */
	const char *ibdev;
	bool mcast_filter_app; /**< the port's multicast filter is the application's: attaching to
				  groups leaves it alone (false: it is ours, see
				  pmv_attach_mcast()) */
};

struct pmv_ip_addr {
	union pmv_gid gid;  /**< IPv4-mapped or IPv6 */
	uint8_t prefix_len; /**< 0..32 or 0..128: what is on-link */
};

struct pmv_device_attr {
	const char *driver;
	uint8_t mac[6];
	uint16_t port_id;
	uint64_t node_guid; /**< host order; never 0, different for each device of a process */
	uint16_t nb_workers;
	uint16_t ip_mtu;
	uint8_t active_mtu;      /**< enum pmv_mtu, from ip_mtu - 96 */
	uint8_t max_rd_atomic;   /**< READs and atomics a QP may have outstanding, either way */
	uint8_t atomic_cap;      /**< enum pmv_atomic_cap: what atomics of peers are atomic with */
	uint8_t local_ack_delay; /**< 4.096 us * 2^n: how long an acknowledgement may be delayed
				    here */
	uint32_t max_qp;         /**< per worker, as far as its qp_max allows */
	uint32_t max_qp_wr;
	uint32_t max_sge;
	uint32_t max_inline; /**< bytes */
	uint32_t max_cqe;
	uint32_t max_srq;     /**< per worker; 0: the driver has no SRQs */
	uint32_t max_srq_wr;  /**< receives of an SRQ */
	uint32_t max_srq_sge; /**< SGEs of a receive of an SRQ */
	uint32_t max_mr;
	struct pmv_ece ece;     /**< what its RC QPs can agree on with a peer; 0: nothing */
	uint64_t max_mr_size;   /**< bytes */
	uint32_t max_mw;        /**< 0: the driver has no memory windows */
	uint32_t max_mr_pages;  /**< of pmv_alloc_mr(); 0: the driver has no fast registration */
	uint32_t max_msg_size;  /**< bytes */
	uint32_t max_mcast_grp; /**< multicast groups with attached QPs; 0 = none */
	uint32_t max_mcast_qp_attach; /**< QPs of one group */
	uint16_t nb_gids; /**< GID indices in use are below it; a removed address leaves a hole */
	uint16_t vlan_id;
	enum pmv_addr_ownership ownership;
};

/**
 * Opens a device on a port.
 * @param param        copied
 * @param ret_device   owned by the caller; close with pmv_device_close()
 * @return 0; -EINVAL an argument is out of range (the log names it); -ENODEV no such port or ibdev;
 * -ENOENT no such driver; -EACCES no permission for ibdev; -EBUSY it already carries a device;
 * -ENOTSUP the port does not fit (see pmv_port_check()), or this is a secondary process; -ENOMEM.
 * @note Context: any thread.
 */
PMV_API int pmv_device_open(const struct pmv_device_param *param, struct pmv_device **ret_device);

/**
 * Closes a device.
 * @return 0; -EBUSY workers, PDs or a CM still use it.
 * @note Context: any thread.
 */
PMV_API int pmv_device_close(struct pmv_device *device);

/** @return 0. @note Context: any thread. */
PMV_API int pmv_query_device(struct pmv_device *device, struct pmv_device_attr *ret_attr);

/**
 * Adds an address of ours. It becomes a GID; the first one added is GID index 0.
 * @return 0; -EEXIST; -EINVAL multicast, broadcast, loopback, unspecified or a bad prefix; -ENOSPC
 * (16 addresses).
 * @note Context: any thread, but not while frames for it may be on their way to a running worker of
 * another lcore.
 */
PMV_API int pmv_device_add_addr(struct pmv_device *device, const struct pmv_ip_addr *addr);

/** @return 0; -ENOENT. @note Context: any thread. */
PMV_API int pmv_device_del_addr(struct pmv_device *device, const union pmv_gid *gid);

/** Sets the next hop for destinations that are not on-link; one per address family, an all-zero GID
 * removes it.
 * @return 0; -EINVAL multicast, broadcast or loopback. @note Context: any thread. */
PMV_API int pmv_device_set_gateway(struct pmv_device *device, const union pmv_gid *gateway);

/** @param index 0..nb_gids-1. @return 0; -EINVAL no such index. @note Context: any thread. */
PMV_API int pmv_query_gid(struct pmv_device *device, uint16_t index, union pmv_gid *ret_gid);

/**
 * Tells the MAC of a neighbour (next hop). Queue pairs that already use it are moved to the new
 * MAC.
 * @return 0; -EINVAL multicast MAC or GID, or a GID that no host has; -ENOSPC the table is full
 * (4096); -EAGAIN a worker's mailbox is full, nothing was changed.
 * @note Context: any thread.
 */
PMV_API int pmv_neigh_set(
	struct pmv_device *device, const union pmv_gid *gid, const uint8_t mac[6]);

/**
 * Says whether a port can carry RoCE, one sentence per violation (MULTI_SEGS on, FAST_FREE off, no
 * LRO, no KEEP_CRC, data room and MTU).
 * @param ip_mtu   IP MTU meant to be used, 0 = the port's
 * @param report   called once per violation with a static or short-lived sentence; may be NULL
 * @return number of violations, or -ENODEV.
 * @note Context: any thread.
 */
PMV_API int pmv_port_check(uint16_t port_id, uint16_t ip_mtu,
	void (*report)(void *arg, const char *sentence), void *arg);

/** @return name of the registered driver `index`, NULL past the last. @note Context: any thread. */
PMV_API const char *pmv_driver_name(unsigned int index);

/** Parses "10.0.0.1", "fd00::1", with or without "/len"; without it the length is 32 or 128.
 * @return 0; -EINVAL. @note Context: any thread. */
PMV_API int pmv_ip_addr_parse(const char *text, struct pmv_ip_addr *ret_addr);

/** Writes a GID as an IP address into buf (at least 46 bytes). @return buf. */
PMV_API char *pmv_gid_str(const union pmv_gid *gid, char *buf, uint32_t buf_bytes);

#ifdef __cplusplus
}
#endif
#endif
