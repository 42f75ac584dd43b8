// SPDX-License-Identifier: BSD-3-Clause
/*
 * One end of a ping-pong without a connection manager: a device with a worker, memory, and a queue
 * pair that is brought up by hand. The only place that knows which driver it is. Called by both.c
 * on the one lcore that does everything.
 */
#ifndef PMV_APPS_PINGPONG_END_H
#define PMV_APPS_PINGPONG_END_H

#include <pmverbs/pmv.h>

#include "apps/common/port.h"

/* What one end must know of the other; between two processes it would go through a socket. */
struct pmv_pingpong_card {
	union pmv_gid gid;
	uint8_t mac[6];
	uint8_t mtu;   /* enum pmv_mtu */
	uint32_t qpn;  /* queue pair number */
	uint32_t psn;  /* of the first packet it will send */
	uint64_t addr; /* of the memory into which messages arrive */
	uint32_t rkey;
};

/* Where the end lives. */
struct pmv_pingpong_place {
	const char *ibdev; /* RDMA device of the kernel; NULL: an ethdev port */
	const char *port;  /* number or name of the port */
	struct pmv_ip_addr addr;
	uint16_t ip_mtu;
	uint16_t vlan_id;
	double loss; /* probability with which a frame is dropped */
	uint64_t seed;
	bool prints_stats; /* of the worker, at the end */
};

struct pmv_pingpong_end {
	char name[64]; /* of device or port, for sentences */
	bool prints_stats;
	bool is_guest; /* device and worker are the other end's */
	struct pmv_app_port port;
	struct pmv_device *device;
	struct pmv_worker *worker;
	struct pmv_pd *pd;
	struct pmv_cq *cq;
	struct pmv_qp *qp;
	struct pmv_mr *mr;
	uint8_t *out; /* size bytes to send from */
	uint8_t *in;  /* and as many to receive into */
	uint32_t size;
	uint64_t nb_sent;
	uint64_t nb_received;
	struct pmv_pingpong_card card;
};

/* Opens everything up to the queue pair, and fills the card. @param host  an open end on the same
 * device, or NULL. @return 0; a negative errno after it has said why; close() is legal either way.
 */
int pmv_pingpong_end_open(struct pmv_pingpong_end *end, const struct pmv_pingpong_place *place,
	const struct pmv_pingpong_end *host, uint32_t size);
/* RESET to RTS. @return as above. */
int pmv_pingpong_end_connect(struct pmv_pingpong_end *end, const struct pmv_pingpong_card *peer);
/* Two steps, so that both ends stop before either frees its memory. @return 0 or a negative errno
 * after it has said why. */
int pmv_pingpong_end_stop(struct pmv_pingpong_end *end);
int pmv_pingpong_end_close(struct pmv_pingpong_end *end);

/* One receive for a message. @return 0 or a negative errno. */
int pmv_pingpong_end_post_recv(struct pmv_pingpong_end *end);
/* Sends `out`, or writes it where the peer's card says. @return 0 or a negative errno. */
int pmv_pingpong_end_post(struct pmv_pingpong_end *end, enum pmv_wr_opcode opcode,
	const struct pmv_pingpong_card *peer);
/* Counts completions. @return how many; a negative errno after it has said what went wrong. */
int pmv_pingpong_end_poll(struct pmv_pingpong_end *end);

#endif
