// SPDX-License-Identifier: BSD-3-Clause
/*
 * NUMA placement warnings; see placement.h. Control path only: it asks the kernel and logs.
 */
#define _GNU_SOURCE /* sched_getcpu */
#include "lib/lcore/placement.h"

#include <sched.h>

#include <numa.h>
#include <numaif.h>

#include "lib/util/log.h"

static const char *const kind_text[] = {
	[PMV_LCORE_PLACEMENT_LCORE] = "the polling lcore runs",
	[PMV_LCORE_PLACEMENT_WORKER] = "a worker's memory lies",
	[PMV_LCORE_PLACEMENT_POOL] = "a worker's mempool lies",
	[PMV_LCORE_PLACEMENT_REGION] = "a memory region lies",
};

int
pmv_lcore_placement_of_thread(void)
{
	int cpu;

	if (numa_available() < 0)
		return -1;
	cpu = sched_getcpu();
	return cpu < 0 ? -1 : numa_node_of_cpu(cpu);
}

int
pmv_lcore_placement_of_memory(const void *addr)
{
	void *page = (void *)((uintptr_t)addr & ~(uintptr_t)4095);
	int node = -1;

	if (numa_available() < 0 || numa_max_node() == 0)
		return -1;
	/* Without target nodes the call moves nothing: it only tells, and does not fault the page
	 * in. */
	if (move_pages(0, 1, &page, NULL, &node, 0) != 0)
		return -1;
	return node;
}

bool
pmv_lcore_placement_check(struct pmv_device *dev, enum pmv_lcore_placement kind, int node)
{
	uint32_t bit = 1u << kind;

	if (node < 0 || dev->socket_id < 0 || node == dev->socket_id)
		return false;
	if (__atomic_fetch_or(&dev->placement_warned, bit, __ATOMIC_RELAXED) & bit)
		return false;
	PMV_LOG(WARNING,
		"port %u is on NUMA node %d, but %s on node %d: every frame crosses between them",
		dev->port_id, dev->socket_id, kind_text[kind], node);
	return true;
}
