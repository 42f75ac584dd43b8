// SPDX-License-Identifier: BSD-3-Clause
/*
 * CM messages: the 256-byte management datagram (MAD) of class 0x07 to a typed struct and back
 * (IBTA vol. 1, 12.6, 13.4). The layout of each message is a const table of fields in msg.c; there
 * is one decoder and one encoder.
 *
 * Called by cm/io (frames in and out) and cm/conn (building answers), on the control lcore. Pure:
 * bytes in, struct out.
 *
 * Does not judge what a message means: comm IDs, states, service IDs, reject reasons and the IP-CM
 * private-data header (cm/ip_hdr) are the caller's. Does not know the packet around the MAD.
 *
 * parse() and build() are inverse: for every message whose reserved bits are zero, build(parse(x))
 * is x, byte for byte. Reserved bits of a peer are ignored, as IBTA asks;
 * pmv_cm_msg_reserved_zero() tells for tests and counters.
 */
#ifndef PMV_CM_MSG_H
#define PMV_CM_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/wire/mad.h"

/* Private data area of each message, and of the additional reject/SIDR information. */
#define PMV_CM_REQ_PRIVATE_MAX      92u
#define PMV_CM_MRA_PRIVATE_MAX      222u
#define PMV_CM_REJ_PRIVATE_MAX      148u
#define PMV_CM_REP_PRIVATE_MAX      196u
#define PMV_CM_RTU_PRIVATE_MAX      224u
#define PMV_CM_DREQ_PRIVATE_MAX     220u
#define PMV_CM_DREP_PRIVATE_MAX     224u
#define PMV_CM_SIDR_REQ_PRIVATE_MAX 216u
#define PMV_CM_SIDR_REP_PRIVATE_MAX 136u
#define PMV_CM_REJ_ARI_MAX          72u
#define PMV_CM_SIDR_INFO_MAX        72u

/* Attribute IDs of class 0x07. */
enum pmv_cm_attr {
	PMV_CM_ATTR_CLASS_PORT_INFO = 0x0001,
	PMV_CM_ATTR_REQ = 0x0010,
	PMV_CM_ATTR_MRA = 0x0011,
	PMV_CM_ATTR_REJ = 0x0012,
	PMV_CM_ATTR_REP = 0x0013,
	PMV_CM_ATTR_RTU = 0x0014,
	PMV_CM_ATTR_DREQ = 0x0015,
	PMV_CM_ATTR_DREP = 0x0016,
	PMV_CM_ATTR_SIDR_REQ = 0x0017,
	PMV_CM_ATTR_SIDR_REP = 0x0018,
	PMV_CM_ATTR_LAP = 0x0019,
	PMV_CM_ATTR_APR = 0x001a,
};

/* What parse() says; one counter each in the CM. Everything but OK is dropped without an answer. */
enum pmv_cm_msg_verdict {
	PMV_CM_MSG_OK,
	PMV_CM_MSG_BAD_LENGTH,        /* not exactly 256 bytes (IBTA 13.4.2) */
	PMV_CM_MSG_BAD_BASE_VERSION,  /* not 1 */
	PMV_CM_MSG_OTHER_CLASS,       /* SA, PerfMgt...: not ours */
	PMV_CM_MSG_BAD_CLASS_VERSION, /* not 2 */
	PMV_CM_MSG_BAD_METHOD,        /* not Send (ClassPortInfo: Get, Set, GetResp) */
	PMV_CM_MSG_CLASS_PORT_INFO,   /* recognised, never answered: no peer asks a CM for it */
	PMV_CM_MSG_PATH_MIGRATION,    /* LAP, APR: ignored, RoCE has no alternate path */
	PMV_CM_MSG_UNKNOWN_ATTR,
	PMV_CM_MSG_VERDICT_MAX,
};

/* REQ byte 43, transport service type; 3 means "see extended_transport". */
enum pmv_cm_transport {
	PMV_CM_TRANSPORT_RC = 0,
	PMV_CM_TRANSPORT_UC = 1,
	PMV_CM_TRANSPORT_RD = 2,
	PMV_CM_TRANSPORT_EXTENDED = 3,
};

/* MRA "message MRAed" and REJ "message rejected". */
enum pmv_cm_about {
	PMV_CM_ABOUT_REQ = 0,
	PMV_CM_ABOUT_REP = 1,
	PMV_CM_ABOUT_LAP = 2,   /* in an MRA */
	PMV_CM_ABOUT_OTHER = 2, /* in a REJ: no message in particular */
};

