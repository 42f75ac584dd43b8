// SPDX-License-Identifier: BSD-3-Clause
/*
 * The model as an object for LD_PRELOAD: starts with an HCA thread before main() of a stock tool
 * and reports when the tool ends. Settings come from the environment (model.h);
 * PMV_MLX5M_REPORT=file gets one line `rings N bursts N ... violations N`, then one line for each
 * violation.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/mlx5/model.h"

static void
report(FILE *file)
{
	const struct pmv_mlx5m_violation *v;
	struct pmv_mlx5m_counters c;
	uint32_t i;

	pmv_mlx5m_counters_get(&c);
	fprintf(file,
		"stores %llu rings %llu bursts %llu wqes %llu cqes %llu frames %llu violations "
		"%llu\n",
		(unsigned long long)c.nb_stores, (unsigned long long)c.nb_rings,
		(unsigned long long)c.nb_bursts, (unsigned long long)c.nb_wqes,
		(unsigned long long)c.nb_cqes, (unsigned long long)c.nb_frames,
		(unsigned long long)pmv_mlx5m_violations());
	for (i = 0; (v = pmv_mlx5m_violation_get(i)) != NULL; i++)
		fprintf(file, "%s QP %#x: %s\n", pmv_mlx5m_rule_name(v->rule), v->qpn, v->text);
}

__attribute__((constructor)) static void
begin(void)
{
	struct pmv_mlx5m_config config;
	int ret;

	pmv_mlx5m_config_init(&config);
	config.nb_devices = 1;
	config.thread = true;
	/* Differs between processes that run at the same time, as far as 16 bits can. */
	config.node = (uint16_t)(getpid() % 65535 + 1);
	if (pmv_mlx5m_config_env(&config) != 0)
		_exit(2);
	ret = pmv_mlx5m_start(&config);
	if (ret != 0) {
		fprintf(stderr, "mlx5 model: does not start: %s\n", strerror(-ret));
		_exit(2);
	}
}

__attribute__((destructor)) static void
end(void)
{
	const char *path = getenv("PMV_MLX5M_REPORT");
	FILE *file;

	pmv_mlx5m_stop();
	file = path == NULL ? NULL : fopen(path, "we");
	if (file == NULL)
		return;
	report(file);
	fclose(file);
}
