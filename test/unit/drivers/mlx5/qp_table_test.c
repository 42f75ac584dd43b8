// SPDX-License-Identifier: BSD-3-Clause
/*
 * QPN -> queue pair, against a plain array: random numbers put and removed in random order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "drivers/mlx5/qp_table.h"
#include "test/harness/eal.h"

#define NB_MAX 16u

static struct pmv_mlx5_qp *
fake(uint32_t i)
{
	return (struct pmv_mlx5_qp *)(uintptr_t)(i + 1);
}

static void
qp_table__like_an_array(void **state)
{
	uint32_t qpn[NB_MAX] = { 0 }; /* 0: not in the table */
	struct pmv_mlx5_qp_table t;
	uint32_t i, k;

	assert_int_equal(pmv_mlx5_qp_table_init(&t, NB_MAX, -1), 0);
	srand(1);
	for (k = 0; k < 100000; k++) {
		i = (uint32_t)rand() % NB_MAX;
		if (qpn[i] != 0) {
			pmv_mlx5_qp_table_remove(&t, qpn[i]);
			assert_null(pmv_mlx5_qp_table_get(&t, qpn[i]));
			qpn[i] = 0;
		} else {
			/* few numbers, so that they collide; the low bits say whose it is */
			qpn[i] = ((uint32_t)rand() % 64 + 1) * NB_MAX + i;
			assert_null(pmv_mlx5_qp_table_get(&t, qpn[i]));
			pmv_mlx5_qp_table_put(&t, qpn[i], fake(i));
		}
		for (i = 0; i < NB_MAX; i++)
			if (qpn[i] != 0)
				assert_ptr_equal(pmv_mlx5_qp_table_get(&t, qpn[i]), fake(i));
	}
	pmv_mlx5_qp_table_remove(&t, 0xffffff); /* unknown: nothing happens */
	pmv_mlx5_qp_table_fini(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(qp_table__like_an_array) };

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
