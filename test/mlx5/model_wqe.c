// SPDX-License-Identifier: BSD-3-Clause
/*
 * Reads queue entries and refuses every one that a careful reading of the format does not allow:
 * reserved bits must be zero, numbers must be the queue's own, the size must be exact. Real
 * hardware may be more patient; a driver that needs patience is wrong all the same.
 */
#include <stddef.h>

#include "test/mlx5/model_wqe.h"

struct cursor {
	const uint8_t *raw;
	uint32_t at;
	uint32_t end;
	uint32_t qpn;
};

/* A ring end may lie between any two 16-byte units, and inside inline data. */
static void
linearise(const struct pmv_mlx5m_wqe_place *place, uint32_t bytes, uint8_t *raw)
{
	uint32_t ring = place->nb_blocks * PMV_MLX5M_BLOCK;
	uint32_t at = (place->index & (place->nb_blocks - 1)) * PMV_MLX5M_BLOCK;
	uint32_t first = ring - at < bytes ? ring - at : bytes;

	memcpy(raw, place->ring + at, first);
	memcpy(raw + first, place->ring, bytes - first);
}

static bool
parse_flags(const uint8_t *raw, uint32_t qpn, struct pmv_mlx5m_wqe *wqe)
{
	uint8_t flags = raw[PMV_MLX5M_CTRL_FLAGS];
	uint8_t ce = flags & PMV_MLX5M_FLAG_CE_MASK;
	uint8_t fence = flags & PMV_MLX5M_FLAG_FM_MASK;

	if (raw[PMV_MLX5M_CTRL_SIGN] != 0 || raw[PMV_MLX5M_CTRL_STREAM] != 0 ||
		raw[PMV_MLX5M_CTRL_STREAM + 1] != 0) {
		pmv_mlx5m_violate(PMV_MLX5M_WQE_RESERVED, qpn, "signature or stream is set");
		return false;
	}
	if ((flags & 0x11) != 0 || (ce != 0 && ce != PMV_MLX5M_FLAG_CE) ||
		(fence != 0 && fence != PMV_MLX5M_FLAG_FM_READ &&
			fence != PMV_MLX5M_FLAG_FM_INIT)) {
		pmv_mlx5m_violate(PMV_MLX5M_WQE_RESERVED, qpn, "flags are %#x", flags);
		return false;
	}
	wqe->signalled = ce == PMV_MLX5M_FLAG_CE;
	wqe->solicited = (flags & PMV_MLX5M_FLAG_SE) != 0;
	return true;
}

static bool
has_imm(uint8_t opcode)
{
	return opcode == PMV_MLX5M_OP_SEND_IMM || opcode == PMV_MLX5M_OP_WRITE_IMM;
}

static bool
has_remote(uint8_t opcode)
{
	return opcode == PMV_MLX5M_OP_WRITE || opcode == PMV_MLX5M_OP_WRITE_IMM ||
	       opcode == PMV_MLX5M_OP_READ;
}

static bool
parse_opcode(const uint8_t *raw, uint32_t qpn, struct pmv_mlx5m_wqe *wqe)
{
	uint32_t word = pmv_mlx5m_get32(raw + PMV_MLX5M_CTRL_OPMOD);

	wqe->opcode = (uint8_t)word;
	if (word >> 24 != 0) {
		pmv_mlx5m_violate(PMV_MLX5M_WQE_RESERVED, qpn, "opmod is %#x", word >> 24);
		return false;
	}
	if (wqe->opcode != PMV_MLX5M_OP_SEND && !has_imm(wqe->opcode) && !has_remote(wqe->opcode)) {
		pmv_mlx5m_violate(
			PMV_MLX5M_WQE_OPCODE, qpn, "this model knows no opcode %#x", wqe->opcode);
		return false;
	}
	memcpy(&wqe->imm_be, raw + PMV_MLX5M_CTRL_IMM, sizeof(wqe->imm_be));
	if (wqe->imm_be != 0 && !has_imm(wqe->opcode)) {
		pmv_mlx5m_violate(PMV_MLX5M_WQE_RESERVED, qpn, "opcode %#x with an immediate %#x",
			wqe->opcode, be32toh(wqe->imm_be));
		return false;
	}
	return true;
}

