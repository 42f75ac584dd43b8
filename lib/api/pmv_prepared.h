/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prepared sends: a request that is checked once and posted often, each time with what its payload
 * is by then. What stays the same from post to post (checks, queue entry, headers) is made
 * beforehand where the driver can, so that this is the shortest way from a value in memory to the
 * wire.
 */
#ifndef PMV_PREPARED_H
#define PMV_PREPARED_H

#include "pmv_post.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The program's; the fields are for the library, and it must stay where it was prepared. Nothing
 * is to be freed. */
struct pmv_prepared_send {
	int (*post)(struct pmv_prepared_send *prep);
	struct pmv_qp *qp;
	struct pmv_send_wr wr;
	struct pmv_sge sge;
	uint64_t driver[32]; /**< what the driver made beforehand */
};

/**
 * Prepares an inline SEND or WRITE, with or without immediate.
 * @param wr        PMV_SEND_INLINE set, one SGE at most: where the payload will be read at each
 *                  post (no key is looked at), and how long it is, 0..max_inline_data of the QP.
 *                  UD: the address handle must live as long as the prepared request is posted.
 * @param ret_prep  for this QP as long as it exists, whatever states it goes through
 * @return 0; -EINVAL another opcode, no PMV_SEND_INLINE, more than one SGE, too long (UD: also
 * above the device's active_mtu), no address handle (UD) or one of another PD.
 * @note Context: any thread.
 */
PMV_API int pmv_prepare_send(
	struct pmv_qp *qp, const struct pmv_send_wr *wr, struct pmv_prepared_send *ret_prep);

/**
 * Posts it, with the payload as it is now; a further post may follow at once.
 * @return 0; -ENOMEM the send queue is full; -ENOTCONN the QP is in RESET, INIT or RTR. In ERR it
 * is taken and completes with WR_FLUSH_ERR.
 * @note Context: owner lcore of the QP's worker.
 */
static inline int
pmv_post_prepared(struct pmv_prepared_send *prep)
{
	return prep->post(prep);
}

#ifdef __cplusplus
}
#endif
#endif
