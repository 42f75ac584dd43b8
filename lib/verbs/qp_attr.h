// SPDX-License-Identifier: BSD-3-Clause
/*
 * Ranges of queue pair attributes and capacities. Called by qp.c on the control path, before
 * anything is prepared; pure functions of their arguments. Address vectors are av.h's.
 */
#ifndef PMV_VERBS_QP_ATTR_H
#define PMV_VERBS_QP_ATTR_H

#include "lib/api/pmv_device.h"
#include "lib/api/pmv_qp.h"

/* NULL: each attribute named in mask is in range; else a sentence about the first that is not. */
const char *pmv_verbs_qp_attr_check(
	const struct pmv_device_attr *limits, const struct pmv_qp_attr *attr, uint32_t mask);

/* The same for the sizes asked for. */
const char *pmv_verbs_qp_cap_check(
	const struct pmv_device_attr *limits, const struct pmv_qp_cap *cap);

/* Copies the attributes named in mask; not state and cap. */
void pmv_verbs_qp_attr_copy(struct pmv_qp_attr *dst, const struct pmv_qp_attr *src, uint32_t mask);

/* "path_mtu": the lowest bit of mask as text, for log lines. */
const char *pmv_verbs_qp_attr_name(uint32_t mask);

#endif
