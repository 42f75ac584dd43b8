// SPDX-License-Identifier: BSD-3-Clause
/*
 * What two ends have in common, see ece.h. Control lcore.
 */
#include "cm/ece.h"

#define VENDOR_ID_MAX 0xffffffu

struct pmv_ece
pmv_cm_ece_common(struct pmv_ece a, struct pmv_ece b)
{
	uint32_t options = a.options & b.options;

	if (a.vendor_id == 0 || a.vendor_id != b.vendor_id || options == 0)
		return (struct pmv_ece){ 0, 0 };
	return (struct pmv_ece){ a.vendor_id, options };
}

bool
pmv_cm_ece_ok(struct pmv_ece ece)
{
	return ece.vendor_id <= VENDOR_ID_MAX && (ece.vendor_id != 0 || ece.options == 0);
}