static bool
parse_remote(struct cursor *c, struct pmv_mlx5m_wqe *wqe)
{
	const uint8_t *seg = c->raw + c->at;

	if (c->end - c->at < 16) {
		pmv_mlx5m_violate(PMV_MLX5M_WQE_SIZE, c->qpn, "no room for the remote address");
		return false;
	}
	wqe->remote_va = pmv_mlx5m_get64(seg + PMV_MLX5M_RADDR_VA);
	wqe->rkey = pmv_mlx5m_get32(seg + PMV_MLX5M_RADDR_RKEY);
	if (pmv_mlx5m_bug(PMV_MLX5M_BUG_REMOTE_ADDR))
		wqe->remote_va += 8;
	if (pmv_mlx5m_get32(seg + PMV_MLX5M_RADDR_RSVD) != 0) {
		pmv_mlx5m_violate(PMV_MLX5M_WQE_RESERVED, c->qpn, "remote address segment");
		return false;
	}
	c->at += 16;
	return true;
}

/* The inline segment is the last one and fills the entry but for its padding. */
static bool
parse_inline(struct cursor *c, struct pmv_mlx5m_wqe *wqe)
{
	uint32_t word = pmv_mlx5m_get32(c->raw + c->at);
	uint32_t bytes = word & PMV_MLX5M_INLINE_MASK;

	if ((word & ~(PMV_MLX5M_INLINE | PMV_MLX5M_INLINE_MASK)) != 0) {
		pmv_mlx5m_violate(PMV_MLX5M_WQE_RESERVED, c->qpn, "inline header %#x", word);
		return false;
	}
	if (bytes == 0 || wqe->opcode == PMV_MLX5M_OP_READ) {
		pmv_mlx5m_violate(PMV_MLX5M_WQE_SEGMENT, c->qpn,
			"inline data of %u bytes, opcode %#x", bytes, wqe->opcode);
		return false;
	}
	if (((4 + bytes + 15) & ~15u) != c->end - c->at) {
		pmv_mlx5m_violate(PMV_MLX5M_WQE_SIZE, c->qpn,
			"%u bytes inline in %u bytes of entry", bytes, c->end - c->at);
		return false;
	}
	if (pmv_mlx5m_bug(PMV_MLX5M_BUG_INLINE_SHORT) && bytes > 4)
		bytes -= 4;
	memcpy(wqe->data, c->raw + c->at + 4, bytes);
	wqe->is_inline = true;
	wqe->bytes = bytes;
	c->at = c->end;
	return true;
}

static bool
parse_data(struct cursor *c, struct pmv_mlx5m_wqe *wqe)
{
	const uint8_t *seg = c->raw + c->at;
	struct pmv_mlx5m_sge *sge = &wqe->sgl.sge[wqe->sgl.nb];

	sge->bytes = pmv_mlx5m_get32(seg + PMV_MLX5M_DATA_BYTES);
	sge->lkey = pmv_mlx5m_get32(seg + PMV_MLX5M_DATA_LKEY);
	sge->va = pmv_mlx5m_get64(seg + PMV_MLX5M_DATA_VA);
	if (sge->bytes == 0 || sge->bytes > PMV_MLX5M_MESSAGE_MAX ||
		sge->lkey == PMV_MLX5M_LKEY_END) {
		pmv_mlx5m_violate(PMV_MLX5M_WQE_SEGMENT, c->qpn, "segment %u: %u bytes, lkey %#x",
			wqe->sgl.nb, sge->bytes, sge->lkey);
		return false;
	}
	wqe->sgl.nb++;
	wqe->sgl.bytes += sge->bytes;
	c->at += 16;
	return true;
}

static bool
parse_segments(struct cursor *c, struct pmv_mlx5m_wqe *wqe)
{
	if (has_remote(wqe->opcode) && !parse_remote(c, wqe))
		return false;
	if (c->at < c->end && (c->raw[c->at] & 0x80) != 0)
		return parse_inline(c, wqe);
	while (c->at < c->end) {
		if (!parse_data(c, wqe))
			return false;
	}
	if (wqe->sgl.bytes > PMV_MLX5M_MESSAGE_MAX) {
		pmv_mlx5m_violate(PMV_MLX5M_WQE_SEGMENT, c->qpn, "a message of %llu bytes",
			(unsigned long long)wqe->sgl.bytes);
		return false;
	}
	wqe->bytes = (uint32_t)wqe->sgl.bytes;
	return true;
}

