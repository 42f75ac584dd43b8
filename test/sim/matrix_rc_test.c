// SPDX-License-Identifier: BSD-3-Clause
/*
 * The matrix of RC: every operation x {in order, lost, doubled, late; a request frame or an answer;
 * the first, a middle, the last} x MTU x length, with go-back-N and with selective repeat.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/sim/matrix_lab.h"

static void
rc(enum pmv_mtu mtu, bool selective)
{
	const struct matrix_param p = { PMV_QPT_RC, mtu, selective, mtu == PMV_MTU_1024 };
	struct matrix *m = matrix_open(&p);

	for (uint32_t i = 0; i < matrix_nb_ops; i++)
		matrix_run_op(m, &matrix_ops[i]);
	print_message("%u cells\n", (unsigned)m->nb_cells);
	assert_true(m->nb_cells > 300);
	matrix_close(m);
}

static void
go_back_n__mtu_256(void **state)
{
	rc(PMV_MTU_256, false);
}

static void
go_back_n__mtu_1024(void **state)
{
	rc(PMV_MTU_1024, false);
}

static void
go_back_n__mtu_4096(void **state)
{
	rc(PMV_MTU_4096, false);
}

static void
selective__mtu_256(void **state)
{
	rc(PMV_MTU_256, true);
}

static void
selective__mtu_1024(void **state)
{
	rc(PMV_MTU_1024, true);
}

static void
selective__mtu_4096(void **state)
{
	rc(PMV_MTU_4096, true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(go_back_n__mtu_256, matrix_tell),
		cmocka_unit_test_teardown(go_back_n__mtu_1024, matrix_tell),
		cmocka_unit_test_teardown(go_back_n__mtu_4096, matrix_tell),
		cmocka_unit_test_teardown(selective__mtu_256, matrix_tell),
		cmocka_unit_test_teardown(selective__mtu_1024, matrix_tell),
		cmocka_unit_test_teardown(selective__mtu_4096, matrix_tell),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
