// SPDX-License-Identifier: BSD-3-Clause
/*
 * What both ends of the demonstration have: an endpoint, memory, and two connections: one for the
 * data, one on which client and server agree about it. Called by client.c and server.c on the lcore
 * that owns the end; open and close while it is detached.
 */
#ifndef PMV_APPS_DEMO_END_H
#define PMV_APPS_DEMO_END_H

#include "apps/common/endpoint.h"

/* Memory for messages: at most so many at a time, in slots of at least a cache line. */
#define PMV_DEMO_DATA_BYTES  (8u << 20)
#define PMV_DEMO_BATCH_MAX   256u
#define PMV_DEMO_WINDOW_MAX  64u
#define PMV_DEMO_CM_PORT     7176u
#define PMV_DEMO_AGREE_SLOTS 4u

enum pmv_demo_role { PMV_DEMO_DATA, PMV_DEMO_AGREE, PMV_DEMO_NB_ROLES };

enum pmv_demo_op {
	PMV_DEMO_SEND,
	PMV_DEMO_SEND_IMM,
	PMV_DEMO_WRITE,
	PMV_DEMO_WRITE_IMM,
	PMV_DEMO_READ,
	PMV_DEMO_NB_OPS,
};

enum pmv_demo_what {
	PMV_DEMO_PREPARE, /* client: so many messages will come; make the memory and the receives
			     ready */
	PMV_DEMO_READY,   /* server */
	PMV_DEMO_CHECK,   /* client: they are all sent */
	PMV_DEMO_RESULT,  /* server: so many of them were wrong */
};

/* A message of the agreeing connection. Host byte order: both ends are the same process. */
struct pmv_demo_note {
	uint32_t what; /* enum pmv_demo_what */
	uint32_t op;   /* enum pmv_demo_op */
	uint32_t size; /* bytes of a message */
	uint32_t nb;   /* messages */
	uint64_t first_id;
	uint64_t nb_wrong;
	uint64_t nb_sent_again; /* packets that the server sent again since the start */
};

/* What the server tells when it accepts: where its data memory is. */
struct pmv_demo_place {
	uint64_t addr;
	uint32_t rkey;
	uint32_t unused;
};

struct pmv_demo_conn {
	struct pmv_cm_id *id;
	struct pmv_qp *qp;
	enum pmv_cm_event_type last_event; /* client: of this connection */
	bool is_up;
	bool is_over;
};

struct pmv_demo_end {
	struct pmv_app_endpoint ep;
	struct pmv_pd *pd;
	struct pmv_cq *cq;
	uint8_t *data;
	struct pmv_mr *data_mr;
	struct pmv_demo_note *notes; /* PMV_DEMO_AGREE_SLOTS, received */
	struct pmv_mr *notes_mr;
	struct pmv_demo_conn conns[PMV_DEMO_NB_ROLES];
};

/* @return 0; a negative errno after it has said why; close() is legal either way. */
int pmv_demo_end_open(struct pmv_demo_end *end, const struct pmv_app_options *options);
/* Queue pair of a connection; of the agreeing one the receives too. @return 0 or a negative errno.
 */
int pmv_demo_end_create_qp(struct pmv_demo_end *end, enum pmv_demo_role role, struct pmv_cm_id *id);
/* Destroys queue pairs and ids; owner lcore. */
void pmv_demo_end_hang_up(struct pmv_demo_end *end);
/* Any thread, while the end is detached. @return 0; a negative errno after it has said why. */
int pmv_demo_end_close(struct pmv_demo_end *end);

/* @return 0 or a negative errno. */
int pmv_demo_end_send_note(struct pmv_demo_end *end, const struct pmv_demo_note *note);
/* Takes the note of a receive completion and posts the receive again. @return 0 or a negative
 * errno. */
int pmv_demo_end_take_note(
	struct pmv_demo_end *end, const struct pmv_wc *wc, struct pmv_demo_note *ret_note);
/* Which connection a completion belongs to; PMV_DEMO_NB_ROLES: none that still lives. */
enum pmv_demo_role pmv_demo_end_role(const struct pmv_demo_end *end, const struct pmv_wc *wc);

/* Message i of a batch lies here, on both ends. */
static inline uint32_t
pmv_demo_slot_bytes(uint32_t size)
{
	return (size + 63u) & ~63u;
}

static inline uint8_t *
pmv_demo_slot(const struct pmv_demo_end *end, uint32_t size, uint32_t i)
{
	return end->data + (uint64_t)i * pmv_demo_slot_bytes(size);
}

static inline bool
pmv_demo_op_has_receive(enum pmv_demo_op op)
{
	return op == PMV_DEMO_SEND || op == PMV_DEMO_SEND_IMM || op == PMV_DEMO_WRITE_IMM;
}

#endif
