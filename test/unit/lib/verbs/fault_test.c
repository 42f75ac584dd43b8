// SPDX-License-Identifier: BSD-3-Clause
#include "lib/api/pmv_fault.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/harness/eal.h"
#include "test/unit/lib/verbs/fake_driver.h"

static struct fake_node n;

static int
setup(void **state)
{
	fake_node_open(&n, 1);
	return 0;
}

static int
teardown(void **state)
{
	fake_node_close(&n);
	return 0;
}

#include <math.h>

static const struct pmv_fault_rule any = { .action = PMV_FAULT_DROP,
	.dirs = PMV_FAULT_RX,
	.probability = 0.5,
	.opcode = -1,
	.qpn = -1,
	.cm_attr = -1 };

static void
fault_add__passes_the_rule_on(void **state)
{
	struct pmv_fault_counts c;

	assert_int_equal(pmv_fault_add(n.worker[0], &any, 7), 0);
	assert_int_equal(fake.nb_rules, 1);
	assert_int_equal(fake.rule_seed, 7);
	assert_true(fake.rule.probability == 0.5);
	assert_int_equal(pmv_fault_query(n.worker[0], &c), 0);
	assert_int_equal(c.dropped, 9);
	assert_int_equal(pmv_fault_clear(n.worker[0]), 0);
	assert_int_equal(fake.nb_rules, 0);
}

#define BAD(field, value, word)                                                                    \
	do {                                                                                       \
		struct pmv_fault_rule bad = any;                                                   \
		bad.field = value;                                                                 \
		assert_refused(pmv_fault_add(n.worker[0], &bad, 1), -EINVAL, word);                \
	} while (0)

static void
fault_add__refuses(void **state)
{
	struct pmv_fault_rule masked = any;

	BAD(action, (enum pmv_fault_action)5, "action");
	BAD(dirs, 0, "dirs");
	BAD(dirs, 4, "dirs");
	BAD(probability, -0.1, "probability");
	BAD(probability, 1.1, "probability");
	BAD(probability, NAN, "probability");
	BAD(opcode, 256, "opcode");
	BAD(opcode, -2, "opcode");
	BAD(qpn, 1 << 24, "qpn");
	BAD(cm_attr, 1 << 16, "cm_attr");
	BAD(action, PMV_FAULT_DELAY, "delay_us"); /* 0 */
	assert_refused(pmv_fault_add(NULL, &any, 1), -EINVAL, "worker");
	assert_refused(pmv_fault_add(n.worker[0], NULL, 1), -EINVAL, "rule");
	assert_int_equal(fake.nb_rules, 0);
	masked.mask = 1;
	masked.probability = 9; /* ignored with a mask */
	assert_int_equal(pmv_fault_add(n.worker[0], &masked, 1), 0);
	assert_int_equal(pmv_fault_clear(NULL), -EINVAL);
	assert_int_equal(pmv_fault_query(n.worker[0], NULL), -EINVAL);
}

static void
fault__by_another_thread_is_eperm(void **state)
{
	struct pmv_fault_counts c;

	assert_int_equal(pmv_worker_attach(n.worker[0]), 0);
	assert_int_equal(pmv_fault_add(n.worker[0], &any, 7), 0);
	n.worker[0]->owner++;
	assert_refused(pmv_fault_add(n.worker[0], &any, 7), -EPERM, "owns");
	assert_refused(pmv_fault_clear(n.worker[0]), -EPERM, "owns");
	assert_refused(pmv_fault_query(n.worker[0], &c), -EPERM, "owns");
	n.worker[0]->owner--;
	assert_int_equal(pmv_worker_detach(n.worker[0]), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(fault_add__passes_the_rule_on),
		T(fault_add__refuses),
		T(fault__by_another_thread_is_eperm),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
