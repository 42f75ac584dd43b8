// SPDX-License-Identifier: BSD-3-Clause
#include "lib/api/pmv_types.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
status_and_state__each_has_a_name_of_its_own(void **state)
{
	int i, k;

	for (i = 0; i <= PMV_WC_GENERAL_ERR; i++)
		for (k = 0; k < i; k++)
			assert_string_not_equal(pmv_wc_status_str((enum pmv_wc_status)i),
				pmv_wc_status_str((enum pmv_wc_status)k));
	for (i = 0; i <= PMV_QPS_ERR; i++)
		for (k = 0; k < i; k++)
			assert_string_not_equal(pmv_qp_state_str((enum pmv_qp_state)i),
				pmv_qp_state_str((enum pmv_qp_state)k));
	assert_string_equal(pmv_qp_state_str(PMV_QPS_SQD), "SQD");
	assert_string_equal(pmv_wc_status_str((enum pmv_wc_status)22), "unknown status");
	assert_string_equal(pmv_wc_status_str((enum pmv_wc_status) - 1), "unknown status");
	assert_string_equal(pmv_qp_state_str((enum pmv_qp_state)7), "unknown state");
}

static void
mtu_bytes__of_codes(void **state)
{
	assert_int_equal(pmv_mtu_bytes(0), 0);
	assert_int_equal(pmv_mtu_bytes(PMV_MTU_256), 256);
	assert_int_equal(pmv_mtu_bytes(PMV_MTU_4096), 4096);
	assert_int_equal(pmv_mtu_bytes(6), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_and_state__each_has_a_name_of_its_own),
		cmocka_unit_test(mtu_bytes__of_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
