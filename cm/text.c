// SPDX-License-Identifier: BSD-3-Clause
/*
 * Words for events and reject reasons, see text.h. Any thread.
 */
#include "cm/text.h"

#define NAME(x) [PMV_CM_EVENT_##x] = #x

static const char *const event_text[] = {
	NAME(ADDR_RESOLVED),
	NAME(ADDR_ERROR),
	NAME(ROUTE_RESOLVED),
	NAME(ROUTE_ERROR),
	NAME(CONNECT_REQUEST),
	NAME(CONNECT_RESPONSE),
	NAME(CONNECT_ERROR),
	NAME(UNREACHABLE),
	NAME(REJECTED),
	NAME(ESTABLISHED),
	NAME(DISCONNECTED),
	NAME(DEVICE_REMOVAL),
	NAME(MULTICAST_JOIN),
	NAME(MULTICAST_ERROR),
	NAME(ADDR_CHANGE),
	NAME(TIMEWAIT_EXIT),
	NAME(ADDRINFO_RESOLVED),
	NAME(ADDRINFO_ERROR),
	NAME(USER),
	NAME(INTERNAL),
};

/* IBTA vol. 1, 12.6.7.2. */
static const char *const reject_text[] = {
	[1] = "no QP available",
	[2] = "no EE context available",
	[3] = "no resources",
	[4] = "timeout",
	[5] = "unsupported request",
	[6] = "invalid communication ID",
	[7] = "invalid communication instance",
	[8] = "invalid service ID: nobody listens there",
	[9] = "invalid transport service type",
	[10] = "stale connection",
	[11] = "RDC does not exist",
	[12] = "primary GID or partition key rejected",
	[13] = "primary LID rejected",
	[14] = "invalid primary SL",
	[15] = "invalid primary traffic class",
	[16] = "invalid primary hop limit",
	[17] = "invalid primary packet rate",
	[18] = "alternate GID rejected",
	[19] = "alternate LID rejected",
	[20] = "invalid alternate SL",
	[21] = "invalid alternate traffic class",
	[22] = "invalid alternate hop limit",
	[23] = "invalid alternate packet rate",
	[24] = "port and CM redirection",
	[25] = "port redirection",
	[26] = "path MTU above what the peer can",
	[27] = "insufficient responder resources",
	[28] = "rejected by the consumer",
	[29] = "RNR retry count rejected",
	[30] = "duplicate communication ID",
	[31] = "unsupported class version",
	[32] = "invalid primary flow label",
	[33] = "invalid alternate flow label",
	[35] = "vendor option not supported",
};

const char *
pmv_cm_event_str(enum pmv_cm_event_type event)
{
	if ((unsigned int)event >= sizeof(event_text) / sizeof(event_text[0]))
		return "unknown event";
	return event_text[event];
}

const char *
pmv_cm_reject_str(int reason)
{
	if (reason < 0 || (unsigned int)reason >= sizeof(reject_text) / sizeof(reject_text[0]) ||
		reject_text[reason] == NULL)
		return "unknown reason";
	return reject_text[reason];
}
