// SPDX-License-Identifier: BSD-3-Clause
/*
 * Two nodes, one RC (or UC) connection, memory on both sides with guard bytes around it: what the
 * RC simulations share.
 */
#ifndef PMV_TEST_RC_LAB_H
#define PMV_TEST_RC_LAB_H

#include "test/harness/node.h"

#define RC_LAB_BYTES  (2u << 20) /* usable memory of each side */
#define RC_LAB_GUARD  64u
#define RC_LAB_WC_MAX 512

struct rc_lab {
	struct pmv_test_pair pair;
	struct pmv_qp *qp[2];
	struct pmv_mr *mr[2];
	uint8_t *raw[2]; /* guard, memory, guard */
	uint8_t *mem[2];
	struct pmv_wc wc[2][RC_LAB_WC_MAX]; /* completions so far */
	uint32_t nb_wc[2];
	uint32_t step_us;
};

struct rc_lab_param {
	enum pmv_mtu mtu; /* 0 = 1024 */
	bool is_uc;
	bool is_v6;
	uint16_t vlan_id;
	uint32_t window_pkts;
	uint32_t cqe;
	uint64_t seed;
	void (*tune)(int side, struct pmv_qp_attr *attr);
};

void rc_lab_open(struct rc_lab *lab, const struct rc_lab_param *param);
/* Checks guards; destroys everything; every mbuf must be home. */
void rc_lab_close(struct rc_lab *lab);

/* Runs until side has nb completions (all of them, from the start) or limit_us passed. True: it
 * has. */
bool rc_lab_wait(struct rc_lab *lab, int side, uint32_t nb, uint64_t limit_us);
void rc_lab_run(struct rc_lab *lab, uint64_t us);

/* Posts from side: `off` in its own memory, `remote` in the peer's. Returns what post returned. */
int rc_lab_post(struct rc_lab *lab, int side, enum pmv_wr_opcode op, uint32_t off, uint32_t remote,
	uint32_t len, uint32_t flags, uint64_t wr_id);
int rc_lab_recv(struct rc_lab *lab, int side, uint32_t off, uint32_t len, uint64_t wr_id);

/* Deregisters: released at once or later, never refused. */
void rc_lab_dereg(struct pmv_mr *mr);

/* Bytes that depend on place and seed; and their check. */
void rc_lab_fill(uint8_t *p, uint32_t len, uint32_t seed);
bool rc_lab_check(const uint8_t *p, uint32_t len, uint32_t seed);

#endif
