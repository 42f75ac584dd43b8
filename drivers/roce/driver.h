// SPDX-License-Identifier: BSD-3-Clause
/*
 * The software driver as the library sees it: one struct, registered by a constructor. Nothing
 * outside driver.c and tests needs it.
 */
#ifndef PMV_ROCE_DRIVER_H
#define PMV_ROCE_DRIVER_H

#include "lib/driver/pmv_driver.h"

extern struct pmv_driver pmv_roce_driver;

#endif
