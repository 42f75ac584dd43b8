// SPDX-License-Identifier: BSD-3-Clause
#include "lib/verbs/port_check.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "test/harness/eal.h"
#include "test/harness/link.h"

static char said[8][200];
static int nb_said;
static struct pmv_test_link *link;

/* What the port is said to be beyond what it is: virtual ports refuse to be configured so, and tell
 * no pool. */
static struct {
	uint64_t tx_on, tx_off, rx_on;
	struct rte_mempool *pool[2]; /* of a receive queue; NULL: not told */
} feigned;

int __real_rte_eth_dev_conf_get(uint16_t port_id, struct rte_eth_conf *conf);
int __wrap_rte_eth_dev_conf_get(uint16_t port_id, struct rte_eth_conf *conf);
int __wrap_rte_eth_rx_queue_info_get(
	uint16_t port_id, uint16_t queue_id, struct rte_eth_rxq_info *info);

int
__wrap_rte_eth_dev_conf_get(uint16_t port_id, struct rte_eth_conf *conf)
{
	int rc = __real_rte_eth_dev_conf_get(port_id, conf);

	conf->txmode.offloads = (conf->txmode.offloads | feigned.tx_on) & ~feigned.tx_off;
	conf->rxmode.offloads |= feigned.rx_on;
	return rc;
}

int
__wrap_rte_eth_rx_queue_info_get(uint16_t port_id, uint16_t queue_id, struct rte_eth_rxq_info *info)
{
	if (feigned.pool[queue_id] == NULL)
		return -ENOTSUP;
	*info = (struct rte_eth_rxq_info){ .mp = feigned.pool[queue_id] };
	return 0;
}

static void
report(void *arg, const char *sentence)
{
	assert_ptr_equal(arg, said);
	snprintf(said[nb_said++], sizeof(said[0]), "%s", sentence);
}

static int
setup(void **state)
{
	nb_said = 0;
	memset(&feigned, 0, sizeof(feigned));
	return pmv_test_link_open(&link, 2, 1);
}

static int
teardown(void **state)
{
	return (int)pmv_test_link_close(link);
}

static int
check(uint16_t mtu)
{
	nb_said = 0;
	return pmv_port_check(link->end[0].port_id, mtu, report, said);
}

/* Configures the port with these offloads, as far as net_ring lets us: it refuses what it does not
 * offer. */
static void
configure(uint64_t tx_offloads, uint64_t rx_offloads)
{
	struct rte_eth_conf conf = { .txmode.offloads = tx_offloads,
		.rxmode.offloads = rx_offloads };
	uint16_t port = link->end[0].port_id;

	assert_int_equal(rte_eth_dev_stop(port), 0);
	assert_int_equal(rte_eth_dev_configure(port, 1, 1, &conf), 0);
}

static void
port_check__a_good_port(void **state)
{
	assert_int_equal(check(0), 0);
	assert_int_equal(check(1500), 0);
	assert_int_equal(check(4200), 0); /* more than net_ring reports, not more than it carries */
	assert_int_equal(pmv_port_check(link->end[0].port_id, 0, NULL, NULL), 0);
}

static void
port_check__no_such_port(void **state)
{
	assert_int_equal(pmv_port_check(RTE_MAX_ETHPORTS - 1, 0, report, said), -ENODEV);
	assert_int_equal(pmv_port_check(UINT16_MAX, 0, report, said), -ENODEV);
	assert_int_equal(nb_said, 0);
}

static void
port_check__mtu_too_small(void **state)
{
	assert_int_equal(check(351), 1);
	assert_non_null(strstr(said[0], "IP MTU of 351"));
	assert_int_equal(check(352), 0);
}

static void
port_check__segments_must_be_on(void **state)
{
	configure(0, 0);
	assert_int_equal(check(0), 1);
	assert_non_null(strstr(said[0], "MULTI_SEGS"));
	assert_int_equal(pmv_port_check(link->end[0].port_id, 351, NULL, NULL), 2);
}

/* The only sentence names the offload and says why. */
static void
said_only(const char *name, const char *why)
{
	assert_int_equal(check(0), 1);
	assert_non_null(strstr(said[0], name));
	assert_non_null(strstr(said[0], why));
	assert_int_equal(pmv_port_check(link->end[0].port_id, 0, NULL, NULL), 1);
}

