// SPDX-License-Identifier: BSD-3-Clause
/*
 * A CM: create, destroy, devices, owner; see cm.h and cm/api/pmv_cm.h. Any thread while detached,
 * else its owner.
 */
#include "cm/cm.h"

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "cm/dev.h"
#include "cm/id.h"
#include "cm/loop.h"
#include "lib/util/log.h"

#define ID_MAX_DEFAULT 4096u
#define ID_MAX_MOST    (1u << 18)
/* Slots of comm IDs for each id: room for records that linger after their ids. */
#define SLOTS_PER_ID 4u
#define SLOTS_MIN    64u

static uint64_t
self(void)
{
	return (uint32_t)rte_gettid();
}

bool
pmv_cm_is_mine(const struct pmv_cm *cm)
{
	uint64_t owner = __atomic_load_n(&cm->owner, __ATOMIC_RELAXED);

	return owner == 0 || owner == self();
}

int
pmv_cm_owner_check(const struct pmv_cm *cm, const char *call)
{
	return pmv_cm_is_mine(cm) ? 0
				  : pmv_log_refuse(-EPERM, "%s: another thread owns the CM", call);
}

static int
tables_init(struct pmv_cm *cm)
{
	uint32_t nb_slots = rte_align32pow2(RTE_MAX(cm->id_max * SLOTS_PER_ID, SLOTS_MIN));
	size_t ids_bytes = RTE_ALIGN(pmv_cm_comm_ids_bytes(nb_slots), 64);
	size_t dup_bytes = RTE_ALIGN(pmv_cm_dup_bytes(nb_slots), 64);
	struct pmv_cm_hash_key key;
	uint8_t *mem;
	uint32_t i;

	mem = rte_zmalloc_socket("pmv_cm_tables", ids_bytes + 2 * dup_bytes, 64, cm->socket_id);
	cm->tables = mem;
	cm->ports = rte_zmalloc_socket(
		"pmv_cm_ports", PMV_CM_PORT_BUCKETS * sizeof(cm->ports[0]), 64, cm->socket_id);
	if (mem == NULL || cm->ports == NULL)
		return -ENOMEM;
	for (i = 0; i < PMV_CM_PORT_BUCKETS; i++)
		TAILQ_INIT(&cm->ports[i]);
	key.k[0] = pmv_random_next64(&cm->random);
	key.k[1] = pmv_random_next64(&cm->random);
	pmv_cm_comm_ids_init(&cm->comm_ids, mem, nb_slots, &cm->random);
	pmv_cm_dup_init(&cm->peer_ids, mem + ids_bytes, dup_bytes, nb_slots, &key);
	pmv_cm_dup_init(&cm->peer_qpns, mem + ids_bytes + dup_bytes, dup_bytes, nb_slots, &key);
	return 0;
}

static int
cm_init(struct pmv_cm *cm, const struct pmv_cm_param *p)
{
	int err = 0;

	cm->id_max = p->id_max != 0 ? p->id_max : ID_MAX_DEFAULT;
	cm->ticks_per_us = RTE_MAX(rte_get_tsc_hz() / 1000000, 1ull);
	cm->now = cm->ticks_per_us * 1000000;
	cm->own_clock = true;
	if (p->seed != 0)
		pmv_random_init(&cm->random, p->seed);
	else
		err = pmv_random_seed_os(&cm->random);
	if (err != 0)
		return err;
	TAILQ_INIT(&cm->ids);
	TAILQ_INIT(&cm->lingering);
	TAILQ_INIT(&cm->dying);
	TAILQ_INIT(&cm->qp_work);
	TAILQ_INIT(&cm->est_wait);
	TAILQ_INIT(&cm->mac_wait);
	TAILQ_INIT(&cm->events);
	TAILQ_INIT(&cm->ring);
	pmv_wheel_init(&cm->wheel, cm->now, 50 * cm->ticks_per_us);
	return tables_init(cm);
}

static void
cm_free(struct pmv_cm *cm)
{
	rte_free(cm->tables);
	rte_free(cm->ports);
	rte_free(cm);
}

int
pmv_cm_create(const struct pmv_cm_param *param, struct pmv_cm **ret_cm)
{
	struct pmv_cm_param p = { .socket_id = -1 };
	struct pmv_cm *cm;
	int socket_id;
	int err;

	if (PMV_ANY_NULL("cm_create", "ret_cm", ret_cm))
		return -EINVAL;
	if (param != NULL)
		p = *param;
	if (p.id_max > ID_MAX_MOST)
		return pmv_log_refuse(
			-EINVAL, "cm_create: param.id_max %u is above %u", p.id_max, ID_MAX_MOST);
	socket_id = p.socket_id < 0 ? (int)rte_socket_id() : p.socket_id;
	cm = rte_zmalloc_socket("pmv_cm", sizeof(*cm), 64, socket_id);
	if (cm == NULL)
		return pmv_log_refuse(-ENOMEM, "cm_create: no memory on socket_id %d", socket_id);
	cm->socket_id = socket_id;
	err = cm_init(cm, &p);
	if (err != 0) {
		cm_free(cm);
		return pmv_log_refuse(err, "cm_create: %s", strerror(-err));
	}
	*ret_cm = cm;
	return 0;
}

