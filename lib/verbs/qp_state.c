// SPDX-License-Identifier: BSD-3-Clause
/*
 * The transition table of queue pairs, see qp_state.h.
 */
#include "lib/verbs/qp_state.h"

#include <errno.h>

enum { RC, UC, UD, NB_TYPES };

#define NB_STATES (PMV_QPS_ERR + 1)

/* clang-format off */
#define LEGAL             { true, 0, 0 }
#define OPT(o)            { true, 0, (o) }
#define REQ(r)            { true, (r), 0 }
#define BOTH(r, o)        { true, (r), (o) }
#define ALL_TYPES         { LEGAL, LEGAL, LEGAL }

#define CUR               PMV_QP_CUR_STATE
#define ACCESS            PMV_QP_ACCESS_FLAGS
#define PKEY              PMV_QP_PKEY_INDEX
#define ALT               PMV_QP_ALT_PATH
#define MIG               PMV_QP_PATH_MIG_STATE
#define RNR_TIMER         PMV_QP_MIN_RNR_TIMER

/* What a connected QP learns of its peer on the way to RTR. */
#define UC_RTR            (PMV_QP_AV | PMV_QP_PATH_MTU | PMV_QP_DEST_QPN | PMV_QP_RQ_PSN)
#define RC_RTR            (UC_RTR | PMV_QP_MAX_DEST_RD_ATOMIC | RNR_TIMER)
#define RC_RTS            (PMV_QP_TIMEOUT | PMV_QP_RETRY_CNT | PMV_QP_RNR_RETRY | PMV_QP_SQ_PSN | \
			   PMV_QP_MAX_QP_RD_ATOMIC)
/* What may change in RTS. */
#define UC_LIVE           (CUR | ACCESS | ALT | MIG)
#define RC_LIVE           (UC_LIVE | RNR_TIMER)
#define UD_LIVE           (CUR | PMV_QP_QKEY)
/* What may change in a drained send queue. */
#define UC_SQD            (PMV_QP_AV | ALT | ACCESS | PKEY | MIG)
#define RC_SQD            (UC_SQD | PMV_QP_PORT | PMV_QP_TIMEOUT | PMV_QP_RETRY_CNT | PMV_QP_RNR_RETRY | \
			   PMV_QP_MAX_QP_RD_ATOMIC | PMV_QP_MAX_DEST_RD_ATOMIC | RNR_TIMER)

/* [from][to][type]; RESET -> ERR is not among them. */
static const struct pmv_verbs_qp_transition table[NB_STATES][NB_STATES][NB_TYPES] = {
	[PMV_QPS_RESET] = {
		[PMV_QPS_RESET] = ALL_TYPES,
		[PMV_QPS_INIT] = { REQ(PKEY | PMV_QP_PORT | ACCESS), REQ(PKEY | PMV_QP_PORT | ACCESS),
				   REQ(PKEY | PMV_QP_PORT | PMV_QP_QKEY) },
	},
	[PMV_QPS_INIT] = {
		[PMV_QPS_RESET] = ALL_TYPES,
		[PMV_QPS_INIT] = { OPT(PKEY | PMV_QP_PORT | ACCESS), OPT(PKEY | PMV_QP_PORT | ACCESS),
				   OPT(PKEY | PMV_QP_PORT | PMV_QP_QKEY) },
		[PMV_QPS_RTR] = { BOTH(RC_RTR, ALT | ACCESS | PKEY | PMV_QP_ECE), BOTH(UC_RTR, ALT | ACCESS | PKEY | PMV_QP_ECE),
				  OPT(PKEY | PMV_QP_QKEY) },
		[PMV_QPS_ERR] = ALL_TYPES,
	},
	[PMV_QPS_RTR] = {
		[PMV_QPS_RESET] = ALL_TYPES,
		[PMV_QPS_RTS] = { BOTH(RC_RTS, RC_LIVE), BOTH(PMV_QP_SQ_PSN, UC_LIVE),
				  BOTH(PMV_QP_SQ_PSN, UD_LIVE) },
		[PMV_QPS_ERR] = ALL_TYPES,
	},
	[PMV_QPS_RTS] = {
		[PMV_QPS_RESET] = ALL_TYPES,
		[PMV_QPS_RTS] = { OPT(RC_LIVE), OPT(UC_LIVE), OPT(UD_LIVE) },
		[PMV_QPS_SQD] = { OPT(PMV_QP_EN_SQD_ASYNC_NOTIFY), OPT(PMV_QP_EN_SQD_ASYNC_NOTIFY),
				  OPT(PMV_QP_EN_SQD_ASYNC_NOTIFY) },
		[PMV_QPS_ERR] = ALL_TYPES,
	},
	[PMV_QPS_SQD] = {
		[PMV_QPS_RESET] = ALL_TYPES,
		[PMV_QPS_RTS] = { OPT(RC_LIVE), OPT(UC_LIVE), OPT(UD_LIVE) },
		[PMV_QPS_SQD] = { OPT(RC_SQD), OPT(UC_SQD), OPT(PKEY | PMV_QP_QKEY) },
		[PMV_QPS_ERR] = ALL_TYPES,
	},
	[PMV_QPS_SQE] = {
		[PMV_QPS_RESET] = ALL_TYPES,
		[PMV_QPS_RTS] = { LEGAL, OPT(CUR | ACCESS), OPT(UD_LIVE) },
		[PMV_QPS_ERR] = ALL_TYPES,
	},
	[PMV_QPS_ERR] = {
		[PMV_QPS_RESET] = ALL_TYPES,
		[PMV_QPS_ERR] = ALL_TYPES,
	},
};
/* clang-format on */

static const struct pmv_verbs_qp_transition illegal;

const struct pmv_verbs_qp_transition *
pmv_verbs_qp_transition(uint8_t type, uint8_t from, uint8_t to)
{
	if (type < PMV_QPT_RC || type > PMV_QPT_UD || from >= NB_STATES || to >= NB_STATES)
		return &illegal;
	/* The enum counts RC, UC, UD from 2. */
	return &table[from][to][type - PMV_QPT_RC];
}

int
pmv_verbs_qp_state_check(const struct pmv_verbs_qp_transition *t, uint32_t mask,
	uint32_t *ret_missing, uint32_t *ret_superfluous)
{
	*ret_missing = 0;
	*ret_superfluous = 0;
	if (!t->legal)
		return -EINVAL;
	*ret_missing = t->required & ~mask;
	*ret_superfluous = mask & ~(t->required | t->optional | PMV_QP_STATE);
	return *ret_missing != 0 || *ret_superfluous != 0 ? -EINVAL : 0;
}
