// SPDX-License-Identifier: BSD-3-Clause
/*
 * One cell of the matrix operation x transport x fault x MTU x length: a message that meets a
 * fault, and one behind it that does not. A model of the memory of both sides says what every byte
 * must be afterwards, wherever it lies. Used by the matrix simulations.
 */
#ifndef PMV_TEST_MATRIX_LAB_H
#define PMV_TEST_MATRIX_LAB_H

#include "test/harness/node.h"

#define MATRIX_WC_MAX 8u
#define MATRIX_RECVS  3u
#define MATRIX_MIB    (1u << 20)

/* What an operation is, as the API and IBTA vol. 1 have it. */
struct matrix_op {
	const char *name;
	enum pmv_wr_opcode wr;
	enum pmv_wc_opcode wc;
	bool takes_recv;
	bool is_send; /* its bytes go into the receive */
	bool imm;
	bool is_word;      /* 8 bytes, no other length */
	bool replies;      /* with more than acknowledgements */
	bool is_ud, is_uc; /* besides RC */
};

extern const struct matrix_op matrix_ops[];
extern const uint32_t matrix_nb_ops;

struct matrix_param {
	enum pmv_qp_type type;
	enum pmv_mtu mtu;
	bool selective;
	bool is_v6;
};

struct matrix_cell {
	const struct matrix_op *op;
	uint32_t len;
	enum pmv_test_fate fate;
	int dir;         /* 0: a request frame meets it, 1: an answer */
	uint32_t victim; /* which, from the first of this message on */
};

struct matrix {
	struct matrix_param p;
	uint32_t mtu; /* bytes */
	struct pmv_test_pair pair;
	struct pmv_qp *qp[2];
	struct pmv_mr *mr[2];
	struct pmv_ah *ah;
	struct pmv_mr *bindable; /* of side 1, for the window */
	struct pmv_mw *mw;
	uint8_t *raw[2], *mem[2], *model[2]; /* mem: between guards */
	struct pmv_wc wc[2][MATRIX_WC_MAX];
	uint32_t nb_wc[2];
	uint32_t round;
	uint64_t first[2]; /* frames before this cell, by direction */
	uint64_t nb_cells;
	uint64_t nb_met; /* faults that hit a frame */
	const struct matrix_cell *cell;
	uint32_t inv_key; /* SEND_WITH_INV: the key */
	struct matrix_cell last;
};

struct matrix *matrix_open(const struct matrix_param *param);
void matrix_close(struct matrix *m);
/* For cmocka's teardown: names the cell that failed. */
int matrix_tell(void **state);

/* Frames of a message of so many bytes. */
uint32_t matrix_frames(const struct matrix *m, uint32_t len);

/* Runs a cell and judges it. */
void matrix_run(struct matrix *m, const struct matrix_cell *c);

/* Every length, fault and place of one operation. */
void matrix_run_op(struct matrix *m, const struct matrix_op *op);

/* An operation, or a length, that the transport does not have is refused by post. */
void matrix_refused(struct matrix *m, const struct matrix_op *op, uint32_t len);

#endif
