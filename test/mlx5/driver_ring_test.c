// SPDX-License-Identifier: BSD-3-Clause
/*
 * Would the tests notice a broken doorbell? Built three times: with the driver's doorbell as it is,
 * without the ring, and with ring and record swapped (drivers/mlx5/doorbell.c). The model must be
 * content with the first and report the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "drivers/mlx5/driver.h"
#include "test/mlx5/driver_lab.h"

/* Also pulls the driver out of the archive, which here is not linked whole. */
static void
driver__is_there(void **state)
{
	assert_string_equal(pmv_mlx5_driver.name, "mlx5");
	assert_string_equal(pmv_driver_name(0), "mlx5");
}

static void
judge(uint32_t flags, uint32_t length)
{
	struct pmv_send_wr wr = {
		.wr_id = 1, .opcode = PMV_WR_RDMA_WRITE, .send_flags = PMV_SEND_SIGNALED | flags
	};
	struct pmv_wc wc;
	uint32_t nb_done = 0;
	struct lab lab;

	lab_open(&lab);
	wr.wr.rdma.remote_addr = (uintptr_t)lab.end[1].buf;
	wr.wr.rdma.rkey = pmv_mr_rkey(lab.end[1].mr);
	memset(lab.end[0].buf, 0x5a, 64);
	for (uint32_t i = 0; i < 10; i++) {
		lab_send(&lab.end[0], lab.end[0].qp, &wr, 0, length);
		lab_run(&lab, 0);
		nb_done += pmv_poll_cq(lab.end[0].send_cq, &wc, 1);
	}
#if defined(PMV_MLX5_TEST_NO_RING)
	assert_int_equal(pmv_mlx5m_qp_rings(pmv_qp_num(lab.end[0].qp)), 0);
	assert_int_equal(nb_done, 0);
	assert_int_equal(lab.end[1].buf[0], 0);
#elif defined(PMV_MLX5_TEST_SWAP)
	assert_int_equal(pmv_mlx5m_qp_rings(pmv_qp_num(lab.end[0].qp)), 10);
	assert_int_equal(pmv_mlx5m_violations_of(PMV_MLX5M_RING_RECORD), 10);
	/* Each ring shows the HCA the record of the one before: the last entry stays. */
	assert_int_equal(nb_done, 9);
#else
	assert_int_equal(pmv_mlx5m_qp_rings(pmv_qp_num(lab.end[0].qp)), 10);
	assert_int_equal(pmv_mlx5m_violations(), 0);
	assert_int_equal(nb_done, 10);
	assert_int_equal(lab.end[1].buf[length - 1], 0x5a);
#endif
	pmv_mlx5m_violations_clear();
	lab_close(&lab);
}

static void
ring__is_judged(void **state)
{
	judge(0, 64);
}

/* Post and doorbell in one. */
static void
ring__of_a_word_is_judged(void **state)
{
	judge(PMV_SEND_INLINE | PMV_SEND_FLUSH, 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(driver__is_there),
		cmocka_unit_test(ring__is_judged),
		cmocka_unit_test(ring__of_a_word_is_judged),
	};

	return cmocka_run_group_tests(tests, lab_start, lab_stop);
}
