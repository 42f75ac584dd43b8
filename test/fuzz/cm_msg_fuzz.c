// SPDX-License-Identifier: BSD-3-Clause
/*
 * Any bytes as a CM MAD. What is accepted is built again: the message, without its reserved bits,
 * must come out the same, and from then on for ever. Built from raw bytes as a struct, too, so that
 * the encoder meets every value.
 */
#include <stdlib.h>
#include <string.h>

#include "cm/msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
rebuild(const uint8_t *mad, const struct pmv_cm_msg *msg)
{
	uint8_t once[PMV_MAD_LEN], twice[PMV_MAD_LEN];
	struct pmv_cm_msg again;
	volatile uint8_t sink;
	uint16_t i;

	must(msg->private_data + msg->private_bytes == mad + PMV_MAD_LEN);
	for (i = 0; i < msg->private_bytes; i++)
		sink = msg->private_data[i];
	(void)sink;
	if (msg->attr == PMV_CM_ATTR_REJ)
		must(pmv_cm_rej_ari_bytes(&msg->rej) <= PMV_CM_REJ_ARI_MAX);
	must(pmv_cm_msg_build(msg, once) == 0);
	must(pmv_cm_msg_reserved_zero(once));
	if (pmv_cm_msg_reserved_zero(mad))
		must(memcmp(once, mad, sizeof(once)) == 0);
	must(pmv_cm_msg_parse(once, sizeof(once), &again) == PMV_CM_MSG_OK);
	must(pmv_cm_msg_build(&again, twice) == 0);
	must(memcmp(once, twice, sizeof(once)) == 0);
}

/* The input as a struct: the encoder refuses or writes something that can be read. */
static void
encode(const uint8_t *data, size_t size)
{
	struct pmv_cm_msg msg, back;
	uint8_t mad[PMV_MAD_LEN];

	memset(&msg, 0, sizeof(msg));
	memcpy(&msg, data, size < sizeof(msg) ? size : sizeof(msg));
	msg.attr = (uint16_t)(PMV_CM_ATTR_REQ + msg.attr % 10);
	msg.private_data = data;
	msg.private_bytes = (uint16_t)(size < 300 ? size : 300);
	if (pmv_cm_msg_build(&msg, mad) == 0)
		must(pmv_cm_msg_parse(mad, sizeof(mad), &back) == PMV_CM_MSG_OK);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pmv_cm_msg msg;
	uint8_t *mad;

	if (size == 0 || size > 1024)
		return 0;
	mad = malloc(size); /* its end is guarded */
	must(mad != NULL);
	memcpy(mad, data, size);
	if (pmv_cm_msg_parse(mad, size, &msg) == PMV_CM_MSG_OK)
		rebuild(mad, &msg);
	encode(data, size);
	free(mad);
	return 0;
}