/* Ids that the application has destroyed but that still linger: nobody waits for them any more. */
static void
drop_lingering(struct pmv_cm *cm, const struct pmv_cm_dev *dev)
{
	struct pmv_cm_id *id, *next;

	for (id = TAILQ_FIRST(&cm->lingering); id != NULL; id = next) {
		next = TAILQ_NEXT(id, link);
		if (dev == NULL || id->conn.av.dev == dev)
			pmv_cm_conn_drop(id);
	}
}

int
pmv_cm_destroy(struct pmv_cm *cm)
{
	struct pmv_cm_id *id;
	uint32_t unacked = 0;

	if (PMV_ANY_NULL("cm_destroy", "cm", cm))
		return -EINVAL;
	if (pmv_cm_owner_check(cm, "cm_destroy") != 0)
		return -EPERM;
	if (cm->in_turn != 0)
		return pmv_log_refuse(-EBUSY, "cm_destroy: cm: from inside a handler");
	if (cm->nb_ids != 0)
		return pmv_log_refuse(-EBUSY, "cm_destroy: cm: %u ids live", cm->nb_ids);
	drop_lingering(cm, NULL);
	TAILQ_FOREACH(id, &cm->dying, link)
	unacked += pmv_cm_event_any_taken(id);
	pmv_cm_qp_bridge_turn(cm, UINT32_MAX);
	pmv_cm_id_bury(cm, UINT32_MAX, true);
	if (!TAILQ_EMPTY(&cm->dying))
		return pmv_log_refuse(
			-EBUSY, "cm_destroy: cm: a QP operation is still with its worker");
	if (unacked != 0)
		PMV_LOG(WARNING, "cm_destroy: events of %u ids were never given back", unacked);
	while (cm->nb_devs != 0)
		pmv_cm_dev_close(cm->devs[--cm->nb_devs]);
	cm_free(cm);
	return 0;
}

int
pmv_cm_add_device(struct pmv_cm *cm, struct pmv_device *device)
{
	uint32_t mark = pmv_log_nb_errors;
	int err;

	if (PMV_ANY_NULL("cm_add_device", "cm device", cm, device))
		return -EINVAL;
	if (pmv_cm_owner_check(cm, "cm_add_device") != 0)
		return -EPERM;
	if (cm->nb_devs == PMV_CM_DEVS_MAX)
		return pmv_log_refuse(
			-ENOSPC, "cm_add_device: cm has %u devices, the most", cm->nb_devs);
	err = pmv_cm_dev_open(cm, device, &cm->devs[cm->nb_devs]);
	if (err != 0)
		return pmv_log_refuse_since(mark, err, "cm_add_device: device: %s",
			err == -EBUSY ? "a CM has it already" : strerror(-err));
	cm->nb_devs++;
	return 0;
}

int
pmv_cm_remove_device(struct pmv_cm *cm, struct pmv_device *device)
{
	struct pmv_cm_id *id;
	struct pmv_cm_dev *dev;
	uint32_t i;

	if (PMV_ANY_NULL("cm_remove_device", "cm device", cm, device))
		return -EINVAL;
	if (pmv_cm_owner_check(cm, "cm_remove_device") != 0)
		return -EPERM;
	for (i = 0; i < cm->nb_devs && cm->devs[i]->device != device; i++)
		;
	if (i == cm->nb_devs)
		return pmv_log_refuse(-ENOENT, "cm_remove_device: device: the CM does not have it");
	dev = cm->devs[i];
	TAILQ_FOREACH(id, &cm->ids, link)
	if (id->dev == dev)
		pmv_cm_id_lose_device(id);
	drop_lingering(cm, dev);
	cm->devs[i] = cm->devs[--cm->nb_devs];
	pmv_cm_dev_close(dev);
	return 0;
}

int
pmv_cm_attach(struct pmv_cm *cm)
{
	uint64_t none = 0;

	if (PMV_ANY_NULL("cm_attach", "cm", cm))
		return -EINVAL;
	/* Partner of the release in detach: what the last owner wrote is seen here. */
	if (!__atomic_compare_exchange_n(
		    &cm->owner, &none, self(), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return pmv_log_refuse(-EBUSY, "cm_attach: cm: it is attached already");
	return 0;
}

int
pmv_cm_detach(struct pmv_cm *cm)
{
	if (PMV_ANY_NULL("cm_detach", "cm", cm))
		return -EINVAL;
	if (__atomic_load_n(&cm->owner, __ATOMIC_RELAXED) != self())
		return pmv_log_refuse(-EPERM, "cm_detach: cm: this thread did not attach it");
	__atomic_store_n(&cm->owner, 0, __ATOMIC_RELEASE);
	return 0;
}

uint32_t
pmv_cm_poll_at(struct pmv_cm *cm, uint64_t now)
{
	if (cm == NULL || !pmv_cm_is_mine(cm))
		return 0;
	cm->own_clock = false;
	return pmv_cm_loop_turn(cm, now);
}

uint32_t
pmv_cm_poll(struct pmv_cm *cm)
{
	if (cm == NULL || !pmv_cm_is_mine(cm))
		return 0;
	cm->own_clock = true;
	return pmv_cm_loop_turn(cm, rte_rdtsc());
}
