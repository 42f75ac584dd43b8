// SPDX-License-Identifier: BSD-3-Clause
/*
 * Names of the CM's counters, and the two calls that read them. Any thread.
 */
#include "cm/stats.h"

#include <stdio.h>
#include <string.h>

#include "cm/cm.h"

#define NAME_BYTES 40

static const char *const named[PMV_CM_STAT_NAMED_MAX] = {
#define X(id, name) [PMV_CM_STAT_##id] = name,
	PMV_CM_STAT_LIST(X)
#undef X
};

/* Names of the counters by verdict; written once, before main(). */
static char verdict_name[PMV_CM_STAT_MAX - PMV_CM_STAT_NAMED_MAX][NAME_BYTES];

static void
name_set(uint32_t stat, const char *prefix, const char *name)
{
	char *p = verdict_name[stat - PMV_CM_STAT_NAMED_MAX];

	snprintf(p, NAME_BYTES, "%s_%s", prefix, name);
	for (; *p != '\0'; p++)
		if (*p == ' ' || *p == '-')
			*p = '_';
}

__attribute__((constructor)) static void
names_init(void)
{
	uint32_t i;

	for (i = 0; i < PMV_WIRE_NB; i++)
		name_set(PMV_CM_STAT_WIRE + i, "rx_wire", pmv_wire_verdict_name(i));
	for (i = 0; i < PMV_CM_MSG_VERDICT_MAX; i++)
		name_set(PMV_CM_STAT_MSG + i, "rx_mad", pmv_cm_msg_verdict_name(i));
	for (i = 0; i < PMV_CM_IP_HDR_VERDICT_MAX; i++)
		name_set(PMV_CM_STAT_IP_HDR + i, "rx_ip_hdr", pmv_cm_ip_hdr_verdict_name(i));
	for (i = 0; i < PMV_CM_NEIGH_VERDICT_MAX; i++)
		name_set(PMV_CM_STAT_NEIGH + i, "rx_neigh", pmv_cm_neigh_verdict_name(i));
	for (i = 0; i < PMV_CM_ICMP_VERDICT_MAX; i++)
		name_set(PMV_CM_STAT_ICMP + i, "rx_icmp", pmv_cm_icmp_verdict_name(i));
}

static const char *
stat_name(uint32_t stat)
{
	return stat < PMV_CM_STAT_NAMED_MAX ? named[stat]
					    : verdict_name[stat - PMV_CM_STAT_NAMED_MAX];
}

uint32_t
pmv_cm_stats(const struct pmv_cm *cm, struct pmv_stat *stats, uint32_t nb)
{
	uint32_t i;

	if (cm == NULL)
		return 0;
	for (i = 0; i < nb && i < PMV_CM_STAT_MAX && stats != NULL; i++) {
		stats[i].name = stat_name(i);
		stats[i].value = __atomic_load_n(&cm->stat[i], __ATOMIC_RELAXED);
	}
	return PMV_CM_STAT_MAX;
}

uint64_t
pmv_cm_stat(const struct pmv_cm *cm, const char *name)
{
	uint32_t i;

	if (cm == NULL || name == NULL)
		return 0;
	for (i = 0; i < PMV_CM_STAT_MAX; i++)
		if (strcmp(stat_name(i), name) == 0)
			return __atomic_load_n(&cm->stat[i], __ATOMIC_RELAXED);
	return 0;
}