static void
port_check__each_offload(void **state)
{
	static const struct {
		uint64_t tx_on, tx_off, rx_on;
		const char *name, *why;
	} rows[] = {
		{ .tx_off = RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
			.name = "transmit offload MULTI_SEGS is off",
			.why = "segments" },
		{ .tx_on = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE,
			.name = "transmit offload MBUF_FAST_FREE is on",
			.why = "more than one mempool" },
		{ .rx_on = RTE_ETH_RX_OFFLOAD_TCP_LRO,
			.name = "receive offload TCP_LRO is on",
			.why = "as it was sent" },
		{ .rx_on = RTE_ETH_RX_OFFLOAD_KEEP_CRC,
			.name = "receive offload KEEP_CRC is on",
			.why = "payload" },
	};

	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		memset(&feigned, 0, sizeof(feigned));
		feigned.tx_on = rows[i].tx_on;
		feigned.tx_off = rows[i].tx_off;
		feigned.rx_on = rows[i].rx_on;
		said_only(rows[i].name, rows[i].why);
	}
	/* one sentence each, and offloads that do no harm are not mentioned */
	feigned.tx_off = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	feigned.tx_on = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	feigned.rx_on = RTE_ETH_RX_OFFLOAD_TCP_LRO | RTE_ETH_RX_OFFLOAD_KEEP_CRC;
	assert_int_equal(check(351), 5);
	memset(&feigned, 0, sizeof(feigned));
	feigned.tx_on = RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
	feigned.rx_on = RTE_ETH_RX_OFFLOAD_VLAN_STRIP | RTE_ETH_RX_OFFLOAD_CHECKSUM;
	assert_int_equal(check(0), 0);
}

/* Buffers hold the MTU, Ethernet and a tag, each queue's, unless frames may be scattered. */
static void
port_check__data_room(void **state)
{
	struct rte_mempool *fits = rte_pktmbuf_pool_create(
		"port_check_fits", 31, 0, 0, RTE_PKTMBUF_HEADROOM + 1518, SOCKET_ID_ANY);
	struct rte_mempool *small = rte_pktmbuf_pool_create(
		"port_check_small", 31, 0, 0, RTE_PKTMBUF_HEADROOM + 1517, SOCKET_ID_ANY);

	assert_non_null(fits);
	assert_non_null(small);
	feigned.pool[0] = fits;
	feigned.pool[1] = fits;
	assert_int_equal(check(1500), 0);
	assert_int_equal(check(1501), 2);
	feigned.pool[1] = small;
	assert_int_equal(check(1500), 1);
	assert_string_equal(said[0],
		"receive queue 1 has buffers of 1517 bytes and no SCATTER: an IP MTU of 1500 needs "
		"1518");
	assert_int_equal(check(1499), 0);
	feigned.rx_on = RTE_ETH_RX_OFFLOAD_SCATTER;
	assert_int_equal(check(1500), 0);
	rte_mempool_free(fits);
	rte_mempool_free(small);
}

static void
active_mtu__follows_ip_mtu_minus_96(void **state)
{
	assert_int_equal(pmv_verbs_port_active_mtu(351), 0);
	assert_int_equal(pmv_verbs_port_active_mtu(352), PMV_MTU_256);
	assert_int_equal(pmv_verbs_port_active_mtu(607), PMV_MTU_256);
	assert_int_equal(pmv_verbs_port_active_mtu(608), PMV_MTU_512);
	assert_int_equal(pmv_verbs_port_active_mtu(1120), PMV_MTU_1024);
	assert_int_equal(pmv_verbs_port_active_mtu(1500), PMV_MTU_1024);
	assert_int_equal(pmv_verbs_port_active_mtu(2144), PMV_MTU_2048);
	assert_int_equal(pmv_verbs_port_active_mtu(4191), PMV_MTU_2048);
	assert_int_equal(pmv_verbs_port_active_mtu(4192), PMV_MTU_4096);
	assert_int_equal(pmv_verbs_port_active_mtu(9000), PMV_MTU_4096);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(port_check__a_good_port),
		T(port_check__no_such_port),
		T(port_check__mtu_too_small),
		T(port_check__segments_must_be_on),
		T(port_check__each_offload),
		T(port_check__data_room),
		T(active_mtu__follows_ip_mtu_minus_96),
	};

	return cmocka_run_group_tests(tests, pmv_test_eal_start, NULL);
}
