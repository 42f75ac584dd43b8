// SPDX-License-Identifier: BSD-3-Clause
/*
 * A ConnectX HCA's queue interface in user space: what a test includes.
 *
 * The model makes unmodified libibverbs and libmlx5 of this process believe in devices mlx5_0,
 * mlx5_1.. : it answers the uverbs commands, watches the doorbell registers, reads work queue
 * entries, moves the data and writes completions. An executable links it whole and exports its
 * symbols (the meson dependency pmv_mlx5m_dep, export_dynamic: true), so that its open, mmap,
 * ioctl.. come before the C library's.
 *
 * Use: pmv_mlx5m_start() once, before the process first lists devices (libibverbs remembers the
 * sysfs path; start sets SYSFS_PATH itself), then plain verbs. Without an HCA thread nothing moves
 * until the test calls pmv_mlx5m_step() or pmv_mlx5m_run(), and time stands still but for
 * pmv_mlx5m_advance_us(): the same program gives the same run each time.
 *
 * Any thread may call these functions; the model has one lock.
 */
#ifndef PMV_TEST_MLX5_MODEL_H
#define PMV_TEST_MLX5_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "test/mlx5/bug.h"
#include "test/mlx5/violation.h"

#define PMV_MLX5M_DEVICES_MAX 4

struct pmv_mlx5m_config {
	uint32_t nb_devices; /* 1..PMV_MLX5M_DEVICES_MAX; each has its own GIDs, all share a wire */
	uint8_t cqe_version; /* 0 or 1 */
	bool ioctl_abi;      /* commands by ioctl, UARs as objects; else write() and fixed UARs */
	bool trap;           /* every register store is seen; else only doorbell records are read */
	bool thread;         /* an HCA thread works; else the test steps */
	bool scatter_to_cqe; /* the device takes the library's offer to scatter into CQEs */
	const char *wire_dir; /* folder of the sockets that join processes; NULL: this one only */
	uint16_t node;        /* in GIDs and numbers; differs between joined processes */
	enum pmv_mlx5m_bug bug;
	uint32_t closed; /* errno with which opening a device fails; 0: it does not */
	uint32_t lacks;  /* number of a uverbs command that is not served; PMV_MLX5M_LACKS_NONE */
};
#define PMV_MLX5M_LACKS_NONE 0x7fffffffu

struct pmv_mlx5m_counters {
	uint64_t nb_stores; /* trapped, each up to one burst word or vector */
	uint64_t nb_rings;
	uint64_t nb_bursts; /* rings that were BlueFlame copies */
	uint64_t nb_arms;   /* CQ doorbells */
	uint64_t nb_wqes;   /* send queue entries begun */
	uint64_t nb_cqes;
	uint64_t nb_frames; /* packets put on the wire */
};

/* 2 devices, CQE version 1, ioctl, trap on, no thread, scatter-to-CQE on, node 1, no bug. */
void pmv_mlx5m_config_init(struct pmv_mlx5m_config *config);

/*
 * Applies PMV_MLX5M_DEVICES=1..4, PMV_MLX5M_ABI=write|ioctl, PMV_MLX5M_CQE=0|1,
 * PMV_MLX5M_TRAP=0|1, PMV_MLX5M_SCATTER=0|1, PMV_MLX5M_WIRE=folder, PMV_MLX5M_NODE=1..65535,
 * PMV_MLX5M_BUG=name, PMV_MLX5M_CLOSED=errno and PMV_MLX5M_LACKS=number (of ib_user_verbs.h; also
 * in its extended form) where they are set. Returns 0, or -EINVAL after a sentence on stderr.
 */
int pmv_mlx5m_config_env(struct pmv_mlx5m_config *config);

/* Returns 0, -EBUSY when it has been started before in this process, or what went wrong. */
int pmv_mlx5m_start(const struct pmv_mlx5m_config *config);

/* Ends the HCA thread, removes files. Objects still open are gone. */
void pmv_mlx5m_stop(void);

/* One unit of work: a frame delivered, a packet sent, an entry begun or flushed, a timer. */
bool pmv_mlx5m_step(void);

/* Steps until nothing is left but timers. Returns the units of work. */
uint64_t pmv_mlx5m_run(void);

/* Moves the clock of a model without thread. */
void pmv_mlx5m_advance_us(uint64_t us);

/* Time until the next timer (RNR, time-out) in us, or UINT64_MAX. */
uint64_t pmv_mlx5m_next_timer_us(void);

/* Everything put on the wire is lost while cut. */
void pmv_mlx5m_cut_wire(bool cut);

void pmv_mlx5m_counters_get(struct pmv_mlx5m_counters *ret_counters);

/* Rings seen for one QP, or UINT64_MAX when there is no such QP. */
uint64_t pmv_mlx5m_qp_rings(uint32_t qpn);

#endif
