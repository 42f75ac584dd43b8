// SPDX-License-Identifier: BSD-3-Clause
/*
 * CM MAD codec: the field tables of IBTA vol. 1, 12.6 and the one decoder and encoder that walk
 * over them. Called through cm/msg.h on the control lcore. Pure. It judges nothing but the MAD
 * header and the width of fields.
 */
#include "cm/msg.h"

#include <errno.h>
#include <string.h>

#include "lib/util/be.h"

/*
 * One field: `width` bits at bit `bit` of the message (bit 0 = most significant bit of the first
 * byte behind the MAD header), kept in a member of `size` bytes at `member`. A member that is
 * spread over the message (the ECE vendor ID) has several fields; `shift` is where in the member
 * this part goes. size 0: bytes, copied (GIDs, ARI).
 */
struct field {
	uint16_t bit;
	uint16_t width;
	uint16_t member;
	uint8_t size;
	uint8_t shift;
};

struct layout {
	const struct field *fields;
	uint8_t nb_fields;
	uint8_t private_offset;
	uint8_t private_max;
	const char *name;
};

/* One line a field, as in the spec's tables. */
/* clang-format off */
#define MEMBER(type, m) offsetof(struct type, m), sizeof(((struct type *)0)->m)
/* A field from bit `msb` (7..0) of byte `byte` on, `width` bits. */
#define F(type, byte, msb, width, m) { (byte) * 8 + 7 - (msb), width, MEMBER(type, m), 0 }
#define F_PART(type, byte, width, m, shift) { (byte) * 8, width, MEMBER(type, m), shift }
#define F_BYTES(type, byte, m) \
	{ (byte) * 8, sizeof(((struct type *)0)->m) * 8, offsetof(struct type, m), 0, 0 }

#define REQ(...) F(pmv_cm_req, __VA_ARGS__)
static const struct field req_fields[] = {
	REQ(0, 7, 32, local_comm_id),
	REQ(5, 7, 24, ece_vendor_id),
	REQ(8, 7, 64, service_id),
	REQ(16, 7, 64, local_ca_guid),
	REQ(28, 7, 32, local_qkey),
	REQ(32, 7, 24, local_qpn),
	REQ(35, 7, 8, responder_resources),
	REQ(36, 7, 24, local_eecn),
	REQ(39, 7, 8, initiator_depth),
	REQ(40, 7, 24, remote_eecn),
	REQ(43, 7, 5, remote_response_timeout),
	REQ(43, 2, 2, transport),
	REQ(43, 0, 1, flow_control),
	REQ(44, 7, 24, starting_psn),
	REQ(47, 7, 5, local_response_timeout),
	REQ(47, 2, 3, retry_count),
	REQ(48, 7, 16, pkey),
	REQ(50, 7, 4, mtu),
	REQ(50, 3, 1, rdc_exists),
	REQ(50, 2, 3, rnr_retry_count),
	REQ(51, 7, 4, max_cm_retries),
	REQ(51, 3, 1, srq),
	REQ(51, 2, 3, extended_transport),
	REQ(52, 7, 16, primary.local_lid),
	REQ(54, 7, 16, primary.remote_lid),
	F_BYTES(pmv_cm_req, 56, primary.local_gid),
	F_BYTES(pmv_cm_req, 72, primary.remote_gid),
	REQ(88, 7, 20, primary.flow_label),
	REQ(91, 5, 6, primary.packet_rate),
	REQ(92, 7, 8, primary.traffic_class),
	REQ(93, 7, 8, primary.hop_limit),
	REQ(94, 7, 4, primary.sl),
	REQ(94, 3, 1, primary.subnet_local),
	REQ(95, 7, 5, primary.local_ack_timeout),
	REQ(96, 7, 16, alternate.local_lid),
	REQ(98, 7, 16, alternate.remote_lid),
	F_BYTES(pmv_cm_req, 100, alternate.local_gid),
	F_BYTES(pmv_cm_req, 116, alternate.remote_gid),
	REQ(132, 7, 20, alternate.flow_label),
	REQ(135, 5, 6, alternate.packet_rate),
	REQ(136, 7, 8, alternate.traffic_class),
	REQ(137, 7, 8, alternate.hop_limit),
	REQ(138, 7, 4, alternate.sl),
	REQ(138, 3, 1, alternate.subnet_local),
	REQ(139, 7, 5, alternate.local_ack_timeout),
	REQ(139, 2, 1, sap_supported),
};

static const struct field mra_fields[] = {
	F(pmv_cm_mra, 0, 7, 32, local_comm_id),
	F(pmv_cm_mra, 4, 7, 32, remote_comm_id),
	F(pmv_cm_mra, 8, 7, 2, about),
	F(pmv_cm_mra, 9, 7, 5, service_timeout),
};

