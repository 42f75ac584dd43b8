// SPDX-License-Identifier: BSD-3-Clause
/*
 * One connection of pmv-rping, as client or as server: its queue pair, its buffers, and the step of
 * the round it is in. Called by main.c on the one lcore of the program. It neither polls nor waits.
 */
#ifndef PMV_APPS_RPING_SESSION_H
#define PMV_APPS_RPING_SESSION_H

#include "apps/common/endpoint.h"
#include "apps/rping/ping.h"

/* Work requests of a session that may be in the queues, and so completions. */
#define PMV_RPING_SEND_WR_MAX 16u
#define PMV_RPING_RECV_WR_MAX 4u

enum pmv_rping_step {
	PMV_RPING_CONNECTING,
	/* Server: what it waits for. */
	PMV_RPING_SOURCE_PLACE,
	PMV_RPING_READ_DONE,
	PMV_RPING_SINK_PLACE,
	PMV_RPING_WRITE_DONE,
	/* Client: what it waits for. */
	PMV_RPING_GO_AFTER_READ,
	PMV_RPING_GO_AFTER_WRITE,
	PMV_RPING_LEAVING, /* a disconnect is under way */
	PMV_RPING_ENDED,   /* nothing more will come; destroy it */
};

/* What all sessions share; main.c's. */
struct pmv_rping_setup {
	struct pmv_app_endpoint *ep;
	struct pmv_pd *pd;
	struct pmv_cq *cq;
	uint64_t ticks_per_sec;
	bool is_client;
	bool verbose;
	bool validate;
	uint64_t count; /* rounds, 0 = until the end; client */
	uint32_t size;  /* bytes of a ping; client */
};

struct pmv_rping_session {
	const struct pmv_rping_setup *setup;
	struct pmv_cm_id *id;
	struct pmv_qp *qp; /* NULL: none yet */
	enum pmv_rping_step step;
	bool failed;     /* it has been said why */
	bool is_probing; /* a probe is unanswered */
	char peer[64];
	uint64_t nb_rounds;  /* complete ones */
	uint64_t heard_at;   /* ticks: last sign of life */
	uint64_t give_up_at; /* ticks: LEAVING lasts no longer */
	/* Buffers of one region: what is read from, or read into and written from; the client's
	 * sink; received places. */
	uint8_t *buf;
	struct pmv_mr *mr;
	uint32_t ping_bytes; /* server: what the READ of this round brought */
	uint32_t next_recv;  /* slot that the next receive completion belongs to */
};

/* An empty session; without resources yet. */
void pmv_rping_session_init(
	struct pmv_rping_session *s, const struct pmv_rping_setup *setup, struct pmv_cm_id *id);
/* Queue pair, buffers and receives. @return 0 or a negative errno. */
int pmv_rping_session_prepare(struct pmv_rping_session *s);
/* Frees everything, the id too; polls at most a second for the region's end. @return 0 or a
 * negative errno. */
int pmv_rping_session_destroy(struct pmv_rping_session *s);

/* An event of its id, but for CONNECT_REQUEST. */
void pmv_rping_session_event(struct pmv_rping_session *s, const struct pmv_cm_event *ev);
/* A completion of its queue pair. */
void pmv_rping_session_completion(struct pmv_rping_session *s, const struct pmv_wc *wc);
/* Time goes by: probes a silent peer, gives up a disconnect that nobody answers. */
void pmv_rping_session_tick(struct pmv_rping_session *s, uint64_t now);
/* Disconnects, if it is connected, and goes to LEAVING or ENDED. */
void pmv_rping_session_leave(struct pmv_rping_session *s);

#endif
