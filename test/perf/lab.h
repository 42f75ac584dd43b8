// SPDX-License-Identifier: BSD-3-Clause
/*
 * What the benchmark cases share: two lcores, and for each of "raw ethdev" and "pmverbs" two ports
 * joined by rings. The main lcore (A) runs a case; lcore B does what the case's far side needs.
 */
#ifndef PMV_PERF_LAB_H
#define PMV_PERF_LAB_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "lib/api/pmv.h"

#define PERF_BURST     32u
#define PERF_RAW_BYTES 82u /* the frame of an 8-byte RDMA WRITE */
#define PERF_BIG_BYTES 65536u
#define PERF_MTU       4096u
#define PERF_MEM_BYTES (4u << 20)

/* What lcore B does until told otherwise. */
enum perf_far {
	PERF_FAR_IDLE,
	PERF_FAR_RAW_SINK,      /* receive and free */
	PERF_FAR_RAW_SINK_COPY, /* receive, copy the payload to memory, free */
	PERF_FAR_RAW_ECHO,      /* receive and send back */
	PERF_FAR_LINE,          /* answer each store to a cache line with one */
	PERF_FAR_TOUCH,         /* write the shared buffer whenever asked */
	PERF_FAR_POLL,          /* worker turns */
	PERF_FAR_PONG,          /* worker turns; each flag seen in memory is answered by a WRITE */
	PERF_FAR_QUIT,
};

struct perf_end {
	uint16_t raw_port;
	uint16_t port;
	struct pmv_device *dev;
	struct pmv_worker *worker;
	struct pmv_pd *pd;
	struct pmv_cq *cq;
	struct pmv_qp *qp;
	struct pmv_mr *mr;
	uint8_t *mem; /* PERF_MEM_BYTES */
};

struct perf_line {
	volatile uint64_t value;
} __rte_cache_aligned;

struct perf_lab {
	struct perf_end end[2]; /* [0] lcore A, [1] lcore B */
	struct rte_mempool *pool[2];
	uint64_t ticks_per_sec;
	struct perf_line ping; /* A writes */
	struct perf_line pong; /* B writes */
	struct perf_line far;  /* enum perf_far; A writes */
	struct perf_line at;   /* enum perf_far that B has taken up; B writes */
	struct perf_line sunk; /* frames B has received; B writes */
	uint8_t *shared;       /* PERF_BIG_BYTES, touched by both */
};

/* EAL on these cores, with nothing of the machine but memory: hugepages if enough are free. 0, or
 * -1 after EAL's own sentence. */
int perf_eal_init(const char *cores, bool *ret_huge);
/* Ports, devices, connected QPs. 0 or negative errno, after a sentence. */
int perf_lab_open(struct perf_lab *lab);
void perf_lab_close(struct perf_lab *lab);

/* Lcore B: what it is told now, until it is told something else; or one look when it is idle. */
void perf_far_case(struct perf_lab *lab);
/* Lcore B's whole life: one after the other. */
int perf_far_main(void *lab);
/* Tells lcore B what to do and waits until it does. */
void perf_far_set(struct perf_lab *lab, enum perf_far far);

/* One WRITE from end `e` of its memory at off to the peer's at off. Returns what post returned. */
int perf_write(
	struct perf_end *e, struct perf_end *peer, uint32_t off, uint32_t len, uint32_t flags);

#endif