static const struct field rej_fields[] = {
	F(pmv_cm_rej, 0, 7, 32, local_comm_id),
	F(pmv_cm_rej, 4, 7, 32, remote_comm_id),
	F(pmv_cm_rej, 8, 7, 2, about),
	F(pmv_cm_rej, 9, 7, 7, ari_len),
	F(pmv_cm_rej, 10, 7, 16, reason),
	F_BYTES(pmv_cm_rej, 12, ari),
};

static const struct field rep_fields[] = {
	F(pmv_cm_rep, 0, 7, 32, local_comm_id),
	F(pmv_cm_rep, 4, 7, 32, remote_comm_id),
	F(pmv_cm_rep, 8, 7, 32, local_qkey),
	F(pmv_cm_rep, 12, 7, 24, local_qpn),
	F_PART(pmv_cm_rep, 15, 8, ece_vendor_id, 16),
	F(pmv_cm_rep, 16, 7, 24, local_eecn),
	F_PART(pmv_cm_rep, 19, 8, ece_vendor_id, 8),
	F(pmv_cm_rep, 20, 7, 24, starting_psn),
	F_PART(pmv_cm_rep, 23, 8, ece_vendor_id, 0),
	F(pmv_cm_rep, 24, 7, 8, responder_resources),
	F(pmv_cm_rep, 25, 7, 8, initiator_depth),
	F(pmv_cm_rep, 26, 7, 5, target_ack_delay),
	F(pmv_cm_rep, 26, 2, 2, failover),
	F(pmv_cm_rep, 26, 0, 1, flow_control),
	F(pmv_cm_rep, 27, 7, 3, rnr_retry_count),
	F(pmv_cm_rep, 27, 4, 1, srq),
	F(pmv_cm_rep, 28, 7, 64, local_ca_guid),
};

static const struct field ids_fields[] = {
	F(pmv_cm_ids, 0, 7, 32, local_comm_id),
	F(pmv_cm_ids, 4, 7, 32, remote_comm_id),
};

static const struct field dreq_fields[] = {
	F(pmv_cm_dreq, 0, 7, 32, local_comm_id),
	F(pmv_cm_dreq, 4, 7, 32, remote_comm_id),
	F(pmv_cm_dreq, 8, 7, 24, remote_qpn),
};

static const struct field sidr_req_fields[] = {
	F(pmv_cm_sidr_req, 0, 7, 32, request_id),
	F(pmv_cm_sidr_req, 4, 7, 16, pkey),
	F(pmv_cm_sidr_req, 8, 7, 64, service_id),
};

static const struct field sidr_rep_fields[] = {
	F(pmv_cm_sidr_rep, 0, 7, 32, request_id),
	F(pmv_cm_sidr_rep, 4, 7, 8, status),
	F(pmv_cm_sidr_rep, 5, 7, 8, info_len),
	F_PART(pmv_cm_sidr_rep, 6, 16, ece_vendor_id, 8),
	F(pmv_cm_sidr_rep, 8, 7, 24, qpn),
	F_PART(pmv_cm_sidr_rep, 11, 8, ece_vendor_id, 0),
	F(pmv_cm_sidr_rep, 12, 7, 64, service_id),
	F(pmv_cm_sidr_rep, 20, 7, 32, qkey),
	F_BYTES(pmv_cm_sidr_rep, 24, info),
};

#define LAYOUT(fields, private_max, name) \
	{ fields, sizeof(fields) / sizeof(fields[0]), PMV_MAD_DATA_LEN - (private_max), \
		private_max, name }
/* Indexed by attribute - REQ. The private data is always the tail of the message. */
static const struct layout layouts[] = {
	LAYOUT(req_fields, PMV_CM_REQ_PRIVATE_MAX, "REQ"),
	LAYOUT(mra_fields, PMV_CM_MRA_PRIVATE_MAX, "MRA"),
	LAYOUT(rej_fields, PMV_CM_REJ_PRIVATE_MAX, "REJ"),
	LAYOUT(rep_fields, PMV_CM_REP_PRIVATE_MAX, "REP"),
	LAYOUT(ids_fields, PMV_CM_RTU_PRIVATE_MAX, "RTU"),
	LAYOUT(dreq_fields, PMV_CM_DREQ_PRIVATE_MAX, "DREQ"),
	LAYOUT(ids_fields, PMV_CM_DREP_PRIVATE_MAX, "DREP"),
	LAYOUT(sidr_req_fields, PMV_CM_SIDR_REQ_PRIVATE_MAX, "SIDR_REQ"),
	LAYOUT(sidr_rep_fields, PMV_CM_SIDR_REP_PRIVATE_MAX, "SIDR_REP"),
};
/* clang-format on */

