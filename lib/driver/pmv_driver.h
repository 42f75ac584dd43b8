/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between the library and its drivers. A driver embeds the base structs below as the
 * first member of its own, fills a struct pmv_driver and registers it from a constructor; nothing
 * in lib names a driver.
 *
 * Control operations come in two halves. "prepare" runs on any control thread under the device
 * lock: it may allocate, call the kernel, log. "commit" runs on the lcore that owns the worker:
 * O(1), no allocation, no system call, no log. lib/verbs checks arguments that every driver checks
 * alike (NULL, foreign objects, the QP transition table, attribute ranges); a driver checks what
 * only it can know.
 */
#ifndef PMV_DRIVER_H
#define PMV_DRIVER_H

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/queue.h>

#include <rte_common.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "lib/api/pmv.h"
#include "lib/driver/mcast.h"
#include "lib/driver/memory.h"

#define PMV_ADDRS_MAX   16u
#define PMV_IBDEV_BYTES 64u /* name of an RDMA device, with its end */

struct pmv_driver_ops;
struct pmv_host_ops;
struct pmv_ctl_channel; /* lib/verbs */
struct pmv_nexthops;    /* lib/verbs */
struct pmv_mailbox;     /* lib/lcore: commands */
struct pmv_exchange;    /* lib/lcore: frames between workers and to the CM */

struct pmv_driver {
	const char *name;
	const struct pmv_driver_ops *ops;
	size_t device_bytes; /* size of the driver's device struct, base first */
	size_t worker_bytes;
	size_t mr_bytes;
	size_t mw_bytes; /* 0: no memory windows */
	size_t ah_bytes;
	size_t pd_bytes; /* 0: no more than the base */
	/* Runs an RDMA device of the kernel, named by ibdev, instead of an ethdev port. Then
	 * device_init fills mac, node_guid, ip_mtu, active_mtu, socket_id and addrs; next hops are
	 * the kernel's (av.dmac stays zero), queues and pools of workers are not looked at. */
	bool portless;
	struct pmv_driver *next; /* registry, written by constructors only */
};

/* Our addresses; the control thread adds at the end and then raises nb with release, so workers
 * read without a lock. */
struct pmv_addr_table {
	struct pmv_ip_addr addr[PMV_ADDRS_MAX];
	uint32_t nb;
};

/* The port's part of the device's events. */
struct pmv_port_watch {
	uint64_t look_at; /* ticks: when to look at the link next */
	uint32_t pending; /* bit per enum pmv_event_type */
	bool is_up;       /* at the last look */
};

/* Base of a device. Written by control threads under `lock` unless said otherwise; workers read
 * what is constant. */
struct pmv_device {
	const struct pmv_driver *driver;
	struct pmv_device_param param; /* defaults resolved: no 0 left that means "default" */
	uint16_t port_id;              /* PMV_PORT_NONE: portless */
	char ibdev[PMV_IBDEV_BYTES];   /* portless: its name; param.ibdev points here */
	uint16_t ip_mtu;               /* bytes */
	uint8_t active_mtu;            /* enum pmv_mtu */
	uint8_t worker_bits;           /* ceil(log2(nb_workers)) */
	int socket_id;                 /* NUMA node of the port, or SOCKET_ID_ANY */
	struct rte_ether_addr mac;
	uint64_t node_guid;     /* host order */
	uint64_t ticks_per_sec; /* of pmv_worker_poll(): the TSC's */
	struct pmv_addr_table addrs;
	union pmv_gid gateway[2]; /* [0] IPv4, [1] IPv6; all-zero = none */
	pthread_mutex_t lock; /* serialises prepare halves; never taken on a data lcore's turn */
	struct pmv_worker *workers[PMV_WORKERS_MAX];
	uint32_t nb_workers_made;
	uint32_t nb_pds;
	struct pmv_nexthops *nexthops;
	struct pmv_ctl_channel *ctl;   /* NULL: no CM */
	struct pmv_exchange *exchange; /* lives as long as the device: a turn may still be using
					  what was closed */
	uint64_t epoch;            /* raised after each key that died (atomic); workers repeat it in
				      epoch_seen */
	uint32_t addr_version;     /* raised when addresses or gateways change; atomic */
	uint32_t placement_warned; /* NUMA: a bit per kind of warning that was given */
	struct pmv_port_watch port; /* lib/verbs/port.c; under lock */
	struct pmv_mcast_table mcast;
	STAILQ_HEAD(, pmv_dying) dying; /* deregistered, not yet quiescent */
	STAILQ_ENTRY(pmv_device) next;
	struct pmv_seat seat[PMV_WORKERS_MAX];
};

