// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the conformance program's files share: one operation from post to completion, with every
 * field and every byte checked, and the checks that errors need.
 */
#ifndef PMV_TEST_MLX5_CONFORMANCE_H
#define PMV_TEST_MLX5_CONFORMANCE_H

#include <endian.h>

#include "test/mlx5/pair.h"

#define SEND_AT 4096u
#define RECV_AT 131072u

extern struct pair conformance_pair;
extern bool conformance_scatters; /* into CQEs: the device's setting */

/* Run the cases of a file; return how many failed. */
int conformance_run_ops(void);
int conformance_run_errors(void);

/* cmocka set-up and tear-down: the pair; the second wants no violation to have been recorded. */
int conformance_open_pair(void **state);
int conformance_open_pair_sig_all(void **state);
int conformance_close_pair(void **state);

struct ibv_sge conformance_sge_of(const struct pair_end *end, uint32_t at, uint32_t bytes);
void conformance_post_recv(struct pair_end *end, uint64_t wr_id, uint32_t at, uint32_t bytes);

/* Fills in the remote side and posts. */
void conformance_post_send(
	struct pair_end *end, const struct pair_end *peer, struct ibv_send_wr *wr);

/* The only completion that waits; poisoned first, so that every field asked for was written. */
struct ibv_wc conformance_poll_one(struct ibv_cq *cq);
void conformance_poll_none(struct ibv_cq *cq);

void conformance_check_sent(
	const struct pair_end *end, uint64_t wr_id, enum ibv_wc_opcode opcode, unsigned int flags);

struct conformance_recv {
	uint64_t wr_id;
	enum ibv_wc_opcode opcode;
	uint32_t bytes;
	bool has_imm;
};

void conformance_check_received(const struct pair_end *end, const struct pair_end *peer,
	const struct conformance_recv *want);

/* The next completion, of which there may be more. */
void conformance_check_failed(
	struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status, uint32_t qpn);
void conformance_check_state(struct pair_end *end, enum ibv_qp_state state);

/* Clean memory with room around; afterwards exactly `bytes` of it are as pair_fill makes them. */
void conformance_clean(struct pair_end *end, uint32_t at, uint32_t bytes);
void conformance_check_memory(
	const struct pair_end *end, uint32_t at, uint32_t bytes, uint8_t seed);

/* One whole operation from end 0 to end 1. */
void conformance_send_once(uint32_t bytes, unsigned int flags, bool imm);
void conformance_write_once(uint32_t bytes, unsigned int flags, bool imm);
void conformance_read_once(uint32_t bytes);

#endif
