// SPDX-License-Identifier: BSD-3-Clause
/*
 * The client end: connects, sends batches of messages, takes the times. Runs on the main lcore.
 * What it measures it hands to main.c, which prints it.
 */
#ifndef PMV_APPS_DEMO_CLIENT_H
#define PMV_APPS_DEMO_CLIENT_H

#include "apps/common/latency.h"
#include "apps/demo/end.h"
#include "apps/demo/server.h"

#define PMV_DEMO_SAMPLES_MAX 20000u

struct pmv_demo_client {
	struct pmv_demo_end end;
	struct pmv_demo_server *server; /* its turns are ours to run; NULL: it has its own lcore */
	struct pmv_demo_place place;    /* the server's data memory */
	struct pmv_demo_note reply;     /* the server's last */
	bool has_reply;
	bool failed;           /* it has been said why */
	uint32_t nb_completed; /* of the batch */
	uint64_t next_id;      /* of a message; never used twice */
	uint64_t moved_at;     /* ticks: last time that anything happened */
	uint64_t ticks_per_sec;
	uint64_t *samples;    /* PMV_DEMO_SAMPLES_MAX latencies in ticks */
	uint32_t batch_bytes; /* at most PMV_DEMO_DATA_BYTES, at least the longest message */
	uint64_t nb_checked_bytes;
};

/* One line of the table. */
struct pmv_demo_row {
	enum pmv_demo_op op;
	uint32_t size;
	uint64_t nb; /* messages, of both phases */
	double rate; /* messages a second, from the first post to the last completion of the median
			batch */
	struct pmv_app_latency latency;
	uint64_t nb_sent_again; /* packets, both ends */
	uint64_t nb_wrong;
};

/* Connects both connections; owner lcore, attached. @return 0; a negative errno after it has said
 * why. */
int pmv_demo_client_connect(
	struct pmv_demo_client *client, const struct sockaddr_storage *server_addr);
/*
 * Measures one operation and size: for so long one message at a time, then for so long with many
 * under way.
 * @return 0; a negative errno after it has said why.
 */
int pmv_demo_client_measure(struct pmv_demo_client *client, uint32_t latency_ms,
	uint32_t throughput_ms, struct pmv_demo_row *row);
/* Disconnects and waits, at most some seconds, until it is over on this side and the server's (if
 * its turns are ours). */
void pmv_demo_client_disconnect(struct pmv_demo_client *client);

#endif