/* What an event source lies in. */
enum pmv_event_source_kind {
	PMV_EVENT_SOURCE_CQ,
	PMV_EVENT_SOURCE_QP,
	PMV_EVENT_SOURCE_SRQ,
};

/* An asynchronous event source: embedded in CQs, QPs and SRQs, linked into the worker's list while
 * bits are pending. */
struct pmv_event_source {
	TAILQ_ENTRY(pmv_event_source) link;
	uint32_t pending; /* bit per enum pmv_event_type; owner lcore */
	uint8_t kind;     /* enum pmv_event_source_kind */
};

/* Base of a worker. Owner lcore unless said otherwise. */
struct pmv_worker {
	struct pmv_device *device;
	const struct pmv_driver_ops *ops; /* copy of device->driver->ops: one load less per turn */
	const struct pmv_host_ops *host;
	uint64_t now;          /* ticks; read once per turn */
	uint64_t turn;         /* turns begun */
	struct pmv_seat *seat; /* in the device */
	uint16_t index;
	uint16_t rx_queue;
	uint16_t tx_queue;
	bool no_rx;
	int socket_id;
	struct rte_mempool *pool;    /* data frames, the application's */
	struct pmv_mailbox *mailbox; /* commands of control threads */
	TAILQ_HEAD(, pmv_event_source) events;
	uint32_t nb_cqs;  /* under device->lock */
	uint32_t nb_qps;  /* under device->lock */
	uint32_t nb_srqs; /* under device->lock */
	uint64_t owner;   /* thread id; 0 detached; see lib/lcore/owner.h */
};

struct pmv_cq {
	const struct pmv_cq_ops *ops; /* must stay first: the inline of pmv_post.h reads it */
	struct pmv_worker *worker;
	void *context;
	uint32_t refs; /* QPs; under device->lock */
	uint32_t cqe;  /* power of two */
	bool overrun;
	bool told_small; /* that wanted is above cqe; under device->lock */
	uint64_t wanted; /* requests that its QPs may have at a time; under device->lock */
	struct pmv_event_source event;
	pmv_cq_notify_fn notify; /* the driver calls it as pmv_req_notify_cq() says; owner lcore */
	void *notify_arg;
	uint16_t notify_count, notify_period_us;
};

/* Base of a shared receive queue. */
struct pmv_srq {
	const struct pmv_srq_ops *ops; /* must stay first: the inline of pmv_srq.h reads it */
	struct pmv_worker *worker;
	struct pmv_pd *pd;
	void *context;
	uint32_t refs;               /* QPs; under device->lock */
	struct pmv_srq_attr created; /* what create gave; constant */
	struct pmv_event_source event;
};

/* A modify of an SRQ on its way. */
struct pmv_srq_modify {
	uint32_t mask;            /* enum pmv_srq_attr_mask */
	struct pmv_srq_attr attr; /* as asked for */
	void *driver_data;        /* what prepare allocated, after the commit what end frees */
};

/* A resolved address: what frames of a QP or AH carry. */
struct pmv_av {
	union pmv_gid dgid;
	union pmv_gid sgid;
	struct rte_ether_addr dmac;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint16_t udp_sport; /* 0: derive from the two QPNs */
	uint32_t flow_label;
	bool is_v4;
	bool is_multicast;
};

struct pmv_ah {
	struct pmv_pd *pd;
	struct pmv_av av;
};

/* Base of a queue pair. */
struct pmv_qp {
	const struct pmv_qp_ops *ops; /* must stay first: the inline of pmv_post.h reads it */
	struct pmv_worker *worker;
	struct pmv_cq *send_cq;
	struct pmv_cq *recv_cq;
	struct pmv_srq *srq; /* NULL: a receive queue of its own */
	struct pmv_pd *pd;
	uint32_t qpn;
	uint8_t state; /* enum pmv_qp_state; owner lcore writes, others read a snapshot */
	uint8_t type;  /* enum pmv_qp_type */
	uint8_t sq_sig_all;
	uint8_t comm_est; /* 1 once a request arrived since RTR; owner writes, the CM reads */
	void *context;
	struct pmv_qp_attr attr; /* as last committed, inside a commit the new ones; owner lcore */
	struct pmv_qp_cap cap;
	struct pmv_event_source event;
	bool destroying; /* under device->lock */
	bool op_pending; /* a submitted modify or destroy is not finished yet; under device->lock */
	bool held;       /* a CM id holds it; under device->lock */
	LIST_HEAD(, pmv_mcast) mcasts; /* groups it is attached to; under device->lock */
};

/* A prepared modify: the checked attributes with the address resolved. Copied into the op by
 * lib/verbs. */
