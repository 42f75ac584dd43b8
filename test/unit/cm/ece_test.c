// SPDX-License-Identifier: BSD-3-Clause
/*
 * What two ends have in common, and what a message may say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cm/ece.h"

#define OURS    PMV_ECE_VENDOR_ID
#define FOREIGN 0x15b3u

static void
common__rows(void **state)
{
	static const struct {
		struct pmv_ece a, b, common;
	} row[] = {
		{ { 0, 0 }, { 0, 0 }, { 0, 0 } },
		{ { 0, 1 }, { 0, 1 }, { 0, 0 } },
		{ { OURS, 1 }, { 0, 0 }, { 0, 0 } },
		{ { OURS, 1 }, { 0, 1 }, { 0, 0 } },
		{ { OURS, 1 }, { FOREIGN, 1 }, { 0, 0 } },
		{ { OURS, 1 }, { OURS, 0 }, { 0, 0 } },
		{ { OURS, 1 }, { OURS, 2 }, { 0, 0 } },
		{ { OURS, 1 }, { OURS, 1 }, { OURS, 1 } },
		{ { OURS, 1 }, { OURS, 0xffffffff }, { OURS, 1 } },
		{ { OURS, 0x80000003 }, { OURS, 0x80000006 }, { OURS, 0x80000002 } },
		{ { FOREIGN, 6 }, { FOREIGN, 3 }, { FOREIGN, 2 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		for (int swap = 0; swap < 2; swap++) {
			struct pmv_ece c = swap ? pmv_cm_ece_common(row[i].b, row[i].a)
						: pmv_cm_ece_common(row[i].a, row[i].b);

			assert_int_equal(c.vendor_id, row[i].common.vendor_id);
			assert_int_equal(c.options, row[i].common.options);
		}
}

static void
ok__bounds(void **state)
{
	(void)state;
	assert_true(pmv_cm_ece_ok((struct pmv_ece){ 0, 0 }));
	assert_true(pmv_cm_ece_ok((struct pmv_ece){ 1, 0 }));
	assert_true(pmv_cm_ece_ok((struct pmv_ece){ 0xffffff, 0xffffffff }));
	assert_false(pmv_cm_ece_ok((struct pmv_ece){ 0x1000000, 0 }));
	assert_false(pmv_cm_ece_ok((struct pmv_ece){ 0, 1 }));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(common__rows),
		cmocka_unit_test(ok__bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
