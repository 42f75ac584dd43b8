// SPDX-License-Identifier: BSD-3-Clause
/*
 * The C library's calls that reach a uverbs device, in place of the C library's own: open, stat,
 * fstat, close, write, ioctl, mmap, munmap, and socket, which must hide the RDMA netlink of a
 * host that has one. Everything that is not the model's goes on to the next definition. Other
 * libraries' constructors call these before anything here is set up, and so may sanitizers; so
 * the next definition is looked up at the first call. A thread that holds the model's lock is the
 * model itself and is passed on at once.
 */
/* libibverbs calls open, stat and mmap, not the names with 64 behind them (the same on x86-64). */
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "test/mlx5/shim_command.h"
#include "test/mlx5/shim_context.h"
#include "test/mlx5/shim_libc.h"
#include "test/mlx5/shim_uar.h"
#include "test/mlx5/trap_page.h"

/* The next definition of a function, in a pointer of its own type. */
#define NEXT(name)                                                                                 \
	({                                                                                         \
		static __typeof__(name) *next;                                                     \
		if (next == NULL)                                                                  \
			*(void **)&next = dlsym(RTLD_NEXT, #name);                                 \
		next;                                                                              \
	})

/* Not the model's business: not running, or a call of the model itself. */
static bool
passes(void)
{
	return !pmv_mlx5m_state()->running || pmv_mlx5m_locked();
}

static long
finish(long ret)
{
	if (ret >= 0)
		return ret;
	errno = (int)-ret;
	return -1;
}

int
open(const char *path, int flags, ...)
{
	struct pmv_mlx5m_device *device;
	mode_t mode = 0;
	int ret;

	if (__OPEN_NEEDS_MODE(flags)) {
		va_list args;

		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	device = passes() ? NULL : pmv_mlx5m_context_device(path);
	if (device == NULL)
		return NEXT(open)(path, flags, mode);
	if (pmv_mlx5m_state()->config.closed != 0)
		return (int)finish(-(long)pmv_mlx5m_state()->config.closed);
	pmv_mlx5m_lock();
	ret = pmv_mlx5m_context_open(device);
	pmv_mlx5m_unlock();
	return (int)finish(ret);
}

/* What drivers/mlx5 calls; the same on x86-64. */
int open64(const char *path, int flags, ...) __attribute__((alias("open")));

static void
fill_stat(const struct pmv_mlx5m_device *device, struct stat *st)
{
	st->st_mode = S_IFCHR | 0666;
	st->st_rdev = makedev(PMV_MLX5M_MAJOR, PMV_MLX5M_MINOR + device->index);
}

int
stat(const char *restrict path, struct stat *restrict st)
{
	const struct pmv_mlx5m_device *device = passes() ? NULL : pmv_mlx5m_context_device(path);

	if (device == NULL)
		return NEXT(stat)(path, st);
	memset(st, 0, sizeof(*st));
	fill_stat(device, st);
	return 0;
}

int
fstat(int fd, struct stat *st)
{
	const struct pmv_mlx5m_context *ctx;
	int ret = NEXT(fstat)(fd, st);

	if (ret != 0 || passes())
		return ret;
	pmv_mlx5m_lock();
	ctx = pmv_mlx5m_context_find(fd);
	if (ctx != NULL)
		fill_stat(ctx->device, st);
	pmv_mlx5m_unlock();
	return 0;
}

int
close(int fd)
{
	struct pmv_mlx5m_context *ctx;

	if (!passes()) {
		pmv_mlx5m_lock();
		ctx = pmv_mlx5m_context_find(fd);
		if (ctx != NULL)
			pmv_mlx5m_context_close(ctx);
		pmv_mlx5m_unlock();
	}
	return NEXT(close)(fd);
}

ssize_t
write(int fd, const void *buf, size_t bytes)
{
	struct pmv_mlx5m_context *ctx;
	long ret = 0;

	if (passes())
		return NEXT(write)(fd, buf, bytes);
	pmv_mlx5m_lock();
	ctx = pmv_mlx5m_context_find(fd);
	if (ctx != NULL)
		ret = pmv_mlx5m_shim_write(ctx, buf, bytes);
	pmv_mlx5m_unlock();
	return ctx == NULL ? NEXT(write)(fd, buf, bytes) : finish(ret);
}

int
ioctl(int fd, unsigned long request, ...)
{
	struct pmv_mlx5m_context *ctx;
	va_list args;
	void *arg;
	int ret = 0;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (passes())
		return NEXT(ioctl)(fd, request, arg);
	pmv_mlx5m_lock();
	ctx = pmv_mlx5m_context_find(fd);
	if (ctx != NULL)
		ret = pmv_mlx5m_shim_ioctl(ctx, request, arg);
	pmv_mlx5m_unlock();
	return ctx == NULL ? NEXT(ioctl)(fd, request, arg) : (int)finish(ret);
}

/* A register page; with the trap on, one that may not be touched. */
static void *
map_page(struct pmv_mlx5m_context *ctx, size_t bytes, int prot, off_t offset)
{
	struct pmv_mlx5m_page *page = pmv_mlx5m_uar_page(ctx, (uint64_t)offset);
	void *user;

	if (page == NULL || bytes != PMV_MLX5M_UAR_BYTES) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	if (pmv_mlx5m_state()->config.trap)
		prot = PROT_NONE;
	user = NEXT(mmap)(NULL, bytes, prot, MAP_SHARED, ctx->fd, offset);
	if (user != MAP_FAILED && pmv_mlx5m_state()->config.trap)
		pmv_mlx5m_page_mapped(page, user);
	return user;
}

void *
mmap(void *address, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	struct pmv_mlx5m_context *ctx;
	void *user = NULL;

	if (fd < 0 || passes())
		return NEXT(mmap)(address, bytes, prot, flags, fd, offset);
	pmv_mlx5m_lock();
	ctx = pmv_mlx5m_context_find(fd);
	if (ctx != NULL)
		user = map_page(ctx, bytes, prot, offset);
	pmv_mlx5m_unlock();
	return ctx == NULL ? NEXT(mmap)(address, bytes, prot, flags, fd, offset) : user;
}

int
munmap(void *address, size_t bytes)
{
	if (bytes == PMV_MLX5M_UAR_BYTES && !passes()) {
		pmv_mlx5m_lock();
		pmv_mlx5m_page_unmapped(address);
		pmv_mlx5m_unlock();
	}
	return NEXT(munmap)(address, bytes);
}

int
socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA && pmv_mlx5m_state()->running) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return NEXT(socket)(domain, type, protocol);
}