struct pmv_qp_modify {
	uint32_t mask;
	struct pmv_qp_attr attr;
	struct pmv_av av;  /* valid when mask has PMV_QP_AV */
	void *driver_data; /* what prepare allocated; commit takes it over */
};

struct pmv_driver_ops {
	/* device: prepare context */
	int (*probe)(uint16_t port_id); /* 0: this driver can run the port */
	int (*device_init)(struct pmv_device *dev);
	void (*device_fini)(struct pmv_device *dev);
	void (*device_query)(
		struct pmv_device *dev, struct pmv_device_attr *attr); /* fills the limits */
	int (*port_query)(/* portless only; the rest is filled */
		struct pmv_device *dev, struct pmv_port_attr *attr);

	/* worker: prepare context */
	int (*worker_init)(struct pmv_worker *w, const struct pmv_worker_param *param);
	void (*worker_fini)(struct pmv_worker *w);

	/* worker's turn: owner lcore. w->now is set. */
	uint32_t (*worker_rx)(
		struct pmv_worker *w); /* receive burst and what follows from it; frames received */
	uint32_t (*worker_input)(
		struct pmv_worker *w, struct rte_mbuf **m, uint32_t nb, struct rte_mbuf **foreign);
	void (*worker_frame)(
		struct pmv_worker *w, struct rte_mbuf *m); /* handed over by another worker */
	/* end of a turn: timers, QPs with something to send; then what was made goes out */
	void (*worker_run)(struct pmv_worker *w);
	void (*worker_ctl_send)(
		struct pmv_worker *w, struct rte_mbuf *m); /* a whole frame of the CM; NULL: the
							      device carries no CM */
	/* between turns: everything goes out, what would wait for the next turn too; frames that
	 * still wait */
	uint32_t (*worker_flush)(struct pmv_worker *w);
	bool (*worker_idle)(const struct pmv_worker *w); /* nothing staged, no attached frame out */

	/* protection domain: prepare context; both may be NULL */
	int (*pd_init)(struct pmv_pd *pd);
	void (*pd_fini)(struct pmv_pd *pd);

	/* memory: prepare context. reg fills the keys; kill makes them dead at once for every
	 * worker, or says -EBUSY: windows are bound to the region. */
	int (*mr_reg)(struct pmv_mr *mr);
	int (*mr_kill)(struct pmv_mr *mr);
	bool (*mr_frames_out)(
		const struct pmv_mr *mr);   /* frames that point into it are with a port */
	void (*mr_free)(struct pmv_mr *mr); /* its key slot may be used again */
	/* fast registration and windows: NULL if there are none. alloc fills the keys; map checks
	 * and copies a list for the next REG_MR. */
	int (*mr_alloc)(struct pmv_mr *mr, uint32_t max_pages, uint32_t page_bytes);
	int (*mr_map)(struct pmv_mr *mr, void *const *pages, uint32_t nb_pages, uint64_t iova,
		uint64_t length);
	int (*mw_alloc)(struct pmv_mw *mw);
	void (*mw_kill)(struct pmv_mw *mw);
	void (*mw_free)(struct pmv_mw *mw);
	int (*ah_init)(struct pmv_ah *ah);

