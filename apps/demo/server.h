// SPDX-License-Identifier: BSD-3-Clause
/*
 * The serving end: listens, accepts, receives, and checks what arrived. Its turn runs on its own
 * lcore, or between the client's turns on the same one. It prints nothing but errors.
 */
#ifndef PMV_APPS_DEMO_SERVER_H
#define PMV_APPS_DEMO_SERVER_H

#include "apps/demo/end.h"

struct pmv_demo_server {
	struct pmv_demo_end end;
	struct pmv_cm_id *listener;
	struct pmv_demo_note batch; /* the batch under way */
	uint32_t nb_received;       /* completions of it */
	uint64_t nb_wrong;          /* of it, found in completions */
	bool is_done;               /* both connections are over; nothing more to serve */
	bool failed;
	bool must_stop; /* written by the client's lcore, once, with release */
};

/* Listens on the address; owner lcore, attached. @return 0; a negative errno after it has said why.
 */
int pmv_demo_server_start(struct pmv_demo_server *server, const struct sockaddr_storage *addr);
/* One turn. */
void pmv_demo_server_turn(struct pmv_demo_server *server);
/* Destroys connections and listener; owner lcore. */
void pmv_demo_server_stop(struct pmv_demo_server *server);

#endif
