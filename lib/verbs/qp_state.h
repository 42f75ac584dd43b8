// SPDX-License-Identifier: BSD-3-Clause
/*
 * Which changes of a queue pair's state are legal, and with which attributes: the table of IBTA
 * vol. 1, 10.3.1 (and 11.2.5.2) in the form in which Linux enforces it (ib_modify_qp_is_ok), so
 * that what works there works here. Constant data and no state; called by qp.c on the control path.
 * It does not look at the values of attributes: qp_attr.h does. (Not in pmv_pure_sources only
 * because pmv_types.h includes rte_byteorder.h.)
 */
#ifndef PMV_VERBS_QP_STATE_H
#define PMV_VERBS_QP_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/api/pmv_types.h"

struct pmv_verbs_qp_transition {
	bool legal;
	uint32_t required; /* enum pmv_qp_attr_mask: must be given */
	uint32_t optional; /* may be given, besides PMV_QP_STATE */
};

/* Never NULL; states and types outside the enums give an illegal one. */
const struct pmv_verbs_qp_transition *pmv_verbs_qp_transition(
	uint8_t type, uint8_t from, uint8_t to);

/*
 * 0; -EINVAL: the transition is illegal (*ret_missing and *ret_superfluous 0), or these attributes
 * lack or are too many.
 */
int pmv_verbs_qp_state_check(const struct pmv_verbs_qp_transition *t, uint32_t mask,
	uint32_t *ret_missing, uint32_t *ret_superfluous);

#endif