/* REJ reasons (IBTA 12.6.7.2). The public header names the few that applications meet. */
enum pmv_cm_reason {
	PMV_CM_REASON_NO_QP = 1,
	PMV_CM_REASON_NO_EEC = 2,
	PMV_CM_REASON_NO_RESOURCES = 3,
	PMV_CM_REASON_TIMEOUT = 4, /* ARI: 8 bytes CA GUID of the sender of the REJ */
	PMV_CM_REASON_UNSUPPORTED = 5,
	PMV_CM_REASON_INVALID_COMM_ID = 6,
	PMV_CM_REASON_INVALID_COMM_INSTANCE = 7,
	PMV_CM_REASON_INVALID_SERVICE_ID = 8,
	PMV_CM_REASON_INVALID_TRANSPORT = 9,
	PMV_CM_REASON_STALE_CONN = 10,
	PMV_CM_REASON_INVALID_GID = 12, /* ARI: acceptable GID; also for a foreign P_Key */
	PMV_CM_REASON_INVALID_MTU = 26, /* ARI: 1 byte, the largest acceptable MTU code */
	PMV_CM_REASON_CONSUMER = 28,
	PMV_CM_REASON_DUPLICATE_COMM_ID = 30,
	PMV_CM_REASON_VENDOR_OPTION = 35,
};

enum pmv_cm_sidr_status {
	PMV_CM_SIDR_VALID = 0,
	PMV_CM_SIDR_UNSUPPORTED_SERVICE = 1,
	PMV_CM_SIDR_REJECTED = 2,
	PMV_CM_SIDR_NO_QP = 3,
	PMV_CM_SIDR_REDIRECT = 4,
	PMV_CM_SIDR_UNSUPPORTED_VERSION = 5,
};

/* One path of a REQ. All in host order; GIDs are bytes as on the wire. */
struct pmv_cm_path {
	uint8_t local_gid[16];
	uint8_t remote_gid[16];
	uint16_t local_lid; /* RoCE: 0xffff in the primary path, 0 in the (absent) alternate one */
	uint16_t remote_lid;
	uint32_t flow_label; /* 20 bits */
	uint8_t packet_rate; /* 6 bits */
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t sl;                /* 4 bits */
	uint8_t subnet_local;      /* 1 bit */
	uint8_t local_ack_timeout; /* 5 bits, 4.096 us << n */
};

struct pmv_cm_req {
	uint32_t local_comm_id;
	uint32_t ece_vendor_id; /* 24 bits; 0 = no enhanced connection establishment. Options:
				   pmv_cm_msg.attr_mod */
	uint64_t service_id;
	uint64_t local_ca_guid;
	uint32_t local_qkey;
	uint32_t local_qpn;  /* 24 bits */
	uint32_t local_eecn; /* 24 bits, RD only */
	uint32_t remote_eecn;
	uint32_t starting_psn; /* 24 bits: what the *peer* must start sending with, i.e. our receive
				  PSN */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t remote_response_timeout; /* 5 bits: how long the sender waits for our answer */
	uint8_t transport;               /* enum pmv_cm_transport */
	uint8_t flow_control;            /* 1 bit */
	uint8_t local_response_timeout;  /* 5 bits: interval at which our REP is to be repeated */
	uint8_t retry_count;             /* 3 bits */
	uint16_t pkey;
	uint8_t mtu;                /* 4 bits, 1..5 */
	uint8_t rdc_exists;         /* 1 bit */
	uint8_t rnr_retry_count;    /* 3 bits */
	uint8_t max_cm_retries;     /* 4 bits */
	uint8_t srq;                /* 1 bit */
	uint8_t extended_transport; /* 3 bits, 1 = XRC */
	uint8_t sap_supported;      /* 1 bit */
	struct pmv_cm_path primary;
	struct pmv_cm_path
		alternate; /* all zero on RoCE; a local LID of 0 is what says "no alternate path" */
};

struct pmv_cm_mra {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint8_t about;           /* enum pmv_cm_about */
	uint8_t service_timeout; /* 5 bits: additional time wanted */
};

struct pmv_cm_rej {
	uint32_t local_comm_id; /* may be 0 or anything in a REJ of a REQ: match by remote_comm_id
				   only */
	uint32_t remote_comm_id;
	uint8_t about;   /* enum pmv_cm_about */
	uint8_t ari_len; /* 7 bits as sent by the peer: may lie above PMV_CM_REJ_ARI_MAX, see
			    pmv_cm_rej_ari_bytes() */
	uint16_t reason; /* enum pmv_cm_reason, any value of the peer's */
	uint8_t ari[PMV_CM_REJ_ARI_MAX];
};

