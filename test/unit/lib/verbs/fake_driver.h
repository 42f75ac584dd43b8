// SPDX-License-Identifier: BSD-3-Clause
/*
 * A driver without a wire, for tests of lib: it keeps objects, counts calls and fails when told to.
 * Plus the device, workers and PD most tests need. Fields that another thread reads are atomic.
 */
#ifndef PMV_TEST_FAKE_DRIVER_H
#define PMV_TEST_FAKE_DRIVER_H

#include "lib/driver/pmv_driver.h"
#include "test/harness/link.h"

#define FAKE_FRAMES_MAX 2048u

struct fake_worker {
	struct pmv_worker base;
	char calls[64]; /* letters of the last turn: r(x) R(un) f(lush) h(anded over) c(ontrol
			   frame) i(nput) */
	uint32_t nb_calls;
	uint32_t nb_frames; /* handed over to it */
	struct rte_mbuf *frames[FAKE_FRAMES_MAX];
	uint32_t nb_ctl_sent;
	struct rte_mbuf *ctl_sent[FAKE_FRAMES_MAX];
	void (*on_rx)(struct fake_worker *w); /* what "receives" */
	void (*on_frame)(struct fake_worker *w, struct rte_mbuf *m);
	uint32_t nb_neigh; /* qp_neigh_commit calls */
	union pmv_gid neigh_gid;
	struct rte_ether_addr neigh_old, neigh_new;
	void *arg;
};

struct fake_mr {
	struct pmv_mr base;
	uint32_t frames_out; /* atomic */
};

struct fake_srq {
	struct pmv_srq base;
	struct pmv_srq_attr attr;
};

struct fake_qp {
	struct pmv_qp base;
	bool linked;
	uint32_t nb_modified;
	struct pmv_av av;
};

/* Errors to return, limits, and what is alive. */
struct fake_state {
	int device_init, worker_init, mr_reg, cq_create, qp_create, modify_prepare, modify_commit,
		ah_init, fault_add, fault_clear, srq_create, srq_prepare, srq_commit, mr_kill,
		mr_map, mw_alloc;
	bool tells; /* the driver logs the cause before it returns an error */
	int probe;
	uint32_t nb_devices, nb_workers, nb_mrs, nb_cqs, nb_qps, nb_linked, nb_srqs, nb_mws;
	uint32_t nb_aborts;
	uint32_t nb_srq_ends; /* srq_modify_end calls */
	uint32_t next_qpn;
	struct pmv_fault_rule rule;
	uint64_t rule_seed;
	uint32_t nb_rules;
};

extern struct fake_state fake;

/* The region registered last, while its key lives: what a worker's lookup finds. Atomic. */
extern struct fake_mr *fake_key;

/* A port, a device on it with driver "fake", nb_workers workers (detached), a PD, a CQ per worker.
 */
struct fake_node {
	struct pmv_test_link *link;
	struct pmv_device *dev;
	struct pmv_worker *worker[PMV_TEST_LINK_QUEUES];
	struct pmv_cq *cq[PMV_TEST_LINK_QUEUES];
	struct pmv_pd *pd;
	uint16_t nb_workers;
};

void fake_node_open(struct fake_node *n, uint16_t nb_workers);
/* Asserts that nothing is left, not even an mbuf. */
void fake_node_close(struct fake_node *n);

void fake_add_addr(struct pmv_device *dev, const char *text);
union pmv_gid fake_gid(const char *text);
struct pmv_qp *fake_create_qp(struct fake_node *n, uint16_t w, enum pmv_qp_type type);
/* RESET to `state` on the owner's thread (or detached); dgid 10.0.0.9 must be a known neighbour. */
void fake_move_qp(struct pmv_qp *qp, enum pmv_qp_state state);

/* Between begin and end the library logs exactly one line, and `word` is in it. */
void fake_log_begin(void);
void fake_log_end(const char *word);

/* The call is refused with this errno, and the log says why, once. */
#define assert_refused(call, error, word)                                                          \
	do {                                                                                       \
		fake_log_begin();                                                                  \
		assert_int_equal(call, error);                                                     \
		fake_log_end(word);                                                                \
	} while (0)

static inline struct fake_worker *
fake_worker(struct pmv_worker *w)
{
	return (struct fake_worker *)w;
}

#endif
