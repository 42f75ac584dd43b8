// SPDX-License-Identifier: BSD-3-Clause
/*
 * Starts EAL for a test: no hugepages, no PCI, one lcore, nothing shared with other processes;
 * needs no root.
 */
#ifndef PMV_TEST_EAL_H
#define PMV_TEST_EAL_H

/* For cmocka's group set-up; safe to call again. 0, or -1 when EAL does not start. */
int pmv_test_eal_start(void **state);

#endif