static bool
parse_size(const struct pmv_mlx5m_wqe_place *place, uint32_t word, struct pmv_mlx5m_wqe *wqe)
{
	uint32_t ds = word & PMV_MLX5M_DS_MAX;
	uint16_t filled = (uint16_t)(place->end - place->index);

	wqe->nb_blocks = (uint16_t)((ds * 16 + PMV_MLX5M_BLOCK - 1) / PMV_MLX5M_BLOCK);
	if (pmv_mlx5m_bug(PMV_MLX5M_BUG_BLOCKS_DOWN) && ds >= 4)
		wqe->nb_blocks = (uint16_t)(ds * 16 / PMV_MLX5M_BLOCK);
	if (ds == 0 || wqe->nb_blocks > filled || wqe->nb_blocks > place->nb_blocks) {
		pmv_mlx5m_violate(PMV_MLX5M_WQE_SIZE, place->qpn,
			"ds is %u, but the ring holds %u more blocks", ds, filled);
		wqe->nb_blocks = 1;
		return false;
	}
	if ((word & 0xc0) != 0) {
		pmv_mlx5m_violate(PMV_MLX5M_WQE_RESERVED, place->qpn, "QPN and ds are %#x", word);
		return false;
	}
	return true;
}

bool
pmv_mlx5m_wqe_parse(const struct pmv_mlx5m_wqe_place *place, struct pmv_mlx5m_wqe *ret_wqe)
{
	uint8_t raw[PMV_MLX5M_WQE_MAX + PMV_MLX5M_BLOCK];
	struct cursor c = { .raw = raw, .at = PMV_MLX5M_CTRL_BYTES, .qpn = place->qpn };
	uint32_t word;
	uint16_t index;

	memset(ret_wqe, 0, offsetof(struct pmv_mlx5m_wqe, sgl.sge));
	ret_wqe->index = place->index;
	ret_wqe->nb_blocks = 1;
	linearise(place, PMV_MLX5M_CTRL_BYTES, raw);
	word = pmv_mlx5m_get32(raw + PMV_MLX5M_CTRL_QPN_DS);
	index = (uint16_t)(pmv_mlx5m_get32(raw + PMV_MLX5M_CTRL_OPMOD) >> 8);
	/* Known even of a bad entry, since its CQE tells it. */
	ret_wqe->opcode = (uint8_t)pmv_mlx5m_get32(raw + PMV_MLX5M_CTRL_OPMOD);
	if (index != place->index) {
		pmv_mlx5m_violate(PMV_MLX5M_WQE_INDEX, place->qpn, "index %u in block %u", index,
			place->index);
		return false;
	}
	if (word >> 8 != place->qpn) {
		pmv_mlx5m_violate(
			PMV_MLX5M_WQE_QPN, place->qpn, "the entry is of QP %#x", word >> 8);
		return false;
	}
	if (!parse_size(place, word, ret_wqe))
		return false;
	c.end = (word & PMV_MLX5M_DS_MAX) * 16;
	linearise(place, c.end, raw);
	return parse_flags(raw, place->qpn, ret_wqe) && parse_opcode(raw, place->qpn, ret_wqe) &&
	       parse_segments(&c, ret_wqe);
}

bool
pmv_mlx5m_recv_parse(
	const uint8_t *entry, uint32_t stride, uint32_t qpn, struct pmv_mlx5m_sgl *ret_sgl)
{
	uint32_t at;

	ret_sgl->nb = 0;
	ret_sgl->bytes = 0;
	for (at = 0; at + 16 <= stride && ret_sgl->nb < PMV_MLX5M_SGES_MAX; at += 16) {
		struct pmv_mlx5m_sge *sge = &ret_sgl->sge[ret_sgl->nb];

		sge->bytes = pmv_mlx5m_get32(entry + at + PMV_MLX5M_DATA_BYTES);
		sge->lkey = pmv_mlx5m_get32(entry + at + PMV_MLX5M_DATA_LKEY);
		sge->va = pmv_mlx5m_get64(entry + at + PMV_MLX5M_DATA_VA);
		if (sge->lkey == PMV_MLX5M_LKEY_END && sge->bytes == 0)
			return true;
		if (sge->bytes == 0 || sge->bytes > PMV_MLX5M_MESSAGE_MAX) {
			pmv_mlx5m_violate(PMV_MLX5M_WQE_SEGMENT, qpn,
				"receive segment %u: %u bytes", ret_sgl->nb, sge->bytes);
			return false;
		}
		ret_sgl->nb++;
		ret_sgl->bytes += sge->bytes;
	}
	return true;
}
