// SPDX-License-Identifier: BSD-3-Clause
/*
 * Memory windows and regions for fast registration: their making and, of windows, their end. Their
 * life in between is work requests'. Control threads, under the device's lock; nothing here waits.
 */
#include "lib/api/pmv_mw.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "lib/util/log.h"
#include "lib/verbs/device.h"
#include "lib/verbs/mem.h"

#define PAGE_BYTES_MIN 4096u
#define PAGE_BYTES_MAX (1u << 30)

/* Of the device as it is: which limits hold. */
static uint32_t
max_pages_of(struct pmv_device *dev)
{
	struct pmv_device_attr attr;

	pmv_verbs_device_attr(dev, &attr);
	return attr.max_mr_pages;
}

/* Under the lock; takes mr over. */
static int
mr_alloc(struct pmv_mr *mr, uint32_t max_pages, uint32_t page_bytes)
{
	struct pmv_device *dev = mr->pd->device;
	uint32_t most = max_pages_of(dev);
	int rc;

	if (max_pages == 0 || max_pages > most)
		return pmv_log_refuse(
			-EINVAL, "alloc_mr: max_pages %u is not 1..%u", max_pages, most);
	pmv_verbs_mem_reap(dev);
	rc = dev->driver->ops->mr_alloc(mr, max_pages, page_bytes);
	if (rc == 0)
		mr->pd->refs++;
	return rc;
}

int
pmv_alloc_mr(struct pmv_pd *pd, uint32_t max_pages, uint32_t page_bytes, struct pmv_mr **ret_mr)
{
	uint32_t mark = pmv_log_nb_errors;
	struct pmv_device *dev;
	struct pmv_mr *mr;
	int rc;

	if (PMV_ANY_NULL("alloc_mr", "pd ret_mr", pd, ret_mr))
		return -EINVAL;
	dev = pd->device;
	if (dev->driver->ops->mr_alloc == NULL)
		return pmv_log_refuse(-ENOTSUP, "alloc_mr: driver %s has no fast registration",
			dev->driver->name);
	if (!rte_is_power_of_2(page_bytes) || page_bytes < PAGE_BYTES_MIN ||
		page_bytes > PAGE_BYTES_MAX)
		return pmv_log_refuse(-EINVAL,
			"alloc_mr: page_bytes %u is not a power of two in 4096..2^30", page_bytes);
	mr = rte_zmalloc_socket("pmv_mr", dev->driver->mr_bytes, 0, dev->socket_id);
	if (mr == NULL)
		return pmv_log_refuse(-ENOMEM, "alloc_mr: no memory");
	mr->pd = pd;
	pmv_verbs_lock(dev);
	rc = mr_alloc(mr, max_pages, page_bytes);
	pmv_verbs_unlock(dev);
	if (rc < 0) {
		rte_free(mr);
		return pmv_log_refuse_since(mark, rc, "alloc_mr: %s",
			rc == -ENOSPC ? "the device's mr_max is reached" : strerror(-rc));
	}
	*ret_mr = mr;
	return 0;
}

int
pmv_map_mr(struct pmv_mr *mr, void *const *pages, uint32_t nb_pages, uint64_t iova, uint64_t length)
{
	const struct pmv_driver_ops *ops;
	uint32_t mark = pmv_log_nb_errors;
	int rc;

	if (PMV_ANY_NULL("map_mr", "mr pages", mr, pages))
		return -EINVAL;
	ops = mr->pd->device->driver->ops;
	rc = ops->mr_map == NULL ? -EINVAL : ops->mr_map(mr, pages, nb_pages, iova, length);
	if (rc < 0)
		return pmv_log_refuse_since(mark, rc, "map_mr: mr: not of pmv_alloc_mr()");
	return 0;
}

/* Under the lock; takes mw over. */
static int
mw_alloc(struct pmv_mw *mw)
{
	struct pmv_device *dev = mw->pd->device;
	int rc;

	pmv_verbs_mem_reap(dev);
	rc = dev->driver->ops->mw_alloc(mw);
	if (rc == 0)
		mw->pd->refs++;
	return rc;
}

int
pmv_alloc_mw(struct pmv_pd *pd, enum pmv_mw_type type, struct pmv_mw **ret_mw)
{
	uint32_t mark = pmv_log_nb_errors;
	struct pmv_device *dev;
	struct pmv_mw *mw;
	int rc;

	if (PMV_ANY_NULL("alloc_mw", "pd ret_mw", pd, ret_mw))
		return -EINVAL;
	if (type != PMV_MW_TYPE_1 && type != PMV_MW_TYPE_2)
		return pmv_log_refuse(-EINVAL, "alloc_mw: type %d is not 1 or 2", (int)type);
	dev = pd->device;
	if (dev->driver->ops->mw_alloc == NULL)
		return pmv_log_refuse(
			-ENOTSUP, "alloc_mw: driver %s has no memory windows", dev->driver->name);
	mw = rte_zmalloc_socket("pmv_mw", dev->driver->mw_bytes, 0, dev->socket_id);
	if (mw == NULL)
		return pmv_log_refuse(-ENOMEM, "alloc_mw: no memory");
	mw->pd = pd;
	mw->type = (uint8_t)type;
	mw->dying.is_mw = true;
	pmv_verbs_lock(dev);
	rc = mw_alloc(mw);
	pmv_verbs_unlock(dev);
	if (rc < 0) {
		rte_free(mw);
		return pmv_log_refuse_since(mark, rc, "alloc_mw: %s",
			rc == -ENOSPC ? "the device's max_mw is reached" : strerror(-rc));
	}
	*ret_mw = mw;
	return 0;
}

int
pmv_dealloc_mw(struct pmv_mw *mw)
{
	struct pmv_device *dev;
	int rc;

	if (PMV_ANY_NULL("dealloc_mw", "mw", mw))
		return -EINVAL;
	dev = mw->pd->device;
	pmv_verbs_lock(dev);
	dev->driver->ops->mw_kill(mw);
	rc = pmv_verbs_mem_bury(dev, &mw->dying);
	pmv_verbs_unlock(dev);
	if (rc == 0)
		rte_free(mw);
	return rc;
}

uint32_t
pmv_mw_rkey(const struct pmv_mw *mw)
{
	return __atomic_load_n(&mw->rkey, __ATOMIC_RELAXED);
}

void
pmv_mw_set_context(struct pmv_mw *mw, void *context)
{
	mw->context = context;
}
