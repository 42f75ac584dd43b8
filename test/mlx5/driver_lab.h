// SPDX-License-Identifier: BSD-3-Clause
/*
 * Two devices of drivers/mlx5 on the model, with a connected pair of QPs, through the public API
 * only. For tests of the driver in deterministic steps; everything fails the running cmocka test
 * when it cannot be done.
 */
#ifndef PMV_TEST_MLX5_DRIVER_LAB_H
#define PMV_TEST_MLX5_DRIVER_LAB_H

#include "lib/api/pmv.h"
#include "test/mlx5/model.h"

#define LAB_BYTES  (256 * 1024) /* of each end's buffer */
#define LAB_DEPTH  16
#define LAB_SGES   4
#define LAB_INLINE 200

struct lab_end {
	struct pmv_device *dev;
	struct pmv_worker *worker;
	struct pmv_pd *pd;
	struct pmv_cq *send_cq;
	struct pmv_cq *recv_cq;
	struct pmv_qp *qp;
	struct pmv_mr *mr;
	uint8_t *buf;
};

struct lab {
	struct lab_end end[2];
};

/* cmocka's group set-up: EAL, and the model as the environment says. */
int lab_start(void **state);
int lab_stop(void **state);

void lab_open(struct lab *lab);
/* Also asserts that the driver broke no rule of the device. */
void lab_close(struct lab *lab);

/* Another QP on the objects of an end, in RESET. */
struct pmv_qp *lab_qp_create(struct lab_end *end);
/* Both from RESET to RTS. rnr_retry and retry_cnt 1, timeout 14. */
void lab_connect(struct lab *lab, struct pmv_qp *a, struct pmv_qp *b);
void lab_qp_to(struct pmv_qp *qp, enum pmv_qp_state state);

/* One turn of both workers, then the model until it rests, for so many us of its time. */
void lab_run(struct lab *lab, uint64_t us);

/* Exactly one completion, which is returned; more or none fail the test. */
struct pmv_wc lab_one(struct pmv_cq *cq);

/* One request of one SGE (length 0: none); asserts that it is taken. */
void lab_send(struct lab_end *end, struct pmv_qp *qp, const struct pmv_send_wr *like, uint32_t at,
	uint32_t length);
void lab_recv(struct lab_end *end, struct pmv_qp *qp, uint64_t wr_id, uint32_t at, uint32_t length);

#endif
