// SPDX-License-Identifier: BSD-3-Clause
/*
 * Protection domains, memory regions and NUMA buffers; see mem.h. Control threads; nothing here
 * waits.
 */
#include "lib/verbs/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <numa.h>
#include <rte_malloc.h>

#include "lib/lcore/owner.h"
#include "lib/lcore/placement.h"
#include "lib/util/log.h"
#include "lib/verbs/device.h"

#define MR_BYTES_MAX (1ull << 48)
#define ACCESS_BITS                                                                                \
	(PMV_ACCESS_LOCAL_WRITE | PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_READ |               \
		PMV_ACCESS_REMOTE_ATOMIC | PMV_ACCESS_MW_BIND | PMV_ACCESS_FLUSH_GLOBAL |          \
		PMV_ACCESS_OPTIONAL_RANGE)

int
pmv_alloc_pd(struct pmv_device *dev, struct pmv_pd **ret_pd)
{
	uint32_t mark = pmv_log_nb_errors;
	struct pmv_pd *pd;
	int rc = 0;

	if (PMV_ANY_NULL("alloc_pd", "device ret_pd", dev, ret_pd))
		return -EINVAL;
	pd = calloc(1, RTE_MAX(dev->driver->pd_bytes, sizeof(*pd)));
	if (pd == NULL)
		return pmv_log_refuse(-ENOMEM, "alloc_pd: no memory");
	pd->device = dev;
	pmv_verbs_lock(dev);
	if (dev->driver->ops->pd_init != NULL)
		rc = dev->driver->ops->pd_init(pd);
	if (rc == 0)
		dev->nb_pds++;
	pmv_verbs_unlock(dev);
	if (rc < 0) {
		free(pd);
		return pmv_log_refuse_since(mark, rc, "alloc_pd: %s", strerror(-rc));
	}
	*ret_pd = pd;
	return 0;
}

int
pmv_dealloc_pd(struct pmv_pd *pd)
{
	struct pmv_device *dev;
	uint32_t refs;

	if (PMV_ANY_NULL("dealloc_pd", "pd", pd))
		return -EINVAL;
	dev = pd->device;
	pmv_verbs_lock(dev);
	pmv_verbs_mem_reap(dev);
	refs = pd->refs;
	if (refs == 0) {
		if (dev->driver->ops->pd_fini != NULL)
			dev->driver->ops->pd_fini(pd);
		dev->nb_pds--;
	}
	pmv_verbs_unlock(dev);
	if (refs > 0)
		return pmv_log_refuse(-EBUSY,
			"dealloc_pd: pd: %u regions, windows, QPs or AHs still use it", refs);
	free(pd);
	return 0;
}

static const char *
reg_problem(const void *addr, uint64_t length, uint64_t iova, uint32_t access)
{
	if (length == 0 || length > MR_BYTES_MAX)
		return "length is not 1..2^48";
	if ((uintptr_t)addr + (length - 1) < (uintptr_t)addr)
		return "addr + length wraps";
	if (iova + (length - 1) < iova)
		return "iova + length wraps";
	if (access & PMV_ACCESS_FLUSH_PERSISTENT)
		return "access: FLUSH_PERSISTENT: the memory is not known to be persistent";
	if (access & ~ACCESS_BITS)
		return "access has an unknown bit";
	if ((access & (PMV_ACCESS_REMOTE_WRITE | PMV_ACCESS_REMOTE_ATOMIC)) &&
		!(access & PMV_ACCESS_LOCAL_WRITE))
		return "access: REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE";
	return NULL;
}

/* Under the lock; takes mr over. */
static int
reg(struct pmv_mr *mr)
{
	struct pmv_device *dev = mr->pd->device;
	int rc;

	pmv_verbs_mem_reap(dev);
	rc = dev->driver->ops->mr_reg(mr);
	if (rc < 0)
		return rc;
	mr->pd->refs++;
	pmv_lcore_placement_check(
		dev, PMV_LCORE_PLACEMENT_REGION, pmv_lcore_placement_of_memory(mr->addr));
	return 0;
}

