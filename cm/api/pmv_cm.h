/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection manager: what rdma_cm offers, as poll-mode calls. One pmv_cm lives on one control
 * lcore (which may also be a worker's lcore) and serves any number of devices. It builds and reads
 * the CM datagrams itself; no kernel is involved.
 *
 * Threads: a pmv_cm and all its ids belong to the thread that attached it; while it is detached any
 * one thread may set it up. Calls of any other thread return -EPERM (those that return a count: 0);
 * that is not listed at each. Every call returns its errno at once; what the peer says comes as an
 * event.
 *
 * Events: an id with a handler gets them as callbacks from pmv_cm_poll(), never two at once; an id
 * without one gets them through pmv_cm_get_event(). A handler must not block. Per attempt there is
 * at most one of ESTABLISHED, REJECTED, UNREACHABLE, CONNECT_ERROR; after ESTABLISHED exactly one
 * DISCONNECTED, then one TIMEWAIT_EXIT. DISCONNECTED has status 0, -ETIMEDOUT (the peer never
 * answered our DREQ) or -ECONNRESET (it rejected the live connection). A peer that disconnects
 * before its RTU has come gives DISCONNECTED without ESTABLISHED.
 *
 * Link-local IPv6 addresses need sin6_scope_id: the number of the device's ethdev port plus one.
 */
#ifndef PMV_CM_H
#define PMV_CM_H

#include <sys/socket.h>

#include <pmverbs/pmv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pmv_cm;
struct pmv_cm_id;

/** Port spaces, with rdma_cm's values; a service ID is port_space << 16 | port. */
enum pmv_cm_port_space {
	PMV_PS_TCP = 0x0106,
	PMV_PS_UDP = 0x0111,
	PMV_PS_IB = 0x013f,
};

/** rdma_cm's 20 events, in its order. */
enum pmv_cm_event_type {
	PMV_CM_EVENT_ADDR_RESOLVED,
	PMV_CM_EVENT_ADDR_ERROR,
	PMV_CM_EVENT_ROUTE_RESOLVED,
	PMV_CM_EVENT_ROUTE_ERROR,
	PMV_CM_EVENT_CONNECT_REQUEST,
	PMV_CM_EVENT_CONNECT_RESPONSE,
	PMV_CM_EVENT_CONNECT_ERROR,
	PMV_CM_EVENT_UNREACHABLE,
	PMV_CM_EVENT_REJECTED,
	PMV_CM_EVENT_ESTABLISHED,
	PMV_CM_EVENT_DISCONNECTED,
	PMV_CM_EVENT_DEVICE_REMOVAL,
	PMV_CM_EVENT_MULTICAST_JOIN,
	PMV_CM_EVENT_MULTICAST_ERROR,
	PMV_CM_EVENT_ADDR_CHANGE,
	PMV_CM_EVENT_TIMEWAIT_EXIT,
	PMV_CM_EVENT_ADDRINFO_RESOLVED,
	PMV_CM_EVENT_ADDRINFO_ERROR,
	PMV_CM_EVENT_USER,
	PMV_CM_EVENT_INTERNAL,
};

/** Bytes of private data an application can send (TCP port space: 36 of the REQ's 92 carry the IP
 * header). */
#define PMV_CM_PRIVATE_CONNECT_MAX 56u
#define PMV_CM_PRIVATE_ACCEPT_MAX  196u
#define PMV_CM_PRIVATE_REJECT_MAX  148u

/** REJ reasons that applications meet most (IBTA vol. 1, 12.6.7.2). */
enum pmv_cm_rej_reason {
	PMV_CM_REJ_NO_QP = 1,
	PMV_CM_REJ_NO_RESOURCES = 3,
	PMV_CM_REJ_TIMEOUT = 4,
	PMV_CM_REJ_INVALID_SERVICE_ID = 8, /**< nobody listens */
	PMV_CM_REJ_STALE_CONN = 10,
	PMV_CM_REJ_INVALID_GID = 12,
	PMV_CM_REJ_INVALID_MTU = 26,
	PMV_CM_REJ_CONSUMER_DEFINED = 28,
	PMV_CM_REJ_VENDOR_OPTION = 35,
};

/** Of a UC id depths and retry counts have no effect, and are 0 in events. */
struct pmv_cm_conn_param {
	const void *private_data; /**< copied; NULL with length 0 */
	uint8_t private_data_len; /**< in events: the message's whole private area, zero-padded */
	uint8_t responder_resources; /**< READs we serve at a time; 0xff = the most both sides can
				      */
	uint8_t initiator_depth; /**< READs we issue at a time; 0xff = the most both sides can */
	uint8_t flow_control;    /**< carried, without effect: RoCEv2 peers do not use credits */
	uint8_t retry_count;     /**< 0..7; ignored on accept */
	uint8_t rnr_retry_count; /**< 0..7, 7 = for ever */
	uint8_t srq;             /**< in events; in calls ignored, the id's QP tells */
	uint32_t qp_num;         /**< likewise */
};

struct pmv_cm_event {
	enum pmv_cm_event_type event;
	struct pmv_cm_id *id;
	struct pmv_cm_id *listen_id;    /**< CONNECT_REQUEST only */
	int status;                     /**< 0, a negative errno, or the reason of a REJECTED */
	struct pmv_cm_conn_param param; /**< CONNECT_REQUEST, ESTABLISHED, REJECTED: the peer's, as
					   this side must see it */
	struct pmv_ece ece; /**< CONNECT_REQUEST, ESTABLISHED: what the peer's REQ or REP
			       says, as it came; what is agreed: pmv_cm_id_ece() */
	uint64_t user_arg;  /**< USER */
};

/** @return 0 to go on; anything else destroys the id (not allowed for the listening id from
 * CONNECT_REQUEST: that destroys the new id). */
typedef int (*pmv_cm_handler)(struct pmv_cm_id *id, const struct pmv_cm_event *event);

struct pmv_cm_param {
	uint32_t id_max;    /**< ids at most, 0 = 4096; <= 262144 */
	uint32_t event_max; /**< without effect: events are embedded in their ids, so the ring
			       cannot overflow */
	int socket_id;      /**< NUMA node, < 0: the caller's */
	uint64_t seed; /**< non-zero: comm IDs, ports and PSNs come from this seed (tests only); 0 =
			  the OS */
};

/** @return 0; -EINVAL id_max; -ENOMEM; or the errno of the operating system's random numbers.
 * @note Context: any thread; the CM starts detached. */
PMV_API int pmv_cm_create(const struct pmv_cm_param *param, struct pmv_cm **ret_cm);
/** @return 0; -EBUSY ids live, another lcore has not committed a QP operation of one, or inside a
 * handler. @note Context: owner, or any one thread while detached. */
PMV_API int pmv_cm_destroy(struct pmv_cm *cm);
/** The device's control frames go to this CM from now on. @return 0; -EBUSY a CM has it; -ENOSPC
 * (16); -ENOMEM; -ENOTSUP its driver carries no CM frames. */
PMV_API int pmv_cm_add_device(struct pmv_cm *cm, struct pmv_device *device);
/** Ids of the device get DEVICE_REMOVAL and lose it. @return 0; -ENOENT. */
PMV_API int pmv_cm_remove_device(struct pmv_cm *cm, struct pmv_device *device);
/** Makes the calling thread the owner. @return 0; -EBUSY it is attached, here or elsewhere. */
PMV_API int pmv_cm_attach(struct pmv_cm *cm);
/** @return 0; -EPERM the caller is not the owner. */
PMV_API int pmv_cm_detach(struct pmv_cm *cm);

/**
 * One control iteration: replies of workers, frames, timers, events, within a budget.
 * @return amount of work done, 0 = idle. @note Context: owner (the control lcore).
 */
PMV_API uint32_t pmv_cm_poll(struct pmv_cm *cm);
/** The same with the time given, in TSC ticks (or in those of a simulation). */
PMV_API uint32_t pmv_cm_poll_at(struct pmv_cm *cm, uint64_t now);

/**
 * @param handler  NULL: events come through pmv_cm_get_event()
 * @param ps       PMV_PS_TCP or PMV_PS_IB: each has ports of its own
 * @param qp_type  PMV_QPT_RC or PMV_QPT_UC: of the id's QP, and of the QPs that ask a listener (a
 * request of the other type is rejected with reason 9). Linux's librdmacm connects UC in PMV_PS_IB
 * only.
 * @return 0; -EINVAL no port space; -ENOTSUP a port space or QP type that is not there; -ENOSPC
 * id_max is reached; -ENOMEM.
 */
PMV_API int pmv_cm_create_id(struct pmv_cm *cm, pmv_cm_handler handler, void *context,
	enum pmv_cm_port_space ps, enum pmv_qp_type qp_type, struct pmv_cm_id **ret_id);

/**
 * Cancels what is in flight, tells the peer what it must know (REJ, DREQ), returns at once; no
 * event follows. A QP still attached goes to ERR and stays the caller's; pmv_destroy_qp() is -EBUSY
 * while another lcore has not committed that.
 * @return 0; -EDEADLK from inside the id's own handler, or of the listener from inside its
 * CONNECT_REQUEST.
 */
PMV_API int pmv_cm_destroy_id(struct pmv_cm_id *id);

/** Binds to a local address (wildcard allowed) and port (0: one is chosen). AF_INET or AF_INET6.
 * @return 0; -EINVAL state or address; -EADDRINUSE; -EADDRNOTAVAIL no device has the address. */
PMV_API int pmv_cm_bind_addr(struct pmv_cm_id *id, const struct sockaddr *addr);

/** Starts address resolution; ADDR_RESOLVED or ADDR_ERROR (-ETIMEDOUT, -ENETUNREACH, -EADDRINUSE no
 * local port is left for this destination) follows. After ADDR_ERROR it may be called again, also
 * with the same arguments: a src with a port stays bound then, as by pmv_cm_bind_addr() and as in
 * rdma_cm; without a port the id is unbound again. A call that is refused binds nothing.
 * @param src  NULL: chosen by the route, or the id is bound. Of a bound id only what it is bound to
 * (port 0: its own); rdma_cm would ignore anything else. @param timeout_ms  1..600,000.
 * @return 0; -EINVAL state, an address (families differ, link-local without scope, src is not what
 * the id is bound to), timeout_ms, or events of earlier calls not given back; -ENODEV no device has
 * an address of that family; -EADDRNOTAVAIL, -EADDRINUSE src. */
PMV_API int pmv_cm_resolve_addr(struct pmv_cm_id *id, const struct sockaddr *src,
	const struct sockaddr *dst, uint32_t timeout_ms);

/** ROUTE_RESOLVED follows. @param timeout_ms  0..600,000, without effect: nobody is asked.
 * @return 0; -EINVAL not in ADDR_RESOLVED, timeout_ms, or an event of an earlier call not given
 * back; -ENODEV the device is gone. */
PMV_API int pmv_cm_resolve_route(struct pmv_cm_id *id, uint32_t timeout_ms);

/**
 * Creates a QP on a worker of the id's device and brings it to INIT; from here on the CM moves it.
 * @param attr  cap is written back. @return as pmv_create_qp(); -EINVAL state, a worker of another
 * device, a type that is not the id's, or the id has a QP (also one whose destruction another lcore
 * has not committed yet).
 */
PMV_API int pmv_cm_create_qp(struct pmv_cm_id *id, struct pmv_pd *pd, struct pmv_worker *worker,
	struct pmv_qp_init_attr *attr);

/**
 * Destroys the id's QP. @return 0 (also when the commit is still on its way to the owner lcore: the
 * CM finishes it); -EINVAL there is none.
 */
PMV_API int pmv_cm_destroy_qp(struct pmv_cm_id *id);

/** Sends the REQ. ESTABLISHED, REJECTED, UNREACHABLE or CONNECT_ERROR follows. After the end of a
 * connection (or a refused attempt) the id may connect again with a new QP. @param param  NULL:
 * 0xff/0xff/7/7.
 * @return 0; -EINVAL state, no QP, private data too long, a retry count above 7, or events of the
 * last attempt not given back; -ENOSPC no communication ID is free. */
PMV_API int pmv_cm_connect(struct pmv_cm_id *id, const struct pmv_cm_conn_param *param);

/**
 * The same, with what the REQ says about enhanced connection establishment (pmv_cm_connect() offers
 * what the device can do). Of the device's own vendor no more than that goes out; another vendor's
 * words travel as they are, and change nothing on the QP.
 * @param ece  NULL: as pmv_cm_connect(); all zero: nothing is offered, the wire is plain RoCEv2
 * @return as pmv_cm_connect(); -EINVAL also a vendor id above 24 bits, or options without a vendor.
 */
PMV_API int pmv_cm_connect_ece(
	struct pmv_cm_id *id, const struct pmv_cm_conn_param *param, const struct pmv_ece *ece);

/** @param backlog  requests not yet accepted or rejected, >= 1, 0 = 128; a full backlog stays
 * silent.
 * @return 0; -EINVAL not bound, or in use. */
PMV_API int pmv_cm_listen(struct pmv_cm_id *id, uint32_t backlog);

/** Answers a CONNECT_REQUEST with a REP once the QP can receive and send. @param param  NULL: the
 * most both sides can.
 * @return 0; -EINVAL no request (any more), no QP, private data too long, or rnr_retry_count above
 * 7. A failure later rejects the peer and raises CONNECT_ERROR. */
PMV_API int pmv_cm_accept(struct pmv_cm_id *id, const struct pmv_cm_conn_param *param);

/**
 * The same, with what the REP answers about enhanced connection establishment (pmv_cm_accept()
 * answers what the request offers and the device can do; a vendor that it does not know, with
 * nothing).
 * @param ece  NULL: as pmv_cm_accept(); all zero: nothing is agreed. Of the device's own vendor
 * only what both can do goes out; another vendor's words travel as they are.
 * @return as pmv_cm_accept(); -EINVAL also a vendor that the request does not offer, a vendor id
 * above 24 bits, or options without a vendor.
 */
PMV_API int pmv_cm_accept_ece(
	struct pmv_cm_id *id, const struct pmv_cm_conn_param *param, const struct pmv_ece *ece);

/** @param reason  28 or 35. @return 0; -EINVAL another reason, private data too long, or no request
 * (any more). */
PMV_API int pmv_cm_reject(
	struct pmv_cm_id *id, const void *private_data, uint8_t len, uint8_t reason);

/** QP to ERR, DREQ to the peer; DISCONNECTED, later TIMEWAIT_EXIT follow. Again while it is under
 * way: 0.
 * @return 0; -EINVAL not connected: before ESTABLISHED reject or destroy. */
PMV_API int pmv_cm_disconnect(struct pmv_cm_id *id);

/** Event ring of ids without a handler. @return 1 with *ret_event set (give it back), 0 none. */
PMV_API int pmv_cm_get_event(struct pmv_cm *cm, struct pmv_cm_event **ret_event);
/** Gives an event back; legal after its id was destroyed. */
PMV_API void pmv_cm_ack_event(struct pmv_cm *cm, struct pmv_cm_event *event);

/* Options: 0; -EINVAL out of range, or too late. */
/** Traffic class byte (DSCP << 2) of CM and data packets, their ECN bits left out; before
 * resolve_route or accept. */
PMV_API int pmv_cm_set_service_type(struct pmv_cm_id *id, uint8_t tos);
/** ACK timeout code of the QP, 0..31; before connect or accept. */
PMV_API int pmv_cm_set_ack_timeout(struct pmv_cm_id *id, uint8_t code);
/** RNR timer code the QP announces, 0..31, default 12 = 0.64 ms; before connect or accept. */
PMV_API int pmv_cm_set_min_rnr_timer(struct pmv_cm_id *id, uint8_t code);
/** CM response timeout code (2^(n-8) ms, 8..31) and retries (0..15) of this id; before connect or
 * accept. */
PMV_API int pmv_cm_set_timers(struct pmv_cm_id *id, uint8_t response_timeout, uint8_t retries);

/* Accessors. */
PMV_API struct pmv_qp *pmv_cm_id_qp(const struct pmv_cm_id *id);
PMV_API struct pmv_device *pmv_cm_id_device(const struct pmv_cm_id *id);
PMV_API void *pmv_cm_id_context(const struct pmv_cm_id *id);
PMV_API void pmv_cm_id_set_context(struct pmv_cm_id *id, void *context);
PMV_API void pmv_cm_id_set_handler(struct pmv_cm_id *id, pmv_cm_handler handler);
PMV_API void pmv_cm_id_local_addr(const struct pmv_cm_id *id, struct sockaddr_storage *ret_addr);
PMV_API void pmv_cm_id_peer_addr(const struct pmv_cm_id *id, struct sockaddr_storage *ret_addr);
/** @return what both ends agreed on and the QP does, from ESTABLISHED on (the passive side: from
 * accept on); zero before, and for plain RoCEv2 with go-back-N. */
PMV_API struct pmv_ece pmv_cm_id_ece(const struct pmv_cm_id *id);
/** CONNECT_REQUEST: the worker its REQ came in on, the best guess for the peer's data frames. */
PMV_API uint16_t pmv_cm_id_worker_hint(const struct pmv_cm_id *id);

/** @return static text, never NULL. */
PMV_API const char *pmv_cm_event_str(enum pmv_cm_event_type event);
PMV_API const char *pmv_cm_reject_str(int reason);

/** Counters of the CM (frames, drops by reason, retransmissions), as pmv_worker_stats(). */
PMV_API uint32_t pmv_cm_stats(const struct pmv_cm *cm, struct pmv_stat *stats, uint32_t nb);
PMV_API uint64_t pmv_cm_stat(const struct pmv_cm *cm, const char *name);

#ifdef __cplusplus
}
#endif
#endif
