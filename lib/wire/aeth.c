// SPDX-License-Identifier: BSD-3-Clause
/*
 * The tables behind the AETH syndrome (IBTA vol. 1, tables 45 and 46). Pure; worker lcores on the
 * slow half of an ACK.
 */
#include "lib/wire/aeth.h"

/* Code 0 is the longest wait; from code 1 on the waits ascend. */
static const uint32_t rnr_us[32] = {
	655360,
	10,
	20,
	30,
	40,
	60,
	80,
	120,
	160,
	240,
	320,
	480,
	640,
	960,
	1280,
	1920,
	2560,
	3840,
	5120,
	7680,
	10240,
	15360,
	20480,
	30720,
	40960,
	61440,
	81920,
	122880,
	163840,
	245760,
	327680,
	491520,
};

static const uint32_t credits_of[31] = {
	0,
	1,
	2,
	3,
	4,
	6,
	8,
	12,
	16,
	24,
	32,
	48,
	64,
	96,
	128,
	192,
	256,
	384,
	512,
	768,
	1024,
	1536,
	2048,
	3072,
	4096,
	6144,
	8192,
	12288,
	16384,
	24576,
	32768,
};

uint32_t
pmv_rnr_timer_us(uint8_t code)
{
	return rnr_us[code & 31];
}

uint8_t
pmv_rnr_timer_code(uint32_t us)
{
	for (uint8_t code = 1; code < 32; code++)
		if (rnr_us[code] >= us)
			return code;
	return 0;
}

uint32_t
pmv_aeth_credits(uint8_t code)
{
	code &= 31;
	return code == PMV_AETH_CREDIT_INVALID ? UINT32_MAX : credits_of[code];
}

uint8_t
pmv_aeth_credit_code(uint32_t credits)
{
	uint8_t code = 30;

	while (credits_of[code] > credits)
		code--;
	return code;
}