struct pmv_cm_rep {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint32_t local_qkey;
	uint32_t local_qpn;     /* 24 bits */
	uint32_t local_eecn;    /* 24 bits; XRC: the target QPN */
	uint32_t starting_psn;  /* 24 bits, as in the REQ */
	uint32_t ece_vendor_id; /* 24 bits, spread over three bytes on the wire */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t target_ack_delay; /* 5 bits */
	uint8_t failover;         /* 2 bits: 0 accepted, 1 not supported, 2 rejected */
	uint8_t flow_control;     /* 1 bit */
	uint8_t rnr_retry_count;  /* 3 bits: for the active side's QP */
	uint8_t srq;              /* 1 bit */
	uint64_t local_ca_guid;
};

/* RTU and DREP: nothing but the two IDs. */
struct pmv_cm_ids {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
};

struct pmv_cm_dreq {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint32_t remote_qpn; /* 24 bits: QPN of the *receiver* of the DREQ */
};

struct pmv_cm_sidr_req {
	uint32_t request_id;
	uint16_t pkey;
	uint64_t service_id;
};

struct pmv_cm_sidr_rep {
	uint32_t request_id;
	uint8_t status;         /* enum pmv_cm_sidr_status */
	uint8_t info_len;       /* as sent by the peer; the area has PMV_CM_SIDR_INFO_MAX bytes */
	uint32_t ece_vendor_id; /* 24 bits */
	uint32_t qpn;           /* 24 bits */
	uint64_t service_id;
	uint32_t qkey;
	uint8_t info[PMV_CM_SIDR_INFO_MAX];
};

struct pmv_cm_msg {
	uint16_t attr;           /* enum pmv_cm_attr: says which member of the union counts */
	uint16_t status;         /* 0 in every CM message; kept so that re-encoding is exact */
	uint16_t class_specific; /* likewise */
	uint16_t private_bytes;  /* parse: the whole area of this message; build: bytes to copy, the
				    rest is zero */
	uint64_t tid;
	uint32_t attr_mod;           /* ECE options in REQ, REP, SIDR_REP; else 0 */
	const uint8_t *private_data; /* parse: a view into the MAD; build: NULL is all zero */
	union {
		struct pmv_cm_req req;
		struct pmv_cm_mra mra;
		struct pmv_cm_rej rej;
		struct pmv_cm_rep rep;
		struct pmv_cm_ids rtu;
		struct pmv_cm_dreq dreq;
		struct pmv_cm_ids drep;
		struct pmv_cm_sidr_req sidr_req;
		struct pmv_cm_sidr_rep sidr_rep;
	};
};

/*
 * Reads a MAD. @param mad_bytes  payload length of the datagram (UDP length says it, never the
 * frame); only 256 is a MAD. On any verdict but OK *ret_msg holds at most the attribute and TID and
 * must not be used further. The private data view lives as long as mad.
 */
enum pmv_cm_msg_verdict pmv_cm_msg_parse(
	const uint8_t *mad, size_t mad_bytes, struct pmv_cm_msg *ret_msg);

/*
 * Writes all 256 bytes. @return 0; -EINVAL unknown attribute; -EMSGSIZE more private data than the
 * message has room for; -ERANGE a field does not fit its width (nothing ever spills into a
 * neighbour). On an error mad is all zero.
 */
int pmv_cm_msg_build(const struct pmv_cm_msg *msg, uint8_t mad[PMV_MAD_LEN]);

/* Bytes of private data that a message can carry, 0 for an attribute that is no message. */
uint16_t pmv_cm_msg_private_max(uint16_t attr);

/* True if every bit outside the message's fields is 0. mad: 256 bytes that parse() called OK. */
bool pmv_cm_msg_reserved_zero(const uint8_t *mad);

/* Valid bytes in rej->ari, whatever the peer wrote into the length. */
static inline uint8_t
pmv_cm_rej_ari_bytes(const struct pmv_cm_rej *rej)
{
	return rej->ari_len < PMV_CM_REJ_ARI_MAX ? rej->ari_len : PMV_CM_REJ_ARI_MAX;
}

/* Static texts for logs, counters and tables; never NULL. */
const char *pmv_cm_msg_attr_name(uint16_t attr);
const char *pmv_cm_msg_verdict_name(enum pmv_cm_msg_verdict verdict);

#endif
