// SPDX-License-Identifier: BSD-3-Clause
/*
 * drivers/roce/ack_pool: a pool outlives its worker as long as a frame of it is out, and no longer.
 */
#include "drivers/roce/ack_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <rte_mbuf.h>

#include "test/harness/eal.h"

static void
ack_pool__waits_for_its_frames(void **state)
{
	struct rte_mempool *a = pmv_roce_ack_pool_get(SOCKET_ID_ANY), *b, *c;
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mbuf *m;

	assert_non_null(a);
	assert_int_equal(rte_mempool_avail_count(a), PMV_ROCE_ACK_POOL_FRAMES);
	snprintf(name, sizeof(name), "%s", a->name);
	m = rte_pktmbuf_alloc(a);
	assert_non_null(m);
	pmv_roce_ack_pool_put(a); /* its worker ends */
	assert_ptr_equal(rte_mempool_lookup(name), a);
	b = pmv_roce_ack_pool_get(SOCKET_ID_ANY);
	assert_non_null(b);
	assert_ptr_not_equal(a, b); /* not whole yet */
	rte_pktmbuf_free(m);
	c = pmv_roce_ack_pool_get(SOCKET_ID_ANY);
	assert_ptr_equal(a, c); /* serves again */
	pmv_roce_ack_pool_put(c);
	assert_null(rte_mempool_lookup(name)); /* all at home: gone */
	pmv_roce_ack_pool_put(b);
	pmv_roce_ack_pool_put(NULL);
}

/* One that came home later goes when the next worker ends. */
static void
ack_pool__swept(void **state)
{
	struct rte_mempool *a = pmv_roce_ack_pool_get(SOCKET_ID_ANY);
	struct rte_mempool *b = pmv_roce_ack_pool_get(SOCKET_ID_ANY);
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mbuf *m = rte_pktmbuf_alloc(a);

	assert_non_null(b);
	snprintf(name, sizeof(name), "%s", a->name);
	pmv_roce_ack_pool_put(a);
	rte_pktmbuf_free(m);
	assert_non_null(rte_mempool_lookup(name));
	pmv_roce_ack_pool_put(b);
	assert_null(rte_mempool_lookup(name));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ack_pool__waits_for_its_frames),
		cmocka_unit_test(ack_pool__swept),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
