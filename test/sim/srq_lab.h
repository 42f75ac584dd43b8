// SPDX-License-Identifier: BSD-3-Clause
/*
 * Two nodes; on node 1 several QPs share one SRQ, on node 0 each has its peer. Receive i lies in a
 * place of its own, so that a test sees which receive a message went into.
 */
#ifndef PMV_TEST_SRQ_LAB_H
#define PMV_TEST_SRQ_LAB_H

#include "test/harness/node.h"
#include "test/sim/craft.h"

#define SRQ_LAB_QPS    3
#define SRQ_LAB_WC_MAX 256
#define SRQ_LAB_PLACE  8192u /* bytes from the start of one receive to the next */
#define SRQ_LAB_PLACES 128u
#define SRQ_LAB_BYTES  (SRQ_LAB_PLACE * SRQ_LAB_PLACES)
#define SRQ_LAB_QKEY   0x01020304u

struct srq_lab {
	struct pmv_test_pair pair;
	struct pmv_srq *srq;
	struct pmv_qp *from[SRQ_LAB_QPS]; /* node 0 */
	struct pmv_qp *to[SRQ_LAB_QPS];   /* node 1 */
	struct pmv_cq *cq[SRQ_LAB_QPS];   /* node 1: receives of to[i] */
	struct pmv_ah *ah[2];             /* node 0 to node 1; [is_v6] */
	struct pmv_mr *mr[2];
	uint8_t *raw[2]; /* guard, memory, guard */
	uint8_t *mem[2];
	struct pmv_wc wc[SRQ_LAB_QPS][SRQ_LAB_WC_MAX]; /* of cq[i], so far */
	uint32_t nb_wc[SRQ_LAB_QPS];
	struct pmv_wc sent[SRQ_LAB_WC_MAX]; /* of node 0, so far */
	uint32_t nb_sent;
	uint8_t aeth[SRQ_LAB_WC_MAX]; /* syndromes that node 1 sent, so far */
	uint32_t nb_aeth;
	uint8_t frame[CRAFT_BYTES]; /* the last one that node 0 sent */
};

struct srq_lab_param {
	uint32_t max_wr;  /* 0 = 64 */
	uint32_t max_sge; /* 0 = 4 */
	uint32_t limit;
	uint32_t cqe; /* of the receive CQs; 0 = 256 */
	/* types of the QPs; 0 = RC; the last ones may be UD */
	enum pmv_qp_type type[SRQ_LAB_QPS];
};

struct srq_lab *srq_lab_open(const struct srq_lab_param *param);
/* Checks guards; destroys what is left; every mbuf must be home. */
void srq_lab_close(struct srq_lab *lab);

/* Posts receive wr_id, whose place follows from it: len bytes in nb_sge pieces. As the call
 * returns. */
int srq_lab_recv(struct srq_lab *lab, uint64_t wr_id, uint32_t len, uint32_t nb_sge);
/* Receives first .. first + nb - 1, one SGE each; all must be taken. */
void srq_lab_recv_many(struct srq_lab *lab, uint64_t first, uint32_t nb, uint32_t len);

/* from[q] sends len bytes of pattern `seed`. */
void srq_lab_send(struct srq_lab *lab, int q, uint32_t len, uint32_t seed);
/* The receive holds this message. */
bool srq_lab_holds(
	const struct srq_lab *lab, uint64_t wr_id, uint32_t len, uint32_t nb_sge, uint32_t seed);

void srq_lab_run(struct srq_lab *lab, uint64_t us);
/* Until to[q] has nb completions. */
bool srq_lab_wait(struct srq_lab *lab, int q, uint32_t nb, uint64_t limit_us);

/* The next event of node 1's worker, -1 if there is none. */
int srq_lab_event(struct srq_lab *lab, struct pmv_event *ret_event);

/* One made packet of a SEND from from[q] to to[q]: packet `index` of the connection, len bytes. */
void srq_lab_packet(struct srq_lab *lab, int q, uint8_t opcode, uint32_t index, uint32_t len);

void srq_lab_to_err(struct pmv_qp *qp);
uint64_t srq_lab_stat(const struct srq_lab *lab, const char *name);

#endif
