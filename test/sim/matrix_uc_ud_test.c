// SPDX-License-Identifier: BSD-3-Clause
/*
 * The matrix of UC and UD: every operation they have x {in order, lost, doubled, late; the first, a
 * middle, the last frame} x MTU x length. A message is wholly there, with its completion, or there
 * is no completion; the one behind it is fine whatever happens. What they do not have is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/sim/matrix_lab.h"

static void
matrix(enum pmv_qp_type type)
{
	static const enum pmv_mtu mtus[] = { PMV_MTU_256, PMV_MTU_1024, PMV_MTU_4096 };

	for (uint32_t k = 0; k < RTE_DIM(mtus); k++) {
		const struct matrix_param p = { type, mtus[k], false, k == 1 };
		struct matrix *m = matrix_open(&p);

		for (uint32_t i = 0; i < matrix_nb_ops; i++) {
			const struct matrix_op *op = &matrix_ops[i];

			if (type == PMV_QPT_UC ? op->is_uc : op->is_ud)
				matrix_run_op(m, op);
			else
				matrix_refused(m, op, 8);
			m->nb_wc[0] = 0;
		}
		print_message("%u cells\n", (unsigned)m->nb_cells);
		assert_true(m->nb_cells >= (type == PMV_QPT_UC ? 100 : 32));
		matrix_close(m);
	}
}

static void
uc__every_cell(void **state)
{
	matrix(PMV_QPT_UC);
}

static void
ud__every_cell(void **state)
{
	matrix(PMV_QPT_UD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(uc__every_cell, matrix_tell),
		cmocka_unit_test_teardown(ud__every_cell, matrix_tell),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
