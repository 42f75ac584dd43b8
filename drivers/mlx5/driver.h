// SPDX-License-Identifier: BSD-3-Clause
/*
 * The ConnectX driver as the library sees it: one struct, registered by a constructor. Nothing
 * outside driver.c and tests needs it.
 */
#ifndef PMV_MLX5_DRIVER_H
#define PMV_MLX5_DRIVER_H

#include "lib/driver/pmv_driver.h"

extern struct pmv_driver pmv_mlx5_driver;

#endif
