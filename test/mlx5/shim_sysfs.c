// SPDX-License-Identifier: BSD-3-Clause
/*
 * Writes the sysfs tree. Called by start before the process lists devices: libibverbs reads
 * SYSFS_PATH once.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/mlx5/shim_context.h"
#include "test/mlx5/shim_sysfs.h"

static char root[PATH_MAX];

/* Makes the folders of a path below the root. */
static int
make_folders(char *path)
{
	char *slash;

	for (slash = strchr(path + strlen(root) + 1, '/'); slash != NULL;
		slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

__attribute__((format(printf, 2, 3))) static int
put_file(const char *text, const char *format, ...)
{
	char path[PATH_MAX];
	va_list args;
	int nb = snprintf(path, sizeof(path), "%s/class/", root);
	FILE *file;
	int ret;

	va_start(args, format);
	vsnprintf(path + nb, sizeof(path) - (size_t)nb, format, args);
	va_end(args);
	ret = make_folders(path);
	if (ret != 0)
		return ret;
	file = fopen(path, "we");
	if (file == NULL)
		return -errno;
	ret = fprintf(file, "%s\n", text) < 0 ? -EIO : 0;
	if (fclose(file) != 0)
		ret = -errno;
	return ret;
}

static int
put_gid(const struct pmv_mlx5m_device *device, uint32_t index)
{
	const uint8_t *g = device->gid[index];
	char text[40];
	int ret;
	int i;

	for (i = 0; i < 8; i++)
		snprintf(text + 5 * i, sizeof(text) - 5 * (size_t)i,
			i < 7 ? "%02x%02x:" : "%02x%02x", g[2 * i], g[2 * i + 1]);
	ret = put_file(text, "infiniband/mlx5_%u/ports/1/gids/%u", device->index, index);
	if (ret != 0)
		return ret;
	return put_file(
		"RoCE v2", "infiniband/mlx5_%u/ports/1/gid_attrs/types/%u", device->index, index);
}

static int
put_device(const struct pmv_mlx5m_device *device)
{
	uint32_t n = device->index;
	char name[16], number[16];
	uint32_t i;
	int ret = 0;

	snprintf(name, sizeof(name), "mlx5_%u", n);
	snprintf(number, sizeof(number), "%d:%u", PMV_MLX5M_MAJOR, PMV_MLX5M_MINOR + n);
	ret |= put_file(name, "infiniband_verbs/uverbs%u/ibdev", n);
	ret |= put_file(number, "infiniband_verbs/uverbs%u/dev", n);
	ret |= put_file("1", "infiniband_verbs/uverbs%u/abi_version", n);
	ret |= put_file("1: CA", "infiniband/%s/node_type", name);
	ret |= put_file("PMV_MODEL", "infiniband/%s/board_id", name);
	/* Vendor and device of a ConnectX-5 Ex: by these libibverbs finds libmlx5. */
	ret |= put_file("pci:v000015B3d00001019sv000015B3sd00000008bc02sc00i00",
		"infiniband/%s/device/modalias", name);
	ret |= put_file("0xffff", "infiniband/%s/ports/1/pkeys/0", name);
	for (i = 0; i < PMV_MLX5M_GIDS; i++)
		ret |= put_gid(device, i);
	return ret == 0 ? 0 : -EIO;
}

int
pmv_mlx5m_sysfs_create(void)
{
	struct pmv_mlx5m_state *state = pmv_mlx5m_state();
	const char *tmp = getenv("TMPDIR");
	uint32_t i;
	int ret;

	snprintf(root, sizeof(root), "%s/pmv-mlx5-XXXXXX", tmp == NULL ? "/tmp" : tmp);
	if (mkdtemp(root) == NULL) {
		root[0] = '\0';
		return -errno;
	}
	ret = put_file("6", "infiniband_verbs/abi_version");
	for (i = 0; i < state->config.nb_devices && ret == 0; i++)
		ret = put_device(&state->device[i]);
	if (ret == 0 && setenv("SYSFS_PATH", root, 1) != 0)
		ret = -errno;
	return ret;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

void
pmv_mlx5m_sysfs_remove(void)
{
	if (root[0] == '\0')
		return;
	nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	root[0] = '\0';
}
