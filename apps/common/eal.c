// SPDX-License-Identifier: BSD-3-Clause
/*
 * Starts EAL, and ends it so that nothing of it crashes. Main's thread; one callback runs on EAL's
 * interrupt thread.
 */
/* Interrupt handles. */
#define ALLOW_EXPERIMENTAL_API
#include "apps/common/eal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_log.h>

#include "apps/common/say.h"

#define SETTLE_MS 1000

int
pmv_app_eal_start(const struct pmv_app_args *args)
{
	/* EAL reorders its vector; the strings stay. */
	if (rte_eal_init(args->nb_eal, args->eal) >= 0)
		return pmv_app_catch_signals();
	pmv_app_say(
		"EAL did not start (%s); its own lines above say why; without hugepages give it "
		"--no-huge -m 256, before the --",
		rte_strerror(rte_errno));
	return rte_errno > 0 ? -rte_errno : -EIO;
}

int
pmv_app_usage_status(int ret)
{
	if (ret < 0)
		return PMV_APP_USAGE;
	return pmv_app_is_output_lost() ? PMV_APP_FAILED : PMV_APP_OK;
}

int
pmv_app_begin(int argc, char **argv, const struct pmv_app_spec *spec, struct pmv_app_args *ret_args,
	struct pmv_app_options *ret_options)
{
	int ret;

	pmv_app_set_name(argv[0]);
	pmv_app_claim_stdio();
	ret = pmv_app_args_split(argc, argv, ret_args);
	if (ret == 0)
		ret = pmv_app_options_parse(ret_args, spec, ret_options);
	if (ret != 0) {
		pmv_app_args_free(ret_args);
		return pmv_app_usage_status(ret);
	}
	if (pmv_app_eal_start(ret_args) == 0)
		return -1;
	pmv_app_args_free(ret_args);
	return PMV_APP_FAILED;
}

struct settle {
	int fd;
	uint32_t nb_runs; /* written by the interrupt thread with release */
};

static void
on_event(void *arg)
{
	struct settle *s = arg;
	uint64_t value;

	if (read(s->fd, &value, sizeof(value)) == sizeof(value))
		__atomic_store_n(&s->nb_runs, s->nb_runs + 1, __ATOMIC_RELEASE);
}

/*
 * EAL's interrupt thread outlives the memory that rte_eal_cleanup() unmaps (DPDK 22.11). A port
 * that is being closed wakes it, and it then looks at every handle left in its list, some of which
 * lie in that memory (memif leaves its listening socket there). So it has to be through with its
 * list first. It shows that by serving an event of ours: the second event is raised after the first
 * was served, hence seen only after the list was gone through. The handle stays registered, in
 * ordinary memory: taking it away would wake the thread again.
 */
static void
settle_interrupt_thread(void)
{
	static struct settle s;
	struct rte_intr_handle *handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	uint64_t end = pmv_app_now_ms() + SETTLE_MS;
	uint64_t one = 1;

	s.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (handle != NULL && s.fd >= 0 && rte_intr_fd_set(handle, s.fd) == 0 &&
		rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT) == 0 &&
		rte_intr_callback_register(handle, on_event, &s) == 0)
		for (uint32_t i = 1; i <= 2; i++) {
			if (write(s.fd, &one, sizeof(one)) != sizeof(one))
				break;
			while (__atomic_load_n(&s.nb_runs, __ATOMIC_ACQUIRE) < i &&
				pmv_app_now_ms() < end)
				rte_delay_us_sleep(100);
		}
	/* The list has its own copy. */
	rte_intr_instance_free(handle);
}

int
pmv_app_finish(struct pmv_app_args *args, bool failed)
{
	uint16_t port_id;

	failed |= pmv_app_is_output_lost();
	/* Also those that no program asked for: EAL's --vdev made them. Most have stopped, and
	 * ethdev would tell so. */
	rte_log_set_level_pattern("lib.ethdev", RTE_LOG_NOTICE);
	RTE_ETH_FOREACH_DEV(port_id)
	{
		rte_eth_dev_stop(port_id);
		rte_eth_dev_close(port_id);
	}
	settle_interrupt_thread();
	rte_eal_cleanup();
	pmv_app_args_free(args);
	return failed ? PMV_APP_FAILED : PMV_APP_OK;
}
