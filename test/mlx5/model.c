// SPDX-License-Identifier: BSD-3-Clause
/*
 * Start and stop, and what tests ask. Called by tests and by the preloaded object.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/mlx5/model_engine.h"
#include "test/mlx5/model_state.h"
#include "test/mlx5/shim_context.h"
#include "test/mlx5/shim_sysfs.h"
#include "test/mlx5/trap_page.h"
#include "test/mlx5/wire.h"

static bool started;

void
pmv_mlx5m_config_init(struct pmv_mlx5m_config *config)
{
	*config = (struct pmv_mlx5m_config){ .nb_devices = 2,
		.cqe_version = 1,
		.ioctl_abi = true,
		.trap = true,
		.scatter_to_cqe = true,
		.node = 1,
		.lacks = PMV_MLX5M_LACKS_NONE };
}

/* Reads a number between limits; leaves it alone where the variable is not set. */
static int
env_number(const char *name, uint32_t min, uint32_t max, uint32_t *value)
{
	const char *text = getenv(name);
	unsigned long number;
	char *end;

	if (text == NULL)
		return 0;
	number = strtoul(text, &end, 10);
	if (end == text || *end != '\0' || number < min || number > max) {
		fprintf(stderr, "mlx5 model: %s is a number from %u to %u, not '%s'\n", name, min,
			max, text);
		return -EINVAL;
	}
	*value = (uint32_t)number;
	return 0;
}

static int
env_bool(const char *name, bool *value)
{
	uint32_t number = *value;
	int ret = env_number(name, 0, 1, &number);

	*value = number != 0;
	return ret;
}

static int
env_abi(struct pmv_mlx5m_config *config)
{
	const char *text = getenv("PMV_MLX5M_ABI");

	if (text == NULL)
		return 0;
	config->ioctl_abi = strcmp(text, "ioctl") == 0;
	if (config->ioctl_abi || strcmp(text, "write") == 0)
		return 0;
	fprintf(stderr, "mlx5 model: PMV_MLX5M_ABI is write or ioctl, not '%s'\n", text);
	return -EINVAL;
}

static int
env_bug(struct pmv_mlx5m_config *config)
{
	const char *text = getenv("PMV_MLX5M_BUG");

	if (text == NULL)
		return 0;
	config->bug = pmv_mlx5m_bug_find(text);
	if (config->bug != PMV_MLX5M_BUG_MAX)
		return 0;
	fprintf(stderr, "mlx5 model: no bug is called '%s'\n", text);
	return -EINVAL;
}

int
pmv_mlx5m_config_env(struct pmv_mlx5m_config *config)
{
	uint32_t cqe_version = config->cqe_version;
	uint32_t node = config->node;

	if (env_number("PMV_MLX5M_LACKS", 0, UINT8_MAX, &config->lacks) != 0 ||
		env_number("PMV_MLX5M_CLOSED", 0, UINT8_MAX, &config->closed) != 0)
		return -EINVAL;
	if (env_number("PMV_MLX5M_DEVICES", 1, PMV_MLX5M_DEVICES_MAX, &config->nb_devices) != 0 ||
		env_number("PMV_MLX5M_CQE", 0, 1, &cqe_version) != 0 ||
		env_number("PMV_MLX5M_NODE", 1, 65535, &node) != 0 ||
		env_bool("PMV_MLX5M_TRAP", &config->trap) != 0 ||
		env_bool("PMV_MLX5M_SCATTER", &config->scatter_to_cqe) != 0 ||
		env_abi(config) != 0 || env_bug(config) != 0)
		return -EINVAL;
	config->cqe_version = (uint8_t)cqe_version;
	config->node = (uint16_t)node;
	if (getenv("PMV_MLX5M_WIRE") != NULL)
		config->wire_dir = getenv("PMV_MLX5M_WIRE");
	return 0;
}

static int
start_parts(void)
{
	int ret;

	ret = pmv_mlx5m_wire_open();
	if (ret == 0)
		ret = pmv_mlx5m_sysfs_create();
	if (ret == 0 && pmv_mlx5m_state()->config.trap)
		ret = pmv_mlx5m_trap_install();
	return ret;
}

int
pmv_mlx5m_start(const struct pmv_mlx5m_config *config)
{
	struct pmv_mlx5m_state *state = pmv_mlx5m_state();
	uint32_t i;
	int ret;

	if (started)
		return -EBUSY;
	if (config->nb_devices == 0 || config->nb_devices > PMV_MLX5M_DEVICES_MAX ||
		config->cqe_version > 1 || config->node == 0)
		return -EINVAL;
	started = true;
	state->config = *config;
	pmv_mlx5m_bug_plant(config->bug);
	for (i = 0; i < config->nb_devices; i++) {
		state->device[i].index = i;
		pmv_mlx5m_wire_gids(&state->device[i], config->node);
	}
	ret = start_parts();
	if (ret == 0)
		ret = pmv_mlx5m_engine_start();
	if (ret != 0) {
		pmv_mlx5m_trap_remove();
		pmv_mlx5m_sysfs_remove();
		pmv_mlx5m_wire_close();
		return ret;
	}
	state->running = true;
	return 0;
}

void
pmv_mlx5m_stop(void)
{
	struct pmv_mlx5m_state *state = pmv_mlx5m_state();

	if (!state->running)
		return;
	pmv_mlx5m_engine_stop();
	pmv_mlx5m_lock();
	state->running = false;
	pmv_mlx5m_context_close_all();
	pmv_mlx5m_wire_close();
	pmv_mlx5m_unlock();
	pmv_mlx5m_trap_remove();
	pmv_mlx5m_sysfs_remove();
}

void
pmv_mlx5m_cut_wire(bool cut)
{
	pmv_mlx5m_lock();
	pmv_mlx5m_wire_cut(cut);
	pmv_mlx5m_unlock();
}

void
pmv_mlx5m_counters_get(struct pmv_mlx5m_counters *ret_counters)
{
	pmv_mlx5m_lock();
	*ret_counters = pmv_mlx5m_state()->counters;
	pmv_mlx5m_unlock();
}

uint64_t
pmv_mlx5m_qp_rings(uint32_t qpn)
{
	const struct pmv_mlx5m_qp *qp;
	uint64_t nb = UINT64_MAX;

	pmv_mlx5m_lock();
	qp = pmv_mlx5m_qp_find(qpn);
	if (qp != NULL)
		nb = qp->nb_rings;
	pmv_mlx5m_unlock();
	return nb;
}