int
pmv_reg_mr_iova(struct pmv_pd *pd, void *addr, uint64_t length, uint64_t iova, uint32_t access,
	struct pmv_mr **ret_mr)
{
	uint32_t mark = pmv_log_nb_errors;
	struct pmv_device *dev;
	const char *problem;
	struct pmv_mr *mr;
	int rc;

	if (PMV_ANY_NULL("reg_mr", "pd ret_mr", pd, ret_mr))
		return -EINVAL;
	problem = reg_problem(addr, length, iova, access);
	if (problem != NULL)
		return pmv_log_refuse(-EINVAL, "reg_mr: %s", problem);
	dev = pd->device;
	mr = rte_zmalloc_socket("pmv_mr", dev->driver->mr_bytes, 0, dev->socket_id);
	if (mr == NULL)
		return pmv_log_refuse(-ENOMEM, "reg_mr: no memory");
	mr->pd = pd;
	mr->addr = addr;
	mr->length = length;
	mr->iova = iova;
	mr->access = access;
	pmv_verbs_lock(dev);
	rc = reg(mr);
	pmv_verbs_unlock(dev);
	if (rc < 0) {
		rte_free(mr);
		return pmv_log_refuse_since(mark, rc, "reg_mr: %s",
			rc == -ENOSPC ? "the device's mr_max is reached" : strerror(-rc));
	}
	*ret_mr = mr;
	return 0;
}

int
pmv_reg_mr(struct pmv_pd *pd, void *addr, uint64_t length, uint32_t access, struct pmv_mr **ret_mr)
{
	return pmv_reg_mr_iova(pd, addr, length, (uintptr_t)addr, access, ret_mr);
}

static struct pmv_mr *
mr_of(struct pmv_dying *d)
{
	return (struct pmv_mr *)(void *)((char *)d - offsetof(struct pmv_mr, dying));
}

static struct pmv_mw *
mw_of(struct pmv_dying *d)
{
	return (struct pmv_mw *)(void *)((char *)d - offsetof(struct pmv_mw, dying));
}

static struct pmv_pd *
pd_of(struct pmv_dying *d)
{
	return d->is_mw ? mw_of(d)->pd : mr_of(d)->pd;
}

/* No lcore can touch the memory any more. */
static bool
is_quiescent(struct pmv_dying *d)
{
	struct pmv_device *dev = pd_of(d)->device;
	struct pmv_worker *w;
	uint32_t i;

	for (i = 0; i < dev->param.nb_workers; i++) {
		w = dev->workers[i];
		/* Acquire: what the turns before did to the memory is done. */
		if (w != NULL && !pmv_lcore_owner_is_quiet(w) &&
			__atomic_load_n(&w->seat->epoch_seen, __ATOMIC_ACQUIRE) < d->epoch)
			return false;
	}
	return d->is_mw || !dev->driver->ops->mr_frames_out(mr_of(d));
}

static void
release(struct pmv_dying *d)
{
	const struct pmv_driver_ops *ops = pd_of(d)->device->driver->ops;

	if (d->is_mw)
		ops->mw_free(mw_of(d));
	else
		ops->mr_free(mr_of(d));
	pd_of(d)->refs--;
	d->released = true;
}

int
pmv_verbs_mem_bury(struct pmv_device *dev, struct pmv_dying *d)
{
	/* Release: a turn that sees this epoch sees the keys dead; pairs with pmv_worker_poll_at.
	 * Work requests that end keys raise it too. */
	d->epoch = __atomic_add_fetch(&dev->epoch, 1, __ATOMIC_ACQ_REL);
	if (!is_quiescent(d)) {
		STAILQ_INSERT_TAIL(&dev->dying, d, next);
		return -EINPROGRESS;
	}
	release(d);
	return 0;
}

