// SPDX-License-Identifier: BSD-3-Clause
#include "lib/verbs/qp_state.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/*
 * The table once more, written the other way round: for each pair of states a line of text per
 * type, "-" for an illegal one. Upper case letters are required, lower case optional.
 */
static const struct {
	char letter;
	uint32_t bit;
} letters[] = {
	{ 'c', PMV_QP_CUR_STATE },
	{ 'e', PMV_QP_EN_SQD_ASYNC_NOTIFY },
	{ 'a', PMV_QP_ACCESS_FLAGS },
	{ 'k', PMV_QP_PKEY_INDEX },
	{ 'p', PMV_QP_PORT },
	{ 'q', PMV_QP_QKEY },
	{ 'v', PMV_QP_AV },
	{ 'm', PMV_QP_PATH_MTU },
	{ 't', PMV_QP_TIMEOUT },
	{ 'r', PMV_QP_RETRY_CNT },
	{ 'n', PMV_QP_RNR_RETRY },
	{ 'x', PMV_QP_RQ_PSN },
	{ 'i', PMV_QP_MAX_QP_RD_ATOMIC },
	{ 'l', PMV_QP_ALT_PATH },
	{ 'w', PMV_QP_MIN_RNR_TIMER },
	{ 's', PMV_QP_SQ_PSN },
	{ 'o', PMV_QP_MAX_DEST_RD_ATOMIC },
	{ 'g', PMV_QP_PATH_MIG_STATE },
	{ 'd', PMV_QP_DEST_QPN },
	{ 'y', PMV_QP_ECE },
};

static const char *const expected[7][7][3] = {
	/* to:  RESET        INIT                        RTR  RTS  SQD  SQE  ERR */
	{ { "", "", "" }, { "KPA", "KPA", "KPQ" }, { 0 }, { 0 }, { 0 }, { 0 }, { 0 } },
	{ { "", "", "" }, { "kpa", "kpa", "kpq" }, { "VMDXOWlaky", "VMDXlaky", "kq" }, { 0 }, { 0 },
		{ 0 }, { "", "", "" } },
	{ { "", "", "" }, { 0 }, { 0 }, { "TRNSIclawg", "Sclag", "Scq" }, { 0 }, { 0 },
		{ "", "", "" } },
	{ { "", "", "" }, { 0 }, { 0 }, { "calgw", "calg", "cq" }, { "e", "e", "e" }, { 0 },
		{ "", "", "" } },
	{ { "", "", "" }, { 0 }, { 0 }, { "calgw", "calg", "cq" },
		{ "pvtrniolakwg", "vlakg", "kq" }, { 0 }, { "", "", "" } },
	{ { "", "", "" }, { 0 }, { 0 }, { "", "ca", "cq" }, { 0 }, { 0 }, { "", "", "" } },
	{ { "", "", "" }, { 0 }, { 0 }, { 0 }, { 0 }, { 0 }, { "", "", "" } },
};

static void
read_line(const char *line, uint32_t *ret_required, uint32_t *ret_optional)
{
	uint32_t i;

	*ret_required = 0;
	*ret_optional = 0;
	for (; *line != '\0'; line++) {
		for (i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
			if (*line == letters[i].letter)
				*ret_optional |= letters[i].bit;
			if (*line == letters[i].letter - 'a' + 'A')
				*ret_required |= letters[i].bit;
		}
	}
}

/* One transition with each mask that is one bit away from right. */
static void
walk_masks(const struct pmv_verbs_qp_transition *t, uint32_t required, uint32_t optional)
{
	uint32_t missing, superfluous, bit, mask;
	uint32_t i;

	assert_int_equal(pmv_verbs_qp_state_check(t, required, &missing, &superfluous), 0);
	assert_int_equal(pmv_verbs_qp_state_check(
				 t, required | optional | PMV_QP_STATE, &missing, &superfluous),
		0);
	for (i = 0; i < 32; i++) {
		bit = 1u << i;
		mask = required ^ bit;
		if (required & bit) {
			assert_int_equal(
				pmv_verbs_qp_state_check(t, mask, &missing, &superfluous), -EINVAL);
			assert_int_equal(missing, bit);
			assert_int_equal(superfluous, 0);
		} else if ((optional | PMV_QP_STATE) & bit) {
			assert_int_equal(
				pmv_verbs_qp_state_check(t, mask, &missing, &superfluous), 0);
		} else {
			assert_int_equal(
				pmv_verbs_qp_state_check(t, mask, &missing, &superfluous), -EINVAL);
			assert_int_equal(missing, 0);
			assert_int_equal(superfluous, bit);
		}
	}
}

static void
transition__all_pairs_types_and_masks(void **state)
{
	uint32_t from, to, type, required, optional, missing, superfluous, nb_legal = 0;

	for (from = 0; from < 7; from++) {
		for (to = 0; to < 7; to++) {
			for (type = 0; type < 3; type++) {
				const struct pmv_verbs_qp_transition *t = pmv_verbs_qp_transition(
					(uint8_t)(type + 2), (uint8_t)from, (uint8_t)to);
				const char *line = expected[from][to][type];

				if (line == NULL) {
					assert_false(t->legal);
					assert_int_equal(pmv_verbs_qp_state_check(t, PMV_QP_STATE,
								 &missing, &superfluous),
						-EINVAL);
					assert_int_equal(missing | superfluous, 0);
					continue;
				}
				assert_true(t->legal);
				nb_legal++;
				read_line(line, &required, &optional);
				walk_masks(t, required, optional);
			}
		}
	}
	assert_int_equal(nb_legal, 3 * 22);
}

static void
transition__outside_the_enums_is_illegal(void **state)
{
	assert_false(pmv_verbs_qp_transition(1, PMV_QPS_RESET, PMV_QPS_INIT)->legal);
	assert_false(pmv_verbs_qp_transition(5, PMV_QPS_RESET, PMV_QPS_INIT)->legal);
	assert_false(pmv_verbs_qp_transition(PMV_QPT_RC, 7, PMV_QPS_INIT)->legal);
	assert_false(pmv_verbs_qp_transition(PMV_QPT_RC, PMV_QPS_RESET, 7)->legal);
	assert_false(pmv_verbs_qp_transition(255, 255, 255)->legal);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(transition__all_pairs_types_and_masks),
		cmocka_unit_test(transition__outside_the_enums_is_illegal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