static const struct layout *
layout_of(uint16_t attr)
{
	if (attr < PMV_CM_ATTR_REQ || attr > PMV_CM_ATTR_SIDR_REP)
		return NULL;
	return &layouts[attr - PMV_CM_ATTR_REQ];
}

/* Fields of at most 64 bits touch at most 8 bytes: those above 32 bits are byte-aligned. */
static uint64_t
bits_load(const uint8_t *data, uint32_t bit, uint32_t width)
{
	const uint8_t *p = data + bit / 8;
	uint32_t end = bit % 8 + width;
	uint64_t v = 0;
	uint32_t i;

	for (i = 0; i < end; i += 8)
		v = v << 8 | *p++;
	v >>= (8 - end % 8) % 8;
	return width == 64 ? v : v & ((1ull << width) - 1);
}

/* Or's v into bytes that are zero there. v fits the width. */
static void
bits_store(uint8_t *data, uint32_t bit, uint32_t width, uint64_t v)
{
	uint32_t end = bit % 8 + width;
	uint8_t *p = data + bit / 8 + (end + 7) / 8;
	uint32_t pad = (8 - end % 8) % 8;
	uint32_t i;

	v <<= pad;
	for (i = 0; i < end; i += 8, v >>= 8)
		*--p |= (uint8_t)v;
}

static uint64_t
member_load(const uint8_t *member, uint8_t size)
{
	uint64_t v = 0;

	/* Little-endian hosts only (lib/util/be.h): the low bytes of v are the member. */
	memcpy(&v, member, size);
	return v;
}

static void
fields_parse(const struct layout *l, const uint8_t *data, uint8_t *body)
{
	uint8_t i;

	for (i = 0; i < l->nb_fields; i++) {
		const struct field *f = &l->fields[i];
		uint8_t *member = body + f->member;
		uint64_t v;

		if (f->size == 0) {
			memcpy(member, data + f->bit / 8, f->width / 8);
			continue;
		}
		v = member_load(member, f->size) | bits_load(data, f->bit, f->width) << f->shift;
		memcpy(member, &v, f->size);
	}
}

/* Bits of a member that its fields carry. */
static uint64_t
member_mask(const struct layout *l, uint16_t member)
{
	uint64_t mask = 0;
	uint8_t i;

	for (i = 0; i < l->nb_fields; i++) {
		const struct field *f = &l->fields[i];

		if (f->member == member)
			mask |= (f->width == 64 ? UINT64_MAX : (1ull << f->width) - 1) << f->shift;
	}
	return mask;
}

static int
fields_build(const struct layout *l, const uint8_t *body, uint8_t *data)
{
	uint8_t i;

	for (i = 0; i < l->nb_fields; i++) {
		const struct field *f = &l->fields[i];
		const uint8_t *member = body + f->member;
		uint64_t v;

		if (f->size == 0) {
			memcpy(data + f->bit / 8, member, f->width / 8);
			continue;
		}
		v = member_load(member, f->size);
		if (v & ~member_mask(l, f->member))
			return -ERANGE;
		v >>= f->shift;
		bits_store(
			data, f->bit, f->width, f->width == 64 ? v : v & ((1ull << f->width) - 1));
	}
	return 0;
}

/* IBTA 13.4.3 and 16.7.2: what of the MAD header decides that this is a CM message for us. */
static enum pmv_cm_msg_verdict
header_judge(const struct pmv_mad_hdr *h)
{
	if (h->base_version != PMV_MAD_BASE_VERSION)
		return PMV_CM_MSG_BAD_BASE_VERSION;
	if (h->mgmt_class != PMV_MAD_CLASS_CM)
		return PMV_CM_MSG_OTHER_CLASS;
	if (h->class_version != PMV_MAD_CM_VERSION)
		return PMV_CM_MSG_BAD_CLASS_VERSION;
	if (h->attr_id == PMV_CM_ATTR_CLASS_PORT_INFO)
		return PMV_CM_MSG_CLASS_PORT_INFO;
	if (h->method != PMV_MAD_METHOD_SEND)
		return PMV_CM_MSG_BAD_METHOD;
	if (h->attr_id == PMV_CM_ATTR_LAP || h->attr_id == PMV_CM_ATTR_APR)
		return PMV_CM_MSG_PATH_MIGRATION;
	return layout_of(h->attr_id) != NULL ? PMV_CM_MSG_OK : PMV_CM_MSG_UNKNOWN_ATTR;
}

