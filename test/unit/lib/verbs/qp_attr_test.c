// SPDX-License-Identifier: BSD-3-Clause
#include "lib/verbs/qp_attr.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct pmv_device_attr limits = {
	.active_mtu = PMV_MTU_1024,
	.max_rd_atomic = 16,
	.max_qp_wr = 1024,
	.max_sge = 8,
	.max_inline = 256,
};

/* A value at the edge is taken, the next one is refused with a sentence that names the attribute.
 */
#define EDGE(bit, field, most, name)                                                               \
	do {                                                                                       \
		struct pmv_qp_attr a = { .field = most };                                          \
		const char *why;                                                                   \
		assert_null(pmv_verbs_qp_attr_check(&limits, &a, bit));                            \
		a.field = most + 1;                                                                \
		why = pmv_verbs_qp_attr_check(&limits, &a, bit);                                   \
		assert_non_null(why);                                                              \
		assert_non_null(strstr(why, name));                                                \
		assert_null(pmv_verbs_qp_attr_check(&limits, &a, 0));                              \
	} while (0)

static void
attr_check__edges(void **state)
{
	EDGE(PMV_QP_PATH_MTU, path_mtu, PMV_MTU_1024, "path_mtu");
	EDGE(PMV_QP_PKEY_INDEX, pkey_index, 0, "pkey_index");
	EDGE(PMV_QP_PORT, port_num, 1, "port_num");
	EDGE(PMV_QP_DEST_QPN, dest_qp_num, 0xffffff, "dest_qp_num");
	EDGE(PMV_QP_RQ_PSN, rq_psn, 0xffffff, "rq_psn");
	EDGE(PMV_QP_SQ_PSN, sq_psn, 0xffffff, "sq_psn");
	EDGE(PMV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic, 16, "max_rd_atomic");
	EDGE(PMV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, 16, "max_dest_rd_atomic");
	EDGE(PMV_QP_MIN_RNR_TIMER, min_rnr_timer, 31, "min_rnr_timer");
	EDGE(PMV_QP_TIMEOUT, timeout, 31, "timeout");
	EDGE(PMV_QP_RETRY_CNT, retry_cnt, 7, "retry_cnt");
	EDGE(PMV_QP_RNR_RETRY, rnr_retry, 7, "rnr_retry");
}

static void
attr_check__values_that_are_no_range(void **state)
{
	struct pmv_qp_attr a = { .qp_access_flags =
					 PMV_ACCESS_REMOTE_READ | PMV_ACCESS_REMOTE_WRITE |
					 PMV_ACCESS_REMOTE_ATOMIC | PMV_ACCESS_LOCAL_WRITE |
					 PMV_ACCESS_FLUSH_GLOBAL | PMV_ACCESS_RELAXED_ORDERING };

	assert_null(pmv_verbs_qp_attr_check(&limits, &a, PMV_QP_ACCESS_FLAGS));
	a.qp_access_flags |= PMV_ACCESS_FLUSH_PERSISTENT;
	assert_non_null(pmv_verbs_qp_attr_check(&limits, &a, PMV_QP_ACCESS_FLAGS));
	a.qp_access_flags ^= PMV_ACCESS_FLUSH_PERSISTENT | PMV_ACCESS_MW_BIND;
	assert_non_null(pmv_verbs_qp_attr_check(&limits, &a, PMV_QP_ACCESS_FLAGS));
	a.path_mtu = (enum pmv_mtu)0;
	assert_non_null(pmv_verbs_qp_attr_check(&limits, &a, PMV_QP_PATH_MTU));
	a.path_mtu = (enum pmv_mtu)(256 + PMV_MTU_256);
	assert_non_null(pmv_verbs_qp_attr_check(&limits, &a, PMV_QP_PATH_MTU));
	assert_non_null(pmv_verbs_qp_attr_check(&limits, &a, PMV_QP_ALT_PATH));
	assert_non_null(pmv_verbs_qp_attr_check(&limits, &a, PMV_QP_PATH_MIG_STATE));
}

static void
cap_check__edges(void **state)
{
	const struct pmv_qp_cap good = { 1, 0, 1, 0, 0 }, most = { 1024, 1024, 8, 8, 256 };
	const struct pmv_qp_cap bad[] = { { 0, 1, 1, 1, 0 }, { 1025, 1, 1, 1, 0 },
		{ 1, 1025, 1, 1, 0 }, { 1, 1, 0, 1, 0 }, { 1, 1, 9, 1, 0 }, { 1, 1, 1, 0, 0 },
		{ 1, 1, 1, 9, 0 }, { 1, 1, 1, 1, 257 } };
	uint32_t i;

	assert_null(pmv_verbs_qp_cap_check(&limits, &good));
	assert_null(pmv_verbs_qp_cap_check(&limits, &most));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_non_null(pmv_verbs_qp_cap_check(&limits, &bad[i]));
}

static void
attr_copy__only_what_the_mask_names(void **state)
{
	const struct pmv_qp_attr src = {
		.path_mtu = PMV_MTU_512, .qkey = 9, .timeout = 14, .dest_qp_num = 77
	};
	struct pmv_qp_attr dst = { .qkey = 1, .retry_cnt = 3 };

	pmv_verbs_qp_attr_copy(&dst, &src, PMV_QP_PATH_MTU | PMV_QP_TIMEOUT | PMV_QP_DEST_QPN);
	assert_int_equal(dst.path_mtu, PMV_MTU_512);
	assert_int_equal(dst.timeout, 14);
	assert_int_equal(dst.dest_qp_num, 77);
	assert_int_equal(dst.qkey, 1);
	assert_int_equal(dst.retry_cnt, 3);
}

static void
attr_name__of_each_bit(void **state)
{
	assert_string_equal(pmv_verbs_qp_attr_name(PMV_QP_STATE), "qp_state");
	assert_string_equal(pmv_verbs_qp_attr_name(PMV_QP_PATH_MTU | PMV_QP_DEST_QPN), "path_mtu");
	assert_string_equal(pmv_verbs_qp_attr_name(PMV_QP_MIN_RNR_TIMER), "min_rnr_timer");
	assert_string_equal(pmv_verbs_qp_attr_name(PMV_QP_DEST_QPN), "dest_qp_num");
	assert_string_equal(pmv_verbs_qp_attr_name(PMV_QP_RATE_LIMIT), "an unknown bit");
	assert_string_equal(pmv_verbs_qp_attr_name(0), "none");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attr_check__edges),
		cmocka_unit_test(attr_check__values_that_are_no_range),
		cmocka_unit_test(cap_check__edges),
		cmocka_unit_test(attr_copy__only_what_the_mask_names),
		cmocka_unit_test(attr_name__of_each_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