int
pmv_dereg_mr(struct pmv_mr *mr)
{
	struct pmv_device *dev;
	int rc;

	if (PMV_ANY_NULL("dereg_mr", "mr", mr))
		return -EINVAL;
	dev = mr->pd->device;
	pmv_verbs_lock(dev);
	rc = dev->driver->ops->mr_kill(mr);
	if (rc == 0)
		rc = pmv_verbs_mem_bury(dev, &mr->dying);
	pmv_verbs_unlock(dev);
	if (rc == -EBUSY)
		return pmv_log_refuse(rc, "dereg_mr: mr: windows are bound to it");
	if (rc == 0)
		rte_free(mr);
	return rc;
}

void
pmv_verbs_mem_reap(struct pmv_device *dev)
{
	struct pmv_dying *d;

	STAILQ_FOREACH(d, &dev->dying, next)
	if (!d->released && is_quiescent(d))
		release(d);
}

bool
pmv_verbs_mem_take_released(struct pmv_device *dev, struct pmv_event *ret_event)
{
	struct pmv_dying *d;

	STAILQ_FOREACH(d, &dev->dying, next)
	if (d->released)
		break;
	if (d == NULL)
		return false;
	STAILQ_REMOVE(&dev->dying, d, pmv_dying, next);
	*ret_event = (struct pmv_event){
		.type = d->is_mw ? PMV_EVENT_MW_RELEASED : PMV_EVENT_MR_RELEASED,
		.context = d->is_mw ? mw_of(d)->context : mr_of(d)->context,
	};
	rte_free(d->is_mw ? (void *)mw_of(d) : (void *)mr_of(d));
	return true;
}

void
pmv_verbs_mem_forget_events(struct pmv_device *dev)
{
	struct pmv_event event;

	while (pmv_verbs_mem_take_released(dev, &event))
		continue;
}

int
pmv_query_mr(const struct pmv_mr *mr, struct pmv_mr_attr *ret_attr)
{
	if (PMV_ANY_NULL("query_mr", "mr ret_attr", mr, ret_attr))
		return -EINVAL;
	*ret_attr = (struct pmv_mr_attr){
		.addr = mr->addr,
		.length = mr->length,
		.iova = mr->iova,
		.lkey = mr->lkey,
		.rkey = mr->rkey,
		.access = mr->access,
	};
	return 0;
}

uint32_t
pmv_mr_lkey(const struct pmv_mr *mr)
{
	return __atomic_load_n(&mr->lkey, __ATOMIC_RELAXED);
}

uint32_t
pmv_mr_rkey(const struct pmv_mr *mr)
{
	return __atomic_load_n(&mr->rkey, __ATOMIC_RELAXED);
}

void
pmv_mr_set_context(struct pmv_mr *mr, void *context)
{
	mr->context = context;
}

/* Pages that pmv_buf_free must give back, from the same arithmetic. */
static size_t
buf_bytes(uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return (size_t)((bytes + page - 1) & ~(page - 1));
}

void *
pmv_buf_alloc(uint64_t bytes, int socket_id)
{
	void *p;

	if (bytes == 0 || bytes > MR_BYTES_MAX) {
		PMV_LOG(ERR, "buf_alloc: bytes %" PRIu64 " is not 1..2^48", bytes);
		return NULL;
	}
	if (numa_available() < 0) {
		PMV_LOG(ERR, "buf_alloc: the kernel has no NUMA support");
		return NULL;
	}
	if (socket_id < 0)
		return numa_alloc_local(buf_bytes(bytes));
	if (socket_id > numa_max_node()) {
		PMV_LOG(ERR, "buf_alloc: socket_id %d: no such NUMA node", socket_id);
		return NULL;
	}
	p = numa_alloc_onnode(buf_bytes(bytes), socket_id);
	return p;
}

void
pmv_buf_free(void *ptr, uint64_t bytes)
{
	if (ptr != NULL)
		numa_free(ptr, buf_bytes(bytes));
}
