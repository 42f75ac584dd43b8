// SPDX-License-Identifier: BSD-3-Clause
/*
 * The messages of a connection: filled from its record, packed by cm/msg, sent by cm/tx. Called by
 * cm/conn only; control lcore. "Kept" ones are stored for RESEND.
 */
#ifndef PMV_CM_CONN_MSG_H
#define PMV_CM_CONN_MSG_H

#include "cm/conn.h"
#include "cm/msg.h"

void pmv_cm_conn_msg_req(struct pmv_cm_id *id);  /* kept */
void pmv_cm_conn_msg_rep(struct pmv_cm_id *id);  /* kept */
void pmv_cm_conn_msg_dreq(struct pmv_cm_id *id); /* kept */
void pmv_cm_conn_msg_rtu(struct pmv_cm_id *id);
void pmv_cm_conn_msg_mra(struct pmv_cm_id *id, enum pmv_cm_about about);
/* @param tid  of the DREQ. */
void pmv_cm_conn_msg_drep(struct pmv_cm_id *id, uint64_t tid);

struct pmv_cm_conn_rej {
	enum pmv_cm_about about;
	uint16_t reason;
	uint32_t remote_comm_id;
	bool with_guid; /* ARI: our CA GUID */
	bool keep;
	const void *private_data;
	uint8_t private_len;
};

void pmv_cm_conn_msg_rej(struct pmv_cm_id *id, const struct pmv_cm_conn_rej *rej);

/* The kept message again. */
void pmv_cm_conn_msg_resend(struct pmv_cm_id *id);

#endif