	/* queues */
	int (*cq_create)(struct pmv_worker *w, uint32_t cqe, struct pmv_cq **ret_cq); /* prepare */
	void (*cq_free)(struct pmv_cq *cq);                                           /* prepare */
	void (*cq_query)(const struct pmv_cq *cq, struct pmv_cq_attr *attr);          /* owner */
	/* the next four may be NULL: not offered. Owner, as the calls of their names */
	int (*cq_timestamps)(struct pmv_cq *cq); /* prepare, right after create */
	int (*cq_resize)(struct pmv_cq *cq, uint32_t cqe);
	int (*cq_arm)(struct pmv_cq *cq, bool solicited_only);
	void (*cq_disarm)(struct pmv_cq *cq); /* also before it is freed */
	/* shared receive queues: srq_create NULL: the driver has none. Sizes and limit are within
	 * the device's; create writes back what was allocated; query fills all of attr. */
	int (*srq_create)(struct pmv_pd *pd, struct pmv_worker *w, struct pmv_srq_attr *attr,
		struct pmv_srq **ret_srq); /* prepare */
	int (*srq_modify_prepare)(struct pmv_srq *srq, struct pmv_srq_modify *m);
	/* owner; in time of what is posted. -EINVAL: more is posted than max_wr */
	int (*srq_modify_commit)(struct pmv_srq *srq, struct pmv_srq_modify *m);
	/* prepare: after each prepare that succeeded, committed or not */
	void (*srq_modify_end)(struct pmv_srq *srq, struct pmv_srq_modify *m);
	void (*srq_free)(struct pmv_srq *srq);                                   /* prepare */
	void (*srq_query)(const struct pmv_srq *srq, struct pmv_srq_attr *attr); /* owner */
	int (*qp_create)(struct pmv_pd *pd, struct pmv_worker *w, struct pmv_qp_init_attr *attr,
		struct pmv_qp **ret_qp);             /* prepare: allots the QPN */
	void (*qp_create_commit)(struct pmv_qp *qp); /* frames find it from here on */
	int (*qp_modify_prepare)(struct pmv_qp *qp, struct pmv_qp_modify *m);
	int (*qp_modify_commit)(
		struct pmv_qp *qp, const struct pmv_qp_modify *m); /* sets qp->state */
	/* prepare: m will not be committed; may be NULL */
	void (*qp_modify_abort)(struct pmv_qp *qp, struct pmv_qp_modify *m);
	void (*qp_destroy_commit)(struct pmv_qp *qp); /* no frame finds it any more */
	void (*qp_free)(struct pmv_qp *qp);           /* prepare */
	void (*qp_query)(
		const struct pmv_qp *qp, struct pmv_qp_attr *attr); /* owner: sq_draining, PSNs */
	void (*qp_neigh_commit)(struct pmv_worker *w, const union pmv_gid *nexthop_or_dgid,
		const struct rte_ether_addr *old_mac,
		const struct rte_ether_addr *new_mac); /* owner: QPs that send to old */
	/* multicast (UD): owner, under device->lock; lib/verbs keeps groups and limits. NULL: none
	 */
	void (*mcast_attach)(struct pmv_qp *qp, struct pmv_mcast *m);
	void (*mcast_detach)(struct pmv_qp *qp, struct pmv_mcast *m);

	/* observation; any thread reads snapshots */
	uint32_t (*worker_stats)(const struct pmv_worker *w, struct pmv_stat *stats, uint32_t nb);
	void (*qp_stats)(const struct pmv_qp *qp, struct pmv_qp_stats *stats); /* owner */
	int (*fault_add)(struct pmv_worker *w, const struct pmv_fault_rule *rule,
		uint64_t seed); /* owner; cold */
	int (*fault_clear)(struct pmv_worker *w);
	int (*fault_query)(struct pmv_worker *w, struct pmv_fault_counts *counts);
};

/* What a driver needs of the library, without including it. All: owner lcore of `w`. */
struct pmv_host_ops {
	/* A frame for the control lcore: ARP, ND, IGMP, MLD, ICMP echo, or RoCE to QP 1. Takes the
	 * mbuf. */
	void (*ctl_input)(struct pmv_worker *w, struct rte_mbuf *m);
	/* A RoCE frame whose QP lives on worker `target` of the device. Takes the mbuf. */
	void (*handover)(struct pmv_worker *w, uint16_t target, struct rte_mbuf *m);
	/* No other worker can still be using a key that was dead at this epoch of the device. A
	 * read-modify-write for each worker: for work requests that end the life of keys. */
	bool (*is_quiet)(struct pmv_worker *w, uint64_t epoch);
};

/* Registers a driver; call from a constructor. */
void pmv_driver_register(struct pmv_driver *driver);
struct pmv_driver *pmv_driver_first(void); /* NULL: none */
struct pmv_driver *pmv_driver_find(const char *name);

/* The group of an address, or NULL. Any thread: what was detached meanwhile is a group without
 * members. */
static inline struct pmv_mcast_group *
pmv_mcast_group_find(struct pmv_device *dev, const uint8_t *gid)
{
	uint32_t nb = __atomic_load_n(&dev->mcast.nb, __ATOMIC_ACQUIRE);
	uint64_t want[2];

	memcpy(want, gid, sizeof(want));
	for (uint32_t i = 0; i < nb; i++) {
		const uint64_t *have = (const uint64_t *)(const void *)&dev->mcast.group[i].gid;

		if (__atomic_load_n(&have[0], __ATOMIC_RELAXED) == want[0] &&
			__atomic_load_n(&have[1], __ATOMIC_RELAXED) == want[1])
			return &dev->mcast.group[i];
	}
	return NULL;
}

/* Raises an event of a CQ, QP or SRQ: links it into its worker's list. Owner lcore. */
static inline void
pmv_event_raise(struct pmv_worker *w, struct pmv_event_source *src, enum pmv_event_type type)
{
	if (src->pending == 0)
		TAILQ_INSERT_TAIL(&w->events, src, link);
	src->pending |= 1u << type;
}

#endif