enum pmv_cm_msg_verdict
pmv_cm_msg_parse(const uint8_t *mad, size_t mad_bytes, struct pmv_cm_msg *ret_msg)
{
	const uint8_t *data = mad + PMV_MAD_HDR_LEN;
	enum pmv_cm_msg_verdict verdict;
	const struct layout *l;
	struct pmv_mad_hdr h;

	if (mad_bytes != PMV_MAD_LEN)
		return PMV_CM_MSG_BAD_LENGTH;
	pmv_mad_hdr_parse(mad, &h);
	memset(ret_msg, 0, sizeof(*ret_msg));
	ret_msg->attr = h.attr_id;
	ret_msg->tid = h.tid;
	verdict = header_judge(&h);
	if (verdict != PMV_CM_MSG_OK)
		return verdict;

	l = layout_of(h.attr_id);
	ret_msg->status = h.status;
	ret_msg->class_specific = h.class_specific;
	ret_msg->attr_mod = h.attr_mod;
	ret_msg->private_data = data + l->private_offset;
	ret_msg->private_bytes = l->private_max;
	fields_parse(l, data, (uint8_t *)&ret_msg->req);
	return PMV_CM_MSG_OK;
}

int
pmv_cm_msg_build(const struct pmv_cm_msg *msg, uint8_t mad[PMV_MAD_LEN])
{
	const struct layout *l = layout_of(msg->attr);
	const struct pmv_mad_hdr h = {
		.base_version = PMV_MAD_BASE_VERSION,
		.mgmt_class = PMV_MAD_CLASS_CM,
		.class_version = PMV_MAD_CM_VERSION,
		.method = PMV_MAD_METHOD_SEND,
		.status = msg->status,
		.class_specific = msg->class_specific,
		.tid = msg->tid,
		.attr_id = msg->attr,
		.attr_mod = msg->attr_mod,
	};
	uint8_t *data = mad + PMV_MAD_HDR_LEN;
	int ret;

	memset(mad, 0, PMV_MAD_LEN);
	if (l == NULL)
		return -EINVAL;
	if (msg->private_data != NULL && msg->private_bytes > l->private_max)
		return -EMSGSIZE;
	ret = fields_build(l, (const uint8_t *)&msg->req, data);
	if (ret != 0) {
		memset(mad, 0, PMV_MAD_LEN);
		return ret;
	}
	pmv_mad_hdr_build(mad, &h);
	if (msg->private_data != NULL)
		memcpy(data + l->private_offset, msg->private_data, msg->private_bytes);
	return 0;
}

uint16_t
pmv_cm_msg_private_max(uint16_t attr)
{
	const struct layout *l = layout_of(attr);

	return l != NULL ? l->private_max : 0;
}

bool
pmv_cm_msg_reserved_zero(const uint8_t *mad)
{
	const struct layout *l = layout_of(pmv_be16_load(mad + 16));
	uint8_t rest[PMV_MAD_DATA_LEN];
	uint8_t i;

	if (l == NULL || pmv_be16_load(mad + 18) != 0)
		return false;
	/* Take out what the fields cover; whatever is left is reserved. */
	memcpy(rest, mad + PMV_MAD_HDR_LEN, sizeof(rest));
	for (i = 0; i < l->nb_fields; i++) {
		const struct field *f = &l->fields[i];
		uint32_t bit;

		for (bit = f->bit; bit < (uint32_t)f->bit + f->width; bit++)
			rest[bit / 8] &= (uint8_t) ~(0x80u >> bit % 8);
	}
	for (i = 0; i < l->private_offset; i++) {
		if (rest[i] != 0)
			return false;
	}
	return true;
}

const char *
pmv_cm_msg_attr_name(uint16_t attr)
{
	const struct layout *l = layout_of(attr);

	if (l != NULL)
		return l->name;
	switch (attr) {
	case PMV_CM_ATTR_CLASS_PORT_INFO:
		return "ClassPortInfo";
	case PMV_CM_ATTR_LAP:
		return "LAP";
	case PMV_CM_ATTR_APR:
		return "APR";
	default:
		return "unknown";
	}
}

const char *
pmv_cm_msg_verdict_name(enum pmv_cm_msg_verdict verdict)
{
	static const char *const names[] = {
		[PMV_CM_MSG_OK] = "ok",
		[PMV_CM_MSG_BAD_LENGTH] = "bad_length",
		[PMV_CM_MSG_BAD_BASE_VERSION] = "bad_base_version",
		[PMV_CM_MSG_OTHER_CLASS] = "other_class",
		[PMV_CM_MSG_BAD_CLASS_VERSION] = "bad_class_version",
		[PMV_CM_MSG_BAD_METHOD] = "bad_method",
		[PMV_CM_MSG_CLASS_PORT_INFO] = "class_port_info",
		[PMV_CM_MSG_PATH_MIGRATION] = "path_migration",
		[PMV_CM_MSG_UNKNOWN_ATTR] = "unknown_attr",
	};

	return (unsigned int)verdict < PMV_CM_MSG_VERDICT_MAX ? names[verdict] : "invalid";
}
